// Work that ends when its time is over, or when one of several signals says so. The work is told, and not waited for.
import type { Clock } from "../../host/ports.ts";

/** For the timers of the MCP client: the agent's own (its clock is a port) must be the first. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;

export interface RequestDeadline {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** What is thrown when the time is over. */
  readonly late: () => Error;
  /** Each ends the work with its own reason. */
  readonly signals: readonly AbortSignal[];
}

export async function withinDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  deadline: RequestDeadline
): Promise<T> {
  const { clock, timeoutMs, late, signals } = deadline;
  const timer = new AbortController();
  const over = new AbortController();
  void clock.sleep(timeoutMs, timer.signal).then(
    () => over.abort(late()),
    () => undefined
  );
  const signal = AbortSignal.any([over.signal, ...signals]);
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  ended.catch(() => undefined);
  try {
    signal.throwIfAborted();
    return await Promise.race([work(signal), ended]);
  } finally {
    timer.abort();
  }
}
