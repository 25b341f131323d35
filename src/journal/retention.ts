// What the journal forgets, and when. The chunks of a settled turn go after a short while: the stored message replaces
// them. Its other records go after a long one. After a clear everything older goes at once. An open turn loses nothing.
// Each sweep is one transaction with a bounded number of deletes; `nextSweepAt` says when the next is worth a wake.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import { bodyOwner, conversationOf, positionOf, sequenceOf, TurnPhase } from "./schema.ts";

export interface RetentionOptions {
  /** How long a finished stream can be replayed. */
  contentTtlMs: number;
  /** How long a finished turn's other records are kept; null: until the conversation is cleared. */
  recordTtlMs: number | null;
  /** Journal rows deleted in one sweep. */
  maxRows: number;
}

export const RETENTION: RetentionOptions = {
  contentTtlMs: 10 * 60 * 1000,
  recordTtlMs: 30 * 24 * 60 * 60 * 1000,
  maxRows: 500
};

export interface SweepReport {
  readonly deletedRows: number;
  /** The limit was reached: sweep again soon. */
  readonly more: boolean;
}

const CONTENT = "AND type = 'content-segment'";

interface SweepTurn {
  turn: string;
  conversation: number;
  first_sequence: number;
  last_sequence: number | null;
}

export class JournalRetention {
  readonly #sql: Sql;
  readonly #blobs: Blobs;
  readonly #options: RetentionOptions;

  /** Serves all conversations of the object. */
  constructor(sql: Sql, blobs: Blobs, options: Partial<RetentionOptions> = {}) {
    this.#sql = sql;
    this.#blobs = blobs;
    this.#options = { ...RETENTION, ...options };
  }

  sweep(now: number): SweepReport {
    return this.#sql.transaction(() => {
      const budget = { rows: Math.max(1, this.#options.maxRows) };
      const allowed = budget.rows;
      this.#sweepCleared(budget);
      this.#sweepContent(now, budget);
      this.#sweepRecords(now, budget);
      return { deletedRows: allowed - budget.rows, more: budget.rows === 0 };
    });
  }

