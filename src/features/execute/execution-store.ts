// Runs of code and their logs, as rows. Each method is one synchronous state change; a state only moves forward, and of two
// callers that want to move it one wins.
import type { Clock, Ids, Sql } from "../../host/ports.ts";
import { TableSet } from "../../host/table-set.ts";
import type { ParkedCall } from "../../turn/late-outcomes.ts";
import { parseJson, textsIn } from "../../util/json.ts";
import { EXECUTION_TABLES } from "./tables.ts";

/** Runs that ended and are kept. */
export const DEFAULT_MAX_EXECUTIONS = 50;
/** Snippets that are kept at once. */
export const MAX_SNIPPETS = 50;

export type ExecutionStatus = "running" | "paused" | "completed" | "error" | "rejected" | "aborted" | "rolled_back";
export type LogState = "executing" | "applied" | "pending" | "approved" | "failed" | "reverted" | "error";

export interface Execution extends ParkedCall {
  readonly id: string;
  /** The name of the runtime whose connectors it uses. */
  readonly runtime: string;
  readonly code: string;
  readonly status: ExecutionStatus;
  /** Encoded; null while there is none. */
  readonly result: string | null;
  readonly error: string | null;
  readonly logs: readonly string[];
  readonly connectors: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
  /** It went on after its turn: its outcome is placed in the transcript. */
  readonly isLate: boolean;
  readonly isPlaced: boolean;
  readonly dueAt: number | null;
  /** Of the log, when the newest pass began. */
  readonly progress: number;
  /** Passes in a row that ended without progress: their processes died. */
  readonly idlePasses: number;
}

export interface LogEntry {
  readonly seq: number;
  readonly connector: string;
  readonly method: string;
  readonly args: string;
  /** Encoded result, or the error of a call that failed as JSON. */
  readonly result: string | null;
  readonly requiresApproval: boolean;
  readonly isEphemeral: boolean;
  readonly state: LogState;
  readonly order: number | null;
  readonly editedArgs: string | null;
  readonly decidedBy: string | null;
  readonly mayHaveRun: boolean;
  /** How often. */
  readonly askedAgain: number;
}

export interface Snippet {
  readonly name: string;
  readonly description?: string;
  readonly code: string;
  readonly savedAt: number;
  readonly inputSchema?: unknown;
  readonly connectors: readonly string[];
}

/** As the statements below name its columns. */
export type ExecutionRow = Omit<Execution, "executionId" | "action" | "logs" | "connectors" | "isLate" | "isPlaced"> & {
  readonly logs: string | null;
  readonly connectors: string;
  readonly isLate: number;
  readonly isPlaced: number;
};

const EXECUTION_COLUMNS = `id, runtime, code, status, result, error, logs, connectors, created_at AS createdAt,
  updated_at AS updatedAt, tool_call_id AS toolCallId, turn_id AS turnId, request_id AS requestId,
  message_id AS messageId, is_late AS isLate, is_placed AS isPlaced, due_at AS dueAt, progress,
  idle_passes AS idlePasses`;

export type LogRow = Omit<LogEntry, "requiresApproval" | "isEphemeral" | "mayHaveRun" | "askedAgain"> & {
  readonly requiresApproval: number;
  readonly isEphemeral: number;
  readonly mayHaveRun: number;
};

const LOG_COLUMNS = `seq, connector, method, args, result, requires_approval AS requiresApproval,
  ephemeral AS isEphemeral, state, settled_order AS "order", edited_args AS editedArgs, decided_by AS decidedBy,
  may_have_run AS mayHaveRun`;

export interface OpenRows {
  readonly row: ExecutionRow;
  readonly entries: readonly LogRow[];
}

export interface ExecutionPlace {
  readonly toolCallId: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
}

const ENDED = "('completed', 'error', 'rejected', 'aborted', 'rolled_back')";
/** What a pass adds to the log: a row, and the outcome of a row. */
const PROGRESS = `SELECT COUNT(*) + COUNT(settled_order) AS progress FROM cm_log WHERE execution_id = ?`;

