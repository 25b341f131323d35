// Schedules that builds before the one runner stored: rows of a table of their own become items of durable work.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { World } from "../../testing/agent-core.test-support.ts";
import { dedupKey } from "./schedule-row.ts";

/** As schema version 7 made it. */
const SCHEDULES = [
  `CREATE TABLE cf_schedules (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, callback TEXT NOT NULL,
     payload TEXT NOT NULL, type TEXT NOT NULL, detail TEXT, time_ms INTEGER NOT NULL, due_ms INTEGER NOT NULL,
     dedup_key TEXT NOT NULL, retry TEXT, running_since INTEGER, strikes INTEGER NOT NULL DEFAULT 0,
     unended_starts INTEGER NOT NULL DEFAULT 0, unended_since INTEGER)`,
  `CREATE INDEX cf_schedules_due ON cf_schedules (due_ms)`,
  `CREATE INDEX cf_schedules_dedup ON cf_schedules (dedup_key)`
];

type Value = string | number | null;

let world: World;
let ran: [unknown, number][];

beforeEach(() => {
  world = new World();
  ran = [];
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Rows by id; what a row does not say is that of a one-shot that is due. */
function leaveSchedules(rows: Readonly<Record<string, Readonly<Record<string, Value>>>>): void {
  for (const statement of SCHEDULES) world.database.exec(statement);
  for (const [id, given] of Object.entries(rows)) {
    const { payload = JSON.stringify(id), type = "scheduled", detail = null } = given;
    const time = given["time_ms"] ?? world.nowMs;
    const row = {
      ...{ id, callback: "ping", payload, type, detail, time_ms: time, due_ms: time, dedup_key: `key of ${id}` },
      ...given
    };
    const columns = Object.keys(row);
    world.database
      .prepare(`INSERT INTO cf_schedules (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`)
      .run(...Object.values(row));
  }
}

function boot(methods: Record<string, (payload: unknown) => unknown> = {}) {
  const began = world.nowMs;
  const ping = (payload: unknown) => void ran.push([payload, world.nowMs - began]);
  return world.boot({ methods: { ping, ...methods }, options: { retry: { maxAttempts: 1 } } });
}

test("each runs when it was to run, with its payload, its retry options and its timing", async () => {
  const now = world.nowMs;
  leaveSchedules({
    due: { payload: '{"a":[1]}' },
    delayed: { type: "delayed", detail: "1.4", time_ms: now + 1_400, retry: '{"maxAttempts":5}' },
    interval: { type: "interval", detail: "10", time_ms: now + 2_000 },
    cron: { type: "cron", detail: "* * * * *", time_ms: now + 60_000 },
    far: { time_ms: now + 3_600_000, payload: "null" }
  });
  const { schedules } = boot();
  expect(schedules.list().map(({ id, ...rest }) => [id, { ...rest, time: rest.time - now / 1_000 }])).toEqual([
    ["due", { callback: "ping", payload: { a: [1] }, retry: undefined, time: 0, type: "scheduled" }],
    [
      "delayed",
      { callback: "ping", payload: "delayed", retry: { maxAttempts: 5 }, time: 1, type: "delayed", delayInSeconds: 1.4 }
    ],
    [
      "interval",
      { callback: "ping", payload: "interval", retry: undefined, time: 2, type: "interval", intervalSeconds: 10 }
    ],
    ["cron", { callback: "ping", payload: "cron", retry: undefined, time: 60, type: "cron", cron: "* * * * *" }],
    ["far", { callback: "ping", payload: null, retry: undefined, time: 3_600, type: "scheduled" }]
  ]);
  expect(world.rows("SELECT name FROM sqlite_master WHERE name LIKE 'cf_schedules%'")).toEqual([]);
  await world.advance(62_000);
  expect(ran).toEqual([
    [{ a: [1] }, 1],
    ["delayed", 1_400],
    ...[2_000, 12_000, 22_000, 32_000, 42_000, 52_000].map((at) => ["interval", at]),
    ["cron", 60_000],
    ["interval", 62_000]
  ]);
  expect(schedules.list().map(({ id }) => id)).toEqual(["interval", "cron", "far"]);
});

test("one that ran when its process died is started again as it would have been, and counts the starts before", async () => {
  const now = world.nowMs;
  leaveSchedules({
    "died once": { running_since: now - 5, due_ms: now - 5, unended_starts: 1, unended_since: now - 5 },
    "dies again and again": {
      ...{ callback: "boom", running_since: now - 5, due_ms: now + 30_000 },
      ...{ unended_starts: 3, unended_since: now - 60_000 }
    },
    hung: {
      ...{ type: "interval", detail: "600", running_since: now - 1_000, due_ms: now + 29_000 },
      ...{ unended_starts: 1, unended_since: now - 1_000 }
    }
  });
  boot({
    boom: () => {
      ran.push(["boom", world.nowMs - now]);
      throw new Error("Durable Object reset because its code was updated.");
    }
  });
  expect(
    world.rows("SELECT key, due_at - ? AS due, starts, troubled_since - ? AS since FROM cf_work", now, now)
  ).toEqual([
    { key: "died once", due: -5, starts: 1, since: -5 },
    { key: "dies again and again", due: 30_000, starts: 3, since: -60_000 },
    { key: "hung", due: 29_000, starts: 1, since: -1_000 }
  ]);
  await world.advance(100_000);
  // The fourth start without an end: a minute until the next.
  expect(ran).toEqual([
    ["died once", 1],
    ["hung", 29_000],
    ["boom", 30_000],
    ["boom", 90_000]
  ]);
});

test("strikes are kept, and a method that is known to be missing is not said to be missing again", async () => {
  const now = world.nowMs;
  leaveSchedules({
    struck: { type: "interval", detail: "1", callback: "big", strikes: 2, due_ms: now + 60_000 },
    waits: { callback: "gone", time_ms: now - 3_600_000, due_ms: now + 60_000 }
  });
  boot({ big: () => Promise.reject(new Error("Durable Object's isolate exceeded its memory limit and was reset.")) });
  await world.advance(61_000);
  expect(world.eventsOf("alarm:memory_limit_reset")).toEqual([{ callback: "big", id: "struck", strikes: 3 }]);
  expect(world.eventsOf("schedule:callback_missing")).toEqual([]);
  expect(world.rows("SELECT key FROM cf_work")).toEqual([{ key: "waits" }]);
});

test("what cannot be read costs only itself: it is set aside when it is due, and a recurring one goes on", async () => {
  const now = world.nowMs;
  leaveSchedules({
    "no payload": { payload: "{half" },
    "no payload, recurring": { payload: "{half", type: "interval", detail: "10" },
    "no type": { type: "moon" },
    "no cron": { type: "cron", detail: "often" },
    "no time": { due_ms: "soon", time_ms: "soon" },
    "no retry": { retry: "{" },
    // Deeper than SQLite reads, and JSON all the same.
    deep: { payload: "[".repeat(1_500) + "]".repeat(1_500) },
    good: {}
  });
  const { schedules } = boot();
  await world.advance(1_000);
  expect(ran.map(([payload]) => (Array.isArray(payload) ? "deep" : payload))).toEqual([
    "no time",
    "no retry",
    "deep",
    "good"
  ]);
  expect(world.rows("SELECT row_key, body FROM cf_quarantine WHERE body = '{half'")).toEqual([
    { row_key: "schedule:no payload", body: "{half" },
    { row_key: "schedule:no payload, recurring", body: "{half" }
  ]);
  expect(world.rows("SELECT row_key FROM cf_quarantine WHERE body <> '{half'")).toEqual([
    { row_key: "schedule:no type" },
    { row_key: "schedule:no cron" }
  ]);
  expect(world.eventsOf("schedule:error").map(({ id, attempts }) => [id, attempts])).toEqual([
    ["no payload", 0],
    ["no type", 0],
    ["no payload, recurring", 0],
    ["no cron", 0]
  ]);
  expect(schedules.list()).toMatchObject([{ id: "no payload, recurring", payload: null, time: now / 1_000 + 10 }]);
});

test("what is asked for again is found by the wish that was stored", async () => {
  const wish = { type: "cron", callback: "ping", detail: "0 9 * * *", payload: { of: "day" } } as const;
  leaveSchedules({
    daily: { ...wish, payload: '{"of":"day"}', dedup_key: dedupKey(wish), time_ms: world.nowMs + 3_600_000 }
  });
  const { schedules } = boot();
  expect(await schedules.schedule("0 9 * * *", "ping", { of: "day" })).toMatchObject({ id: "daily" });
  expect((await schedules.schedule("0 9 * * *", "ping", { of: "week" })).id).not.toBe("daily");
  expect(world.count("cf_work")).toBe(2);
});
