// The runs that an agent has started, one row each: what a parent must know of its children after a restart. The input is
// not here: it may be large or secret, and the child has it. What is to be done about a run that no call waits for is
// durable work. Rows of open runs are kept in memory, because each run that begins asks how many there are.
import { Cached } from "../../host/cached.ts";
import type { Sql, SqlValue } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { parseJson, stringifyJson } from "../../util/json.ts";
import { WORK_TABLES } from "../../work/work-table.ts";
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

/** The kinds of work on runs that were left, and on children that are to be deleted. */
export const LEFT = "agent-tool-run";
export const REMOVAL = "agent-tool-removal";

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
    ],
    migrations: [moveWork]
  }
];

/** Until schema version 7 a status said that a run is to be deleted, and a count how many processes had reported its end. */
function moveWork(sql: Sql): void {
  if (!sql.one("SELECT 1 FROM cf_child_runs WHERE status = 'clearing' OR reports > 0 LIMIT 1")) return;
  sql.catalog.make(WORK_TABLES);
  // A report was in flight when its process died: the start pauses it as often as processes have died of it.
  sql.run(
    `INSERT OR IGNORE INTO cf_work (kind, key, payload, due_at, claimed_at, claim, starts, created_at)
     SELECT ?, class_name || ':' || run_id, iif(cancel IS NULL, 'false', 'true'), started_at, NULL, 0, 0, started_at
     FROM cf_child_runs WHERE status = 'clearing'
     UNION ALL SELECT ?, last_event || ':' || run_id, 'null', NULL, started_at, CAST(reports AS INTEGER),
       MAX(CAST(reports AS INTEGER) - 1, 0), started_at
     FROM cf_child_runs WHERE status <> 'clearing' AND reports > 0`,
    ...[REMOVAL, LEFT]
  );
  sql.run("DELETE FROM cf_child_runs WHERE status = 'clearing'");
  sql.run("UPDATE cf_child_runs SET reports = 1 WHERE reports > 0");
}

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
  readonly status: AgentToolRunStatus;
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
  /** 1: its end is still to be reported to user code. */
  readonly reports: number;
  readonly started_at: number;
  readonly completed_at: number | null;
}

/** By which the child of a run is found. */
export type RunKey = Pick<RunRow, "run_id" | "class_name">;

export type NewRun = Pick<RunRow, "run_id" | "class_name" | "call_id" | "turn_id" | "preview" | "display_order"> & {
  readonly display: AgentToolDisplay | undefined;
  readonly detached: BackgroundRun | undefined;
};

/** The key of an item: an end, not a run, as one that was given up may end again. An open run has no end yet. */
export function workKeyOf({ run_id, last_event }: Pick<RunRow, "run_id" | "last_event">): string {
  return `${last_event}:${run_id}`;
}

export function isOfOpenRun({ key }: { readonly key: string }): boolean {
  return key.startsWith("0:");
}

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

const UNFINISHED = "status IN ('starting', 'running') OR reports > 0";
const NOT_OF_TURNS = "(turn_id IS NULL OR turn_id NOT IN (SELECT value FROM json_each(?1)))";

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

  /** Undefined also for one whose child is being deleted. */
  get(runId: string): RunRow | undefined {
    return this.#table.one<RunRow>("SELECT * FROM cf_child_runs WHERE run_id = ?", runId);
  }

  /** In the order in which they began; the newest `limit` of them. */
  list(limit: number): RunRow[] {
    return this.#table.all<RunRow>("SELECT * FROM cf_child_runs ORDER BY ordinal DESC LIMIT ?", limit).reverse();
  }

  /** Runs that are open, or whose end is to be reported. */
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

  /** Only this end: the run may have ended anew meanwhile. */
  reported({ run_id, last_event }: RunRow): void {
    this.#table.change("UPDATE cf_child_runs SET reports = 0 WHERE run_id = ? AND last_event = ?", run_id, last_event);
    this.#unfinished.drop();
  }

  /** Deletes rows and returns them: their children are to be deleted, too. */
  takeCleared({ olderThan, status }: ClearAgentToolRunsOptions = {}): RunKey[] {
    const before = olderThan === undefined ? null : Number(olderThan);
    const states = status === undefined ? null : JSON.stringify([status].flat());
    return this.#take(
      `(?1 IS NULL OR started_at < ?1) AND (?2 IS NULL OR status IN (SELECT value FROM json_each(?2)))`,
      ...[before, states]
    );
  }

  /** The same, of runs that are over: all but the newest, or those that ended before a time. Not those of these turns. */
  takeExpired({ maxRuns, endedBefore, openTurns }: Expiry): RunKey[] {
    return this.#take(
      `status IN ('completed', 'error', 'aborted', 'interrupted') AND reports = 0 AND ${NOT_OF_TURNS}
         AND (completed_at < ?2 OR (?3 IS NOT NULL AND ordinal NOT IN (SELECT ordinal FROM cf_child_runs
           ORDER BY ordinal DESC LIMIT ?3)))`,
      ...[JSON.stringify(openTurns), endedBefore ?? null, maxRuns ?? null]
    );
  }

  #take(which: string, ...values: SqlValue[]): RunKey[] {
    const taken = `DELETE FROM cf_child_runs WHERE ${which} RETURNING run_id, class_name`;
    this.#unfinished.drop();
    return this.#table.all<RunKey>(taken, ...values);
  }

  /** Of those that `takeExpired` may take. */
  firstEndedAt(openTurns: readonly string[]): number | null {
    const query = `SELECT MIN(completed_at) AS at FROM cf_child_runs WHERE reports = 0 AND ${NOT_OF_TURNS}`;
    return this.#table.one<{ at: number | null }>(query, JSON.stringify(openTurns))?.at ?? null;
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
    status: row.status,
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
