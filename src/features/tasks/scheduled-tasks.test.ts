// The order in which a task's row and its one-shot are made, without an agent.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createTables, MemorySql } from "../../journal/memory-sql.test-support.ts";
import { ScheduledTasks } from "./scheduled-tasks.ts";

function open() {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  const seen = { reading: 0, most: 0, rowsWhenArmed: [] as number[], shots: [] as string[] };
  const state = { now: 0, schedule: "every 1 hour", fails: false };
  const rows = () => {
    const [table] = sql.all("SELECT 1 FROM sqlite_master WHERE name = 'cf_scheduled_tasks'");
    return table ? sql.all<{ next_run_at: number | null }>("SELECT next_run_at FROM cf_scheduled_tasks") : [];
  };
  const tasks = new ScheduledTasks({
    sql,
    clock: { now: () => state.now, sleep: async () => undefined },
    ids: { next: () => "id", random: () => 0.5 },
    path: () => ["a"],
    read: async () => {
      seen.reading += 1;
      seen.most = Math.max(seen.most, seen.reading);
      await Promise.resolve();
      state.now += 1;
      seen.reading -= 1;
      return { tasks: { tick: { schedule: state.schedule, handler: () => undefined } }, timezone: undefined };
    },
    arm: async (at) => {
      seen.rowsWhenArmed.push(rows().length);
      if (state.fails) throw new Error("killed");
      const id = `shot ${at.getTime()}`;
      if (!seen.shots.includes(id)) seen.shots.push(id);
      return { id };
    },
    cancel: async (id) => void (seen.shots = seen.shots.filter((shot) => shot !== id)),
    isArmed: async (id) => seen.shots.includes(id),
    submit: async () => ({ submissionId: "s" }),
    isOpen: () => false,
    onError: async () => undefined,
    emit: () => undefined
  });
  return { tasks, seen, state, rows };
}

test("reconciles that are asked for together run one after the other, and leave one one-shot", async () => {
  const { tasks, seen, state } = open();
  await tasks.reconcile();
  state.schedule = "every 2 hours";
  await Promise.all([tasks.reconcile(), tasks.reconcile(), tasks.reconcile()]);
  expect(seen.most).toBe(1);
  expect(seen.shots).toHaveLength(1);
});

test("a process that dies while the one-shot is made leaves a row, and the next start makes what is missing", async () => {
  const { tasks, seen, state, rows } = open();
  state.fails = true;
  await expect(tasks.reconcile()).rejects.toThrow("killed");
  expect(seen.rowsWhenArmed).toEqual([1]);
  const [row] = rows();
  state.fails = false;
  await tasks.reconcile();
  expect(seen.shots).toEqual([`shot ${row?.next_run_at}`]);
});
