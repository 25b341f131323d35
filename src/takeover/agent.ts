// What becomes of the data that every agent of the original has: state, schedules, queue, fibers, children, workflows; MCP
// servers and runs of children are in their own folders. One part per kind, for both layouts of its tables. What a conversation
// has beside them is in parts.ts.
import type { Sql } from "../host/ports.ts";
import { TableSet } from "../host/table-set.ts";
import { TAKEOVER_TABLES, type TakeoverContext, type TakeoverPart } from "../host/takeover.ts";
import { canonicalJson, isObject, parseJson } from "../util/json.ts";
import { CHILD_RUNS } from "../features/agent-tools/take-over.ts";
import { FIBER_TABLES } from "../features/fibers/fiber-table.ts";
import { MCP_SERVERS } from "../features/mcp/take-over.ts";
import { QUEUE } from "../features/queue/queue-item.ts";
import { dedupKey, type ScheduleType } from "../features/schedules/schedule-row.ts";
import { SCHEDULE, SCHEDULE_ROWS } from "../features/schedules/schedule-table.ts";
import { childEntry, SCHEDULES_OF } from "../agent/tree/taken-over-children.ts";
import { STATE_TABLES } from "../agent/state.ts";
import { CHILD_WAKE } from "../agent/tree/child-wakes.ts";
import { CHILDREN_TABLES } from "../agent/tree/children.ts";
import { pathKey, type AgentPath, type AgentPathStep } from "../host/path.ts";
import { WORK_TABLES } from "../work/work-table.ts";
import { WORKFLOW_TABLES } from "../features/workflows/workflow-table.ts";
import { WorkTable } from "../work/work-table.ts";

// ── State ──

const STATE: TakeoverPart = {
  kind: "state",
  tables: ["cf_agents_state"],
  refuses: ({ sql, has }) => {
    if (!has("cf_agents_state")) return [];
    const known = "'cf_state_row_id', 'cf_state_was_changed', 'cf_schema_version'";
    const unknown = sql.all<{ id: string }>(`SELECT id FROM cf_agents_state WHERE id NOT IN (${known})`);
    return unknown.map(({ id }) => ({ what: `state row ${id}`, rows: 1 }));
  },
  carry({ sql, has }) {
    if (!has("cf_agents_state")) return undefined;
    const query = "SELECT state FROM cf_agents_state WHERE id = 'cf_state_row_id' AND state IS NOT NULL";
    const row = sql.one<{ state: string }>(query);
    if (!row) return undefined;
    new TableSet(sql, STATE_TABLES).run("INSERT INTO cf_state (id, json) VALUES (1, ?)", row.state);
    return { found: 1, carried: 1, left: 0 };
  }
};

// ── Schedules and the queue ──

/** A schedule on its way, also from the root of a tree to the child that owns it. */
export interface CarriedSchedule {
  readonly id: string;
  readonly callback: string;
  /** JSON. */
  readonly payload: string;
  readonly type: ScheduleType;
  readonly detail: string | null;
  readonly timeMs: number;
  readonly retry: string | null;
}

interface OwnedSchedule extends CarriedSchedule {
  /** Of the child that owns it, as the original spells it; null: this agent. */
  readonly ownerPath: string | null;
}

interface OriginalSchedule {
  id: string;
  callback: string;
  payload: string | null;
  type: ScheduleType;
  time: number;
  delayInSeconds: number | null;
  cron: string | null;
  intervalSeconds: number | null;
  retry_options: string | null;
  owner_path: string | null;
}

interface OriginalJob {
  id: string;
  capability: string;
  fn: string;
  time: number;
  payload: string | null;
  retry_options: string | null;
}

/**
 * Schedules that the original makes for itself. Buffers of streams have no counterpart, declared tasks are made anew from
 * the class, and what continues a turn is read by the part that carries turns, which refuses one that it cannot read.
 * Submissions that wait are carried as such, without the wake that some versions had for them. No
 * fixture has `_chatRecoveryRetry`.
 */
