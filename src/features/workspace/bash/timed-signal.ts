// The deadline of a script as a signal that the interpreter can read at any time.

/**
 * Makes a signal that is aborted by `signal`, or when the time is over, also while the interpreter does not yield and no
 * timer can fire: it reads `aborted` before each command. Where the clock stands still between two events, the
 * interpreter's own limits end such a script.
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

/** Rejects when the signal is aborted. */
export function rejectOnAbort(signal: AbortSignal, reason: () => Error): Promise<never> {
  const stopped = new Promise<never>((_resolve, reject) => {
    if (signal.aborted) reject(reason());
    else signal.addEventListener("abort", () => reject(reason()), { once: true });
  });
  // What is raced with it may be over before anything waits for it.
  stopped.catch(() => undefined);
  return stopped;
}
