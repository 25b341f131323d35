// Version 1: the object itself, the agent's rooms, blobs and the journal.
import type { Sql } from "../ports.ts";
import { BLOB_TABLES, JOURNAL_TABLES } from "./001-journal.ts";

export function foundation(sql: Sql): void {
  for (const statement of [META_TABLE, ...AGENT_TABLES, ...BLOB_TABLES, ...JOURNAL_TABLES]) sql.run(statement);
}

// Each table: who owns it, what bounds it, what deletes from it.

/** What every object has. */
export const META_TABLE =
  // host: one row, for the life of the object.
  `CREATE TABLE cf_meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL,
    identity TEXT,
    condemned INTEGER NOT NULL DEFAULT 0
  )`;

export const AGENT_TABLES: readonly string[] = [
  // host/quarantine: 100 rows, oldest dropped.
  `CREATE TABLE cf_quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    row_key TEXT NOT NULL,
    body TEXT NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL
  )`,
  // agent/state: one row.
  `CREATE TABLE cf_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    json TEXT NOT NULL
  )`,
  // agent/schedules: SCHEDULE_LIMIT rows; deleted by one-shot completion, cancel, destroy. `time_ms` is the user's
  // time; `due_ms` is when the row may next start, which is later while it backs off or is marked running.
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
  `CREATE INDEX cf_schedules_dedup ON cf_schedules (dedup_key)`,
  // agent/queue: QUEUE_LIMIT pending rows until run; DEAD_LETTER_LIMIT dead ones, oldest dropped.
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
  `CREATE INDEX cf_queue_dead ON cf_queue (dead_at) WHERE dead_at IS NOT NULL`,
  // agent/fibers: unmanaged rows until the run ends or is recovered; managed ones until the user's deleteFibers.
  // `recover_at` is set while a recovery is owed. The last three columns came with version 4.
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
  `CREATE INDEX cf_fibers_recovery ON cf_fibers (recover_at) WHERE recover_at IS NOT NULL`,
  // agent/workflows: WORKFLOW_LIMIT rows, the oldest that have ended dropped; deleted by deleteWorkflow, destroy.
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
  )`,
  // agent/sub-agents: one row per child; deleted with the child.
  `CREATE TABLE cf_children (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    class_name TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (class_name, name)
  )`,
  // agent/child-wakes (root only): one row per facet that has durable work; deleted when it has none, or is deleted.
  `CREATE TABLE cf_wakes (
    path TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    leased_until INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER
  ) WITHOUT ROWID`
];
