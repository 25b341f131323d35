// Every statement on cf_fibers. One row per fiber, managed or not, so no crash can separate a run from its record.
import type { Sql, SqlValue } from "../../host/ports.ts";
import { addColumns, TableSet, type TableDefinition } from "../../host/table-set.ts";
import { storedError, encodeStored } from "../../agent/stored-json.ts";
import { WORK_TABLES } from "../../work/work-table.ts";
import type { FiberRecoveryResult, FiberRow, FiberStatus } from "./fiber-row.ts";

/** The kind of work that recovers fibers. */
export const RECOVERY = "fiber-recovery";
/** Bytes of a managed fiber's metadata: it shares a row with the snapshot. */
export const METADATA_LIMIT_BYTES = 64_000;

export interface NewFiber {
  id: string;
  name: string;
  managed: boolean;
  nowMs: number;
  idempotencyKey?: string | undefined;
  snapshot?: string | undefined;
  metadata?: string | undefined;
  onInterrupted?: string | undefined;
  replaces?: string | undefined;
  work: string;
  calls: number;
}

/** An open row that nothing executes. */
export interface OrphanRow extends Pick<FiberRow, "seq" | "id" | "name" | "managed" | "created_at" | "replaces"> {
  is_stashed: number;
}

export const FIBER_TABLES: readonly TableDefinition[] = [
  // Bound: unmanaged rows until the run ends or is recovered, managed ones until deleted. Deleted: then, and by
  // deleteFibers. A recovery that is owed is an item of durable work.
  {
    name: "cf_fibers",
    create: [
      `CREATE TABLE cf_fibers (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        idempotency_key TEXT UNIQUE,
        name TEXT NOT NULL,
        managed INTEGER NOT NULL,
        status TEXT NOT NULL,
        snapshot TEXT,
        metadata TEXT,
        error TEXT,
        on_interrupted TEXT,
        created_at INTEGER NOT NULL,
        started_at INTEGER,
        settled_at INTEGER,
        replaces TEXT,
        work TEXT,
        calls INTEGER NOT NULL DEFAULT 0
      )`,
      `CREATE INDEX cf_fibers_open ON cf_fibers (status) WHERE status IN ('pending', 'running')`
    ],
    migrations: [
      (sql) => addColumns(sql, "cf_fibers", { replaces: "TEXT", work: "TEXT", calls: "INTEGER NOT NULL DEFAULT 0" }),
      moveRecoveries
    ]
  }
];

