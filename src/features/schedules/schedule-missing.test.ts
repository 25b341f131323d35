// A deploy may lack a method that schedules are for: they wait for it.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";
import { MISSING_CALLBACK_MS } from "./schedule-runner.ts";

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

function boot(methods: Methods): TestAgent {
  return world.boot({ methods });
}

describe("a due row", () => {
  test("whose method a deploy has lost is kept, with an event, and runs when the method is back", async () => {
    const seen: unknown[] = [];
    const agent = boot({ ping: () => undefined });
    const { id } = await agent.schedules.schedule(1, "ping", "hello");
    agent.methods = {};
    const dueAt = world.nowMs + 1000;
    await world.advance(3 * 86_400_000);
    expect(world.count("cf_work")).toBe(1);
    expect(await agent.schedules.get(id)).toMatchObject({ callback: "ping", payload: "hello" });
    const keptUntil = dueAt + MISSING_CALLBACK_MS;
    expect(world.eventsOf("schedule:callback_missing")).toEqual([{ callback: "ping", id, keptUntil }]);
    expect(world.eventsOf("schedule:error")).toEqual([]);
    expect(vi.mocked(console.error).mock.calls.map(String)).toEqual([expect.stringContaining("this.ping")]);
    agent.methods = { ping: (payload) => void seen.push(payload) };
    await world.advance(3_600_000);
    expect(seen).toEqual(["hello"]);
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmAt).toBeNull();
  });

  test("whose method a deploy lost while it ran is said to be missing once, and runs when the method is back", async () => {
    const seen: unknown[] = [];
    const agent = boot({ ping: () => new Promise(() => undefined) });
    const { id } = await agent.schedules.schedule(1, "ping", "hello");
    world.nowMs += 1_007;
    await world.advance(0);
    world.crash();
    const next = boot({});
    await world.advance(3 * 86_400_000);
    expect(world.eventsOf("schedule:callback_missing").map((event) => event.id)).toEqual([id]);
    next.methods = { ping: (payload) => void seen.push(payload) };
    await world.advance(3_600_000);
    expect(seen).toEqual(["hello"]);
    expect(world.count("cf_work")).toBe(0);
  });

  test("that took all memory, and whose method the next deploy lost, is said to be missing once", async () => {
    const agent = boot({ ping: () => Promise.reject(new Error("Durable Object's isolate exceeded its memory limit")) });
    const { id } = await agent.schedules.schedule(1, "ping");
    await world.advance(20_000);
    expect(world.eventsOf("schedule:error")).toHaveLength(1);
    world.crash();
    boot({});
    await world.advance(3 * 86_400_000);
    expect(world.eventsOf("schedule:callback_missing").map((event) => event.id)).toEqual([id]);
  });

  test("whose method is away for a moment runs two minutes after its time at the latest", async () => {
    let calls = 0;
    const agent = boot({ ping: () => void calls++ });
    await agent.schedules.schedule(1, "ping");
    const { methods } = agent;
    agent.methods = {};
    await world.advance(30_000);
    agent.methods = methods;
    await world.advance(91_000);
    expect(calls).toBe(1);
  });

  test("of a cron or an interval whose method is missing runs once when it is back, and goes on as before", async () => {
    const calls: string[] = [];
    const methods = { daily: () => void calls.push("daily"), often: () => void calls.push("often") };
    const agent = boot(methods);
    await agent.schedules.schedule("30 8 * * *", "daily");
    await agent.schedules.scheduleEvery(60, "often");
    agent.methods = {};
    await world.advance(5 * 86_400_000);
    expect(world.count("cf_work")).toBe(2);
    agent.methods = methods;
    await world.advance(3_600_000);
    expect(calls.filter((name) => name === "daily")).toHaveLength(1);
    expect(calls.filter((name) => name === "often").length).toBeGreaterThan(1);
  });

  test("whose method stays away is dropped after 30 days, as an error that says so", async () => {
    const agent = boot({ ping: () => undefined });
    const { id } = await agent.schedules.schedule(1, "ping");
    await agent.schedules.scheduleEvery(60, "ping");
    agent.methods = {};
    await world.advance(29 * 86_400_000);
    expect(world.count("cf_work")).toBe(2);
    await world.advance(2 * 86_400_000);
    expect(world.count("cf_work")).toBe(0);
    const error = expect.stringContaining("this.ping is not a function");
    expect(world.eventsOf("schedule:error")).toContainEqual({ callback: "ping", id, error, attempts: 0 });
    expect(world.alarmAt).toBeNull();
  });

  test("of many whose method is missing costs a wake an hour, not one each", async () => {
    const agent = boot({ ping: () => undefined });
    for (let count = 0; count < 100; count += 1) await agent.schedules.schedule(count / 10, "ping", count);
    agent.methods = {};
    await world.advance(86_400_000);
    let wakes = 0;
    const { alarm } = agent;
    agent.alarm = () => {
      wakes += 1;
      return alarm.call(agent);
    };
    await world.advance(86_400_000);
    expect(wakes).toBeLessThanOrEqual(25);
  });
});