const OWN_CALLBACKS =
  /^_(?:cleanupStreamBuffers|chatRecovery(?:Continue|Retry)|cfRunSubmission|drainThinkSubmissions|runDeclaredScheduledTask\w*)$/;
/** What every job of the newer layout has when its caller gave no options. */
const DEFAULT_RETRY = canonicalJson({ maxAttempts: 3, baseDelayMs: 100, maxDelayMs: 3000 });
const SCHEDULE_TYPES = new Set<string>(["delayed", "scheduled", "cron", "interval"]);
/** Its own bookkeeping in the table of jobs: heartbeats, and the wakes of tasks. */
const OWN_CAPABILITIES = new Set(["host", "tasks"]);

const SCHEDULES: TakeoverPart = {
  kind: "schedules",
  tables: ["cf_agents_schedules"],
  refuses({ sql, has }) {
    const rows = has("cf_agents_schedules") ? originalSchedules(sql) : [];
    return refusedSchedules(rows);
  },
  carry: (context) =>
    context.has("cf_agents_schedules") ? carrySchedules(context, originalSchedules(context.sql)) : undefined
};

const JOBS: TakeoverPart = {
  kind: "schedules",
  tables: ["cf_agents_jobs"],
  refuses({ sql, has }) {
    if (!has("cf_agents_jobs")) return [];
    const jobs = originalJobs(sql);
    const unknown = jobs.filter(
      ({ capability }) => !["scheduler", "queue"].includes(capability) && !OWN_CAPABILITIES.has(capability)
    );
    return [
      ...refusedSchedules(jobs.filter(isSchedule).map(scheduleOfJob)),
      { what: "jobs of an unknown capability", rows: unknown.length }
    ];
  },
  carry(context) {
    if (!context.has("cf_agents_jobs")) return undefined;
    return carrySchedules(context, originalJobs(context.sql).filter(isSchedule).map(scheduleOfJob));
  }
};

function originalSchedules(sql: Sql): OwnedSchedule[] {
  const rows = sql.all<OriginalSchedule>("SELECT * FROM cf_agents_schedules ORDER BY time, rowid");
  return rows.map((row) => ({
    id: row.id,
    callback: row.callback,
    payload: row.payload ?? "null",
    type: row.type,
    detail: detailOf(row),
    timeMs: row.time * 1000,
    // Columns that the first versions did not have.
    retry: row.retry_options ?? null,
    ownerPath: row.owner_path ?? null
  }));
}

function originalJobs(sql: Sql): OriginalJob[] {
  return sql.all<OriginalJob>(
    "SELECT id, capability, fn, time, payload, retry_options FROM cf_agents_jobs ORDER BY time, created_at, id"
  );
}

function isSchedule({ capability }: OriginalJob): boolean {
  return capability === "scheduler";
}

function scheduleOfJob(job: OriginalJob): OwnedSchedule {
  const stored = parseJson(job.payload ?? "{}");
  const body = stored.ok && isObject(stored.value) ? stored.value : {};
  const { type, payload = null, owner_path: ownerPath } = body;
  return {
    id: job.id,
    callback: job.fn,
    payload: JSON.stringify(payload),
    // Another one is refused by `refusedSchedules`.
    type: String(type) as ScheduleType,
    detail: detailOf(body as Pick<OriginalSchedule, "delayInSeconds" | "cron" | "intervalSeconds">),
    timeMs: job.time,
    retry: retryOf(job),
    ownerPath: typeof ownerPath === "string" ? ownerPath : null
  };
}

function retryOf({ retry_options: text }: OriginalJob): string | null {
  const parsed = text === null ? undefined : parseJson(text);
  return parsed?.ok && canonicalJson(parsed.value as never) !== DEFAULT_RETRY ? text : null;
}

function detailOf(row: Pick<OriginalSchedule, "delayInSeconds" | "cron" | "intervalSeconds">): string | null {
  const detail = row.cron ?? row.intervalSeconds ?? row.delayInSeconds;
  return detail === null || detail === undefined ? null : String(detail);
}

