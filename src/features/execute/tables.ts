// The tables of executed code.
import type { TableDefinition } from "../../host/table-set.ts";

export const EXECUTION_TABLES: readonly TableDefinition[] = [
  // Bound: the newest 50 that ended, and those that run or wait, which expire. Deleted: by the next run, or by user code.
  {
    name: "cm_executions",
    create: [
      `CREATE TABLE cm_executions (
        id TEXT PRIMARY KEY,
        runtime TEXT NOT NULL,
        code TEXT NOT NULL,
        status TEXT NOT NULL,
        result TEXT,
        error TEXT,
        logs TEXT,
        connectors TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        tool_call_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        request_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        is_late INTEGER NOT NULL DEFAULT 0,
        is_placed INTEGER NOT NULL DEFAULT 1,
        due_at INTEGER,
        progress INTEGER NOT NULL DEFAULT -1,
        idle_passes INTEGER NOT NULL DEFAULT 0
      )`,
      // When the next one that waits expires: the wake reads one entry of it.
      `CREATE INDEX cm_executions_due ON cm_executions (due_at) WHERE due_at IS NOT NULL`
    ]
  },
  // Bound: 1,000 calls of a run. Deleted: with its run.
  {
    name: "cm_log",
    create: [
      `CREATE TABLE cm_log (
        execution_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        connector TEXT NOT NULL,
        method TEXT NOT NULL,
        args TEXT NOT NULL,
        result TEXT,
        requires_approval INTEGER NOT NULL,
        ephemeral INTEGER NOT NULL,
        state TEXT NOT NULL,
        settled_order INTEGER,
        edited_args TEXT,
        decided_by TEXT,
        may_have_run INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (execution_id, seq)
      ) WITHOUT ROWID`
    ]
  },
  // Bound: 50. Deleted: by user code.
  {
    name: "cm_snippets",
    create: [
      `CREATE TABLE cm_snippets (
        name TEXT PRIMARY KEY,
        description TEXT,
        code TEXT NOT NULL,
        saved_at INTEGER NOT NULL,
        input_schema TEXT,
        connectors TEXT NOT NULL
      )`
    ]
  }
];
