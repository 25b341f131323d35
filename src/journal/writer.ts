// The only way into the journal: a synchronous, all-or-nothing append. It gives each record its sequence, refuses what
// an overtaken attempt, a settled turn or a cleared conversation may no longer write, keeps the turn index in step, and
// tells readers after the commit. What to write, and when, is decided above.
import type { Blobs } from "../host/blobs.ts";
import type { Sql } from "../host/ports.ts";
import type { TurnId } from "../util/ids.ts";
import { encodeRecord, INLINE_BODY_BYTES, type EncodedRecord } from "./codec.ts";
import { StaleGenerationError } from "./errors.ts";
import type { JournalNotifier } from "./notifier.ts";
import type { WritableRecord } from "./records.ts";
import { bodyOwner, positionOf, sequenceOf } from "./schema.ts";
import { advanceTurn, type IndexedTurn, type TurnIndex } from "./turn-index.ts";

export interface WriterInit {
  sql: Sql;
  blobs: Blobs;
  turns: TurnIndex;
  notifier: JournalNotifier;
  conversation: number;
}

export interface AppendReceipt {
  /** Sequences of the first and the last record of this append; `last < first` when it was empty. */
  readonly first: number;
  readonly last: number;
}

/** A record together with its turn as the index knows it during one append. */
type TurnsInFlight = Map<TurnId, { before: IndexedTurn | undefined; now: IndexedTurn | undefined }>;

export class JournalWriter {
  readonly #init: WriterInit;

  constructor(init: WriterInit) {
    this.#init = init;
  }

  /** Appends all records or none, in one transaction or as part of the caller's. Throws what errors.ts lists. */
  append(records: readonly WritableRecord[]): AppendReceipt {
    const receipt = this.#init.sql.transaction(() => {
      const turns: TurnsInFlight = new Map();
      const first = this.head() + 1;
      for (const [offset, record] of records.entries()) this.#appendOne(record, first + offset, turns);
      for (const { before, now } of turns.values()) this.#save(before, now);
      return { first, last: first + records.length - 1 };
    });
    if (records.length > 0) this.#init.notifier.schedule();
    return receipt;
  }

  /** Sequence of the newest record ever written, 0 for none. */
  head(): number {
    const { sql, conversation } = this.#init;
    const start = positionOf(conversation, 0);
    const newest = sql.one<{ position: number }>(
      "SELECT position FROM cf_journal WHERE position >= ? AND position < ? ORDER BY position DESC LIMIT 1",
      start,
      positionOf(conversation + 1, 0)
    );
    // Retention may have deleted the newest record; its sequence must not come back with another meaning.
    const floor = sql.one<{ floor: number }>(
      "SELECT floor FROM cf_journal_conversations WHERE conversation = ?",
      conversation
    );
    return Math.max(newest ? sequenceOf(newest.position) : 0, floor?.floor ?? 0);
  }

  /** Counts the clears of this conversation. */
  generation(): number {
    const { sql, conversation } = this.#init;
    return (
      sql.one<{ generation: number }>(
        "SELECT generation FROM cf_journal_conversations WHERE conversation = ?",
        conversation
      )?.generation ?? 0
    );
  }

  /** Number of the next chunk of a turn's stream. */
  nextChunk(turn: Pick<IndexedTurn, "turnId" | "firstSequence">): number {
    const { sql, conversation } = this.#init;
    const last = sql.one<{ next: number }>(
      `SELECT first_chunk + chunk_count AS next FROM cf_journal
       WHERE position >= ? AND position < ? AND turn = ? AND first_chunk IS NOT NULL
       ORDER BY position DESC LIMIT 1`,
      positionOf(conversation, turn.firstSequence),
      positionOf(conversation + 1, 0),
      turn.turnId
    );
    return last?.next ?? 0;
  }

  #appendOne(record: WritableRecord, sequence: number, turns: TurnsInFlight): void {
    const row = encodeRecord(record);
    if (record.turnId !== null) this.#advance({ ...record, turnId: record.turnId }, sequence, turns);
    if (record.type === "turn-admitted") this.#checkGeneration(record.generation, this.generation());
    if (record.type === "conversation-cleared") this.#clear(record.generation, sequence, record.at);
    this.#insert(row, positionOf(this.#init.conversation, sequence));
  }

  #advance(record: WritableRecord & { turnId: TurnId }, sequence: number, turns: TurnsInFlight): void {
    let entry = turns.get(record.turnId);
    if (!entry) {
      const before = this.#init.turns.find(record.turnId);
      entry = { before, now: before };
      turns.set(record.turnId, entry);
    }
    entry.now = advanceTurn(entry.now, record, {
      conversation: this.#init.conversation,
      sequence,
      nextChunk: (turn) => this.nextChunk(turn)
    });
  }

  #save(before: IndexedTurn | undefined, now: IndexedTurn | undefined): void {
    if (!now || now === before) return;
    if (before) this.#init.turns.update(before, now);
    else this.#init.turns.insert(now);
  }

  #clear(generation: number, sequence: number, at: number): void {
    this.#checkGeneration(generation, this.generation() + 1);
    this.#init.sql.run(
      `INSERT INTO cf_journal_conversations (conversation, generation, cleared_sequence, cleared_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (conversation) DO UPDATE SET
         generation = excluded.generation, cleared_sequence = excluded.cleared_sequence, cleared_at = excluded.cleared_at`,
      this.#init.conversation,
      generation,
      sequence,
      at
    );
  }

  #checkGeneration(generation: number, expected: number): void {
    if (generation !== expected) throw new StaleGenerationError(generation, expected);
  }

  #insert(row: EncodedRecord, position: number): void {
    const { sql, blobs } = this.#init;
    const blob = row.size_bytes > INLINE_BODY_BYTES ? blobs.put(row.body, bodyOwner(position)).hash : null;
    sql.run(
      `INSERT INTO cf_journal
         (position, turn, type, version, at, attempt, first_chunk, chunk_count, size_bytes, blob, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      position,
      row.turn,
      row.type,
      row.version,
      row.at,
      row.attempt,
      row.first_chunk,
      row.chunk_count,
      row.size_bytes,
      blob,
      blob === null ? row.body : null
    );
  }
}
