// Time as the client uses it. Tests pass their own; no other client module uses the clock.

export interface Timers {
  /** Calls back after so many milliseconds, unless the returned function is called first. */
  after(delayMs: number, callback: () => void): () => void;
  now(): number;
}

export const realTimers: Timers = {
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    return () => clearTimeout(handle);
  },
  now: () => Date.now()
};
