// One row per declared task: which schedule it was given, when it runs next, and what came of the last occurrence.
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";

export const TASK_TABLES: readonly TableDefinition[] = [
  // Bound: the tasks that getScheduledTasks() returns. Deleted: when it no longer returns them.
  {
    name: "cf_scheduled_tasks",
    create: [
      `CREATE TABLE cf_scheduled_tasks (
        task_id TEXT PRIMARY KEY,
        schedule_hash TEXT NOT NULL,
        task_hash TEXT NOT NULL,
        schedule_id TEXT,
        next_run_at INTEGER,
        last_run_at INTEGER,
        last_outcome TEXT,
        last_submission_id TEXT,
        last_error TEXT
      ) WITHOUT ROWID`
    ]
  }
];

export interface TaskRow {
  readonly task_id: string;
  readonly schedule_hash: string;
  readonly task_hash: string;
  /** Of the one-shot for the next occurrence; null: it is not made yet. */
  readonly schedule_id: string | null;
  readonly next_run_at: number | null;
  readonly last_run_at: number | null;
  readonly last_outcome: "submitted" | "handled" | "failed" | "skipped" | null;
  readonly last_submission_id: string | null;
  readonly last_error: string | null;
}

export type OccurrenceResult = Pick<TaskRow, "last_run_at" | "last_outcome" | "last_submission_id" | "last_error">;

export class TaskTable {
  readonly #table: TableSet;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, TASK_TABLES);
  }

  get isEmpty(): boolean {
    return !this.#table.exists;
  }

  all(): TaskRow[] {
    return this.#table.all<TaskRow>("SELECT * FROM cf_scheduled_tasks ORDER BY task_id");
  }

  get(taskId: string): TaskRow | undefined {
    return this.#table.one<TaskRow>("SELECT * FROM cf_scheduled_tasks WHERE task_id = ?", taskId);
  }

  /** A new task, or one with a new schedule: it has no one-shot yet. */
  put(task: { taskId: string; scheduleHash: string; taskHash: string }, nextRunAt: number): void {
    this.#table.run(
      `INSERT INTO cf_scheduled_tasks (task_id, schedule_hash, task_hash, next_run_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (task_id) DO UPDATE SET schedule_hash = excluded.schedule_hash, task_hash = excluded.task_hash,
         next_run_at = excluded.next_run_at, schedule_id = NULL`,
      ...[task.taskId, task.scheduleHash, task.taskHash, nextRunAt]
    );
  }

  noteTask(taskId: string, taskHash: string): void {
    this.#table.change("UPDATE cf_scheduled_tasks SET task_hash = ? WHERE task_id = ?", taskHash, taskId);
  }

  armed(taskId: string, scheduleId: string, nextRunAt: number): void {
    this.#table.change(
      "UPDATE cf_scheduled_tasks SET schedule_id = ?, next_run_at = ? WHERE task_id = ?",
      ...[scheduleId, nextRunAt, taskId]
    );
  }

  ran(taskId: string, { last_run_at, last_outcome, last_submission_id, last_error }: OccurrenceResult): void {
    this.#table.change(
      `UPDATE cf_scheduled_tasks SET last_run_at = ?, last_outcome = ?,
         last_submission_id = coalesce(?, last_submission_id), last_error = ? WHERE task_id = ?`,
      ...[last_run_at, last_outcome, last_submission_id, last_error, taskId]
    );
  }

  remove(taskId: string): void {
    this.#table.change("DELETE FROM cf_scheduled_tasks WHERE task_id = ?", taskId);
  }
}
