// Every statement on cf_queue. Pending rows are ordered by insertion; dead ones are kept, a limited number, to look at.
import { queueErrors } from "./errors.ts";
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { parseJson } from "../../util/json.ts";
import { readRetry, type RetryOptions } from "../../agent/retry.ts";
import { storedError } from "../../agent/stored-json.ts";

/** Pending rows of one agent. Above it `queue` refuses. */
export const QUEUE_ITEM_LIMIT = 10_000;
/** Exhausted items kept for inspection; above it the oldest are dropped. */
export const DEAD_LETTER_LIMIT = 100;

export interface QueueOptions {
  retry?: RetryOptions;
}

/** An item waiting for its callback. `created_at` is in unix seconds. */
export interface QueueItem<T = unknown> {
  id: string;
  payload: T;
  callback: string;
  created_at: number;
  retry?: RetryOptions;
}

/** An item whose callback failed for good. */
export interface DeadLetter<T = unknown> extends QueueItem<T> {
  error: string;
  attempts: number;
  /** Unix seconds. */
  died_at: number;
}

export interface QueueRow {
  seq: number;
  id: string;
  callback: string;
  payload: string;
  created_at: number;
  retry: string | null;
  attempts: number;
  unended_starts: number;
  unended_since: number | null;
  dead_error: string | null;
  dead_at: number | null;
}

const COLUMNS =
  "seq, id, callback, payload, created_at, retry, attempts, unended_starts, unended_since, dead_error, dead_at";

export const QUEUE_TABLES: readonly TableDefinition[] = [
  // Bound: QUEUE_LIMIT pending rows until run, DEAD_LETTER_LIMIT dead ones. Deleted: after the run; the oldest dead
  // ones.
  {
    name: "cf_queue",
    create: [
      `CREATE TABLE cf_queue (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        callback TEXT NOT NULL,
        payload TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        retry TEXT,
        attempts INTEGER NOT NULL DEFAULT 0,
        not_before INTEGER NOT NULL DEFAULT 0,
        unended_starts INTEGER NOT NULL DEFAULT 0,
        unended_since INTEGER,
        dead_error TEXT,
        dead_at INTEGER
      )`,
      `CREATE INDEX cf_queue_pending ON cf_queue (callback, seq) WHERE dead_at IS NULL`,
      `CREATE INDEX cf_queue_aside ON cf_queue (not_before) WHERE dead_at IS NULL AND not_before > 0`,
      `CREATE INDEX cf_queue_dead ON cf_queue (dead_at) WHERE dead_at IS NOT NULL`
    ]
  }
];

