// Submissions of the original keep their ids, keys, status and metadata. One whose turn was cut off goes on with that turn
// (turns.ts); one that was accepted and had not begun waits as it did. Notifications that workflows were owed are sent.
import { Blobs } from "../host/blobs.ts";
import { TableSet } from "../host/table-set.ts";
import type { TakeoverContext, TakeoverPart } from "../host/takeover.ts";
import { WORK_TABLES } from "../work/work-table.ts";
import { encodeRequest, requestFingerprint, type SubmissionRequest } from "../features/submissions/request.ts";
import { TERMINAL } from "../features/submissions/submission.ts";
import { keyName, SubmissionTable } from "../features/submissions/submission-table.ts";
import { parseJson } from "../util/json.ts";

const TABLE = "cf_think_submissions";
const STATUSES = ["pending", "running", ...TERMINAL];

interface OriginalSubmission {
  submission_id: string;
  idempotency_key: string | null;
  status: string;
  messages_json: string;
  metadata_json: string | null;
  error_message: string | null;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  /** The newer layout only. */
  output_json?: string | null;
  message_id?: string | null;
}

export const SUBMISSIONS: TakeoverPart = {
  kind: "submissions",
  tables: [TABLE],
  refuses: ({ count }) => [
    {
      what: "submissions with an unknown status",
      rows: count(TABLE, `status NOT IN (${STATUSES.map((status) => `'${status}'`).join(", ")})`)
    },
    {
      what: "open submissions whose messages cannot be read",
      rows: count(TABLE, "status IN ('pending', 'running') AND NOT json_valid(messages_json)")
    }
  ],
  carry(context) {
    const found = context.count(TABLE);
    if (found === 0) return undefined;
    const { sql, newId } = context;
    const table = new SubmissionTable({ sql, blobs: new Blobs(sql), newId });
    let carried = 0;
    for (const row of submissionsOf(context)) {
      // The others are here only if the class gives submissions up: as accepted ones they would run.
      if (!STATUSES.includes(row.status)) continue;
      carrySubmission(table, row);
      carried += 1;
    }
    return { found, carried, left: found - carried };
  }
};

/** Those that are over come first: what waits is found behind them. One at a time, they may be large. */
function* submissionsOf({ sql }: TakeoverContext): Generator<OriginalSubmission> {
  const ids = sql.all<{ id: string }>(
    `SELECT submission_id AS id FROM ${TABLE} ORDER BY status IN ('pending', 'running'), status = 'pending', created_at, rowid`
  );
  for (const { id } of ids) {
    const row = sql.one<OriginalSubmission>(`SELECT * FROM ${TABLE} WHERE submission_id = ?`, id);
    if (row) yield row;
  }
}

function carrySubmission(table: SubmissionTable, row: OriginalSubmission): void {
  const messages = parseJson(row.messages_json);
  const request: SubmissionRequest = {
    // The original checked them when it accepted them. One that cannot be read is refused while its submission is open.
    messages: (messages.ok && Array.isArray(messages.value) ? messages.value : []) as SubmissionRequest["messages"]
  };
  const carried = table.insert({
    givenId: row.submission_id,
    keyName: row.idempotency_key === null ? undefined : keyName(row.idempotency_key),
    fingerprint: requestFingerprint(request),
    request: encodeRequest(request),
    metadata: row.metadata_json,
    createdAt: row.created_at
  });
  const status = TERMINAL.find((one) => one === row.status);
  if (status === undefined) return;
  const output = row.output_json ? parseJson(row.output_json) : undefined;
  table.end(carried, {
    status,
    at: row.completed_at ?? row.created_at,
    startedAt: row.started_at,
    error: row.error_message,
    messageId: row.message_id ?? null,
    output: output?.ok ? output.value : undefined
  });
}

const NOTIFICATIONS_TABLE = "cf_think_workflow_notifications";

export const NOTIFICATIONS: TakeoverPart = {
  kind: "workflow-notifications",
  tables: [NOTIFICATIONS_TABLE],
  carry({ sql, count, now }) {
    const found = count(NOTIFICATIONS_TABLE);
    if (found === 0) return undefined;
    const { changed } = new TableSet(sql, WORK_TABLES).run(
      `INSERT OR IGNORE INTO cf_work (kind, key, payload, due_at, claim, failures, created_at, error)
       SELECT 'workflow-notification', submission_id || ':' || event_type,
         json_object('workflow', workflow_name, 'workflowId', workflow_id, 'eventType', event_type,
           'event', CASE WHEN json_valid(payload_json) THEN json(payload_json) ELSE json('null') END),
         ?, attempts, attempts, created_at, last_error FROM ${NOTIFICATIONS_TABLE} WHERE delivered_at IS NULL`,
      now
    );
    return { found, carried: changed, left: found - changed };
  }
};
