import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { World, type TestAgent } from "../../testing/agent-core.test-support.ts";
import { SCHEDULE_LIMIT } from "./schedules.ts";

function setup() {
  const world = new World();
  const agent = world.boot({ methods: { ping: () => undefined, pong: () => undefined } });
  return { world, agent, schedules: agent.schedules };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("what is returned", () => {
  test("each kind of `when` gives exactly the public keys, with time in whole unix seconds", async () => {
    const { world, schedules } = setup();
    world.nowMs += 700;
    const now = world.nowMs;
    expect(await schedules.schedule(1.5, "ping", { a: 1 })).toEqual({
      id: expect.any(String),
      callback: "ping",
      payload: { a: 1 },
      time: Math.floor((now + 1500) / 1000),
      type: "delayed",
      delayInSeconds: 1.5
    });
    expect(await schedules.schedule(new Date(now + 5000), "ping")).toEqual({
      id: expect.any(String),
      callback: "ping",
      payload: null,
      time: Math.floor((now + 5000) / 1000),
      type: "scheduled"
    });
    expect(await schedules.schedule("@daily", "ping", null, { retry: { maxAttempts: 5 } })).toEqual({
      id: expect.any(String),
      callback: "ping",
      payload: null,
      retry: { maxAttempts: 5 },
      time: Date.UTC(2026, 0, 2) / 1000,
      type: "cron",
      cron: "@daily"
    });
    expect(await schedules.scheduleEvery(60, "ping")).toEqual({
      id: expect.any(String),
      callback: "ping",
      payload: null,
      time: Math.floor((now + 60_000) / 1000),
      type: "interval",
      intervalSeconds: 60
    });
  });

  test("what is returned is stored and armed", async () => {
    const { world, schedules } = setup();
    const schedule = await schedules.schedule(10, "ping", "x");
    expect(world.alarmAt).toBe(world.nowMs + 10_000);
    expect(await schedules.get(schedule.id)).toEqual(schedule);
    expect(world.eventsOf("schedule:create")).toEqual([{ callback: "ping", id: schedule.id }]);
  });

  test("zero seconds and past dates are due at once", async () => {
    const { world, schedules } = setup();
    await schedules.schedule(0, "ping");
    expect(world.alarmAt).toBe(world.nowMs + 1);
    await schedules.schedule(new Date(5), "pong");
    expect(world.alarmAt).toBe(world.nowMs + 1);
    await world.advance(10);
    expect(world.eventsOf("schedule:execute")).toHaveLength(2);
  });
});

describe("dedup", () => {
  test("schedule(60, cb, p, { idempotent: true }) ten times leaves one row and one event", async () => {
    const { world, schedules } = setup();
    const first = await schedules.schedule(60, "ping", { a: 1, b: 2 }, { idempotent: true });
    for (let i = 0; i < 9; i++) {
      expect(await schedules.schedule(60 + i, "ping", { b: 2, a: 1 }, { idempotent: true })).toEqual(first);
    }
    expect(world.count("cf_work")).toBe(1);
    expect(world.eventsOf("schedule:create")).toHaveLength(1);
  });

  test("without it every call adds a row", async () => {
    const { world, schedules } = setup();
    for (let i = 0; i < 3; i++) await schedules.schedule(60, "ping");
    expect(world.count("cf_work")).toBe(3);
  });

  test("a date dedups whatever the date; another payload or callback does not", async () => {
    const { world, schedules } = setup();
    const at = (ms: number) => new Date(world.nowMs + ms);
    const first = await schedules.schedule(at(1000), "ping", 1, { idempotent: true });
    expect((await schedules.schedule(at(9000), "ping", 1, { idempotent: true })).id).toBe(first.id);
    await schedules.schedule(at(1000), "ping", 2, { idempotent: true });
    await schedules.schedule(at(1000), "pong", 1, { idempotent: true });
    expect(world.count("cf_work")).toBe(3);
  });

  test("cron dedups by default and { idempotent: false } opts out", async () => {
    const { world, schedules } = setup();
    const first = await schedules.schedule("0 9 * * *", "ping");
    expect((await schedules.schedule(" 0 9 * * * ", "ping")).id).toBe(first.id);
    await schedules.schedule("0 10 * * *", "ping");
    expect(world.count("cf_work")).toBe(2);
    await schedules.schedule("0 9 * * *", "ping", undefined, { idempotent: false });
    expect(world.count("cf_work")).toBe(3);
  });

  test("scheduleEvery with another interval or payload adds a row, the same again does not", async () => {
    const { world, schedules } = setup();
    const first = await schedules.scheduleEvery(10, "ping", "a");
    expect((await schedules.scheduleEvery(10, "ping", "a")).id).toBe(first.id);
    await schedules.scheduleEvery(20, "ping", "a");
    await schedules.scheduleEvery(10, "ping", "b");
    expect(world.count("cf_work")).toBe(3);
  });

  test("a hit repairs a lost alarm, and an overdue row then fires at once", async () => {
    const { world, agent } = setup();
    await agent.schedules.schedule(60, "ping", null, { idempotent: true });
    world.crash();
    world.alarmAt = null;
    world.nowMs += 120_000;
    const next = world.boot();
    world.alarmAt = null;
    next.wakes.adopt(null);
    await next.schedules.schedule(60, "ping", null, { idempotent: true });
    expect(world.alarmAt).toBe(world.nowMs + 1);
  });

  test("a one-shot that asks for its own successor gets one", async () => {
    const world = new World();
    let runs = 0;
    const agent: TestAgent = world.boot({
      methods: {
        step: async () => {
          runs++;
          if (runs < 3) await agent.schedules.schedule(10, "step", null, { idempotent: true });
        }
      }
    });
    await agent.schedules.schedule(10, "step", null, { idempotent: true });
    await world.advance(60_000);
    expect(runs).toBe(3);
    expect(world.count("cf_work")).toBe(0);
  });

  test("any sequence of idempotent calls leaves exactly one row per distinct wish", async () => {
    const wish = fc.record({
      callback: fc.constantFrom("ping", "pong"),
      payload: fc.constantFrom<unknown>(undefined, null, 0, "", { a: 1, b: [1] }, { b: [1], a: 1 }, { a: 1 }),
      kind: fc.constantFrom("delayed", "scheduled", "cron", "interval")
    });
    await fc.assert(
      fc.asyncProperty(fc.array(wish, { maxLength: 25 }), async (wishes) => {
        const { world, schedules } = setup();
        for (const [index, { callback, payload, kind }] of wishes.entries()) {
          if (kind === "interval") await schedules.scheduleEvery(60, callback, payload);
          else if (kind === "cron") await schedules.schedule("@daily", callback, payload);
          else {
            const when = kind === "delayed" ? index + 1 : new Date(world.nowMs + index);
            await schedules.schedule(when, callback, payload, { idempotent: true });
          }
        }
        const payloadKey = (value: unknown) =>
          typeof value === "object" && value !== null ? Object.keys(value).sort().join() : String(value ?? null);
        const distinct = new Set(
          wishes.map((w) => `${w.kind}/${w.callback}/${payloadKey(w.payload)}/${typeof (w.payload ?? null)}`)
        );
        expect(world.count("cf_work")).toBe(distinct.size);
      }),
      { numRuns: 40 }
    );
  });
});

describe("what is refused", () => {
  test("callbacks that are no names of methods", async () => {
    const { schedules } = setup();
    const notText: unknown = () => undefined;
    await expect(schedules.schedule(1, notText as string)).rejects.toThrow("Callback must be a string");
    await expect(schedules.schedule(1, "nope")).rejects.toThrow("this.nope is not a function");
    await expect(schedules.scheduleEvery(1, "nope")).rejects.toThrow("this.nope is not a function");
  });

  test.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    1e300,
    new Date(Number.NaN),
    null,
    undefined,
    {},
    true
  ])("%s is no time, and the error names it", async (when) => {
    const { world, schedules } = setup();
    // Untyped callers reach this too.
    const attempt = schedules.schedule(when as number, "ping");
    if (when === Number.NEGATIVE_INFINITY) return void (await attempt);
    await expect(attempt).rejects.toThrow(String(when));
    expect(world.count("cf_work")).toBe(0);
  });

  test("an invalid cron expression fails at once", async () => {
    const { schedules } = setup();
    await expect(schedules.schedule("every day", "ping")).rejects.toThrow("not a usable cron expression");
    await expect(schedules.schedule("0 0 30 2 *", "ping")).rejects.toThrow("no date ever matches it");
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_592_001])("an interval of %s seconds", async (seconds) => {
    const { schedules } = setup();
    await expect(schedules.scheduleEvery(seconds, "ping")).rejects.toThrow("must be a positive number of seconds");
  });

  test("an interval of exactly 30 days is allowed", async () => {
    const { schedules } = setup();
    await expect(schedules.scheduleEvery(2_592_000, "ping")).resolves.toMatchObject({ type: "interval" });
  });

  test("wrong retry options", async () => {
    const { schedules } = setup();
    await expect(schedules.schedule(1, "ping", null, { retry: { baseDelayMs: 5000 } })).rejects.toThrow(
      "retry.baseDelayMs must be <= retry.maxDelayMs"
    );
    await expect(schedules.scheduleEvery(1, "ping", null, { retry: { maxAttempts: 0 } })).rejects.toThrow(
      "retry.maxAttempts must be >= 1"
    );
  });

  test("payloads that are too large or not JSON, before anything is stored", async () => {
    const { world, schedules } = setup();
    await expect(schedules.schedule(1, "ping", "x".repeat(1_900_000))).rejects.toMatchObject({ code: "too-large" });
    await expect(schedules.schedule(1, "ping", "é".repeat(960_000))).rejects.toMatchObject({ code: "too-large" });
    await expect(schedules.schedule(1, "ping", 1n)).rejects.toMatchObject({ code: "not-json" });
    await expect(schedules.schedule(1, "ping", () => 1)).rejects.toMatchObject({ code: "not-json" });
    expect(world.count("cf_work")).toBe(0);
    await expect(schedules.schedule(1, "ping", "x".repeat(1_800_000))).resolves.toMatchObject({ callback: "ping" });
  });

  test("one row more than the limit, with a hint; a dedup hit still works at the limit", async () => {
    const { world, schedules } = setup();
    const kept = await schedules.schedule(60, "ping", "kept", { idempotent: true });
    world.database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SCHEDULE_LIMIT - 1})
      INSERT INTO cf_work (kind, key, lane, payload, due_at, created_at)
      SELECT 'schedule', 'bulk-' || i, 'x', '{"callback":"ping","type":"delayed","detail":"1","time":9e12}', 9e12, 1 FROM n`);
    await expect(schedules.schedule(60, "ping")).rejects.toMatchObject({
      code: "too-many-schedules",
      hint: expect.stringContaining("idempotent")
    });
    expect((await schedules.schedule(60, "ping", "kept", { idempotent: true })).id).toBe(kept.id);
    await schedules.cancel("bulk-1");
    await expect(schedules.schedule(60, "ping")).resolves.toBeDefined();
  });
});

describe("cancel, get and list", () => {
  test("cancel says whether there was something, and gives the wake back", async () => {
    const { world, schedules } = setup();
    const schedule = await schedules.schedule(60, "ping");
    expect(await schedules.cancel(schedule.id)).toBe(true);
    expect(await schedules.cancel(schedule.id)).toBe(false);
    expect(await schedules.get(schedule.id)).toBeUndefined();
    expect(world.alarmAt).toBeNull();
    expect(world.eventsOf("schedule:cancel")).toEqual([{ callback: "ping", id: schedule.id }]);
  });

  test("list filters by id, type and an inclusive time range, in time order", async () => {
    const { world, schedules } = setup();
    const late = await schedules.schedule(30.4, "ping");
    const early = await schedules.schedule(new Date(world.nowMs + 10_000), "ping");
    const cron = await schedules.schedule("@daily", "ping");
    const ids = async (filter?: Parameters<typeof schedules.list>[0]) =>
      (await schedules.list(filter)).map(({ id }) => id);
    expect(await ids()).toEqual([early.id, late.id, cron.id]);
    expect(await ids({ type: "cron" })).toEqual([cron.id]);
    expect(await ids({ id: late.id })).toEqual([late.id]);
    expect(await ids({ id: "unknown" })).toEqual([]);
    const at = (seconds: number) => new Date(world.nowMs + seconds * 1000);
    expect(await ids({ timeRange: { start: at(10), end: at(30) } })).toEqual([early.id, late.id]);
    expect(await ids({ timeRange: { start: at(30.4), end: at(30.4) } })).toEqual([late.id]);
    expect(await ids({ timeRange: { start: at(10.001), end: at(29.999) } })).toEqual([]);
    expect(await ids({ timeRange: { end: at(10) } })).toEqual([early.id]);
  });

  test("an unreadable row does not break list", async () => {
    const { world, schedules } = setup();
    const bad = await schedules.schedule(60, "ping", { a: 1 });
    const worse = await schedules.schedule(60, "ping");
    world.database.prepare("UPDATE cf_work SET payload = json_set(payload, '$.text', '{') WHERE key = ?").run(bad.id);
    world.database
      .prepare("UPDATE cf_work SET payload = json_set(payload, '$.type', 'moon') WHERE key = ?")
      .run(worse.id);
    expect(await schedules.list()).toEqual([expect.objectContaining({ id: bad.id, payload: null })]);
  });
});

describe("inside onStart", () => {
  test("a non-idempotent schedule warns once per callback and still creates the row", async () => {
    const { world, agent, schedules } = setup();
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    agent.isInUserStart = true;
    await schedules.schedule(60, "ping");
    await schedules.schedule(60, "ping");
    await schedules.schedule(new Date(world.nowMs), "pong");
    expect(warn).toHaveBeenCalledTimes(2);
    expect(world.count("cf_work")).toBe(3);
    await schedules.schedule(60, "ping", 1, { idempotent: true });
    await schedules.schedule(60, "ping", 1, { idempotent: false });
    await schedules.schedule("@daily", "ping");
    await schedules.scheduleEvery(5, "ping");
    agent.isInUserStart = false;
    await schedules.schedule(60, "ping", 2);
    expect(warn).toHaveBeenCalledTimes(2);
  });
});
