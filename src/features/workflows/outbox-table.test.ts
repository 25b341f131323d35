import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { memoryStorage } from "../../host/memory-storage.test-support.ts";
import { openSchema, tablesOf } from "../../host/schema.ts";
import { openSql } from "../../host/sql.ts";
import { WorkTable } from "../../work/work-table.ts";
import { WORKFLOW_OUTBOX } from "./outbox-table.ts";

const KIND = { name: "workflow-notification", replaces: [WORKFLOW_OUTBOX] };

/** As schema version 5 made it. */
const OUTBOX = `CREATE TABLE cf_workflow_outbox (
  id TEXT PRIMARY KEY, workflow TEXT NOT NULL, workflow_id TEXT NOT NULL, event_type TEXT NOT NULL, payload TEXT,
  attempts INTEGER NOT NULL, next_at INTEGER, created_at INTEGER NOT NULL, delivered_at INTEGER, last_error TEXT
) WITHOUT ROWID`;

function openWithOutbox(rows: readonly (readonly (string | number | null)[])[]) {
  const sql = openSql(memoryStorage(new DatabaseSync(":memory:")));
  openSchema(sql);
  sql.run(OUTBOX);
  for (const row of rows) sql.run("INSERT INTO cf_workflow_outbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ...row);
  sql.catalog.refresh();
  return sql;
}

test("notifications of an earlier layout, in every state, are waiting or settled work, and their table is gone", () => {
  const sql = openWithOutbox([
    ["new:e", "TRIAGE", "w1", "e", '{"status":"completed"}', 0, 1_000, 1_000, null, null],
    ["failing:e", "TRIAGE", "w2", "e", '{"status":"error"}', 3, 9_000, 2_000, null, "try again later"],
    ["sent:e", "TRIAGE", "w3", "e", null, 0, null, 3_000, 3_500, null],
    ["given-up:e", "TRIAGE", "w4", "e", null, 7, null, 4_000, 4_500, "instance.not_found"],
    ["garbage:e", "TRIAGE", "w5", "e", "{", 0, 5_000, 5_000, null, null]
  ]);
  const table = new WorkTable(sql, KIND);
  const stateOf = (key: string) => {
    const { dueAt, settledAt, claimedAt, failures, error, createdAt, payload } = table.find(key) ?? {};
    return [
      dueAt,
      settledAt,
      claimedAt,
      failures,
      error,
      createdAt,
      payload === undefined ? null : JSON.parse(payload)
    ];
  };
  const event = (workflowId: string, given: unknown) => ({
    workflow: "TRIAGE",
    workflowId,
    eventType: "e",
    event: given
  });
  expect(stateOf("new:e")).toEqual([1_000, null, null, 0, null, 1_000, event("w1", { status: "completed" })]);
  expect(stateOf("failing:e")).toEqual([
    9_000,
    null,
    null,
    3,
    "try again later",
    2_000,
    event("w2", { status: "error" })
  ]);
  expect(stateOf("sent:e")).toEqual([null, 3_500, null, 0, null, 3_000, null]);
  expect(stateOf("given-up:e")).toEqual([null, 4_500, null, 7, "instance.not_found", 4_000, null]);
  expect(stateOf("garbage:e")).toEqual([5_000, null, null, 0, null, 5_000, event("w5", null)]);
  expect([...tablesOf(sql)].toSorted()).toEqual(["cf_meta", "cf_work"]);
  const [first = 0] = table.due(2_000);
  expect(table.claim(first, 2_000)).toMatchObject({ key: "new:e", claim: 1 });
});

test("an earlier layout without rows leaves nothing to do", () => {
  const sql = openWithOutbox([]);
  expect(new WorkTable(sql, KIND).nextDue()).toBeNull();
});
