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
    firstChunk: storedChunks(open, journal),
    // The answer is written anew: what an earlier attempt left is replaced when this one starts to stream.
    keepsContent: false
  };
}

function storedChunks(open: OpenTurn, journal: Journal): number {
  let next = 0;
  const options = { after: open.firstSequence - 1, turnId: turnId(open.turnId), outline: true };
  for (const page of journal.reader.pages(options)) {
    for (const { record } of page.entries) {
      if (record.type === "content-outline") next = Math.max(next, record.firstChunk + record.chunkCount);
    }
  }
  return next;
}