function refusedSchedules(rows: readonly OwnedSchedule[]) {
  const own = rows.filter(({ callback }) => callback.startsWith("_") && !OWN_CALLBACKS.test(callback));
  const odd = rows.filter(({ type }) => !SCHEDULE_TYPES.has(type));
  return [
    ...own.map(({ callback }) => ({ what: `schedule of the original itself (${callback})`, rows: 1 })),
    { what: "schedules of an unknown type", rows: odd.length }
  ];
}

function carrySchedules(context: TakeoverContext, rows: readonly OwnedSchedule[]) {
  // One of an unknown type is here only if the class gives schedules up.
  const theirs = rows.filter(({ callback, type }) => callback.startsWith("_") || !SCHEDULE_TYPES.has(type));
  const carried = rows.filter((row) => !theirs.includes(row));
  insertSchedules(
    context.sql,
    carried.filter(({ ownerPath }) => ownerPath === null)
  );
  handDown(
    context,
    carried.filter(({ ownerPath }) => ownerPath !== null)
  );
  return { found: rows.length, carried: carried.length, left: theirs.length };
}

/** A schedule that is there already stays as it is. */
function insertSchedules(sql: Sql, rows: readonly CarriedSchedule[]): void {
  const table = new WorkTable(sql, { name: SCHEDULE, replaces: [SCHEDULE_ROWS] });
  for (const { id, callback, payload, type, detail, timeMs, retry } of rows) {
    const parsed = parseJson(payload);
    const settings = retry === null ? undefined : parseJson(retry);
    const timer = { callback, type, detail, payload: parsed.ok ? parsed.value : null };
    // A schedule that is asked for again finds this one.
    const lane = dedupKey(timer);
    const stored = {
      ...{ ...timer, time: timeMs, text: parsed.ok ? undefined : payload },
      retry: settings?.ok ? settings.value : undefined
    };
    table.insert({ key: id, lane, payload: JSON.stringify(stored), dueAt: timeMs, now: timeMs });
  }
}

/** Children keep their own schedules: they are kept here until the child that owns them is next reached. */
function handDown({ sql }: TakeoverContext, rows: readonly OwnedSchedule[]): void {
  const byChild = new Map<string, CarriedSchedule[]>();
  for (const { ownerPath, ...row } of rows) {
    const key = pathKey(belowRoot(ownerPath));
    byChild.set(key, [...(byChild.get(key) ?? []), row]);
  }
  const table = new TableSet(sql, TAKEOVER_TABLES);
  for (const [key, schedules] of byChild) {
    table.run("INSERT INTO cf_takeover (key, value) VALUES (?, ?)", SCHEDULES_OF + key, JSON.stringify(schedules));
    wakeChild(sql, key, Math.min(...schedules.map(({ timeMs }) => timeMs)));
  }
}

function wakeChild(sql: Sql, key: string, at: number): void {
  new TableSet(sql, WORK_TABLES).run(
    `INSERT INTO cf_work (kind, key, payload, due_at, created_at) VALUES (?, ?, 'null', ?, ?)
     ON CONFLICT (kind, key) DO UPDATE SET due_at = MIN(due_at, excluded.due_at)`,
    ...[CHILD_WAKE, key, at, at]
  );
}

/** The original's paths begin with the root itself. */
function belowRoot(ownerPath: string | null): AgentPath {
  const parsed = parseJson(ownerPath ?? "[]");
  const steps = parsed.ok && Array.isArray(parsed.value) ? (parsed.value as AgentPath) : [];
  return steps.slice(1).map(({ className, name }) => ({ className, name }));
}

const QUEUED_ITEMS: TakeoverPart = {
  kind: "queue",
  tables: ["cf_agents_queues"],
  refuses: (context) => {
    const own = queued(context).filter(({ callback }) => callback.startsWith("_") && !OWN_CALLBACKS.test(callback));
    const below = queued(context).filter(({ ownerPath }) => ownerPath !== null);
    return [
      { what: "queue items of the original itself", rows: own.length },
      { what: "queue items of children", rows: below.length }
    ];
  },
  carry(context) {
    const rows = queued(context);
    const table = new TableSet(context.sql, WORK_TABLES);
    const carried = rows.filter(({ callback, ownerPath }) => !callback.startsWith("_") && ownerPath === null);
    for (const row of carried) {
      table.run(
        "INSERT INTO cf_work (kind, key, lane, payload, due_at, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        ...[QUEUE, row.id, row.callback, queuedJson(row), row.createdAt, row.createdAt]
      );
    }
    return { found: rows.length, carried: carried.length, left: rows.length - carried.length };
  }
};

