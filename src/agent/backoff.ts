// How durable work that keeps failing, or keeps starting without an end, is slowed down and given up.
import { backoffMs } from "../util/backoff.ts";

/** No durable work waits longer than this for its next try. */
export const LONGEST_WAIT_MS = 5 * 60_000;

/** The wait before try `step + 1` of work that failed `step + 1` times: doubling from `baseMs`, at most five minutes. */
export function durableBackoffMs(step: number, baseMs: number): number {
  return backoffMs(step, { baseMs, maxMs: LONGEST_WAIT_MS });
}

/** Starts without an end that are taken for bad luck (a deploy, an eviction) before the work is slowed down. */
export const UNENDED_STARTS_LIMIT = 3;

/**
 * When work that is about to start may start again if its end is never recorded. Written before the start, so that
 * work which kills the process cannot spin. `unendedStarts` counts the start being made.
 */
export function restartAtMs(unendedStarts: number, nowMs: number, baseMs: number): number {
  if (unendedStarts < UNENDED_STARTS_LIMIT) return nowMs;
  return nowMs + durableBackoffMs(unendedStarts - UNENDED_STARTS_LIMIT, baseMs);
}

/** Whether work has been starting without ending for so long that it is given up. `maxAgeMs` 0: never. */
export function isGivenUp(
  work: { unendedStarts: number; unendedSince: number | null },
  nowMs: number,
  maxAgeMs: number
): boolean {
  if (maxAgeMs <= 0 || work.unendedSince === null || work.unendedStarts < UNENDED_STARTS_LIMIT) return false;
  return nowMs - work.unendedSince > maxAgeMs;
}
