// The deadline of a script as a signal that the interpreter can read at any time.

/**
 * Is aborted by `signal`, or when the time is over, also while the interpreter does not yield and no timer can fire: it
 * reads `aborted` before each command. Where the clock stands still between two events, the interpreter's own limits end
 * such a script.
 */
export function timedSignal(signal: AbortSignal, timeoutMs: number): AbortSignal {
  const timed = new AbortController();
  const end = Date.now() + timeoutMs;
  if (signal.aborted) timed.abort(signal.reason);
  else signal.addEventListener("abort", () => timed.abort(signal.reason), { once: true });
  let isOver = false;
  Object.defineProperty(timed.signal, "aborted", {
    get: () => {
      isOver ||= signal.aborted || Date.now() >= end;
      return isOver;
    }
  });
  return timed.signal;
}
