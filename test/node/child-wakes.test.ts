import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import { memoryStorage } from "../../src/host/memory-storage.test-support.ts";
import { openSchema, tablesOf } from "../../src/host/schema.ts";
import { openSql } from "../../src/host/sql.ts";
import type { AgentEvent } from "../../src/observe/events.ts";
import { createTestHost, everyCrash, type TestHost } from "../../src/testing/index.ts";
import { WorkTable } from "../../src/work/work-table.ts";
import { CHILD_WAKE, WAKES } from "../../src/agent/tree/child-wakes.ts";

const MINUTE_MS = 60_000;

/** How often each child was woken, by name; outside of any process. */
let woken: Record<string, number> = {};
let effects: string[] = [];
let events: AgentEvent[] = [];
/** Children whose wake hangs, and those whose wake fails. */
let hanging: string[] = [];
let failing: string[] = [];

class Child extends Agent<object> {
  override observability = undefined;

  override async onStart() {
    if (failing.includes(this.name)) throw new Error("no start");
    await undefined;
  }

  plan(seconds: number) {
    return this.schedule(seconds, "tick");
  }

  repeat() {
    return this.scheduleEvery(60, "tick");
  }

  async planMore() {
    await this.schedule(10, "chain");
  }

  async chain() {
    this.count();
    await this.schedule(20, "tick");
  }

  async tick() {
    this.count();
    if (hanging.includes(this.name)) await new Promise(() => undefined);
    effects.push(this.name);
  }

  count() {
    woken[this.name] = (woken[this.name] ?? 0) + 1;
  }

  override onError() {}
}

class Parent extends Agent<object> {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };

  async plan(names: readonly string[], seconds = 10) {
    for (const name of names) await (await this.subAgent(Child, name)).plan(seconds);
  }

  async repeat(name: string) {
    await (await this.subAgent(Child, name)).repeat();
  }

  async planMore(name: string) {
    await (await this.subAgent(Child, name)).planMore();
  }

  async drop(name: string) {
    await this.deleteSubAgent(Child, name);
  }

  async later() {
    await this.schedule(60, "own");
  }

  own() {
    effects.push("own");
  }

  override onError() {}
}

type Host = TestHost<{ Parent: DurableObjectNamespace<Parent> }>;
const open = (): Host => createTestHost({ agents: { Parent }, exports: [Child] });
const kept = (host: Host) =>
  host.sql<{ key: string; failures: number }>(
    Parent,
    "p",
    `SELECT key, failures FROM cf_work WHERE kind = '${CHILD_WAKE}'`
  );
const errors = () => events.filter(({ type }) => type === "schedule:error").map(({ payload }) => payload);

beforeEach(() => {
  [woken, effects, events, hanging, failing] = [{}, [], [], [], []];
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a wake of a child", () => {
  test("during which the child arms its next one is followed by that, and nothing is left after the last", async () => {
    const host = open();
    await (await host.get(Parent, "p")).planMore("a");
    await host.advance(15_000);
    expect([woken, kept(host).length]).toEqual([{ a: 1 }, 1]);
    await host.advance(20_000);
    expect([woken, kept(host), host.alarm(Parent, "p")]).toEqual([{ a: 2 }, [], null]);
  });

  test("that repeats costs the root two rows: its claim, and when it comes again", async () => {
    const host = open();
    await (await host.get(Parent, "p")).repeat("a");
    await host.advance(61_000);
    const before = host.counts.rowsWritten;
    await host.advance(MINUTE_MS);
    expect(woken).toEqual({ a: 2 });
    // Three are the child's own: its schedule.
    expect(host.counts.rowsWritten - before).toBeLessThanOrEqual(5);
  });

  test("that hangs holds up no other child, ends the root's wake before the platform does, and is tried again", async () => {
    const host = open();
    hanging = ["a"];
    const parent = await host.get(Parent, "p");
    await parent.plan(["a", "b"]);
    await parent.later();
    await host.advance(11_000);
    expect([woken, effects]).toEqual([{ a: 1, b: 1 }, ["b"]]);
    await host.advance(14 * MINUTE_MS);
    expect(effects).toEqual(["b", "own"]);
    hanging = [];
    await host.advance(30 * MINUTE_MS);
    expect(errors()).toEqual([]);
    expect(kept(host)).toMatchObject([{ key: '[["Child","a"]]', failures: expect.any(Number) as number }]);
    expect(host.alarm(Parent, "p")).not.toBeNull();
    // The child itself hangs: its process is what has to end.
    await host.restart();
    await host.advance(10 * MINUTE_MS);
    expect(effects).toEqual(["b", "own", "a"]);
    expect(kept(host)).toEqual([]);
  });

  test("that fails is repeated at once twice, then ever less often; another wake of it shortens no pause", async () => {
    const host = open();
    await (await host.get(Parent, "p")).plan(["a"]);
    failing = ["a"];
    await host.evictAll();
    await host.advance(11_000);
    expect(errors()).toHaveLength(3);
    expect(kept(host)).toMatchObject([{ failures: 3 }]);
    const due = () => host.sql<{ due_at: number }>(Parent, "p", "SELECT due_at FROM cf_work")[0]?.due_at ?? 0;
    const at = due();
    expect(at - host.now).toBeGreaterThan(25_000);
    failing = [];
    // It arms its wakes as it starts; the pause stays, and the wake is not lost.
    await (await host.get(Parent, "p")).plan(["a"], 1);
    await host.idle();
    expect(due()).toBe(at);
    await host.advance(MINUTE_MS);
    expect([effects, kept(host)]).toEqual([["a", "a"], []]);
  });

  test("of a child that is deleted while it runs leaves nothing behind", async () => {
    const host = open();
    hanging = ["a"];
    const parent = await host.get(Parent, "p");
    await parent.plan(["a", "b"]);
    await host.advance(10_500);
    await parent.drop("a");
    await host.advance(40 * MINUTE_MS);
    expect([kept(host), effects, host.alarm(Parent, "p")]).toEqual([[], ["b"], null]);
  });

  test("more than run at a time are woken one after the other, all of them", async () => {
    const host = open();
    const names = Array.from({ length: 20 }, (_, index) => `child${index}`);
    await (await host.get(Parent, "p")).plan(names);
    await host.advance(11_000);
    expect(effects.toSorted()).toEqual(names.toSorted());
    expect(kept(host)).toEqual([]);
  });
});

