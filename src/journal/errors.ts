// What the journal refuses. A refused append is thrown, not returned: it must undo the caller's whole transaction, and
// an attempt that has been overtaken must unwind instead of going on. A caller that wants to ask first reads the conversation's row.
import { errorTable, ThinkError } from "../util/errors.ts";
import type { TurnId } from "../util/ids.ts";

/** A later attempt has begun, or this one has ended: its writer must stop. */
export class AttemptFencedError extends ThinkError {
  constructor(
    readonly turnId: TurnId,
    readonly attempt: number,
    readonly current: number
  ) {
    super({
      code: "attempt-fenced",
      message: "This attempt is over; its result is ignored.",
      hint: `Turn ${turnId}: attempt ${attempt} wrote after its end; the fence is at ${current}. Expected after a restart or a stall; the attempt must unwind.`
    });
  }
}

export class TurnSettledError extends ThinkError {
  constructor(readonly turnId: TurnId) {
    super({
      code: "turn-settled",
      message: "This turn is over.",
      hint: `Turn ${turnId} has its outcome; no further record of it is accepted.`
    });
  }
}

export const journalErrors = errorTable(ThinkError, {
  UnknownTurnError: (turnId: TurnId) => ({
    code: "unknown-turn",
    message: "There is no such turn.",
    hint: `Turn ${turnId} was never admitted to this conversation, or was deleted with it.`
  }),
  DuplicateTurnError: (turnId: TurnId) => ({
    code: "duplicate-turn",
    message: "This turn was already accepted.",
    hint: `Turn ${turnId} exists. Turn ids are minted once, at admission.`
  }),
  StaleGenerationError: (generation: number, expected: number) => ({
    code: "conversation-cleared",
    message: "The conversation was cleared.",
    hint: `A record was written for generation ${generation}; expected was ${expected}.`
  }),
  /** The numbering of a stream would get a hole or a second meaning. Always a bug of the writer's caller. */
  ChunkOrderError: (turnId: TurnId, firstChunk: number, expected: number) => ({
    code: "chunk-order",
    message: "Streamed content arrived out of order.",
    hint: `Turn ${turnId}: a record starts at chunk ${firstChunk}, the next chunk is ${expected}.`
  }),
  /** A record does not have its type's shape. Always a bug of the writer's caller. */
  InvalidRecordError: (recordType: string, reason: string) => ({
    code: "invalid-record",
    message: "A record could not be stored.",
    hint: `${recordType}: ${reason}.`
  })
});
