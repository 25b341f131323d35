// Waiting for something, but not for ever. Work that is late goes on by itself: it cannot be stopped from here.
import type { Clock } from "./ports.ts";

export interface Deadline {
  readonly clock: Pick<Clock, "sleep">;
  readonly timeoutMs: number;
  /** Makes what is thrown when the time is over. */
  readonly late: () => Error;
}

/** Waits for `event`, at most `ms`. False: the time was over first. Throws what the event throws in time. */
export async function happensWithin(
  ms: number,
  event: Promise<unknown>,
  clock: Pick<Clock, "sleep">
): Promise<boolean> {
  const timer = new AbortController();
  // The only rejection is our own abort below, when the event came first.
  const over = clock.sleep(ms, timer.signal).then(
    () => false,
    () => false
  );
  try {
    return await Promise.race([event.then(() => true), over]);
  } finally {
    timer.abort();
  }
}

/** The result of `work`, or a throw of `late` if that comes first. */
export async function beforeDeadline<T>(work: Promise<T>, { clock, timeoutMs, late }: Deadline): Promise<T> {
  // Without this, a failure after the deadline would be an unhandled rejection.
  work.catch(() => undefined);
  if (!(await happensWithin(timeoutMs, work, clock))) throw late();
  return work;
}
