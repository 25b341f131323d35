// Waiting for other code's work, but not for ever. Work that is too late goes on unobserved: it cannot be stopped from
// here, and its failure has no recipient any more.
import type { Clock } from "./ports.ts";

export interface DeadlineInit {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** What is thrown when the time is over. */
  readonly late: () => Error;
}

/** The result of `work`, or a throw of `late` if that comes first. */
export async function beforeDeadline<T>(work: Promise<T>, { clock, timeoutMs, late }: DeadlineInit): Promise<T> {
  const timer = new AbortController();
  const over = clock.sleep(timeoutMs, timer.signal).then(() => {
    throw late();
  });
  over.catch(() => undefined);
  work.catch(() => undefined);
  try {
    return await Promise.race([work, over]);
  } finally {
    timer.abort();
  }
}