test("killed at any write or await, every child does its work and no wake is left", async () => {
  const result = await everyCrash({
    create: () => {
      effects = [];
      return open();
    },
    script: async (host) => {
      const parent = await host.get(Parent, "p");
      await parent.plan(["a", "b"]);
      await host.advance(11_000);
    },
    finish: async (host) => {
      await (await host.get(Parent, "p")).plan(["a", "b"]);
      await host.advance(10 * MINUTE_MS);
    },
    inspect: (host) => Promise.resolve({ done: [...new Set(effects)].toSorted(), kept: kept(host) })
  });
  expect(result.points).toBeGreaterThan(10);
}, 60_000);

describe("wakes of an earlier layout", () => {
  /** As schema version 7 made it. */
  const TABLE = `CREATE TABLE cf_wakes (path TEXT PRIMARY KEY, at INTEGER NOT NULL, leased_until INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, failing_since INTEGER) WITHOUT ROWID`;
  type Row = readonly [path: string, at: number | string, leasedUntil: number, failures: number, since: number | null];

  function openWith(rows: readonly Row[]) {
    const sql = openSql(memoryStorage(new DatabaseSync(":memory:")));
    openSchema(sql);
    sql.run(TABLE);
    for (const row of rows) sql.run("INSERT INTO cf_wakes VALUES (?, ?, ?, ?, ?)", ...row);
    sql.catalog.refresh();
    return sql;
  }

  test("are items that wait, in every state, and their table is gone", () => {
    const sql = openWith([
      ["waits", 90_000, 0, 0, null],
      ["due", 1_000, 0, 0, null],
      ["in flight", 1_000, 2_000, 1, 2_000],
      ["failing", 1_000, 9_000, 4, 500],
      ["given up by then", 1_000, 9_500, 300, 1],
      ["armed while it fails", 50_000, 9_000, 2, 700],
      ["not a time", "soon", 0, 0, null]
    ]);
    const table = new WorkTable(sql, { name: CHILD_WAKE, replaces: [WAKES] });
    const stateOf = (key: string) => {
      const { dueAt, claimedAt, settledAt, failures, starts, troubledSince } = table.find(key) ?? {};
      return { dueAt, claimedAt, settledAt, failures, starts, troubledSince };
    };
    const waiting = { claimedAt: null, settledAt: null, failures: 0, starts: 0, troubledSince: null };
    expect(stateOf("waits")).toEqual({ ...waiting, dueAt: 90_000 });
    expect(stateOf("due")).toEqual({ ...waiting, dueAt: 1_000 });
    expect(stateOf("in flight")).toEqual({ ...waiting, dueAt: 2_000, failures: 1, troubledSince: 2_000 });
    expect(stateOf("failing")).toEqual({ ...waiting, dueAt: 9_000, failures: 4, troubledSince: 500 });
    expect(stateOf("given up by then")).toEqual({ ...waiting, dueAt: 9_500, failures: 300, troubledSince: 1 });
    expect(stateOf("armed while it fails")).toEqual({ ...waiting, dueAt: 50_000, failures: 2, troubledSince: 700 });
    expect(stateOf("not a time")).toEqual({ ...waiting, dueAt: 0 });
    expect([...tablesOf(sql)].toSorted()).toEqual(["cf_meta", "cf_work"]);
  });

  test("are woken, and one whose path cannot be read costs only itself", async () => {
    const host = open();
    await (await host.get(Parent, "p")).plan(["a"]);
    host.kill();
    host.sql(Parent, "p", "DELETE FROM cf_work");
    host.sql(Parent, "p", TABLE);
    host.sql(Parent, "p", `INSERT INTO cf_wakes (path, at) VALUES ('[["Child","a"]]', ${host.now}), ('{broken', 1)`);
    await host.restart();
    await host.get(Parent, "p");
    await host.advance(MINUTE_MS);
    expect(effects).toEqual(["a"]);
    expect(kept(host).map(({ key }) => key)).toEqual(["{broken"]);
    await host.advance(26 * 60 * MINUTE_MS);
    expect([kept(host), host.alarm(Parent, "p")]).toEqual([[], null]);
    expect(errors().at(-1)).toMatchObject({ callback: "wake", id: "{broken", error: "gave up" });
  });
});
