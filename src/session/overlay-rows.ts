// The table of summaries, statement by statement. Of the active path, the rows say themselves whether their end is on it
// and whether histories show them, so that an append and a look at the newest messages read one or few of them.
import type { Sql, SqlValue } from "../host/ports.ts";
import type { Facts } from "../journal/facts.ts";

/** A summary that stands for the messages from one to another, both on one path. */
export interface Overlay {
  readonly id: string;
  /** Order of creation. */
  readonly sequence: number;
  readonly fromId: string;
  readonly toId: string;
  /** Order of writing of its ends; what it covers on a path is between them. */
  readonly fromSequence: number;
  readonly toSequence: number;
  readonly createdAt: string;
  /** 1 if the active path goes through its end. Then its sums are exact. */
  readonly isOnPath: number;
  /** 1 if histories of the active path show it; the others of that path are inside of what it covers. */
  readonly isShown: number;
  readonly coveredLength: number;
  readonly coveredBytes: number;
  readonly coveredTokens: number;
  /** Of the message that shows it. */
  readonly sizeBytes: number;
  readonly tokens: number;
}

export interface OverlayWithSummary extends Overlay {
  readonly summary: string;
}

const HEADER = `id, sequence, from_message_id AS fromId, to_message_id AS toId, from_sequence AS fromSequence,
  to_sequence AS toSequence, created_at AS createdAt, is_on_path AS isOnPath, is_shown AS isShown,
  covered_length AS coveredLength, covered_bytes AS coveredBytes, covered_tokens AS coveredTokens,
  size_bytes AS sizeBytes, tokens`;

const SHOWN = "session:shown-summaries";
const SELECT_SHOWN = `SELECT ${HEADER} FROM assistant_compactions
  WHERE session_id = ? AND is_shown = 1 ORDER BY to_sequence`;

export class OverlayRows {
  readonly #sql: Sql;
  readonly #session: string;
  readonly #facts: Facts;

  constructor(sql: Sql, session: string, facts: Facts) {
    this.#sql = sql;
    this.#session = session;
    this.#facts = facts;
  }

  /** Oldest first. */
  all(): Overlay[] {
    return this.#sql.all<Overlay>(
      `SELECT ${HEADER} FROM assistant_compactions WHERE session_id = ? ORDER BY sequence`,
      this.#session
    );
  }

  allWithSummary(): OverlayWithSummary[] {
    return this.#sql.all<OverlayWithSummary>(
      `SELECT ${HEADER}, summary FROM assistant_compactions WHERE session_id = ? ORDER BY sequence`,
      this.#session
    );
  }

  /** Those that histories of the active path show, without their summaries. */
  shown(): readonly Overlay[] {
    return this.#facts.get(SHOWN, () => this.#sql.all<Overlay>(SELECT_SHOWN, this.#session));
  }

  one(id: string): OverlayWithSummary | undefined {
    return this.#sql.one<OverlayWithSummary>(
      `SELECT ${HEADER}, summary FROM assistant_compactions WHERE session_id = ? AND id = ?`,
      this.#session,
      id
    );
  }

  insert(overlay: OverlayWithSummary): void {
    this.#write(
      `INSERT INTO assistant_compactions (session_id, id, sequence, from_message_id, to_message_id, from_sequence,
         to_sequence, created_at, is_on_path, is_shown, covered_length, covered_bytes, covered_tokens, size_bytes,
         tokens, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#session,
      overlay.id,
      overlay.sequence,
      overlay.fromId,
      overlay.toId,
      overlay.fromSequence,
      overlay.toSequence,
      overlay.createdAt,
      overlay.isOnPath,
      overlay.isShown,
      overlay.coveredLength,
      overlay.coveredBytes,
      overlay.coveredTokens,
      overlay.sizeBytes,
      overlay.tokens,
      overlay.summary
    );
  }

  /** Replaces its ends, its flags and what it covers. */
  replace(overlay: Overlay): void {
    this.#write(
      `UPDATE assistant_compactions SET (from_message_id, to_message_id, from_sequence, to_sequence, is_on_path,
         is_shown, covered_length, covered_bytes, covered_tokens) = (?, ?, ?, ?, ?, ?, ?, ?, ?)
         WHERE session_id = ? AND id = ?`,
      overlay.fromId,
      overlay.toId,
      overlay.fromSequence,
      overlay.toSequence,
      overlay.isOnPath,
      overlay.isShown,
      overlay.coveredLength,
      overlay.coveredBytes,
      overlay.coveredTokens,
      this.#session,
      overlay.id
    );
  }

  /** A message of the active path changed its size: whatever covers it there covers more or less now. */
  correct(sequence: number, delta: { bytes: number; tokens: number }): void {
    this.#write(
      `UPDATE assistant_compactions SET covered_bytes = covered_bytes + ?, covered_tokens = covered_tokens + ?
         WHERE session_id = ? AND is_on_path = 1 AND from_sequence <= ? AND to_sequence >= ?`,
      delta.bytes,
      delta.tokens,
      this.#session,
      sequence,
      sequence
    );
  }

  delete(id: string): void {
    this.#write("DELETE FROM assistant_compactions WHERE session_id = ? AND id = ?", this.#session, id);
  }

  deleteAll(): void {
    this.#write("DELETE FROM assistant_compactions WHERE session_id = ?", this.#session);
  }

  #write(statement: string, ...values: SqlValue[]): void {
    this.#sql.run(statement, ...values);
    this.#facts.forget(SHOWN);
  }
}
