// Every statement on cf_workflows. A record moves forward: queued, running (or paused, or waiting), then one of three ends,
// and the first end stays, unless the workflow is restarted.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { parseJson } from "../../util/json.ts";
import { workflowErrors } from "./errors.ts";

/** Records of one agent. Above it the oldest that have ended are dropped; when none has, `runWorkflow` refuses. */
export const WORKFLOW_LIMIT = 1_000;
/** Steps remembered per workflow. A report that is repeated after this many newer ones is taken again. */
export const DELIVERED_STEPS_LIMIT = 64;

export type WorkflowStatus = "queued" | "running" | "paused" | "waiting" | "complete" | "errored" | "terminated";

/** Stands in `settled_by` in place of a step when the agent ended the workflow. */
const TERMINATED = "terminateWorkflow()";

/** What an agent knows about a workflow it started. Times are milliseconds since the epoch. */
export interface WorkflowInfo {
  id: string;
  /** The same id, by the name that code of the original reads. */
  workflowId: string;
  /** The binding it was started with. */
  workflowName: string;
  status: WorkflowStatus;
  /** False: a crash may have come before the platform got to know of it. `runWorkflow` with the same id makes sure. */
  isCreated: boolean;
  /** As given to `runWorkflow`. */
  metadata: unknown;
  /** Why it failed, or why it could not be created yet. */
  error: string | null;
  createdAt: number;
  updatedAt: number;
}

export interface WorkflowRow {
  seq: number;
  id: string;
  workflow: string;
  status: WorkflowStatus;
  is_created: number;
  metadata: string | null;
  error: string | null;
  settled_by: string | null;
  delivered: string;
  created_at: number;
  updated_at: number;
}

const COLUMNS = "seq, id, workflow, status, is_created, metadata, error, settled_by, delivered, created_at, updated_at";

export const WORKFLOW_TABLES: readonly TableDefinition[] = [
  // Bound: WORKFLOW_LIMIT rows. Deleted: by deleteWorkflow, destroy; the oldest that have ended.
  {
    name: "cf_workflows",
    create: [
      `CREATE TABLE cf_workflows (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workflow TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued',
        is_created INTEGER NOT NULL DEFAULT 0,
        metadata TEXT,
        error TEXT,
        settled_by TEXT,
        delivered TEXT NOT NULL DEFAULT '[]',
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      )`
    ]
  }
];

