// Spans of the virtual clock.

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const DAY_MS = 24 * 3_600_000;

/** Long enough for every back-off after a death. */
export const RECOVERED_MS = 400_000;

/** A promise that is never kept: what waits for it is cut off by the kill. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