interface QueuedItem {
  readonly id: string;
  readonly callback: string;
  readonly payload: string;
  readonly createdAt: number;
  readonly retry: string | null;
  readonly ownerPath: string | null;
}

/** As the queue stores it. */
function queuedJson({ payload, retry }: QueuedItem): string {
  const options = retry !== null && parseJson(retry).ok ? `,"retry":${retry}` : "";
  return `{"payload":${payload}${options}}`;
}

/** In the order in which they were added. */
function queued({ sql, has }: TakeoverContext): QueuedItem[] {
  const older = has("cf_agents_queues")
    ? sql.all<QueuedItem & { payload: string | null }>(
        `SELECT id, callback, COALESCE(payload, 'null') AS payload, created_at * 1000 AS createdAt,
           retry_options AS retry, NULL AS ownerPath FROM cf_agents_queues ORDER BY rowid`
      )
    : [];
  const newer = has("cf_agents_jobs") ? originalJobs(sql).filter(({ capability }) => capability === "queue") : [];
  return [
    ...older,
    ...newer.map((job) => ({ ...scheduleOfJob(job), createdAt: job.time })).map(({ timeMs: _, ...item }) => item)
  ];
}

// ── Fibers ──

/** Runs of the original that are the turns of a chat. */
export const CHAT_RUN_PREFIX = "__cf_internal_chat_turn";
/** A task of the newer layout that goes on with a turn. */
export const CHAT_RECOVERY_TASK = "__cf_internal_chat_recovery";
export const OPEN_TASK = "state IN ('pending', 'running', 'waiting')";

const FIBERS: TakeoverPart = {
  kind: "fibers",
  tables: ["cf_agents_fibers", "cf_agents_runs", "cf_agents_task_runs", "cf_agents_task_steps"],
  refuses: ({ count }) => [
    {
      what: "unknown runs of the original itself",
      rows: count("cf_agents_runs", `name LIKE '\\_\\_cf\\_%' ESCAPE '\\' AND name NOT LIKE '${CHAT_RUN_PREFIX}%'`)
    },
    {
      what: "open tasks",
      rows: count(
        "cf_agents_task_runs",
        `${OPEN_TASK} AND definition NOT IN ('${CHAT_RUN_PREFIX}', '${CHAT_RECOVERY_TASK}')`
      )
    }
  ],
  carry({ sql, count }) {
    const managed = count("cf_agents_fibers") > 0 ? carryManaged(sql) : 0;
    const own = count("cf_agents_runs") > 0 ? carryUnmanaged(sql, managed > 0) : 0;
    const tasks = count("cf_agents_task_runs", `definition NOT IN ('${CHAT_RUN_PREFIX}', '${CHAT_RECOVERY_TASK}')`);
    return { found: managed + own + tasks, carried: managed + own, left: tasks };
  }
};

function carryManaged(sql: Sql): number {
  return new TableSet(sql, FIBER_TABLES).run(
    `INSERT INTO cf_fibers (id, idempotency_key, name, managed, status, snapshot, metadata, error, created_at, started_at,
       settled_at, work)
     SELECT fiber_id, idempotency_key, name, 1,
       CASE WHEN status IN ('pending', 'running', 'completed', 'error', 'aborted', 'interrupted') THEN status ELSE 'interrupted' END,
       snapshot, metadata_json, error_message, created_at, started_at, completed_at, 'fiber:' || fiber_id
     FROM cf_agents_fibers ORDER BY created_at, rowid`
  ).changed;
}

