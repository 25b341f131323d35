// The runs that an agent has started, one row each: what a parent must know of its children after a restart. The input is
// not here: it may be large or secret, and the child has it. Rows of open runs are kept in memory, because they are asked
// for at every wake.
import { Cached } from "../../host/cached.ts";
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { parseJson, stringifyJson } from "../../util/json.ts";
import {
  isHardTerminal,
  isOpenRun,
  type AgentToolDisplay,
  type AgentToolInterruption,
  type AgentToolRunInfo,
  type AgentToolRunStatus,
  type AgentToolValue,
  type BackgroundRun,
  type RunAgentToolResult,
  type ChildRunEnd
} from "./run.ts";

export const RUN_TABLES: readonly TableDefinition[] = [
  // Bound: `agentToolRetention`; without it one row per run, as long as its child is kept. Deleted: with the child, by
  // `clearAgentToolRuns`, retention, or a clear of the conversation.
  {
    name: "cf_child_runs",
    create: [
      `CREATE TABLE cf_child_runs (
        run_id TEXT PRIMARY KEY,
        ordinal INTEGER NOT NULL,
        class_name TEXT NOT NULL,
        call_id TEXT,
        turn_id TEXT,
        preview TEXT,
        display TEXT,
        display_order INTEGER NOT NULL,
        status TEXT NOT NULL,
        summary TEXT,
        output TEXT,
        error TEXT,
        reason TEXT,
        still_running INTEGER,
        tokens INTEGER NOT NULL DEFAULT 0,
        last_event INTEGER NOT NULL DEFAULT 0,
        cancel TEXT,
        detached TEXT,
        reports INTEGER NOT NULL DEFAULT 0,
        started_at INTEGER NOT NULL,
        completed_at INTEGER
      ) WITHOUT ROWID`
    ]
  }
];

/** "clearing": it is being deleted, and counts as gone. */
export type StoredStatus = AgentToolRunStatus | "clearing";

export interface RunRow {
  readonly run_id: string;
  /** In the order in which the runs began. */
  readonly ordinal: number;
  readonly class_name: string;
  readonly call_id: string | null;
  /** The turn that waits for it; null: none does. */
  readonly turn_id: string | null;
  readonly preview: string | null;
  readonly display: string | null;
  readonly display_order: number;
  readonly status: StoredStatus;
  readonly summary: string | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly reason: AgentToolInterruption | null;
  readonly still_running: number | null;
  /** Used by the child and everything below it. */
  readonly tokens: number;
  /** The number of the newest event that clients were sent. */
  readonly last_event: number;
  /** It is to be stopped, and why. */
  readonly cancel: string | null;
  readonly detached: string | null;
  /** 0: its end is reported to user code, or need not be. Otherwise the processes that have begun to, with the first. */
  readonly reports: number;
  readonly started_at: number;
  readonly completed_at: number | null;
}

export type NewRun = Pick<RunRow, "run_id" | "class_name" | "call_id" | "turn_id" | "preview" | "display_order"> & {
  readonly display: AgentToolDisplay | undefined;
  readonly detached: BackgroundRun | undefined;
};

export interface ClearAgentToolRunsOptions {
  /** Only runs that began before this. */
  readonly olderThan?: number | Date;
  /** Only runs in one of these states. */
  readonly status?: AgentToolRunStatus | readonly AgentToolRunStatus[];
}

interface Expiry {
  readonly maxRuns?: number | undefined;
  readonly endedBefore?: number | undefined;
  readonly openTurns: readonly string[];
}

const NOT_OF_TURNS = "(turn_id IS NULL OR turn_id NOT IN (SELECT value FROM json_each(?1)))";
const UNFINISHED = "status IN ('starting', 'running', 'clearing') OR reports > 0";

export class RunTable {
  readonly #table: TableSet;
  readonly #unfinished: Cached<readonly RunRow[]>;

