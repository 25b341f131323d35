// The tables of actions. Their statements are in src/actions, which a class without actions does not bundle; an object of
// the original is taken over by any class, and what its actions did must be known when the class has them again.
import type { TableDefinition } from "../../host/table-set.ts";

/** Of a row whose input is not known: it was carried over from the original. */
export const UNKNOWN_INPUT_HASH = "";

export const LEDGER_TABLES: readonly TableDefinition[] = [
  // Bound: age (30 days settled, 90 days pending unless the class says otherwise). Deleted: by its sweep. Row numbers
  // grow with age, so the sweep needs no index of its own.
  {
    name: "cf_action_ledger",
    create: [
      `CREATE TABLE cf_action_ledger (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        action TEXT NOT NULL,
        input_hash TEXT NOT NULL,
        is_explicit INTEGER NOT NULL,
        status TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        approver TEXT,
        request_id TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        leased_at INTEGER NOT NULL,
        settled_at INTEGER,
        output TEXT
      )`
    ]
  }
];

export const PAUSE_TABLES: readonly TableDefinition[] = [
  // Bound: 1,000 rows and their expiry, and those decided in the last day. Deleted: a day after the outcome is in the
  // transcript.
  {
    name: "cf_action_pauses",
    create: [
      `CREATE TABLE cf_action_pauses (
        id INTEGER PRIMARY KEY,
        execution_id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        action TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        request_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        input TEXT NOT NULL,
        input_hash TEXT NOT NULL,
        descriptor TEXT NOT NULL,
        grant_snapshot TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        due_at INTEGER,
        decided_at INTEGER,
        decided_by TEXT,
        reason TEXT,
        outcome TEXT
      )`,
      // When a row is next due: the wake reads one entry of it.
      `CREATE INDEX cf_action_pauses_due ON cf_action_pauses (due_at) WHERE due_at IS NOT NULL`
    ]
  }
];
