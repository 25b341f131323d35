// What may be appended when, and what an append makes of the conversation's row. Pure: from where the conversation
// stands and one record to the fields that change, or a thrown refusal (errors.ts). The rows' fence, the queue and the
// generation are caches of folds, so that asking them costs nothing; a property test holds them to the folds.
import type { TurnId } from "../util/ids.ts";
import type { ConversationRow, OpenTurn } from "./conversation.ts";
import {
  AttemptFencedError,
  ChunkOrderError,
  DuplicateTurnError,
  StaleGenerationError,
  TurnSettledError,
  UnknownTurnError
} from "./errors.ts";
import type { AttemptEnded, ConversationCleared, TurnAdmitted, TurnResponded, WritableRecord } from "./records.ts";

export type Standing = Pick<ConversationRow, "generation" | "openTurns" | "respondingTurns" | "clearedSequence">;

/** Where a record would go, and what the rules need to know about its surroundings. */
export interface Place {
  readonly sequence: number;
  /** Number of the next chunk of the turn's stream. */
  nextChunk(turn: OpenTurn): number;
  /** Whether a record of this turn is still kept. A search, so asked only to tell one refusal from another. */
  isRecorded(turnId: TurnId): boolean;
}

/** The fields this record changes. Total over record types: one that opens or closes something must be placed here. */
export function advance(standing: Standing, record: WritableRecord, place: Place): Partial<Standing> {
  switch (record.type) {
    case "conversation-cleared":
      return clear(standing, record, place);
    case "turn-admitted":
      return admit(standing, record, place);
    case "turn-responded":
      return respond(standing, record, place);
    default:
      return record.turnId === null ? {} : advanceTurn(standing, { ...record, turnId: record.turnId }, place);
  }
}

/** What a turn is called when no client named it: a server's own turn goes by its id. */
export function aliasOf(record: Pick<TurnAdmitted, "requestId" | "turnId">): string {
  return record.requestId ?? record.turnId;
}

/**
 * Up to which sequence nobody needs the records any more. The response hook of a settled turn may still read them, and
 * hooks end soon, so while one is owed nothing is free.
 */
export function freeTo(standing: Standing, last: number): number {
  if (standing.respondingTurns.length > 0) return 0;
  const [oldest] = standing.openTurns;
  return oldest ? oldest.firstSequence - 1 : last;
}

function clear(standing: Standing, record: ConversationCleared, place: Place): Partial<Standing> {
  checkGeneration(record.generation, standing.generation + 1);
  return { generation: record.generation, clearedSequence: place.sequence };
}

/**
 * Turn ids are minted once by the server, so an admission is not searched for in what was settled long ago: only a turn
 * that is still somebody's business is refused as a duplicate.
 */
function admit(standing: Standing, record: TurnAdmitted, place: Place): Partial<Standing> {
  const { turnId, generation } = record;
  if (findOpen(standing, turnId) || standing.respondingTurns.includes(turnId)) throw new DuplicateTurnError(turnId);
  checkGeneration(generation, standing.generation);
  const turn: OpenTurn = {
    turnId,
    requestId: aliasOf(record),
    firstSequence: place.sequence,
    generation,
    attempt: 0,
    attemptOpen: false,
    firstChunk: 0
  };
  return { openTurns: [...standing.openTurns, turn] };
}

function respond(standing: Standing, { turnId }: TurnResponded, place: Place): Partial<Standing> {
  if (!standing.respondingTurns.includes(turnId)) {
    throw findOpen(standing, turnId) ? new TurnSettledError(turnId) : refusalOf(turnId, place);
  }
  return { respondingTurns: standing.respondingTurns.filter((responding) => responding !== turnId) };
}

function advanceTurn(standing: Standing, record: WritableRecord & { turnId: TurnId }, place: Place): Partial<Standing> {
  const turn = findOpen(standing, record.turnId);
  if (!turn) return afterEnd(standing, record, place);
  checkFence(turn, record);
  checkNumbering(turn, record, place);
  if (record.type === "turn-settled") return settle(standing, turn, record.responds);
  const next = advanceOpenTurn(turn, record);
  return next === turn ? {} : { openTurns: standing.openTurns.map((open) => (open === turn ? next : open)) };
}

function advanceOpenTurn(turn: OpenTurn, record: WritableRecord): OpenTurn {
  switch (record.type) {
    case "attempt-started":
      return { ...turn, attempt: record.attempt, attemptOpen: true, firstChunk: record.firstChunk, retryAt: null };
    case "attempt-ended":
      return { ...turn, attemptOpen: false, retryAt: record.retryAt, ...interruption(turn, record) };
    default:
      return turn;
  }
}

/** What people are told of as recovering. Beginning anew after an overflow or by order is part of a healthy turn. */
function interruption(turn: OpenTurn, { reason, at }: AttemptEnded): Pick<OpenTurn, "recoveringSince"> {
  if (reason === "overflow" || reason === "restarted") return {};
  return { recoveringSince: turn.recoveringSince ?? at };
}

function settle(standing: Standing, turn: OpenTurn, responds: boolean): Partial<Standing> {
  const openTurns = standing.openTurns.filter((open) => open !== turn);
  return responds ? { openTurns, respondingTurns: [...standing.respondingTurns, turn.turnId] } : { openTurns };
}

/** What we do not know we carry, also behind a turn's end: it can neither open nor close anything here. */
function afterEnd(standing: Standing, record: WritableRecord & { turnId: TurnId }, place: Place): Partial<Standing> {
  const isResponding = standing.respondingTurns.includes(record.turnId);
  const isCarried = record.type === "unknown" && (isResponding || place.isRecorded(record.turnId));
  if (isCarried) return {};
  throw isResponding ? new TurnSettledError(record.turnId) : refusalOf(record.turnId, place);
}

function refusalOf(turnId: TurnId, place: Place): TurnSettledError | UnknownTurnError {
  return place.isRecorded(turnId) ? new TurnSettledError(turnId) : new UnknownTurnError(turnId);
}

function checkGeneration(generation: number, expected: number): void {
  if (generation !== expected) throw new StaleGenerationError(generation, expected);
}

function checkFence(turn: OpenTurn, record: WritableRecord & { turnId: TurnId }): void {
  // The attempt of a record we do not know may mean anything.
  if (record.type === "unknown" || !("attempt" in record) || record.attempt === null) return;
  const allowed =
    record.type === "attempt-started"
      ? record.attempt === turn.attempt + 1
      : record.attempt === turn.attempt && turn.attemptOpen;
  if (!allowed) throw new AttemptFencedError(record.turnId, record.attempt, turn.attempt);
}

function checkNumbering(turn: OpenTurn, record: WritableRecord & { turnId: TurnId }, place: Place): void {
  if (record.type !== "attempt-started" && record.type !== "content-segment") return;
  const expected = place.nextChunk(turn);
  if (record.firstChunk !== expected) throw new ChunkOrderError(record.turnId, record.firstChunk, expected);
}

function findOpen(standing: Standing, turnId: TurnId): OpenTurn | undefined {
  return standing.openTurns.find((turn) => turn.turnId === turnId);
}
