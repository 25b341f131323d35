// The record that charges an attempt, written before the attempt does anything.
import type { AttemptStarted } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";

/** A stream opens with the start of the message and of its step. Whoever says no more has made no progress. */
export const OPENING_CHUNKS = 2;

/** The first attempt of a turn. */
export function firstAttempt(id: string, now: number): AttemptStarted {
  return {
    type: "attempt-started",
    turnId: turnId(id),
    attempt: 1,
    at: now,
    kind: "first",
    firstChunk: 0,
    keeps: 0,
    repairs: OPENING_CHUNKS
  };
}

/** A later one. Its chunks are numbered after those that are stored. */
export function nextAttempt(
  id: string,
  next: Pick<AttemptStarted, "attempt" | "kind" | "firstChunk" | "keeps" | "repairs">,
  now: number
): AttemptStarted {
  return { ...firstAttempt(id, now), ...next };
}
