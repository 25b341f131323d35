// What may be appended when, and what an append makes of the conversation's row. Pure: from the row, the fold of the
// record's turn and one record to the fields that change, or a thrown refusal (errors.ts). The list of open turns and the
// generation are caches of the journal; a property test holds them to the records.
import type { ThinkError } from "../util/errors.ts";
import type { TurnId } from "../util/ids.ts";
import type { ConversationRow, OpenTurn } from "./conversation.ts";
import { AttemptFencedError, journalErrors, TurnSettledError } from "./errors.ts";
import type { TurnFold } from "./folds/turn-fold.ts";
import type { ConversationCleared, TurnAdmitted, TurnResponded, JournalRecord } from "./records.ts";

export type OpenTurnFields = Pick<ConversationRow, "generation" | "openTurns" | "respondingTurns" | "clearedSequence">;

/** Where a record would go, and what the rules need to know about its surroundings. */
export interface Place {
  readonly sequence: number;
  /** What the records of an open turn say so far. */
  foldOf(turnId: TurnId): Pick<TurnFold, "attempt" | "attempts" | "nextChunk">;
  /** Whether a record of this turn is still kept. A search, so asked only to tell one refusal from another. */
  isRecorded(turnId: TurnId): boolean;
}

/** The fields this record changes. Total over record types: one that opens or closes something must be placed here. */
export function advance(fields: OpenTurnFields, record: JournalRecord, place: Place): Partial<OpenTurnFields> {
  switch (record.type) {
    case "conversation-cleared":
      return clear(fields, record, place);
    case "turn-admitted":
      return admit(fields, record, place);
    case "turn-responded":
      return respond(fields, record, place);
    default:
      return record.turnId === null ? {} : advanceTurn(fields, { ...record, turnId: record.turnId }, place);
  }
}

/** What a turn is called when no client named it: a server's own turn goes by its id. */
export function aliasOf(record: Pick<TurnAdmitted, "requestId" | "turnId">): string {
  return record.requestId ?? record.turnId;
}

/**
 * Up to which sequence no turn needs the records any more. The response hook of a settled turn may still read them, and
 * hooks end soon, so while one is owed nothing is free.
 */
export function freeTo(fields: OpenTurnFields, last: number): number {
  if (fields.respondingTurns.length > 0) return 0;
  const [oldest] = fields.openTurns;
  return oldest ? oldest.firstSequence - 1 : last;
}

function clear(fields: OpenTurnFields, record: ConversationCleared, place: Place): Partial<OpenTurnFields> {
  checkGeneration(record.generation, fields.generation + 1);
  return { generation: record.generation, clearedSequence: place.sequence };
}

/**
 * Turn ids are minted once by the server, so an admission is not searched for in what was settled long ago: only a turn
 * that is open or still owes its response is refused as a duplicate.
 */
function admit(fields: OpenTurnFields, record: TurnAdmitted, place: Place): Partial<OpenTurnFields> {
  const { turnId, generation } = record;
  if (findOpen(fields, turnId) || fields.respondingTurns.includes(turnId))
    throw journalErrors.DuplicateTurnError(turnId);
  checkGeneration(generation, fields.generation);
  const turn: OpenTurn = { turnId, requestId: aliasOf(record), firstSequence: place.sequence, generation };
  return { openTurns: [...fields.openTurns, turn] };
}

function respond(fields: OpenTurnFields, { turnId }: TurnResponded, place: Place): Partial<OpenTurnFields> {
  if (!fields.respondingTurns.includes(turnId)) {
    throw findOpen(fields, turnId) ? new TurnSettledError(turnId) : refusalOf(turnId, place);
  }
  return { respondingTurns: fields.respondingTurns.filter((responding) => responding !== turnId) };
}

function advanceTurn(
  fields: OpenTurnFields,
  record: JournalRecord & { turnId: TurnId },
  place: Place
): Partial<OpenTurnFields> {
  const open = findOpen(fields, record.turnId);
  if (!open) {
    const isResponding = fields.respondingTurns.includes(record.turnId);
    throw isResponding ? new TurnSettledError(record.turnId) : refusalOf(record.turnId, place);
  }
  const fold = place.foldOf(record.turnId);
  checkFence(fold, record);
  checkNumbering(fold, record);
  return record.type === "turn-settled" ? settle(fields, open, record.responds) : {};
}

function settle(fields: OpenTurnFields, turn: OpenTurn, responds: boolean): Partial<OpenTurnFields> {
  const openTurns = fields.openTurns.filter((open) => open !== turn);
  return responds ? { openTurns, respondingTurns: [...fields.respondingTurns, turn.turnId] } : { openTurns };
}

function refusalOf(turnId: TurnId, place: Place): ThinkError {
  return place.isRecorded(turnId) ? new TurnSettledError(turnId) : journalErrors.UnknownTurnError(turnId);
}

function checkGeneration(generation: number, expected: number): void {
  if (generation !== expected) throw journalErrors.StaleGenerationError(generation, expected);
}

function checkFence(fold: Pick<TurnFold, "attempt" | "attempts">, record: JournalRecord & { turnId: TurnId }): void {
  if (!("attempt" in record) || record.attempt === null) return;
  const allowed =
    record.type === "attempt-started"
      ? record.attempt === fold.attempt + 1
      : record.attempt === fold.attempt && fold.attempts.at(-1)?.end === null;
  if (!allowed) throw new AttemptFencedError(record.turnId, record.attempt, fold.attempt);
}

function checkNumbering({ nextChunk }: Pick<TurnFold, "nextChunk">, record: JournalRecord & { turnId: TurnId }): void {
  if (record.type !== "attempt-started" && record.type !== "content-segment") return;
  if (record.firstChunk !== nextChunk) throw journalErrors.ChunkOrderError(record.turnId, record.firstChunk, nextChunk);
}

function findOpen(fields: OpenTurnFields, turnId: TurnId): OpenTurn | undefined {
  return fields.openTurns.find((turn) => turn.turnId === turnId);
}
