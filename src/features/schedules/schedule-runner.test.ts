import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";

const RESET = "Durable Object reset because its code was updated.";
const LOST = "Network connection lost.";
const MEMORY = "Durable Object's isolate exceeded its memory limit and was reset.";

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function boot(methods: Methods): TestAgent {
  return world.boot({ methods });
}

/** A method that fails with the given messages, then succeeds; and how often it was called. */
function failing(...messages: string[]) {
  const state = { calls: 0 };
  const method = () => {
    const message = messages[state.calls++];
    if (message !== undefined) throw new Error(message);
  };
  return { state, method };
}

describe("a due row", () => {
  test("calls the callback with the parsed payload and the public schedule, never early", async () => {
    const seen: unknown[][] = [];
    const agent = boot({ ping: (...args) => void seen.push([...args, world.nowMs]) });
    const dueAt = world.nowMs + 1400;
    const schedule = await agent.schedules.schedule(1.4, "ping", { a: [1] });
    await world.advance(1399);
    expect(seen).toEqual([]);
    await world.advance(1);
    expect(seen).toEqual([[{ a: [1] }, schedule, dueAt]]);
    expect(world.eventsOf("schedule:execute")).toEqual([{ callback: "ping", id: schedule.id }]);
  });

  test("an omitted payload arrives as null", async () => {
    const seen: unknown[] = [];
    const agent = boot({ ping: (payload) => void seen.push(payload) });
    await agent.schedules.schedule(0, "ping");
    await world.advance(5);
    expect(seen).toEqual([null]);
  });

  test("success deletes a one-shot, and the object can idle", async () => {
    const agent = boot({ ping: () => undefined });
    await agent.schedules.schedule(1, "ping");
    await world.advance(5000);
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmAt).toBeNull();
  });

  test("a late cron runs once and its next time is in the future", async () => {
    let runs = 0;
    const agent = boot({ ping: () => void runs++ });
    const schedule = await agent.schedules.schedule("0 * * * *", "ping");
    world.crash();
    world.nowMs += 5.5 * 3_600_000;
    await world.advance(1);
    expect(runs).toBe(1);
    expect((await world.agent?.schedules.get(schedule.id))?.time).toBe(Date.UTC(2026, 0, 1, 6) / 1000);
    expect(world.alarmAt).toBe(Date.UTC(2026, 0, 1, 6));
  });

  test("an interval first runs one interval after creation, then one interval after each completion", async () => {
    const starts: number[] = [];
    const begin = world.nowMs;
    const agent = boot({
      ping: async () => {
        starts.push(world.nowMs - begin);
        await agent.clock.sleep(3000);
      }
    });
    await agent.schedules.scheduleEvery(10, "ping");
    await world.advance(40_000);
    expect(starts).toEqual([10_000, 23_000, 36_000]);
  });

  test("a callback may cancel its own schedule", async () => {
    let runs = 0;
    const agent: TestAgent = boot({
      ping: async (_payload, schedule) => {
        runs++;
        expect(await agent.schedules.cancel((schedule as { id: string }).id)).toBe(true);
      }
    });
    await agent.schedules.scheduleEvery(1, "ping");
    await world.advance(10_000);
    expect(runs).toBe(1);
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmAt).toBeNull();
  });

  test("stop() in the middle of a callback: no further row starts and nothing is written", async () => {
    const ran: string[] = [];
    const agent: TestAgent = boot({
      destroy: () => {
        ran.push("destroy");
        agent.schedules.stop();
        agent.fibers.stop();
        agent.queue.stop();
        world.database.exec("DROP TABLE cf_work");
      },
      ping: () => void ran.push("ping")
    });
    await agent.schedules.schedule(1, "destroy");
    for (let i = 0; i < 5; i++) await agent.schedules.schedule(1, "ping");
    await world.advance(5000);
    expect(ran).toEqual(["destroy"]);
    expect(world.alarmErrors).toEqual([]);
    expect(world.alarmAt).toBeNull();
  });
});