/** Which rows of `cf_agents_runs` are not over: in the newer layout a run keeps its row a while after its end. */
export function openRuns(sql: Sql): string {
  const columns = sql.all<{ name: string }>("PRAGMA table_info(cf_agents_runs)").map(({ name }) => name);
  return columns.includes("completed_at") ? "completed_at IS NULL" : "1 = 1";
}

/** A managed fiber that runs has a row in both tables. */
function carryUnmanaged(sql: Sql, hasManaged: boolean): number {
  const isOpen = openRuns(sql);
  const isOther = hasManaged ? "id NOT IN (SELECT fiber_id FROM cf_agents_fibers)" : "1 = 1";
  return new TableSet(sql, FIBER_TABLES).run(
    `INSERT INTO cf_fibers (id, name, managed, status, snapshot, created_at, started_at, work)
     SELECT id, name, 0, 'running', snapshot, created_at, created_at, 'fiber:' || id FROM cf_agents_runs
     WHERE ${isOpen} AND ${isOther} AND name NOT LIKE '${CHAT_RUN_PREFIX}%' ORDER BY created_at, rowid`
  ).changed;
}

// ── Children ──

const CHILDREN: TakeoverPart = {
  kind: "children",
  tables: ["cf_agents_sub_agents", "cf_agents_facet_runs"],
  carry({ sql, has, now }) {
    if (!has("cf_agents_sub_agents")) return undefined;
    const rows = sql.all<AgentPathStep & { createdAt: number }>(
      "SELECT class AS className, name, created_at AS createdAt FROM cf_agents_sub_agents ORDER BY created_at, rowid"
    );
    const children = new TableSet(sql, CHILDREN_TABLES);
    const takeover = new TableSet(sql, TAKEOVER_TABLES);
    for (const { className, name, createdAt } of rows) {
      children.run(
        "INSERT INTO cf_children (class_name, name, created_at) VALUES (?, ?, ?)",
        className,
        name,
        createdAt
      );
      takeover.run("INSERT INTO cf_takeover (key, value) VALUES (?, '')", childEntry({ className, name }));
    }
    // A child with work that was cut off is woken by its root: it has no alarm of its own.
    const running = has("cf_agents_facet_runs")
      ? sql.all<{ path: string }>("SELECT DISTINCT owner_path AS path FROM cf_agents_facet_runs")
      : [];
    for (const { path } of running) wakeChild(sql, pathKey(belowRoot(path)), now);
    return { found: rows.length, carried: rows.length, left: 0 };
  }
};

const ADOPTED = "adopted";

/** The child's side: the schedules that its root kept for it, taken once however often they are sent. */
export function adoptSchedules(sql: Sql, schedules: readonly CarriedSchedule[]): void {
  sql.transaction(() => {
    const table = new TableSet(sql, TAKEOVER_TABLES);
    if (table.run("INSERT OR IGNORE INTO cf_takeover (key, value) VALUES (?, '')", ADOPTED).changed === 0) return;
    insertSchedules(sql, schedules);
  });
}

// ── Workflows ──

const WORKFLOWS: TakeoverPart = {
  kind: "workflows",
  tables: ["cf_agents_workflows"],
  carry({ sql, count }) {
    if (count("cf_agents_workflows") === 0) return undefined;
    const carried = new TableSet(sql, WORKFLOW_TABLES).run(
      `INSERT INTO cf_workflows (id, workflow, status, is_created, metadata, error, created_at, updated_at)
       SELECT workflow_id, workflow_name, CASE WHEN status IN ('queued', 'complete') THEN status
         WHEN status IN ('errored', 'terminated') THEN 'errored' ELSE 'running' END,
         1, metadata, error_message, created_at * 1000, updated_at * 1000
       FROM cf_agents_workflows ORDER BY created_at, rowid`
    ).changed;
    return { found: carried, carried, left: 0 };
  }
};

/** Schedules come before children: both wake them. */
export const EVERY_AGENT_TAKEOVER: readonly TakeoverPart[] = [
  STATE,
  SCHEDULES,
  JOBS,
  QUEUED_ITEMS,
  FIBERS,
  CHILDREN,
  WORKFLOWS,
  MCP_SERVERS,
  CHILD_RUNS
];