export class ExecutionStore {
  readonly #sql: TableSet;
  readonly #all: Sql;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(init: { readonly sql: Sql; readonly clock: Clock; readonly ids: Ids }) {
    this.#all = init.sql;
    this.#sql = new TableSet(init.sql, EXECUTION_TABLES);
    this.#clock = init.clock;
    this.#ids = init.ids;
  }

  atomically<T>(work: () => T): T {
    return this.#all.transaction(work);
  }

  // ── Executions ──

  /** Its id. Ended runs beyond the newest `keep` are deleted with it. */
  create(
    init: ExecutionPlace & { runtime: string; code: string; connectors: readonly string[] },
    keep: number
  ): string {
    const now = this.#clock.now();
    const id = `exec_${String(now).padStart(16, "0")}_${this.#ids.next()}`;
    this.atomically(() => {
      this.#sql.run(
        `INSERT INTO cm_executions (id, runtime, code, status, connectors, created_at, updated_at, tool_call_id, turn_id,
           request_id, message_id) VALUES (?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?)`,
        id,
        init.runtime,
        init.code,
        JSON.stringify(init.connectors),
        now,
        now,
        init.toolCallId,
        init.turnId,
        init.requestId,
        init.messageId
      );
      this.prune(keep);
    });
    return id;
  }

  find(id: string): Execution | undefined {
    return this.#read("WHERE id = ?", id)[0];
  }

  /** The run of one tool call. */
  ofCall(messageId: string, toolCallId: string): Execution | undefined {
    return this.#read("WHERE tool_call_id = ? AND message_id = ? ORDER BY id DESC LIMIT 1", toolCallId, messageId)[0];
  }

  ofTurn(turnId: string): Execution[] {
    return this.#read("WHERE turn_id = ? ORDER BY id", turnId);
  }

  /** Newest first. */
  list(limit: number): Execution[] {
    return this.#read("ORDER BY id DESC LIMIT ?", limit);
  }

  inStatus(status: ExecutionStatus): Execution[] {
    return this.#read("WHERE status = ? ORDER BY id DESC", status);
  }

  /** Ended after their turn, and not yet in the transcript. */
  unplaced(): Execution[] {
    return this.#read("WHERE is_placed = 0 ORDER BY id");
  }

  /** Of runs that have not ended, or say no status: what their rows and their logs hold, as it is. */
  openRows(): OpenRows[] {
    const where = `WHERE status NOT IN ${ENDED} OR is_placed = 0 ORDER BY id`;
    return this.#sql
      .all<ExecutionRow>(`SELECT ${EXECUTION_COLUMNS} FROM cm_executions ${where}`)
      .map((row) => ({ row, entries: this.#logRows(row.id) }));
  }

  /** Ends a run whose rows cannot be read, and forgets those of its log. */
  giveUp(
    id: string,
    { error, isLate, badCalls }: { error: string; isLate: boolean; badCalls: readonly number[] }
  ): void {
    for (const seq of badCalls) this.#sql.change("DELETE FROM cm_log WHERE execution_id = ? AND seq = ?", id, seq);
    this.#sql.change(
      `UPDATE cm_executions SET status = 'error', error = ?, result = NULL, due_at = NULL, is_late = ?, is_placed = ?,
         updated_at = ? WHERE id = ?`,
      error,
      isLate ? 1 : 0,
      isLate ? 0 : 1,
      this.#clock.now(),
      id
    );
  }

  due(nowMs: number): Execution[] {
    return this.#read("WHERE due_at <= ? ORDER BY due_at LIMIT 500", nowMs);
  }

  nextDue(): number | null {
    return this.#sql.one<{ at: number | null }>("SELECT MIN(due_at) AS at FROM cm_executions")?.at ?? null;
  }

  /** A pass begins: counted before it runs, so that one which takes the process with it is known afterwards. */
  beginPass(id: string): void {
    const progress = this.#progressOf(id);
    this.#sql.change(
      `UPDATE cm_executions SET idle_passes = CASE WHEN progress = ? THEN idle_passes + 1 ELSE 0 END, progress = ?,
         updated_at = ? WHERE id = ?`,
      progress,
      progress,
      this.#clock.now(),
      id
    );
  }

  /** How many passes would have been without progress, were the next one to begin now. */
  idlePassesNow(id: string): number {
    const execution = this.find(id);
    return execution?.progress === this.#progressOf(id) ? execution.idlePasses + 1 : 0;
  }

  /** From running to another status. False: it is not running any more. */
  end(id: string, end: { status: ExecutionStatus; result?: string; error?: string; logs: readonly string[] }): boolean {
    const { status, result = null, error = null, logs } = end;
    return (
      this.#sql.change(
        `UPDATE cm_executions SET status = ?, result = ?, error = ?, logs = ?, updated_at = ?
         WHERE id = ? AND status = 'running'`,
        status,
        result,
        error,
        JSON.stringify(logs),
        this.#clock.now(),
        id
      ).changed === 1
    );
  }

  pause(id: string, dueAt: number | null): void {
    this.#sql.change(
      "UPDATE cm_executions SET status = 'paused', due_at = ?, updated_at = ? WHERE id = ? AND status IN ('running', 'paused')",
      dueAt,
      this.#clock.now(),
      id
    );
  }

  noteLogs(id: string, logs: readonly string[]): void {
    this.#sql.change("UPDATE cm_executions SET logs = ? WHERE id = ?", JSON.stringify(logs), id);
  }

  /** From paused to another status. One caller wins. A run that goes on does so after its turn, from its first pass on. */
  leavePause(id: string, status: "running" | "rejected" | "error", error: string | null = null): boolean {
    return (
      this.#sql.change(
        `UPDATE cm_executions SET status = ?, error = ?, due_at = NULL, is_late = 1, is_placed = 0, idle_passes = 0,
           progress = -1, updated_at = ? WHERE id = ? AND status = 'paused'`,
        status,
        error,
        this.#clock.now(),
        id
      ).changed === 1
    );
  }

  placed(id: string): void {
    this.#sql.change("UPDATE cm_executions SET is_placed = 1 WHERE id = ?", id);
  }

  rolledBack(id: string): void {
    this.#sql.change(
      "UPDATE cm_executions SET status = 'rolled_back', due_at = NULL, updated_at = ? WHERE id = ?",
      this.#clock.now(),
      id
    );
  }

  delete(id: string): boolean {
    return this.atomically(() => {
      this.#sql.change("DELETE FROM cm_log WHERE execution_id = ?", id);
      return this.#sql.change("DELETE FROM cm_executions WHERE id = ?", id).changed === 1;
    });
  }

  /** Ids of those that were deleted: ended runs beyond the newest `keep`. */
  prune(keep: number): string[] {
    const old = this.#sql
      .all<{ id: string }>(
        `SELECT id FROM cm_executions WHERE status IN ${ENDED} AND is_placed = 1 ORDER BY id DESC LIMIT -1 OFFSET ?`,
        keep
      )
      .map(({ id }) => id);
    for (const id of old) this.delete(id);
    return old;
  }

  /** The conversation is gone, and with it what its runs waited for. Snippets stay. */
  deleteAll(): void {
    this.#sql.change("DELETE FROM cm_log");
    this.#sql.change("DELETE FROM cm_executions");
  }

  // ── The log ──

  log(id: string): LogEntry[] {
    return this.#logRows(id).map(entryOf);
  }

  #logRows(id: string): LogRow[] {
    return this.#sql.all<LogRow>(`SELECT ${LOG_COLUMNS} FROM cm_log WHERE execution_id = ? ORDER BY seq`, id);
  }

  entry(id: string, seq: number): LogEntry | undefined {
    const row = this.#sql.one<LogRow>(`SELECT ${LOG_COLUMNS} FROM cm_log WHERE execution_id = ? AND seq = ?`, id, seq);
    return row && entryOf(row);
  }

  add(
    id: string,
    entry: Pick<LogEntry, "seq" | "connector" | "method" | "args" | "requiresApproval" | "isEphemeral" | "state">
  ): void {
    this.#sql.run(
      `INSERT OR REPLACE INTO cm_log (execution_id, seq, connector, method, args, requires_approval, ephemeral, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      entry.seq,
      entry.connector,
      entry.method,
      entry.args,
      entry.requiresApproval ? 1 : 0,
      entry.isEphemeral ? 1 : 0,
      entry.state
    );
  }

  move(id: string, seq: number, state: LogState): void {
    this.#sql.change("UPDATE cm_log SET state = ? WHERE execution_id = ? AND seq = ?", state, id, seq);
  }

  /** What came of a call, and the place of its answer among the answers. First write wins. */
  settle(id: string, seq: number, end: { state: "applied" | "failed"; result: string | null; order: number }): void {
    this.#sql.change(
      `UPDATE cm_log SET state = ?, result = ?, settled_order = ?
       WHERE execution_id = ? AND seq = ? AND state = 'executing'`,
      end.state,
      end.result,
      end.order,
      id,
      seq
    );
  }

  /** Asked again: the process died in the call after it was approved. */
  askAgain(id: string, seq: number): void {
    this.#sql.change(
      "UPDATE cm_log SET state = 'pending', may_have_run = may_have_run + 1, decided_by = NULL WHERE execution_id = ? AND seq = ?",
      id,
      seq
    );
  }

  /** False: it does not wait any more. */
  approve(id: string, seq: number, decision: { by: string | null; editedArgs: string | null }): boolean {
    return (
      this.#sql.change(
        `UPDATE cm_log SET state = 'approved', decided_by = ?, edited_args = ?
         WHERE execution_id = ? AND seq = ? AND state = 'pending'`,
        decision.by,
        decision.editedArgs,
        id,
        seq
      ).changed === 1
    );
  }

  reject(id: string, seq: number, by: string | null): void {
    this.#sql.change(
      "UPDATE cm_log SET state = 'reverted', decided_by = ? WHERE execution_id = ? AND seq = ?",
      by,
      id,
      seq
    );
  }

  #progressOf(id: string): number {
    return this.#sql.one<{ progress: number }>(PROGRESS, id)?.progress ?? 0;
  }

  // ── Snippets ──

  saveSnippet(snippet: Omit<Snippet, "savedAt">): void {
    const { name, description = null, code, inputSchema, connectors } = snippet;
    this.#sql.run(
      `INSERT OR REPLACE INTO cm_snippets (name, description, code, saved_at, input_schema, connectors)
       VALUES (?, ?, ?, ?, ?, ?)`,
      name,
      description,
      code,
      this.#clock.now(),
      inputSchema === undefined ? null : JSON.stringify(inputSchema),
      JSON.stringify(connectors)
    );
  }

  snippets(): Snippet[] {
    return this.#sql
      .all<{
        name: string;
        description: string | null;
        code: string;
        saved_at: number;
        input_schema: string | null;
        connectors: string;
      }>("SELECT * FROM cm_snippets ORDER BY name")
      .map(({ name, description, code, saved_at, input_schema, connectors }) => ({
        name,
        description: description ?? undefined,
        code,
        savedAt: saved_at,
        inputSchema: input_schema !== null ? (JSON.parse(input_schema) as unknown) : undefined,
        connectors: textsOf(connectors)
      }));
  }

  deleteSnippet(name: string): boolean {
    return this.#sql.change("DELETE FROM cm_snippets WHERE name = ?", name).changed === 1;
  }

  #read(where: string, ...values: (string | number)[]): Execution[] {
    return this.#sql
      .all<ExecutionRow>(`SELECT ${EXECUTION_COLUMNS} FROM cm_executions ${where}`, ...values)
      .map(executionOf);
  }
}

function executionOf(row: ExecutionRow): Execution {
  return {
    ...row,
    executionId: row.id,
    action: row.runtime,
    logs: textsOf(row.logs),
    connectors: textsOf(row.connectors),
    isLate: row.isLate === 1,
    isPlaced: row.isPlaced === 1
  };
}

function entryOf(row: LogRow): LogEntry {
  return {
    ...row,
    requiresApproval: row.requiresApproval === 1,
    isEphemeral: row.isEphemeral === 1,
    mayHaveRun: row.mayHaveRun > 0,
    askedAgain: row.mayHaveRun
  };
}

function textsOf(json: string | null): string[] {
  const parsed = parseJson(json ?? "[]");
  return parsed.ok ? textsIn(parsed.value) : [];
}