describe("a failing row", () => {
  test("is retried with its own options; each retry is an event; then it is consumed and onError is called", async () => {
    const { state, method } = failing("one", "two", "three", "four");
    const agent = boot({ ping: method });
    const { id } = await agent.schedules.schedule(1, "ping", null, { retry: { maxAttempts: 4 } });
    await world.advance(20_000);
    expect(state.calls).toBe(4);
    expect(world.eventsOf("schedule:retry").map(({ attempt, maxAttempts }) => [attempt, maxAttempts])).toEqual([
      [2, 4],
      [3, 4],
      [4, 4]
    ]);
    expect(world.eventsOf("schedule:error")).toEqual([{ callback: "ping", id, error: "four", attempts: 4 }]);
    expect(world.reported).toEqual([expect.objectContaining({ message: "four" })]);
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmErrors).toEqual([]);
  });

  test("uses the class's retry options by default", async () => {
    const { state, method } = failing("one", "two");
    const agent = boot({ ping: method });
    await agent.schedules.schedule(1, "ping");
    await world.advance(20_000);
    expect(state.calls).toBe(3);
    expect(world.eventsOf("schedule:error")).toEqual([]);
  });

  test("a recurring row is rescheduled after its attempts are used up", async () => {
    let calls = 0;
    const agent = boot({
      ping: () => {
        calls++;
        throw new Error("always");
      }
    });
    await agent.schedules.scheduleEvery(60, "ping");
    await agent.schedules.schedule("0 * * * *", "ping");
    await world.advance(2 * 3_600_000);
    expect(world.count("cf_work")).toBe(2);
    expect(calls).toBeGreaterThan(300);
  });

  test("an error that says retryable: false is final", async () => {
    let calls = 0;
    const agent = boot({
      ping: () => {
        calls++;
        throw Object.assign(new Error("no such customer"), { retryable: false });
      }
    });
    await agent.schedules.schedule(1, "ping");
    await world.advance(20_000);
    expect(calls).toBe(1);
    expect(world.eventsOf("schedule:error")).toMatchObject([{ attempts: 1 }]);
    expect(world.count("cf_work")).toBe(0);
  });

  test("an unreadable payload is quarantined, reported with attempts 0, and treated as executed", async () => {
    let calls = 0;
    const agent = boot({ ping: () => void calls++ });
    await agent.schedules.schedule(1, "ping", "once");
    const every = await agent.schedules.scheduleEvery(1, "ping", "every");
    world.database.exec("UPDATE cf_work SET payload = json_set(payload, '$.text', '{broken')");
    await world.advance(1500);
    expect(calls).toBe(0);
    expect(world.eventsOf("schedule:error").map(({ attempts }) => attempts)).toEqual([0, 0]);
    expect(world.rows("SELECT source, body FROM cf_quarantine")).toEqual([
      { source: "cf_work", body: "{broken" },
      { source: "cf_work", body: "{broken" }
    ]);
    expect((await agent.schedules.list()).map(({ id }) => id)).toEqual([every.id]);
  });

  test("a row whose kind makes no sense is set aside whole and does not stop the others", async () => {
    let calls = 0;
    const agent = boot({ ping: () => void calls++ });
    const bad = await agent.schedules.schedule("* * * * *", "ping");
    world.database
      .prepare("UPDATE cf_work SET payload = json_set(payload, '$.detail', 'nonsense') WHERE key = ?")
      .run(bad.id);
    await agent.schedules.schedule(60, "ping", "good");
    await world.advance(61_000);
    expect(calls).toBe(1);
    expect(world.count("cf_work")).toBe(0);
    expect(world.count("cf_quarantine")).toBe(1);
    expect(world.alarmErrors).toEqual([]);
  });
});

