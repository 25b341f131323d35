// Every statement on cf_fibers. One row per fiber, managed or not, so no crash can separate a run from its record.
import type { Sql, SqlValue } from "../../host/ports.ts";
import { addColumns, TableSet, type TableDefinition } from "../../host/table-set.ts";
import { storedError, encodeStored } from "../../agent/stored-json.ts";
import type { FiberRecoveryResult, FiberRow, FiberStatus } from "./fiber-row.ts";

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
export interface OrphanRow extends Pick<FiberRow, "id" | "name" | "managed" | "created_at" | "replaces"> {
  is_stashed: number;
}

export const FIBER_TABLES: readonly TableDefinition[] = [
  // Bound: unmanaged rows until the run ends or is recovered, managed ones until deleted. Deleted: then, and by
  // deleteFibers. `recover_at` is set while a recovery is owed.
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
        recover_at INTEGER,
        recovery_step INTEGER NOT NULL DEFAULT 0,
        recovery_attempts INTEGER NOT NULL DEFAULT 0,
        recovery_is_last INTEGER NOT NULL DEFAULT 0,
        interrupted_at INTEGER,
        created_at INTEGER NOT NULL,
        started_at INTEGER,
        settled_at INTEGER,
        replaces TEXT,
        work TEXT,
        calls INTEGER NOT NULL DEFAULT 0
      )`,
      `CREATE INDEX cf_fibers_open ON cf_fibers (status) WHERE status IN ('pending', 'running')`,
      `CREATE INDEX cf_fibers_recovery ON cf_fibers (recover_at) WHERE recover_at IS NOT NULL`
    ],
    migrations: [
      (sql) => addColumns(sql, "cf_fibers", { replaces: "TEXT", work: "TEXT", calls: "INTEGER NOT NULL DEFAULT 0" })
    ]
  }
];

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

  /** Applies a result to an interrupted managed fiber and ends the recovery it is owed. False from any other status. */
  resolve(id: string, result: FiberRecoveryResult, nowMs: number): boolean {
    const columns: string[] = ["status = ?", "error = ?", "recover_at = NULL", "settled_at = ?"];
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

  /** Deletes settled managed records, oldest settled first; never one that is owed a recovery. Returns how many. */
  removeSettled(filter: { statuses: readonly FiberStatus[]; settledBeforeMs: number | null; limit: number }): number {
    return this.#table.change(
      `DELETE FROM cf_fibers WHERE seq IN (
         SELECT seq FROM cf_fibers WHERE managed = 1 AND recover_at IS NULL
         AND status IN (SELECT value FROM json_each(?)) AND (? IS NULL OR settled_at < ?)
         ORDER BY settled_at, seq LIMIT ?)`,
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

  /** Marks every open row that is not executing here as interrupted and owed a recovery. Returns what it marked. */
  claimOrphans(executing: readonly string[], nowMs: number): OrphanRow[] {
    return this.#table.all<OrphanRow>(
      `UPDATE cf_fibers SET status = 'interrupted', interrupted_at = ?, settled_at = ?, recover_at = ?
       WHERE status IN ('pending', 'running') AND id NOT IN (SELECT value FROM json_each(?))
       RETURNING id, name, managed, created_at, replaces, snapshot IS NOT NULL AS is_stashed`,
      nowMs,
      nowMs,
      nowMs,
      JSON.stringify(executing)
    );
  }

  /** Where a fiber stands that is owed a recovery. */
  owed(id: string): Pick<FiberRow, "name" | "snapshot" | "calls"> | undefined {
    return this.#table.one("SELECT name, snapshot, calls FROM cf_fibers WHERE id = ? AND recover_at IS NOT NULL", id);
  }

  /**
   * A fiber that a recovery hook started ends, and the one it goes on with is left with its checkpoint, if that is still
   * owed a recovery. True if it got further.
   */
  joinCheckpoint(id: string, recoveredId: string): boolean {
    const { changed } = this.#table.change(
      `UPDATE cf_fibers SET (snapshot, calls) = (SELECT snapshot, calls FROM cf_fibers WHERE id = ?)
       WHERE id = ? AND recover_at IS NOT NULL
         AND (snapshot, calls) IS NOT (SELECT snapshot, calls FROM cf_fibers WHERE id = ?)`,
      id,
      recoveredId,
      id
    );
    this.remove(id);
    return changed === 1;
  }

  /** It got further before it was interrupted again: its recovery begins anew. */
  restartRecovery(id: string, nowMs: number): void {
    this.#table.change(
      `UPDATE cf_fibers SET recover_at = ?, interrupted_at = ?, recovery_step = 0, recovery_is_last = 0
       WHERE id = ? AND recover_at IS NOT NULL`,
      nowMs,
      nowMs,
      id
    );
  }

  /** Another fiber does its work from now on: nothing is owed, and an unmanaged row has no further use. */
  handOver(id: string): void {
    this.endRecovery(id);
    this.#table.change("DELETE FROM cf_fibers WHERE id = ? AND managed = 0", id);
  }

  /** Ids of rows whose recovery is due, oldest first. Ids only: snapshots may be large. */
  recoverable(nowMs: number): string[] {
    return this.#table
      .all<{ id: string }>(
        "SELECT id FROM cf_fibers WHERE recover_at IS NOT NULL AND recover_at <= ? ORDER BY seq",
        nowMs
      )
      .map((row) => row.id);
  }

  nextRecovery(except: { readonly size: number; has(id: string): boolean }): number | null {
    const rows = this.#table.all<{ id: string; recover_at: number }>(
      "SELECT id, recover_at FROM cf_fibers WHERE recover_at IS NOT NULL ORDER BY recover_at LIMIT ?",
      except.size + 1
    );
    return rows.find((row) => !except.has(row.id))?.recover_at ?? null;
  }

  /** Written before the hook runs: a hook that ends the process is not called again before `nextAtMs`. */
  beginRecovery(id: string, attempt: { nextAtMs: number; isLast: boolean }): void {
    this.#table.change(
      `UPDATE cf_fibers SET recovery_attempts = recovery_attempts + 1, recovery_step = recovery_step + 1,
       recover_at = ?, recovery_is_last = ? WHERE id = ?`,
      attempt.nextAtMs,
      attempt.isLast ? 1 : 0,
      id
    );
  }

  postponeRecovery(id: string, atMs: number): void {
    this.#table.change("UPDATE cf_fibers SET recover_at = ? WHERE id = ? AND recover_at IS NOT NULL", atMs, id);
  }

  /** Nothing more is owed; the record stays as it is. */
  endRecovery(id: string): void {
    this.#table.change("UPDATE cf_fibers SET recover_at = NULL WHERE id = ?", id);
  }

  /** Something recovered, so recovery works again: the next try of every fiber is at most `latestMs` away. */
  resetBackoff(latestMs: number): void {
    this.#table.change(
      `UPDATE cf_fibers SET recovery_step = 0, recover_at = MIN(recover_at, ?)
       WHERE recover_at IS NOT NULL AND recovery_step > 0`,
      latestMs
    );
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
