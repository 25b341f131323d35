// What a failing table did not take, new items and the ends of runs, is not lost when it works again.
import { DatabaseSync } from "node:sqlite";
import { beforeEach, expect, test, vi } from "vitest";
import { memoryStorage } from "../host/memory-storage.test-support.ts";
import { openSchema } from "../host/schema.ts";
import { openSql } from "../host/sql.ts";
import { ok } from "../util/result.ts";
import { SETTLED } from "./kind.ts";
import { Work } from "./work.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

function open() {
  const database = new DatabaseSync(":memory:");
  const sql = openSql(memoryStorage(database));
  openSchema(sql);
  const state = { now: 1_000, rearms: 0 };
  const ran: string[] = [];
  const opened = () =>
    new Work<string>(
      {
        sql,
        clock: { now: () => state.now, sleep: async () => undefined },
        quarantine: () => undefined,
        inAgent: (task) => task(),
        background: (task) => void task.catch(() => undefined),
        rearm: () => void (state.rearms += 1)
      },
      {
        name: "letters",
        codec: { encode: (text) => text, decode: (stored) => ok(String(stored)) },
        retry: { backoff: { baseMs: 100, maxMs: 1_000 } },
        concurrency: 3,
        retentionMs: 0,
        run: async ({ payload }) => {
          ran.push(payload);
          return SETTLED;
        }
      }
    );
  const work = opened();
  work.start();
  work.ready();
  // The table is there before its disk is full.
  work.add({ key: "first", payload: "first" });
  const fill = (on = "INSERT") =>
    sql.run(
      `CREATE TRIGGER full_disk BEFORE ${on} ON cf_work BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`
    );
  const empty = () => sql.run("DROP TRIGGER full_disk");
  return { work, open: opened, sql, state, ran, fill, empty };
}

test("an item that the table does not take is added by a later wake, once", async () => {
  const { work, state, ran, fill, empty } = open();
  await work.idle();
  fill();
  work.addOrHold({ key: "a", payload: "words", dueAt: state.now + 5 });
  const wake = work.nextWake();
  expect(wake).toBeGreaterThan(state.now);
  // Before its time nothing is tried.
  await work.runDue();
  expect(work.nextWake()).toBe(wake);
  state.now = wake ?? 0;
  await work.runDue();
  expect([ran, work.state("a")]).toEqual([["first"], undefined]);
  empty();
  state.now = work.nextWake() ?? 0;
  await work.runDue();
  await work.idle();
  expect(ran).toEqual(["first", "words"]);
  expect(work.nextWake()).toBeNull();
});

test("a run whose end the table does not take is made again, in the same process", async () => {
  const { work, state, ran, fill, empty } = open();
  await work.idle();
  work.add({ key: "a", payload: "words" });
  // It is claimed, and cannot be deleted.
  fill("DELETE");
  await work.idle();
  expect([ran, work.state("a")]).toEqual([["first", "words"], "claimed"]);
  state.now = work.nextWake() ?? 0;
  await work.runDue();
  await work.idle();
  expect(ran).toEqual(["first", "words", "words"]);
  empty();
  for (let wake = work.nextWake(); wake !== null; wake = work.nextWake()) {
    state.now = wake;
    await work.runDue();
    await work.idle();
  }
  expect(work.state("a")).toBeUndefined();
  expect(ran).toEqual(["first", "words", "words", "words"]);
});

test("a start that cannot write takes up what its process left when the table works again, and fails nothing else", async () => {
  const { sql, state, ran, fill, empty, open: opened } = open();
  sql.run("UPDATE cf_work SET due_at = NULL, claimed_at = 1, claim = 1, starts = 1 WHERE key = 'first'");
  fill("UPDATE");
  const next = opened();
  next.start();
  next.ready();
  await next.runDue();
  expect([ran, next.state("first")]).toEqual([[], "claimed"]);
  empty();
  state.now = next.nextWake() ?? 0;
  await next.runDue();
  await next.idle();
  expect([ran, next.state("first")]).toEqual([["first"], undefined]);
});

test("a held item can be cancelled, and is not stored when the agent is being destroyed", async () => {
  const { work, state, ran, fill, empty } = open();
  await work.idle();
  fill();
  work.addOrHold({ key: "a", payload: "a" });
  expect(work.cancel("a")).toBe(true);
  work.addOrHold({ key: "b", payload: "b" });
  empty();
  work.stop();
  state.now += 60_000;
  await work.runDue();
  work.addOrHold({ key: "c", payload: "c" });
  const states = ["a", "b", "c"].map((key) => work.state(key));
  expect([ran, states, work.nextWake()]).toEqual([["first"], [undefined, undefined, undefined], null]);
});

test("a held item that is cancelled is not added when the table works again", async () => {
  const { work, state, ran, fill, empty } = open();
  await work.idle();
  fill();
  work.addOrHold({ key: "a", payload: "a" });
  work.addOrHold({ key: "b", payload: "b" });
  work.cancelAll();
  work.addOrHold({ key: "c", payload: "c" });
  empty();
  state.now = work.nextWake() ?? 0;
  await work.runDue();
  await work.idle();
  expect(ran).toEqual(["first", "c"]);
});