export class QueueTable {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, QUEUE_TABLES);
  }

  insert(item: { id: string; callback: string; payload: string; retry: string | null; nowMs: number }): void {
    this.#table.transaction(() => {
      if (this.#isFull()) throw queueErrors.QueueLimitError(QUEUE_ITEM_LIMIT);
      this.#table.run(
        "INSERT INTO cf_queue (id, callback, payload, created_at, retry) VALUES (?, ?, ?, ?, ?)",
        item.id,
        item.callback,
        item.payload,
        item.nowMs,
        item.retry
      );
    });
  }

  byId(id: string): QueueRow | undefined {
    return this.#table.one<QueueRow>(`SELECT ${COLUMNS} FROM cf_queue WHERE id = ? AND dead_at IS NULL`, id);
  }

  /** In order, one body in memory at a time: together they may be larger than the object. */
  *pending(): Generator<QueueRow> {
    let seq = 0;
    for (;;) {
      const row = this.#table.one<QueueRow>(
        `SELECT ${COLUMNS} FROM cf_queue WHERE seq > ? AND dead_at IS NULL ORDER BY seq LIMIT 1`,
        seq
      );
      if (!row) return;
      seq = row.seq;
      yield row;
    }
  }

  /** The oldest item of a callback that may run now. */
  next(callback: string, nowMs: number): QueueRow | undefined {
    return this.#table.one<QueueRow>(
      `SELECT ${COLUMNS} FROM cf_queue WHERE callback = ? AND dead_at IS NULL AND not_before <= ? ORDER BY seq LIMIT 1`,
      callback,
      nowMs
    );
  }

  /** Callbacks with pending items. Walks the index by leaps: the cost is per callback, not per item. */
  callbacks(): string[] {
    const found: string[] = [];
    for (;;) {
      const row = this.#table.one<{ callback: string }>(
        "SELECT callback FROM cf_queue WHERE dead_at IS NULL AND callback > ? ORDER BY callback LIMIT 1",
        found.at(-1) ?? ""
      );
      if (!row) return found;
      found.push(row.callback);
    }
  }

  hasRunnable(nowMs: number): boolean {
    const query = "SELECT 1 AS found FROM cf_queue WHERE dead_at IS NULL AND not_before <= ? LIMIT 1";
    return this.#table.one(query, nowMs) !== undefined;
  }

  /** When the next item that stepped aside may run. */
  nextAside(nowMs: number): number | null {
    const row = this.#table.one<{ at: number | null }>(
      "SELECT MIN(not_before) AS at FROM cf_queue WHERE dead_at IS NULL AND not_before > 0 AND not_before > ?",
      nowMs
    );
    return row?.at ?? null;
  }

  /** `restartMs`: until when it steps aside should this run never report an end; 0 keeps its place. */
  markStarted(seq: number, nowMs: number, restartMs: number): void {
    this.#table.change(
      `UPDATE cf_queue SET unended_starts = unended_starts + 1, unended_since = COALESCE(unended_since, ?),
       not_before = ? WHERE seq = ?`,
      nowMs,
      restartMs,
      seq
    );
  }

  markAttempted(seq: number): void {
    this.#table.change("UPDATE cf_queue SET attempts = attempts + 1 WHERE seq = ?", seq);
  }

  remove(seq: number): void {
    this.#table.change("DELETE FROM cf_queue WHERE seq = ?", seq);
  }

  /** Waits until `untilMs` without holding up those behind it; its attempts start afresh then. */
  putAside(seq: number, untilMs: number): void {
    this.#table.change("UPDATE cf_queue SET not_before = ?, attempts = 0 WHERE seq = ?", untilMs, seq);
  }

  bury(seq: number, death: { error: unknown; attempts: number; nowMs: number }): void {
    this.#table.transaction(() => {
      this.#table.change(
        `UPDATE cf_queue SET dead_error = ?, dead_at = ?, attempts = ?, not_before = 0, unended_starts = 0,
         unended_since = NULL WHERE seq = ?`,
        storedError(death.error),
        death.nowMs,
        death.attempts,
        seq
      );
      this.#table.change(
        `DELETE FROM cf_queue WHERE seq IN (
           SELECT seq FROM cf_queue WHERE dead_at IS NOT NULL ORDER BY dead_at DESC, seq DESC LIMIT -1 OFFSET ?)`,
        DEAD_LETTER_LIMIT
      );
    });
  }

  dead(): QueueRow[] {
    return this.#table.all<QueueRow>(
      `SELECT ${COLUMNS} FROM cf_queue WHERE dead_at IS NOT NULL ORDER BY dead_at DESC, seq DESC`
    );
  }

  /** Back to pending, at its old place, with fresh attempts. */
  revive(id: string): string | undefined {
    return this.#table.all<{ callback: string }>(
      `UPDATE cf_queue SET dead_error = NULL, dead_at = NULL, attempts = 0 WHERE id = ? AND dead_at IS NOT NULL
       RETURNING callback`,
      id
    )[0]?.callback;
  }

  /** Pending and dead alike. */
  removeById(id: string): void {
    this.#table.change("DELETE FROM cf_queue WHERE id = ?", id);
  }

  removePending(): void {
    this.#table.change("DELETE FROM cf_queue WHERE dead_at IS NULL");
  }

  removePendingOf(callback: string): void {
    this.#table.change("DELETE FROM cf_queue WHERE dead_at IS NULL AND callback = ?", callback);
  }

  #isFull(): boolean {
    // The span of numbers bounds the count and costs two index lookups; counting is for long-lived tables only.
    const span = this.#table.one<{ low: number | null; high: number | null }>(
      "SELECT (SELECT MIN(seq) FROM cf_queue) AS low, (SELECT MAX(seq) FROM cf_queue) AS high"
    );
    if (!span || span.low === null || span.high === null || span.high - span.low + 1 < QUEUE_ITEM_LIMIT) return false;
    const counted = this.#table.one<{ count: number }>("SELECT COUNT(*) AS count FROM cf_queue WHERE dead_at IS NULL");
    return (counted?.count ?? 0) >= QUEUE_ITEM_LIMIT;
  }
}

/** A payload that cannot be read shows as null; running the item quarantines it. */
export function toItem<T = unknown>(row: QueueRow): QueueItem<T> {
  const payload = parseJson(row.payload);
  const retry = readRetry(row.retry);
  return {
    id: row.id,
    // The payload's type is the caller's word, as it was when it was stored.
    payload: (payload.ok ? payload.value : null) as T,
    callback: row.callback,
    created_at: Math.floor(row.created_at / 1000),
    retry
  };
}

export function toDeadLetter(row: QueueRow): DeadLetter {
  return {
    ...toItem(row),
    error: row.dead_error ?? "",
    attempts: row.attempts,
    died_at: Math.floor((row.dead_at ?? 0) / 1000)
  };
}
