// The pause before something that failed is tried again: exponential, capped, spread at random. Pure: the number of
// failures and a random number in, milliseconds out. Each owner has its own policy and decides when to give up.

export interface Backoff {
  /** The pause after the first failure. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** What each further failure multiplies the pause by. Default 2. */
  readonly factor?: number;
  /** The share of the pause that is random: 0 (default) none of it, 1 all of it. */
  readonly jitter?: number;
}

/** Keeps the power finite however long something has been failing. Past it every pause has reached its cap. */
const STEP_LIMIT = 100;

/** `step`: failures in a row before the one that is waited for. `random`: in [0, 1]; matters only with jitter. */
export function backoffMs(step: number, { baseMs, maxMs, factor = 2, jitter = 0 }: Backoff, random = 1): number {
  const pauseMs = Math.min(maxMs, baseMs * factor ** Math.min(step, STEP_LIMIT));
  return pauseMs * (1 - jitter * (1 - random));
}
