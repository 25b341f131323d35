// The tables of actions. Their statements are in src/actions, which a class without actions does not bundle; an object of
// the original is taken over by any class, and what its actions did must be known when the class has them again.
import type { ReplacedTable, TableDefinition } from "../../host/table-set.ts";

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

/** The kind of work that actions waiting for a human are. */
export const PAUSED_ACTION = "paused-action";

/** What an item is made of, of a row that can be read; of others it has no state, and is set aside by the first look at it. */
const PAUSE = `json_object('state', CASE WHEN is_closed THEN 'done' WHEN is_readable THEN state END, 'action', action,
  'toolCallId', tool_call_id, 'turnId', turn_id, 'requestId', request_id, 'messageId', message_id,
  'inputHash', input_hash, 'decidedBy', decided_by, 'reason', reason,
  'grant', CASE WHEN is_readable THEN json(grant_snapshot) END,
  'descriptor', CASE WHEN is_readable THEN json_set(descriptor, '$.input', json(input)) END)`;

/**
 * The table of actions that wait until schema version 7: its rows become items of durable work. Its layout is what was
 * released: never change it.
 */
export const PAUSES: ReplacedTable = {
  name: "cf_action_pauses",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work (kind, key, lane, payload, due_at, settled_at, created_at)
       SELECT ?, execution_id, turn_id,
         CASE WHEN is_readable AND outcome IS NOT NULL THEN json_set(${PAUSE}, '$.outcome', json(outcome)) ELSE ${PAUSE} END,
         CASE WHEN is_closed THEN NULL WHEN typeof(due_at) = 'integer' THEN due_at
           WHEN state IN ('approved', 'rejected') THEN created_at END,
         CASE WHEN is_closed THEN COALESCE(decided_at, created_at) END, created_at
       FROM (
         SELECT *, state IN ('closed', 'closed-approved', 'closed-rejected') AS is_closed,
           json_valid(input) AND json_valid(descriptor) AND json_valid(grant_snapshot)
             AND json_valid(COALESCE(outcome, 'null')) AS is_readable
         FROM cf_action_pauses)
       ORDER BY id`,
      PAUSED_ACTION
    )
};