export class WorkflowTable {
  readonly #table: TableSet;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number) {
    this.#table = new TableSet(sql, WORKFLOW_TABLES);
    this.#now = now;
  }

  byId(id: string): WorkflowRow | undefined {
    return this.#table.one<WorkflowRow>(`SELECT ${COLUMNS} FROM cf_workflows WHERE id = ?`, id);
  }

  /** False when there is a record with this id already; nothing is changed then. */
  insert(row: { id: string; workflow: string; metadata: string | null }): boolean {
    return this.#table.transaction(() => {
      if (this.byId(row.id)) return false;
      this.#dropOldestSettled();
      const now = this.#now();
      this.#table.run(
        "INSERT INTO cf_workflows (id, workflow, metadata, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
        row.id,
        row.workflow,
        row.metadata,
        now,
        now
      );
      return true;
    });
  }

  /** The platform has it. */
  markCreated(id: string): void {
    this.#table.change(
      "UPDATE cf_workflows SET is_created = 1, error = NULL, updated_at = ? WHERE id = ? AND is_created = 0",
      this.#now(),
      id
    );
  }

  /** It is not known whether the platform has it. */
  markUncertain(id: string, error: string): void {
    this.#table.change(
      "UPDATE cf_workflows SET error = ?, updated_at = ? WHERE id = ? AND is_created = 0",
      error,
      this.#now(),
      id
    );
  }

  /** A sign of life. */
  markRunning(id: string): void {
    this.#table.change(
      "UPDATE cf_workflows SET status = 'running', is_created = 1, error = NULL, updated_at = ? WHERE id = ? AND status IN ('queued', 'paused', 'waiting')",
      this.#now(),
      id
    );
  }

  /** In the order in which they were started. */
  all(): WorkflowRow[] {
    return this.#table.all<WorkflowRow>(`SELECT ${COLUMNS} FROM cf_workflows ORDER BY seq`);
  }

  /** What the platform says of one that has not ended. */
  note(id: string, status: "running" | "paused" | "waiting"): void {
    this.#table.change(
      "UPDATE cf_workflows SET status = ?, is_created = 1, updated_at = ? WHERE id = ? AND settled_by IS NULL AND status <> ?",
      ...[status, this.#now(), id, status]
    );
  }

  terminated(id: string): void {
    this.#table.change(
      `UPDATE cf_workflows SET status = 'terminated', is_created = 1, settled_by = ?, updated_at = ?
       WHERE id = ? AND settled_by IS NULL`,
      ...[TERMINATED, this.#now(), id]
    );
  }

  /** It runs again from its beginning: its steps report anew. */
  restarted(id: string, isReset: boolean): void {
    const now = this.#now();
    this.#table.change(
      `UPDATE cf_workflows SET status = 'queued', error = NULL, settled_by = NULL, delivered = '[]', updated_at = ?,
         created_at = iif(?, ?, created_at) WHERE id = ?`,
      ...[now, Number(isReset), now, id]
    );
  }

  settle(id: string, end: { status: "complete" | "errored"; error: string | null; step: string }): void {
    this.#table.change(
      `UPDATE cf_workflows SET status = ?, is_created = 1, error = ?, settled_by = ?, updated_at = ?
       WHERE id = ? AND settled_by IS NULL`,
      end.status,
      end.error,
      end.step,
      this.#now(),
      id
    );
  }

  /** The report of this step has been taken in full. */
  markDelivered(id: string, step: string): void {
    const row = this.byId(id);
    if (!row) return;
    const delivered = [...deliveredSteps(row), step].slice(-DELIVERED_STEPS_LIMIT);
    this.#table.change(
      "UPDATE cf_workflows SET delivered = ?, updated_at = ? WHERE id = ?",
      JSON.stringify(delivered),
      this.#now(),
      id
    );
  }

  remove(id: string): boolean {
    return this.#table.change("DELETE FROM cf_workflows WHERE id = ?", id).changed === 1;
  }

  #dropOldestSettled(): void {
    if (!this.#isFull()) return;
    this.#table.change(
      `DELETE FROM cf_workflows WHERE seq IN (
         SELECT seq FROM cf_workflows WHERE settled_by IS NOT NULL ORDER BY seq
         LIMIT (SELECT COUNT(*) FROM cf_workflows) - ?)`,
      WORKFLOW_LIMIT - 1
    );
    if (this.#isFull()) throw workflowErrors.WorkflowLimitError(WORKFLOW_LIMIT);
  }

  #isFull(): boolean {
    // The span of numbers bounds the count and costs two lookups; counting is for tables that have lived long.
    const span = this.#table.one<{ low: number | null; high: number | null }>(
      "SELECT (SELECT MIN(seq) FROM cf_workflows) AS low, (SELECT MAX(seq) FROM cf_workflows) AS high"
    );
    if (!span || span.low === null || span.high === null || span.high - span.low + 1 < WORKFLOW_LIMIT) return false;
    const counted = this.#table.one<{ count: number }>("SELECT COUNT(*) AS count FROM cf_workflows");
    return (counted?.count ?? 0) >= WORKFLOW_LIMIT;
  }
}

/** A list that cannot be read counts as empty: a repeated report is then taken once more. */
export function deliveredSteps(row: WorkflowRow): string[] {
  const parsed = parseJson(row.delivered);
  return parsed.ok && Array.isArray(parsed.value) ? parsed.value : [];
}

export function toInfo(row: WorkflowRow): WorkflowInfo {
  const metadata = row.metadata === null ? undefined : parseJson(row.metadata);
  return {
    id: row.id,
    workflowId: row.id,
    workflowName: row.workflow,
    status: row.status,
    isCreated: row.is_created === 1,
    metadata: metadata?.ok ? metadata.value : null,
    error: row.error,
    createdAt: row.created_at,
    updatedAt: row.updated_at
  };
}