  /**
   * When a sweep is next worth a wake; may lie in the past. Old records are not: an idle object must have no alarm, so
   * they go with the first sweep that happens anyway, ten minutes after the next turn.
   */
  nextSweepAt(): number | null {
    const times = [this.#clearedAt(), this.#contentDueAt()].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  #sweepCleared(budget: Budget): void {
    const conversations = this.#sql.all<{ conversation: number; cleared_sequence: number }>(
      "SELECT conversation, cleared_sequence FROM cf_journal_conversations WHERE cleared_sequence IS NOT NULL"
    );
    for (const { conversation, cleared_sequence } of conversations) {
      const end = positionOf(conversation, cleared_sequence);
      while (budget.rows > 0) {
        const oldest = this.#oldestCleared(conversation, end);
        if (!oldest) break;
        const turn = oldest.turn === null ? undefined : this.#turn(oldest.turn);
        if (turn) this.#removeTurn(turn, budget);
        else this.#deleteRows([oldest], budget);
      }
      if (budget.rows > 0 && !this.#hasOpenTurnBefore(conversation, end)) {
        this.#sql.run(
          "UPDATE cf_journal_conversations SET cleared_sequence = NULL, cleared_at = NULL WHERE conversation = ?",
          conversation
        );
      }
    }
  }

  #sweepContent(now: number, budget: Budget): void {
    while (budget.rows > 0) {
      const turn = this.#oldestTurn(TurnPhase.replayable, now - this.#options.contentTtlMs);
      if (!turn) return;
      // Newest first: a replay in between sees a stream that ends early, never one with a hole.
      const rows = this.#rowsOf(turn, CONTENT, budget.rows);
      this.#deleteRows(rows, budget);
      if (this.#hasRows(turn, CONTENT)) return;
      this.#sql.run(`UPDATE cf_journal_turns SET phase = ${TurnPhase.retained} WHERE turn = ?`, turn.turn);
    }
  }

  #sweepRecords(now: number, budget: Budget): void {
    const { recordTtlMs } = this.#options;
    while (recordTtlMs !== null && budget.rows > 0) {
      const turn = this.#oldestTurn(TurnPhase.retained, now - recordTtlMs);
      if (!turn) return;
      this.#removeTurn(turn, budget);
    }
  }

  /** Deletes the turn's records, and the turn with the last of them. */
  #removeTurn(turn: SweepTurn, budget: Budget): void {
    this.#deleteRows(this.#rowsOf(turn, "", budget.rows), budget);
    if (!this.#hasRows(turn, "")) this.#sql.run("DELETE FROM cf_journal_turns WHERE turn = ?", turn.turn);
  }

  /** The limit may have left some behind; the next sweep comes back to this turn. */
  #hasRows(turn: SweepTurn, filter: string): boolean {
    return this.#rowsOf(turn, filter, 1).length > 0;
  }

  /** Newest first. */
  #rowsOf(turn: SweepTurn, filter: string, limit: number): SweepRow[] {
    const { conversation, first_sequence, last_sequence } = turn;
    const end = last_sequence === null ? positionOf(conversation + 1, 0) : positionOf(conversation, last_sequence + 1);
    return this.#sql.all<SweepRow>(
      `SELECT position, turn, blob FROM cf_journal WHERE position >= ? AND position < ? AND turn = ? ${filter}
       ORDER BY position DESC LIMIT ?`,
      positionOf(conversation, first_sequence),
      end,
      turn.turn,
      limit
    );
  }

  #deleteRows(rows: readonly SweepRow[], budget: Budget): void {
    for (const { position, blob } of rows) {
      this.#keepSequence(position);
      if (blob !== null) this.#blobs.release(bodyOwner(position));
      this.#sql.run("DELETE FROM cf_journal WHERE position = ?", position);
    }
    budget.rows -= rows.length;
  }

  /** The sequence of the newest record must not be given again once the record is gone. */
  #keepSequence(position: number): void {
    const conversation = conversationOf(position);
    const newer = this.#sql.one(
      "SELECT 1 AS newer FROM cf_journal WHERE position > ? AND position < ? LIMIT 1",
      position,
      positionOf(conversation + 1, 0)
    );
    if (newer) return;
    this.#sql.run(
      `INSERT INTO cf_journal_conversations (conversation, floor) VALUES (?, ?)
       ON CONFLICT (conversation) DO UPDATE SET floor = max(floor, excluded.floor)`,
      conversation,
      sequenceOf(position)
    );
  }

  #turn(turn: string): SweepTurn | undefined {
    return this.#sql.one<SweepTurn>(
      "SELECT turn, conversation, first_sequence, last_sequence FROM cf_journal_turns WHERE turn = ?",
      turn
    );
  }

  #oldestTurn(phase: TurnPhase, settledBefore: number): SweepTurn | undefined {
    return this.#sql.one<SweepTurn>(
      `SELECT turn, conversation, first_sequence, last_sequence FROM cf_journal_turns
       WHERE phase = ? AND phase_order <= ? ORDER BY phase_order LIMIT 1`,
      phase,
      settledBefore
    );
  }

  #contentDueAt(): number | null {
    const oldest = this.#sql.one<{ phase_order: number }>(
      `SELECT phase_order FROM cf_journal_turns WHERE phase = ${TurnPhase.replayable} ORDER BY phase_order LIMIT 1`
    );
    return oldest ? oldest.phase_order + this.#options.contentTtlMs : null;
  }

  /** The oldest row before a clear that no open turn still needs. Open turns settle soon after a clear. */
  #oldestCleared(conversation: number, end: number): SweepRow | undefined {
    return this.#sql.one<SweepRow>(
      `SELECT position, turn, blob FROM cf_journal WHERE position >= ? AND position < ?
         AND (turn IS NULL OR turn NOT IN (SELECT turn FROM cf_journal_turns WHERE phase = ${TurnPhase.open}))
       ORDER BY position LIMIT 1`,
      positionOf(conversation, 0),
      end
    );
  }

  #hasOpenTurnBefore(conversation: number, end: number): boolean {
    return (
      this.#sql.one(
        `SELECT 1 AS open FROM cf_journal_turns
         WHERE phase = ${TurnPhase.open} AND phase_order >= ? AND phase_order < ? LIMIT 1`,
        positionOf(conversation, 0),
        end
      ) !== undefined
    );
  }

  #clearedAt(): number | null {
    const cleared = this.#sql.all<{ conversation: number; cleared_sequence: number; cleared_at: number }>(
      `SELECT conversation, cleared_sequence, cleared_at FROM cf_journal_conversations
       WHERE cleared_sequence IS NOT NULL ORDER BY cleared_at`
    );
    // A clear whose remaining rows all belong to open turns has nothing to delete yet, and must not wake anybody.
    const due = cleared.find(({ conversation, cleared_sequence }) => {
      const end = positionOf(conversation, cleared_sequence);
      return this.#oldestCleared(conversation, end) || !this.#hasOpenTurnBefore(conversation, end);
    });
    return due?.cleared_at ?? null;
  }
}

interface SweepRow {
  position: number;
  turn: string | null;
  blob: string | null;
}

interface Budget {
  rows: number;
}