  constructor(sql: Sql) {
    this.#table = new TableSet(sql, RUN_TABLES);
    this.#unfinished = new Cached(sql, () =>
      this.#table.all<RunRow>(`SELECT * FROM cf_child_runs WHERE ${UNFINISHED} ORDER BY ordinal`)
    );
  }

  get exists(): boolean {
    return this.#table.exists;
  }

  /** Undefined also for one that is being deleted. */
  get(runId: string): RunRow | undefined {
    const row = this.#table.one<RunRow>("SELECT * FROM cf_child_runs WHERE run_id = ?", runId);
    return row?.status === "clearing" ? undefined : row;
  }

  /** In the order in which they began; the newest `limit` of them. */
  list(limit: number): RunRow[] {
    return this.#table
      .all<RunRow>("SELECT * FROM cf_child_runs WHERE status <> 'clearing' ORDER BY ordinal DESC LIMIT ?", limit)
      .reverse();
  }

  /** Runs that are open, are to be deleted, or whose end is to be reported. */
  unfinished(): readonly RunRow[] {
    return this.#table.exists ? this.#unfinished.value : [];
  }

  open(): readonly RunRow[] {
    return this.unfinished().filter(({ status }) => isOpenRun(status));
  }

  openOfTurn(turnId: string): readonly RunRow[] {
    return this.open().filter((row) => row.turn_id === turnId);
  }

  add(run: NewRun, now: number): RunRow {
    this.#table.run(
      `INSERT INTO cf_child_runs (run_id, ordinal, class_name, call_id, turn_id, preview, display, display_order, detached,
         status, started_at)
       SELECT ?, COALESCE(MAX(ordinal), 0) + 1, ?, ?, ?, ?, ?, ?, ?, 'starting', ? FROM cf_child_runs`,
      ...[run.run_id, run.class_name, run.call_id, run.turn_id, run.preview, stringifyJson(run.display) ?? null],
      ...[run.display_order, stringifyJson(run.detached) ?? null, now]
    );
    return this.#changed(run.run_id);
  }

  began(runId: string): void {
    this.#table.change("UPDATE cf_child_runs SET status = 'running' WHERE run_id = ? AND status = 'starting'", runId);
    this.#unfinished.drop();
  }

  requestCancel(runId: string, reason: string): void {
    this.#table.change(
      "UPDATE cf_child_runs SET cancel = ? WHERE run_id = ? AND cancel IS NULL AND status IN ('starting', 'running')",
      ...[reason, runId]
    );
    this.#unfinished.drop();
  }

  /** The first hard terminal wins. The row as it is now; undefined: it is gone. */
  end(runId: string, end: ChildRunEnd, { at, chunks, reports }: EndNote): RunRow | undefined {
    const row = this.get(runId);
    if (!row || isHardTerminal(row.status)) return row;
    const stillRunning = end.childStillRunning === undefined ? null : Number(end.childStillRunning);
    this.#table.change(
      `UPDATE cf_child_runs SET status = ?, summary = ?, output = ?, error = ?, reason = ?, still_running = ?,
         tokens = MAX(tokens, ?), last_event = MAX(last_event, ?) + 1, reports = ?, completed_at = ? WHERE run_id = ?`,
      ...[end.status, end.summary ?? null, stringifyJson(end.output) ?? null, end.error ?? null, end.reason ?? null],
      ...[stillRunning, end.tokens ?? 0, chunks, Number(reports), at, runId]
    );
    return this.#changed(runId);
  }

  /** An earlier process has begun to report this end, and its own did not return. */
  reportBegins({ run_id, last_event }: RunRow): void {
    this.#table.change(
      "UPDATE cf_child_runs SET reports = reports + 1 WHERE run_id = ? AND last_event = ?",
      run_id,
      last_event
    );
    this.#unfinished.drop();
  }

  /** Only this end: the run may have ended anew meanwhile. */
  reported({ run_id, last_event }: RunRow): void {
    this.#table.change("UPDATE cf_child_runs SET reports = 0 WHERE run_id = ? AND last_event = ?", run_id, last_event);
    this.#unfinished.drop();
  }

  /** They count as gone from now on; `remove` follows for each. */
  markCleared({ olderThan, status }: ClearAgentToolRunsOptions = {}): void {
    const before = olderThan === undefined ? null : Number(olderThan);
    const states = status === undefined ? null : JSON.stringify([status].flat());
    this.#table.change(
      `UPDATE cf_child_runs SET status = 'clearing', cancel = 'clearing agent tool run'
       WHERE status <> 'clearing' AND (?1 IS NULL OR started_at < ?1)
         AND (?2 IS NULL OR status IN (SELECT value FROM json_each(?2)))`,
      ...[before, states]
    );
    this.#unfinished.drop();
  }

  /** Of runs that are over, all but the newest, or those that ended before a time. Not those of these turns. */
  markExpired({ maxRuns, endedBefore, openTurns }: Expiry): void {
    this.#table.change(
      `UPDATE cf_child_runs SET status = 'clearing'
       WHERE status IN ('completed', 'error', 'aborted', 'interrupted') AND reports = 0 AND ${NOT_OF_TURNS}
         AND (completed_at < ?2 OR (?3 IS NOT NULL AND ordinal NOT IN (SELECT ordinal FROM cf_child_runs
           WHERE status <> 'clearing' ORDER BY ordinal DESC LIMIT ?3)))`,
      ...[JSON.stringify(openTurns), endedBefore ?? null, maxRuns ?? null]
    );
    this.#unfinished.drop();
  }

  /** Of those that `markExpired` may take. */
  firstEndedAt(openTurns: readonly string[]): number | null {
    const query = `SELECT MIN(completed_at) AS at FROM cf_child_runs WHERE status <> 'clearing' AND reports = 0
      AND ${NOT_OF_TURNS}`;
    return this.#table.one<{ at: number | null }>(query, JSON.stringify(openTurns))?.at ?? null;
  }

  remove(runId: string): void {
    this.#table.change("DELETE FROM cf_child_runs WHERE run_id = ?", runId);
    this.#unfinished.drop();
  }

  /** Used by the runs of a turn that are over. */
  tokensOf(turnId: string): number {
    const query = "SELECT SUM(tokens) AS tokens FROM cf_child_runs WHERE turn_id = ?";
    return this.#table.one<{ tokens: number | null }>(query, turnId)?.tokens ?? 0;
  }

  #changed(runId: string): RunRow {
    this.#unfinished.drop();
    const row = this.#table.one<RunRow>("SELECT * FROM cf_child_runs WHERE run_id = ?", runId);
    if (!row) throw new TypeError("A run was not stored.");
    return row;
  }
}

