// The record that charges an attempt, written before the attempt does anything.
import type { OpenTurn } from "../journal/conversation.ts";
import type { Journal } from "../journal/journal.ts";
import type { AttemptStarted } from "../journal/records.ts";
import { epochId, turnId } from "../util/ids.ts";

export interface AttemptRecordInit {
  readonly epoch: string;
  readonly now: number;
}

/** The first attempt of a turn that is being admitted now. */
export function firstAttempt(id: string, { epoch, now }: AttemptRecordInit): AttemptStarted {
  return {
    type: "attempt-started",
    turnId: turnId(id),
    attempt: 1,
    at: now,
    epoch: epochId(epoch),
    kind: "first",
    firstChunk: 0,
    keepsContent: true
  };
}

/** The next attempt of an open turn. Its chunks are numbered after those that are stored. */
export function nextAttempt(open: OpenTurn, journal: Journal, init: AttemptRecordInit): AttemptStarted {
  const attempt = open.attempt + 1;
  if (attempt === 1) return firstAttempt(open.turnId, init);
  return {
    ...firstAttempt(open.turnId, init),
    attempt,
    kind: "retry",
    firstChunk: journal.writer.nextChunk(open),
    // The answer is written anew: what an earlier attempt left is replaced when this one starts to stream.
    keepsContent: false
  };
}
