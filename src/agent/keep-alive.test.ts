import { describe, expect, test } from "vitest";
import { World } from "../testing/agent-core.test-support.ts";
import { Heartbeat } from "./keep-alive.ts";

const INTERVAL_MS = 30_000;

describe("keepAlive", () => {
  test("while one is held the alarm is at most 30 s away; releasing the last restores the next schedule's time", async () => {
    const world = new World();
    const agent = world.boot({ methods: { later: () => undefined } });
    const schedule = await agent.schedules.schedule(3600, "later");
    const scheduledAt = world.alarmAt;
    expect(scheduledAt).toBe(schedule.time * 1000);
    const first = await agent.keepAlive.acquire();
    const second = await agent.keepAlive.acquire();
    expect(world.alarmAt).toBe(world.nowMs + INTERVAL_MS);
    await world.advance(10 * INTERVAL_MS + 7);
    expect(world.alarmAt).toBeGreaterThan(world.nowMs);
    expect(world.alarmAt).toBeLessThanOrEqual(world.nowMs + INTERVAL_MS);
    first();
    expect(agent.keepAlive.isHeld).toBe(true);
    second();
    expect(world.alarmAt).toBe(scheduledAt);
  });

  test("with nothing else pending, releasing clears the alarm: an idle object never wakes", async () => {
    const world = new World();
    const release = await world.boot().keepAlive.acquire();
    release();
    expect(world.alarmAt).toBeNull();
    await world.advance(24 * 3_600_000);
    expect(world.alarmsFired).toBe(0);
  });

  test("a disposer counts once however often it is called", async () => {
    const world = new World();
    const { keepAlive } = world.boot();
    const first = await keepAlive.acquire();
    const second = await keepAlive.acquire();
    first();
    first();
    first();
    expect(keepAlive.isHeld).toBe(true);
    second();
    expect(keepAlive.isHeld).toBe(false);
    expect(world.alarmAt).toBeNull();
  });

  test("work that comes again soon finds its wake; a second after the last of it there is none", async () => {
    const world = new World();
    const { keepAlive } = world.boot();
    await keepAlive.whileActive(() => undefined);
    const armedAt = world.alarmAt;
    expect(armedAt).toBe(world.nowMs + INTERVAL_MS);
    await world.advance(999);
    await keepAlive.whileActive(async () => {
      await world.advance(1_000);
      expect(world.alarmAt).toBe(armedAt);
    });
    await world.advance(999);
    expect(world.alarmAt).toBe(armedAt);
    await world.advance(1);
    expect(world.alarmAt).toBeNull();
    await world.advance(24 * 3_600_000);
    expect(world.alarmsFired).toBe(0);
  });

  test("while() returns the value, passes the error on, and always releases", async () => {
    const world = new World();
    const { keepAlive } = world.boot();
    await expect(keepAlive.while(async () => 7)).resolves.toBe(7);
    await expect(keepAlive.while(() => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
    expect(keepAlive.isHeld).toBe(false);
  });

  test("a reference whose wake could not be armed is not held", async () => {
    const world = new World();
    const agent = world.boot();
    await world.settle();
    agent.armError = new Error("the root is gone");
    await expect(agent.keepAlive.acquire()).rejects.toThrow("the root is gone");
    expect(agent.keepAlive.isHeld).toBe(false);
  });

  test("re-arming while held does not move the alarm, so it costs nothing", async () => {
    const world = new World();
    const agent = world.boot();
    const release = await agent.keepAlive.acquire();
    const armed = world.alarmAt;
    world.nowMs += 10_000;
    await agent.wakes.rearm();
    expect(world.alarmAt).toBe(armed);
    release();
  });

  test("the heartbeat is never further than one interval away, even if the clock goes back", () => {
    const heartbeat = new Heartbeat(1000);
    expect(heartbeat.next(5000)).toBe(6000);
    expect(heartbeat.next(5999)).toBe(6000);
    expect(heartbeat.next(6000)).toBe(7000);
    expect(heartbeat.next(2000)).toBe(3000);
  });
});
