// One small row per turn: where its records are, which attempt may write, and which phase it is in. It is a cache of
// the turn fold, changed only by the writer in the transaction of the record, so that the fence, the queue and the
// sweeps cost one lookup instead of a fold. The rules of what may follow what are one pure function, `advanceTurn`.
import type { Sql } from "../host/ports.ts";
import type { RequestId, TurnId } from "../util/ids.ts";
import {
  AttemptFencedError,
  ChunkOrderError,
  DuplicateTurnError,
  TurnSettledError,
  UnknownTurnError
} from "./errors.ts";
import type { WritableRecord } from "./records.ts";
import { positionOf, TurnPhase } from "./schema.ts";

export interface IndexedTurn {
  readonly turnId: TurnId;
  readonly conversation: number;
  readonly generation: number;
  readonly requestId: RequestId | null;
  readonly firstSequence: number;
  /** Known once nothing more can follow. */
  readonly lastSequence: number | null;
  /** The fence: the newest attempt, 0 before the first. */
  readonly attempt: number;
  /** Whether that attempt may still write. */
  readonly attemptOpen: boolean;
  readonly phase: TurnPhase;
  /** Position of the admission while open, time of the settlement afterwards. */
  readonly phaseOrder: number;
}

/** Open turns listed at once; a queue longer than this is paged by its caller. */
export const OPEN_TURNS_LIMIT = 1000;
/** Finished turns searched for a client's request id. */
const FINISHED_SEARCH_LIMIT = 64;

export class TurnIndex {
  readonly #sql: Sql;
  readonly #conversation: number;

  constructor(sql: Sql, conversation: number) {
    this.#sql = sql;
    this.#conversation = conversation;
  }

  read(turnId: TurnId): IndexedTurn | undefined {
    const turn = this.find(turnId);
    return turn?.conversation === this.#conversation ? turn : undefined;
  }

  /** In whatever conversation it is: turn ids are unique in the whole object. */
  find(turnId: TurnId): IndexedTurn | undefined {
    const row = this.#sql.one<TurnRow>("SELECT * FROM cf_journal_turns WHERE turn = ?", turnId);
    return row && fromRow(row);
  }