/** Until schema version 7 the columns of a fiber said which recovery it is owed. */
function moveRecoveries(sql: Sql): void {
  if (sql.one("SELECT 1 FROM cf_fibers WHERE recover_at IS NOT NULL LIMIT 1")) {
    sql.catalog.make(WORK_TABLES);
    sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, payload, due_at, claim, failures, troubled_since, created_at)
       SELECT ?, id, 'null', CAST(recover_at AS INTEGER), recovery_attempts, recovery_step,
         CASE WHEN recovery_attempts > 0 THEN interrupted_at END, COALESCE(interrupted_at, created_at)
       FROM cf_fibers WHERE recover_at IS NOT NULL ORDER BY seq`,
      RECOVERY
    );
  }
  sql.run("DROP INDEX cf_fibers_recovery");
  for (const column of ["recover_at", "recovery_step", "recovery_attempts", "recovery_is_last", "interrupted_at"])
    sql.run(`ALTER TABLE cf_fibers DROP COLUMN ${column}`);
}

export class FiberTable {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, FIBER_TABLES);
  }

  insert(fiber: NewFiber): void {
    this.#table.run(
      `INSERT INTO cf_fibers (id, idempotency_key, name, managed, status, snapshot, metadata, on_interrupted, created_at, started_at,
         replaces, work, calls)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      fiber.id,
      fiber.idempotencyKey ?? null,
      fiber.name,
      fiber.managed ? 1 : 0,
      fiber.managed ? "pending" : "running",
      fiber.snapshot ?? null,
      fiber.metadata ?? null,
      fiber.onInterrupted ?? null,
      fiber.nowMs,
      fiber.managed ? null : fiber.nowMs,
      fiber.replaces ?? null,
      fiber.work,
      fiber.calls
    );
  }

  byId(id: string): FiberRow | undefined {
    return this.#table.one<FiberRow>("SELECT * FROM cf_fibers WHERE id = ?", id);
  }

  byKey(key: string): FiberRow | undefined {
    return this.#table.one<FiberRow>("SELECT * FROM cf_fibers WHERE idempotency_key = ?", key);
  }

  remove(id: string): void {
    this.#table.change("DELETE FROM cf_fibers WHERE id = ?", id);
  }

  /** False if it was cancelled before it began. */
  markRunning(id: string, nowMs: number): boolean {
    const update = "UPDATE cf_fibers SET status = 'running', started_at = ? WHERE id = ? AND status = 'pending'";
    return this.#table.change(update, nowMs, id).changed === 1;
  }

  /** A stash of a fiber that has ended meanwhile is dropped: its outcome is written. */
  stash(id: string, snapshot: string, calls: number): void {
    const update = "UPDATE cf_fibers SET snapshot = ?, calls = ? WHERE id = ? AND status = 'running'";
    this.#table.change(update, snapshot, calls, id);
  }

  /** The end of a managed run. False if it had ended before: the first outcome stands. */
  settle(id: string, outcome: { status: FiberStatus; error?: unknown; nowMs: number }): boolean {
    return (
      this.#table.change(
        `UPDATE cf_fibers SET status = ?, error = ?, settled_at = ?
         WHERE id = ? AND managed = 1 AND status IN ('pending', 'running')`,
        outcome.status,
        outcome.error === undefined ? null : storedError(outcome.error),
        outcome.nowMs,
        id
      ).changed === 1
    );
  }

  /** Applies a result to an interrupted managed fiber. False from any other status. */
  resolve(id: string, result: FiberRecoveryResult, nowMs: number): boolean {
    const columns: string[] = ["status = ?", "error = ?", "settled_at = ?"];
    const values: SqlValue[] = [result.status, reasonOf(result), nowMs];
    if (result.snapshot !== undefined) {
      columns.push("snapshot = ?");
      values.push(encodeStored(result.snapshot, "snapshot"));
    }
    if (result.status === "completed" && result.metadata !== undefined) {
      columns.push("metadata = ?");
      values.push(encodeStored(result.metadata, "metadata", METADATA_LIMIT_BYTES));
    }
    const update = `UPDATE cf_fibers SET ${columns.join(", ")} WHERE id = ? AND managed = 1 AND status = 'interrupted'`;
    return this.#table.change(update, ...values, id).changed === 1;
  }

  list(filter: {
    statuses?: readonly FiberStatus[] | undefined;
    name?: string | undefined;
    limit: number;
  }): FiberRow[] {
    const where = ["managed = 1"];
    const values: SqlValue[] = [];
    if (filter.statuses) {
      where.push("status IN (SELECT value FROM json_each(?))");
      values.push(JSON.stringify(filter.statuses));
    }
    if (filter.name !== undefined) {
      where.push("name = ?");
      values.push(filter.name);
    }
    const query = `SELECT * FROM cf_fibers WHERE ${where.join(" AND ")} ORDER BY seq DESC LIMIT ?`;
    return this.#table.all<FiberRow>(query, ...values, filter.limit);
  }

  /** Deletes settled managed records, oldest settled first. Returns how many. */
  removeSettled(filter: {
    statuses: readonly FiberStatus[];
    settledBeforeMs: number | null;
    limit: number;
    except: readonly string[];
  }): number {
    return this.#table.change(
      `DELETE FROM cf_fibers WHERE seq IN (
         SELECT seq FROM cf_fibers WHERE managed = 1 AND id NOT IN (SELECT value FROM json_each(?))
         AND status IN (SELECT value FROM json_each(?)) AND (? IS NULL OR settled_at < ?)
         ORDER BY settled_at, seq LIMIT ?)`,
      JSON.stringify(filter.except),
      JSON.stringify(filter.statuses),
      filter.settledBeforeMs,
      filter.settledBeforeMs,
      filter.limit
    ).changed;
  }

  hasOpen(): boolean {
    return (
      this.#table.one("SELECT 1 AS found FROM cf_fibers WHERE status IN ('pending', 'running') LIMIT 1") !== undefined
    );
  }

  /** Marks every open row that is not executing here as interrupted. Returns what it marked. */
  claimOrphans(executing: readonly string[], nowMs: number): OrphanRow[] {
    return this.#table.all<OrphanRow>(
      `UPDATE cf_fibers SET status = 'interrupted', settled_at = ?
       WHERE status IN ('pending', 'running') AND id NOT IN (SELECT value FROM json_each(?))
       RETURNING seq, id, name, managed, created_at, replaces, snapshot IS NOT NULL AS is_stashed`,
      nowMs,
      JSON.stringify(executing)
    );
  }

  /**
   * A fiber that a recovery hook started ends, and the one it goes on with is left with its checkpoint. True if it got
   * further.
   */
  joinCheckpoint(id: string, recoveredId: string): boolean {
    const { changed } = this.#table.change(
      `UPDATE cf_fibers SET (snapshot, calls) = (SELECT snapshot, calls FROM cf_fibers WHERE id = ?)
       WHERE id = ? AND (snapshot, calls) IS NOT (SELECT snapshot, calls FROM cf_fibers WHERE id = ?)`,
      id,
      recoveredId,
      id
    );
    this.remove(id);
    return changed === 1;
  }

  removeUnmanaged(id: string): void {
    this.#table.change("DELETE FROM cf_fibers WHERE id = ? AND managed = 0", id);
  }

  dropSnapshot(id: string): void {
    this.#table.change("UPDATE cf_fibers SET snapshot = NULL WHERE id = ?", id);
  }
}

function reasonOf(result: FiberRecoveryResult): string | null {
  if (result.status === "completed") return null;
  const reason = result.status === "error" ? result.error : result.reason;
  return reason === undefined ? null : storedError(reason);
}
