// The table of workflow notifications until schema version 5: its rows become items of durable work. What it could not read
// it sent as null, and so does the runner. Its layout is what was released: never change it.
import type { ReplacedTable } from "../../host/table-set.ts";

export const WORKFLOW_OUTBOX: ReplacedTable = {
  name: "cf_workflow_outbox",
  move: (sql) =>
    void sql.run(
      `INSERT OR IGNORE INTO cf_work
         (kind, key, payload, due_at, settled_at, claim, failures, troubled_since, error, created_at)
       SELECT 'workflow-notification', id,
         CASE WHEN delivered_at IS NULL THEN json_object('workflow', workflow, 'workflowId', workflow_id,
           'eventType', event_type, 'event', CASE WHEN json_valid(payload) THEN json(payload) ELSE json('null') END)
         ELSE 'null' END,
         CASE WHEN delivered_at IS NULL THEN COALESCE(next_at, created_at) END, delivered_at,
         attempts, attempts, CASE WHEN attempts > 0 THEN created_at END, last_error, created_at
       FROM cf_workflow_outbox ORDER BY created_at, id`
    )
};
