import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createTables, MemorySql } from "../../journal/memory-sql.test-support.ts";
import { runResult, RunTable } from "./run-table.ts";

function open() {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  const table = new RunTable(sql);
  const run = { class_name: "Helper", call_id: null, turn_id: "t", preview: null, display_order: 0 };
  table.add({ ...run, run_id: "r", display: undefined, detached: undefined }, 1);
  return table;
}

const note = (chunks: number) => ({ at: 2, chunks, reports: false });

test("the first hard terminal of a run wins; an interrupted one may be repaired, with a higher number", () => {
  const table = open();
  expect(table.end("r", { status: "interrupted", error: "silent", reason: "no-progress" }, note(4))?.last_event).toBe(
    5
  );
  const repaired = table.end("r", { status: "completed", summary: "ok" }, note(4));
  expect(repaired?.last_event).toBe(6);
  expect(runResult(repaired!)).toEqual({ runId: "r", agentType: "Helper", status: "completed", summary: "ok" });
  table.end("r", { status: "aborted", error: "late" }, note(9));
  expect(table.get("r")).toMatchObject({ status: "completed", error: null, last_event: 6 });
});

test("a run that is cleared is gone, and who cleared it knows its child", () => {
  const table = open();
  expect(table.open()).toHaveLength(1);
  expect(table.takeCleared()).toEqual([{ run_id: "r", class_name: "Helper" }]);
  expect([table.get("r"), table.list(10), table.open(), table.unfinished()]).toEqual([undefined, [], [], []]);
  expect(table.takeCleared()).toEqual([]);
});
