// Rows whose run the platform ends: guards that only hard use would miss.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TestAgent, World } from "../../testing/agent-core.test-support.ts";

let world: World;

const DAY_MS = 86_400_000;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

test("from its second start on a row that kills the process has a wake of its own, for when the platform stops repeating", async () => {
  const alarms: (number | null)[] = [];
  const methods = {
    ping: async () => {
      alarms.push(world.alarmAt);
      // The third is let through.
      if (alarms.length < 3) {
        world.crash();
        await new Promise(() => undefined);
      }
    }
  };
  const agent = world.boot({ methods });
  await agent.schedules.schedule(1, "ping");
  await world.advance(1_000);
  expect(alarms).toHaveLength(1);
  await world.advance(60_000);
  expect(alarms).toHaveLength(3);
  // While the first runs, the platform's own repetition is the wake.
  expect(alarms[0]).toBeNull();
  expect(alarms.slice(1).every((at) => at !== null)).toBe(true);
  expect(world.count("cf_work")).toBe(0);
});

test("a row whose second start, in a process that lives on, kills it is not lost when the platform stops repeating", async () => {
  let starts = 0;
  const methods = {
    ping: async () => {
      starts += 1;
      if (starts === 1) throw new Error("Durable Object reset because its code was updated.");
      if (starts > 2) return;
      // What is left is the wake that the object has set itself. A start of the object would have set one too.
      const own = world.alarmAt;
      world.crash();
      world.alarmAt = own;
      await new Promise(() => undefined);
    }
  };
  const agent = world.boot({ methods });
  await agent.schedules.schedule(1, "ping");
  await world.advance(600_000);
  expect(starts).toBe(3);
  expect(world.count("cf_work")).toBe(0);
});

test("a row that the platform interrupts is not started again while the others of its round run", async () => {
  const seen: string[] = [];
  const methods = {
    cut: () => {
      seen.push("cut");
      throw new Error("Durable Object reset because its code was updated.");
    },
    slow: async () => {
      for (let second = 0; second < 10; second += 1) await world.agent?.clock.sleep(1_000);
      seen.push("slow");
    },
    next: () => void seen.push("next")
  };
  const agent = world.boot({ methods });
  await agent.schedules.schedule(1, "cut");
  await agent.schedules.schedule(1, "slow");
  await agent.schedules.schedule(3, "next");
  await world.advance(9_000);
  // The round takes up what becomes due, and leaves the interrupted one to the platform.
  expect(seen).toEqual(["cut", "next"]);
});

test("what is given up as the agent starts is reported once user code may run, and a recurring one goes on as before", async () => {
  const methods = { ping: () => new Promise(() => undefined) };
  const agent = world.boot({ methods });
  const once = await agent.schedules.schedule(1, "ping");
  const cron = await agent.schedules.schedule("* * * * *", "ping");
  await world.advance(60_000);
  world.crash();
  world.database.exec(`UPDATE cf_work SET starts = 4, troubled_since = ${world.nowMs - DAY_MS - 1}`);
  const next = new TestAgent(world, { methods });
  next.schedules.start();
  await world.settle();
  expect(world.reported).toEqual([]);
  next.schedules.ready();
  await world.settle();
  const givenUp = expect.objectContaining({ code: "schedule-given-up" });
  expect(world.reported).toEqual([givenUp, givenUp]);
  expect(world.eventsOf("schedule:error").map(({ id, attempts }) => [id, attempts])).toEqual([
    [once.id, 4],
    [cron.id, 4]
  ]);
  expect(next.schedules.list()).toEqual([{ ...cron, time: cron.time + 60 }]);
  // The same wish is still found.
  expect(await next.schedules.schedule("* * * * *", "ping")).toMatchObject({ id: cron.id });
});

test("a schedule costs one write when it is accepted, and two a run", async () => {
  let runs = 0;
  const agent = world.boot({ methods: { ping: () => void runs++ } });
  const before = world.writes;
  await agent.schedules.schedule(1, "ping");
  await agent.schedules.schedule("*/10 * * * * *", "ping");
  await agent.schedules.scheduleEvery(10, "ping");
  expect(world.writes - before).toBe(3);
  await world.advance(60_500);
  expect(runs).toBe(13);
  expect(world.writes - before).toBe(3 + 2 * 13);
  expect(world.alarmsFired).toBe(7);
});

test("an alarm that finds the table broken at the start takes up later what an earlier process began", async () => {
  let runs = 0;
  const methods = { ping: () => (runs++ === 0 ? new Promise(() => undefined) : undefined) };
  const agent = world.boot({ methods });
  await agent.schedules.schedule(1, "ping");
  await world.advance(1_000);
  world.crash();
  world.database.exec("CREATE TRIGGER broken BEFORE UPDATE ON cf_work BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END");
  await world.advance(60_000);
  expect(world.alarmErrors).not.toEqual([]);
  world.database.exec("DROP TRIGGER broken");
  await world.advance(3_600_000);
  expect(runs).toBe(2);
  expect(world.count("cf_work")).toBe(0);
});
