// Every statement on cf_schedules. Each method is one state change in one transaction; none decides anything.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { scheduleErrors } from "./errors.ts";
import { timingDetail, type ScheduleRow, type ScheduleTiming } from "./schedule-row.ts";

/** Rows of one agent. Above it `schedule` refuses, because rows that pile up cost a run each. */
export const SCHEDULE_LIMIT = 10_000;

const COLUMNS =
  "seq, id, callback, payload, type, detail, time_ms, due_ms, retry, running_since, strikes, unended_starts, unended_since";

export interface NewSchedule {
  id: string;
  callback: string;
  payload: string;
  timing: ScheduleTiming;
  timeMs: number;
  dedupKey: string;
  retry: string | null;
}

export const SCHEDULE_TABLES: readonly TableDefinition[] = [
  // Bound: SCHEDULE_LIMIT rows. Deleted: by one-shot completion, cancel, destroy. `time_ms` is the time the user
  // asked for; `due_ms` is when the row may next start, which is later while it backs off or is marked running.
  {
    name: "cf_schedules",
    create: [
      `CREATE TABLE cf_schedules (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        callback TEXT NOT NULL,
        payload TEXT NOT NULL,
        type TEXT NOT NULL,
        detail TEXT,
        time_ms INTEGER NOT NULL,
        due_ms INTEGER NOT NULL,
        dedup_key TEXT NOT NULL,
        retry TEXT,
        running_since INTEGER,
        strikes INTEGER NOT NULL DEFAULT 0,
        unended_starts INTEGER NOT NULL DEFAULT 0,
        unended_since INTEGER
      )`,
      `CREATE INDEX cf_schedules_due ON cf_schedules (due_ms)`,
      `CREATE INDEX cf_schedules_dedup ON cf_schedules (dedup_key)`
    ]
  }
];

export class ScheduleTable {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, SCHEDULE_TABLES);
  }

  /** Returns the twin instead of inserting when one exists and `isTwin` accepts it. One transaction, so never two. */
  insert(row: NewSchedule, isTwin: (candidate: ScheduleRow) => boolean): { row: ScheduleRow; isNew: boolean } {
    return this.#table.transaction(() => {
      const twin = this.#table
        .all<ScheduleRow>(`SELECT ${COLUMNS} FROM cf_schedules WHERE dedup_key = ? ORDER BY seq`, row.dedupKey)
        .find(isTwin);
      if (twin) return { row: twin, isNew: false };
      if (this.#isFull()) throw scheduleErrors.ScheduleLimitError(SCHEDULE_LIMIT);
      this.#table.run(
        `INSERT INTO cf_schedules (id, callback, payload, type, detail, time_ms, due_ms, dedup_key, retry)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.id,
        row.callback,
        row.payload,
        row.timing.type,
        timingDetail(row.timing),
        row.timeMs,
        row.timeMs,
        row.dedupKey,
        row.retry
      );
      const inserted = this.byId(row.id);
      if (!inserted) throw new Error("A schedule that was just stored is gone");
      return { row: inserted, isNew: true };
    });
  }

  byId(id: string): ScheduleRow | undefined {
    return this.#table.one<ScheduleRow>(`SELECT ${COLUMNS} FROM cf_schedules WHERE id = ?`, id);
  }

  all(): ScheduleRow[] {
    return this.#table.all<ScheduleRow>(`SELECT ${COLUMNS} FROM cf_schedules ORDER BY time_ms, seq`);
  }

  /** Ids of rows that may start, in time order. Ids only: the bodies may be large. */
  due(nowMs: number): string[] {
    return this.#table
      .all<{ id: string }>("SELECT id FROM cf_schedules WHERE due_ms <= ? ORDER BY time_ms, seq", nowMs)
      .map((row) => row.id);
  }

  /** When the next row may start, looking past the given ones. */
  earliestDue(except: { readonly size: number; has(id: string): boolean }): number | null {
    const rows = this.#table.all<{ id: string; due_ms: number }>(
      "SELECT id, due_ms FROM cf_schedules ORDER BY due_ms LIMIT ?",
      except.size + 1
    );
    return rows.find((row) => !except.has(row.id))?.due_ms ?? null;
  }

  /** Callbacks with at least `threshold` one-shot rows due at once. */
  crowds(nowMs: number, threshold: number): { callback: string; count: number }[] {
    return this.#table.all(
      `SELECT callback, COUNT(*) AS count FROM cf_schedules
       WHERE due_ms <= ? AND type IN ('delayed', 'scheduled') GROUP BY callback HAVING COUNT(*) >= ?`,
      nowMs,
      threshold
    );
  }

  /** Intervals that should run now but are held back because a run of theirs never ended. */
  heldIntervals(nowMs: number, untilMs: number): { id: string; callback: string }[] {
    return this.#table.all(
      `SELECT id, callback FROM cf_schedules WHERE due_ms > ? AND due_ms <= ?
       AND type = 'interval' AND running_since IS NOT NULL AND time_ms <= ?`,
      nowMs,
      untilMs,
      nowMs
    );
  }

  /** `restartMs`: when it may start again should this run never report an end. */
  markStarted(seq: number, nowMs: number, restartMs: number): void {
    this.#table.change(
      `UPDATE cf_schedules SET running_since = ?, due_ms = ?, unended_starts = unended_starts + 1,
       unended_since = COALESCE(unended_since, ?) WHERE seq = ?`,
      nowMs,
      restartMs,
      nowMs,
      seq
    );
  }

  /**
   * The class has no such method; it is looked for again at `dueMs`. Interrupted runs and strikes were of an earlier class:
   * without them the row shows that its waiting is known (`isKnownToWait`).
   */
  markWaiting(seq: number, dueMs: number): void {
    this.#table.change(
      `UPDATE cf_schedules SET due_ms = ?, strikes = 0, running_since = NULL, unended_starts = 0, unended_since = NULL
       WHERE seq = ?`,
      dueMs,
      seq
    );
  }

  /** The run ended without a verdict on the row: it stays and may start again at `dueMs`. */
  markStruck(seq: number, strikes: number, dueMs: number): void {
    this.#table.change(
      `UPDATE cf_schedules SET strikes = ?, due_ms = ?, running_since = NULL, unended_starts = 0, unended_since = NULL
       WHERE seq = ?`,
      strikes,
      dueMs,
      seq
    );
  }

  /** The run ended; the next one is at `timeMs`. */
  advance(seq: number, timeMs: number): void {
    this.#table.change(
      `UPDATE cf_schedules SET time_ms = ?, due_ms = ?, strikes = 0, running_since = NULL, unended_starts = 0,
       unended_since = NULL WHERE seq = ?`,
      timeMs,
      timeMs,
      seq
    );
  }

  remove(seq: number): void {
    this.#table.change("DELETE FROM cf_schedules WHERE seq = ?", seq);
  }

  #isFull(): boolean {
    // The span of numbers bounds the count and costs two index lookups; counting is for long-lived tables only.
    const span = this.#table.one<{ low: number | null; high: number | null }>(
      "SELECT (SELECT MIN(seq) FROM cf_schedules) AS low, (SELECT MAX(seq) FROM cf_schedules) AS high"
    );
    if (!span || span.low === null || span.high === null || span.high - span.low + 1 < SCHEDULE_LIMIT) return false;
    const counted = this.#table.one<{ count: number }>("SELECT COUNT(*) AS count FROM cf_schedules");
    return (counted?.count ?? 0) >= SCHEDULE_LIMIT;
  }
}