  /** Admitted turns without an outcome, oldest first: the queue, including the running one and parked ones. */
  open(limit = OPEN_TURNS_LIMIT): IndexedTurn[] {
    return this.#sql
      .all<TurnRow>(
        `SELECT * FROM cf_journal_turns WHERE phase = ${TurnPhase.open} AND phase_order >= ? AND phase_order < ?
         ORDER BY phase_order LIMIT ?`,
        positionOf(this.#conversation, 0),
        positionOf(this.#conversation + 1, 0),
        limit
      )
      .map(fromRow);
  }

  /** Settled turns whose response hook has not returned, oldest first. */
  responding(limit = OPEN_TURNS_LIMIT): IndexedTurn[] {
    return this.#sql
      .all<TurnRow>(
        `SELECT * FROM cf_journal_turns WHERE phase = ${TurnPhase.responding} AND conversation = ?
         ORDER BY phase_order LIMIT ?`,
        this.#conversation,
        limit
      )
      .map(fromRow);
  }

  /** The newest turn with this alias, among the open and the recently finished. Clients may reuse request ids. */
  byRequest(requestId: RequestId): IndexedTurn | undefined {
    const newest = (phase: TurnPhase) =>
      this.#sql.one<TurnRow>(
        `SELECT * FROM (
           SELECT * FROM cf_journal_turns WHERE phase = ? ORDER BY phase_order DESC LIMIT ?
         ) WHERE request = ? AND conversation = ? ORDER BY first_sequence DESC LIMIT 1`,
        phase,
        phase === TurnPhase.open ? OPEN_TURNS_LIMIT : FINISHED_SEARCH_LIMIT,
        requestId,
        this.#conversation
      );
    const found = Object.values(TurnPhase)
      .map(newest)
      .filter((row) => row !== undefined)
      .sort((a, b) => b.first_sequence - a.first_sequence)[0];
    return found && fromRow(found);
  }

  /** For the writer only. */
  insert(turn: IndexedTurn): void {
    this.#sql.run(
      `INSERT INTO cf_journal_turns
         (turn, conversation, generation, request, first_sequence, last_sequence, attempt, attempt_open, phase, phase_order)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      turn.turnId,
      turn.conversation,
      turn.generation,
      turn.requestId,
      turn.firstSequence,
      turn.lastSequence,
      turn.attempt,
      turn.attemptOpen ? 1 : 0,
      turn.phase,
      turn.phaseOrder
    );
  }

  /** For the writer only. Naming the phase rewrites its index entry, so it is named only when it changed. */
  update(before: IndexedTurn, now: IndexedTurn): void {
    const values = [now.attempt, now.attemptOpen ? 1 : 0, now.lastSequence];
    const set = "attempt = ?, attempt_open = ?, last_sequence = ?";
    if (now.phase === before.phase) {
      this.#sql.run(`UPDATE cf_journal_turns SET ${set} WHERE turn = ?`, ...values, now.turnId);
    } else {
      this.#sql.run(
        `UPDATE cf_journal_turns SET ${set}, phase = ?, phase_order = ? WHERE turn = ?`,
        ...values,
        now.phase,
        now.phaseOrder,
        now.turnId
      );
    }
  }
}

/** Where a record would go, and what the rules need to know about its surroundings. */
export interface Place {
  readonly conversation: number;
  readonly sequence: number;
  /** Number of the next chunk of the turn's stream. A lookup, so asked only when it matters. */
  nextChunk(turn: IndexedTurn): number;
}

/** The turn after this record, or a thrown refusal. Total over record types: a new one must be placed here. */
export function advanceTurn(
  turn: IndexedTurn | undefined,
  record: WritableRecord & { turnId: TurnId },
  place: Place
): IndexedTurn {
  if (record.type === "turn-admitted") {
    if (turn) throw new DuplicateTurnError(record.turnId);
    return {
      turnId: record.turnId,
      conversation: place.conversation,
      generation: record.generation,
      requestId: record.requestId,
      firstSequence: place.sequence,
      lastSequence: null,
      attempt: 0,
      attemptOpen: false,
      phase: TurnPhase.open,
      phaseOrder: positionOf(place.conversation, place.sequence)
    };
  }
  if (!turn || turn.conversation !== place.conversation) throw new UnknownTurnError(record.turnId);
  // What we do not know we carry: it can neither open nor close anything here.
  if (record.type === "unknown") return turn.lastSequence === null ? turn : { ...turn, lastSequence: place.sequence };
  if (record.type === "turn-responded") return respond(turn, place);
  if (turn.phase !== TurnPhase.open) throw new TurnSettledError(record.turnId);
  checkFence(turn, record);
  checkNumbering(turn, record, place);
  return advanceOpenTurn(turn, record, place);
}

function advanceOpenTurn(turn: IndexedTurn, record: WritableRecord, place: Place): IndexedTurn {
  switch (record.type) {
    case "attempt-started":
      return { ...turn, attempt: record.attempt, attemptOpen: true };
    case "attempt-ended":
    case "turn-parked":
      return { ...turn, attemptOpen: false };
    case "turn-settled":
      return {
        ...turn,
        attemptOpen: false,
        phase: record.responds
          ? TurnPhase.responding
          : record.chunkCount > 0
            ? TurnPhase.replayable
            : TurnPhase.retained,
        phaseOrder: record.at,
        lastSequence: record.responds ? null : place.sequence
      };
    default:
      return turn;
  }
}

function respond(turn: IndexedTurn, place: Place): IndexedTurn {
  if (turn.phase !== TurnPhase.responding) throw new TurnSettledError(turn.turnId);
  return { ...turn, phase: TurnPhase.replayable, lastSequence: place.sequence };
}

function checkFence(turn: IndexedTurn, record: WritableRecord): void {
  if (!("attempt" in record) || record.attempt === null) return;
  const allowed =
    record.type === "attempt-started"
      ? record.attempt === turn.attempt + 1
      : record.attempt === turn.attempt && turn.attemptOpen;
  if (!allowed) throw new AttemptFencedError(turn.turnId, record.attempt, turn.attempt);
}

function checkNumbering(turn: IndexedTurn, record: WritableRecord, place: Place): void {
  if (record.type !== "attempt-started" && record.type !== "content-segment") return;
  const expected = place.nextChunk(turn);
  if (record.firstChunk !== expected) throw new ChunkOrderError(turn.turnId, record.firstChunk, expected);
}

interface TurnRow {
  turn: string;
  conversation: number;
  generation: number;
  request: string | null;
  first_sequence: number;
  last_sequence: number | null;
  attempt: number;
  attempt_open: number;
  phase: TurnPhase;
  phase_order: number;
}

function fromRow(row: TurnRow): IndexedTurn {
  return {
    // The writer put these there as ids; the column has forgotten the brand.
    turnId: row.turn as TurnId,
    requestId: row.request as RequestId | null,
    conversation: row.conversation,
    generation: row.generation,
    firstSequence: row.first_sequence,
    lastSequence: row.last_sequence,
    attempt: row.attempt,
    attemptOpen: row.attempt_open === 1,
    phase: row.phase,
    phaseOrder: row.phase_order
  };
}