export interface EndNote {
  readonly at: number;
  /** The number of the newest chunk that clients were sent. */
  readonly chunks: number;
  /** User code is to be called. */
  readonly reports: boolean;
}

export function runInfo(row: RunRow): AgentToolRunInfo {
  const display = displayOf(row);
  return {
    runId: row.run_id,
    parentToolCallId: row.call_id ?? undefined,
    agentType: row.class_name,
    inputPreview: row.preview ?? undefined,
    // Callers are not shown rows that are being deleted.
    status: row.status as AgentToolRunStatus,
    display,
    displayOrder: row.display_order,
    startedAt: row.started_at,
    completedAt: row.completed_at ?? undefined
  };
}

export function runResult(row: RunRow): RunAgentToolResult {
  const output = row.output === null ? undefined : parseJson(row.output);
  return {
    runId: row.run_id,
    agentType: row.class_name,
    // Asked of runs that are over, and of background runs that have begun.
    status: row.status as RunAgentToolResult["status"],
    // Parsed JSON.
    output: output?.ok ? (output.value as AgentToolValue) : undefined,
    summary: row.summary ?? undefined,
    error: row.error ?? undefined,
    reason: row.reason ?? undefined,
    childStillRunning: row.still_running !== null ? row.still_running === 1 : undefined
  };
}

export function displayOf({ display }: Pick<RunRow, "display">): AgentToolDisplay | undefined {
  const parsed = display === null ? undefined : parseJson(display);
  // Written by `add` only.
  return parsed?.ok ? (parsed.value as AgentToolDisplay) : undefined;
}

export function backgroundOf({ detached }: Pick<RunRow, "detached">): BackgroundRun | undefined {
  const parsed = detached === null ? undefined : parseJson(detached);
  // Written by `add` only.
  return parsed?.ok ? (parsed.value as BackgroundRun) : undefined;
}
