// Version 3: tables of actions.

export const ACTION_TABLES: readonly string[] = [
  // Owner: actions/ledger. Bound: age (30 days settled, 90 days pending unless the class says otherwise). Deleted: by its sweep.
  // Row numbers grow with age, so the sweep needs no index of its own.
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
  )`,
  // Owner: actions/parked. Bound: 1,000 rows and their expiry. Deleted: when the outcome is in the transcript.
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
  // When a row next needs somebody: the wake reads one entry of it.
  `CREATE INDEX cf_action_pauses_due ON cf_action_pauses (due_at) WHERE due_at IS NOT NULL`,
  // Owner: actions/results. Bound: 100 values, 64 MB in all, 7 days. Deleted: oldest first when one is added, and by age.
  `CREATE TABLE cf_action_results (
    id INTEGER PRIMARY KEY,
    result_id TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  )`,
  // Owner: actions/attachments. Bound: 8 turns of at most 32 attachments and 1 MB. Deleted: oldest first when one is added.
  `CREATE TABLE cf_action_attachments (
    id INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL UNIQUE,
    request_id TEXT NOT NULL,
    is_latest INTEGER NOT NULL,
    items TEXT NOT NULL
  )`
];