describe("a platform failure", () => {
  test("a one-shot whose isolate was superseded keeps its row and rejects the alarm after one attempt", async () => {
    const { state, method } = failing(RESET);
    const agent = boot({ ping: method });
    await agent.schedules.schedule(1, "ping");
    await world.advance(1001);
    expect(state.calls).toBe(1);
    expect(world.alarmErrors).toEqual([expect.objectContaining({ message: RESET })]);
    expect(world.count("cf_work")).toBe(1);
    expect(world.eventsOf("schedule:error")).toEqual([]);
    await world.advance(10_000);
    expect(state.calls).toBe(2);
    expect(world.count("cf_work")).toBe(0);
  });

  test("`Network connection lost.` on every attempt uses all attempts, then keeps the row", async () => {
    const { state, method } = failing(LOST, LOST, LOST);
    const agent = boot({ ping: method });
    await agent.schedules.schedule(1, "ping");
    await world.advance(1900);
    expect(state.calls).toBe(3);
    expect(world.alarmErrors).toEqual([expect.objectContaining({ message: LOST })]);
    expect(world.count("cf_work")).toBe(1);
    await world.advance(10_000);
    expect(state.calls).toBe(4);
    expect(world.count("cf_work")).toBe(0);
  });

  test("if the last error is the application's, the row is consumed whatever came before", async () => {
    const { state, method } = failing(LOST, LOST, "boom");
    const agent = boot({ ping: method });
    await agent.schedules.schedule(1, "ping");
    await world.advance(10_000);
    expect(state.calls).toBe(3);
    expect(world.eventsOf("schedule:error")).toMatchObject([{ error: "boom", attempts: 3 }]);
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmErrors).toEqual([]);
  });

  test("the other due rows run first, then the alarm rejects with the original error", async () => {
    const original = new Error(RESET);
    const ran: number[] = [];
    const agent = boot({
      broken: () => {
        throw original;
      },
      fine: (payload) => void ran.push(payload as number)
    });
    await agent.schedules.schedule(1, "broken");
    for (let i = 0; i < 30; i++) await agent.schedules.schedule(2, "fine", i);
    world.crash();
    world.nowMs += 60_000;
    const next = world.boot();
    const rejection = next.schedules.runDue().catch((error: unknown) => error);
    await world.advance(0);
    expect(await rejection).toBe(original);
    expect(ran).toHaveLength(30);
    expect(world.count("cf_work")).toBe(1);
  });

  test("a cron row survives too, and an interval waits out its hung timeout", async () => {
    const cron = failing(RESET);
    const every = failing(RESET);
    const agent = boot({ cron: cron.method, every: every.method });
    await agent.schedules.schedule("* * * * *", "cron");
    await agent.schedules.scheduleEvery(3000, "every");
    await world.advance(75_000);
    expect(cron.state.calls).toBe(2);
    await world.advance(3_000_000 - 75_000 + 29_000);
    expect(every.state.calls).toBe(1);
    await world.advance(2000);
    expect(every.state.calls).toBe(2);
  });

  test("a row that is interrupted every time is slowed down to five minutes and given up after a day", async () => {
    const times: number[] = [];
    const agent = boot({
      ping: () => {
        times.push(world.nowMs);
        throw new Error(RESET);
      }
    });
    await agent.schedules.schedule(1, "ping");
    await world.advance(23.9 * 3_600_000);
    const gaps = times.map((time, index) => time - (times[index - 1] ?? time));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(310_000);
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(300_000);
    expect(times.length).toBeLessThan(300);
    expect(world.count("cf_work")).toBe(1);
    await world.advance(3_600_000);
    expect(world.count("cf_work")).toBe(0);
    expect(world.eventsOf("schedule:error")).toMatchObject([{ error: expect.stringContaining("given up") }]);
    expect(world.alarmAt).toBeNull();
  });
});

describe("out of memory", () => {
  test("three strikes drop that row only; each strike backs it off", async () => {
    const times: number[] = [];
    let others = 0;
    const begin = world.nowMs;
    const agent = boot({
      big: () => {
        times.push(world.nowMs - begin);
        throw new Error(MEMORY);
      },
      small: () => void others++
    });
    const { id } = await agent.schedules.scheduleEvery(1, "big");
    await agent.schedules.scheduleEvery(1, "small");
    await world.advance(200_000);
    expect(times).toEqual([1000, 31_000, 91_000]);
    expect(world.eventsOf("alarm:memory_limit_reset")).toEqual([{ callback: "big", id, strikes: 3 }]);
    expect(world.count("cf_work")).toBe(1);
    expect(others).toBeGreaterThan(150);
    expect(world.alarmErrors).toEqual([]);
  });

  test("strikes survive a restart, and a clean run resets them", async () => {
    let failures = 2;
    const agent = boot({
      big: () => {
        if (failures-- > 0) throw new Error(MEMORY);
      }
    });
    const { id } = await agent.schedules.scheduleEvery(1, "big");
    await world.advance(2000);
    world.crash();
    expect(world.rows("SELECT failures AS strikes FROM cf_work")).toEqual([{ strikes: 1 }]);
    await world.advance(40_000);
    expect(world.rows("SELECT failures AS strikes FROM cf_work")).toEqual([{ strikes: 2 }]);
    await world.advance(100_000);
    expect(world.rows("SELECT key AS id, failures AS strikes FROM cf_work")).toEqual([{ id, strikes: 0 }]);
    failures = 2;
    await world.advance(300_000);
    expect(world.count("cf_work")).toBe(1);
  });
});

