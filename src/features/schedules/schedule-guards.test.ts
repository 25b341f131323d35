// Rows whose run the platform ends: guards that only hard use would miss.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { World } from "../../testing/agent-core.test-support.ts";

let world: World;

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
  expect(world.count("cf_schedules")).toBe(0);
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
  expect(world.count("cf_schedules")).toBe(0);
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
