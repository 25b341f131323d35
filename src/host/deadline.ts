// Waiting for something, but not for ever. Work that does not stop when it is asked to goes on by itself: it is no longer
// waited for, and what it throws then is dropped.
import type { Clock } from "./ports.ts";

export interface Deadline {
  readonly clock: Pick<Clock, "sleep">;
  /** Not finite: no limit. */
  readonly timeoutMs: number;
  /** Makes what is thrown when the time is over. */
  readonly late: () => unknown;
  /** Each ends the wait with its own reason. */
  readonly signals?: readonly AbortSignal[];
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

/** The result of `work`, or a throw of `late` or of a signal's reason if that comes first. */
export async function beforeDeadline<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
  // A failure after the deadline is dropped, also where the deadline has passed before.
  work.catch(() => undefined);
  return withinDeadline(() => work, deadline);
}

/** The same for work that can be stopped: its signal fires when the wait ends before the work, and never after its end. */
export async function withinDeadline<T>(
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  { clock, timeoutMs, late, signals = [] }: Deadline
): Promise<T> {
  for (const signal of signals) signal.throwIfAborted();
  const inner = new AbortController();
  const over = new AbortController();
  const stopped = Promise.withResolvers<never>();
  const stop = (reason: unknown) => {
    inner.abort(reason);
    stopped.reject(reason);
  };
  for (const signal of signals) {
    signal.addEventListener("abort", () => stop(signal.reason), { once: true, signal: over.signal });
  }
  if (Number.isFinite(timeoutMs)) {
    // The only rejection is our own abort below.
    void clock.sleep(timeoutMs, over.signal).then(
      () => stop(late()),
      () => undefined
    );
  }
  try {
    return await Promise.race([stopped.promise, started(work, inner.signal)]);
  } finally {
    over.abort();
  }
}

/** A throw becomes a rejection. */
async function started<T>(work: (signal: AbortSignal) => T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return work(signal);
}