describe("a crash in the middle of a callback", () => {
  test("a one-shot and a cron run again", async () => {
    const runs: string[] = [];
    let isCrashing = true;
    const crashing = (name: string) => () => {
      runs.push(name);
      return isCrashing ? new Promise(() => undefined) : undefined;
    };
    const agent = boot({ once: crashing("once"), cron: crashing("cron") });
    await agent.schedules.schedule(60, "once");
    await agent.schedules.schedule("* * * * *", "cron");
    await world.advance(61_000);
    expect(runs).toEqual(["once", "cron"]);
    world.crash();
    isCrashing = false;
    world.boot();
    await world.advance(100);
    expect(runs.slice(2).toSorted()).toEqual(["cron", "once"]);
    expect(world.count("cf_work")).toBe(1);
  });

  test("an interval left running is skipped with a warning before 30 s and executed after", async () => {
    let runs = 0;
    const agent = boot({ ping: () => (runs++ === 0 ? new Promise(() => undefined) : undefined) });
    await agent.schedules.scheduleEvery(10, "ping");
    await world.advance(10_000);
    expect(runs).toBe(1);
    world.crash();
    const next = world.boot();
    await next.schedules.runDue();
    expect(runs).toBe(1);
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining("never ended"));
    await world.advance(29_999);
    expect(runs).toBe(1);
    await world.advance(1);
    expect(runs).toBe(2);
  });

  test("the alarm that finds it again is armed while it runs, even if everything else is cancelled", async () => {
    const agent = boot({ ping: () => new Promise(() => undefined), pong: () => undefined });
    await agent.schedules.schedule(1, "ping");
    const other = await agent.schedules.schedule(5000, "pong");
    await world.advance(1000);
    await agent.schedules.cancel(other.id);
    expect(world.alarmAt).toBeLessThanOrEqual(world.nowMs + 30_000);
  });

  test("a row that kills the process three times in a row backs off, is kept for a day, then given up", async () => {
    const times: number[] = [];
    const begin = world.nowMs;
    const agent = boot({
      bomb: () => {
        times.push(world.nowMs - begin);
        world.crash();
        return new Promise(() => undefined);
      }
    });
    await agent.schedules.schedule(1, "bomb");
    await world.advance(25 * 3_600_000);
    expect(times.slice(0, 3).every((time) => time < 40_000)).toBe(true);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(gaps[2]).toBeGreaterThanOrEqual(30_000);
    expect(gaps[3]).toBeGreaterThanOrEqual(60_000);
    expect(Math.max(...gaps)).toBeLessThan(305_000);
    expect(times.at(-1)).toBeGreaterThan(23.8 * 3_600_000);
    expect(world.count("cf_work")).toBe(0);
    expect(world.eventsOf("schedule:error")).toHaveLength(1);
  });

  test("one run that ends makes the starts that did not forgotten", async () => {
    let runs = 0;
    const agent = boot({
      ping: () => {
        if (++runs > 2) return undefined;
        world.crash();
        return new Promise(() => undefined);
      }
    });
    await agent.schedules.schedule("* * * * *", "ping");
    await world.advance(100_000);
    expect(runs).toBe(3);
    expect(world.rows("SELECT starts, troubled_since, claimed_at FROM cf_work")).toEqual([
      { starts: 0, troubled_since: null, claimed_at: null }
    ]);
  });
});
