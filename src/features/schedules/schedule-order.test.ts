import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, seeded, World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";
import { CONCURRENCY_LIMIT } from "./schedule-runner.ts";

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function boot(methods: Methods): TestAgent {
  return world.boot({ methods });
}

describe("order and concurrency", () => {
  test("rows start in time order", async () => {
    const order: number[] = [];
    const agent = boot({ ping: (payload) => void order.push(payload as number) });
    const base = world.nowMs;
    for (const offset of [5, 1, 4, 2, 3]) await agent.schedules.schedule(new Date(base + offset), "ping", offset);
    for (const offset of [-1, -3, -2]) await agent.schedules.schedule(new Date(base + offset), "ping", offset);
    world.nowMs += 1000;
    await world.advance(1);
    expect(order).toEqual([-3, -2, -1, 1, 2, 3, 4, 5]);
  });

  test("one slow callback does not delay the others, not even those that become due while it runs", async () => {
    const { opened, open } = gate();
    const ran: string[] = [];
    const agent = boot({
      slow: async () => {
        await opened;
        ran.push("slow");
      },
      quick: (payload) => void ran.push(payload as string)
    });
    await agent.schedules.schedule(1, "slow");
    await agent.schedules.schedule(1, "quick", "same time");
    await agent.schedules.schedule(20, "quick", "later");
    await world.advance(2000);
    expect(ran).toEqual(["same time"]);
    await agent.schedules.schedule(3, "quick", "new");
    await world.advance(20_000);
    expect(ran).toEqual(["same time", "new", "later"]);
    open();
    await world.advance(1);
    expect(ran.at(-1)).toBe("slow");
    expect(world.count("cf_work")).toBe(0);
    expect(world.alarmAt).toBeNull();
  });

  test("at most eight rows run at once, and slow ones give up their place", async () => {
    const { opened, open } = gate();
    let running = 0;
    let most = 0;
    let total = 0;
    const agent = boot({
      slow: async () => {
        most = Math.max(most, ++running);
        total++;
        await opened;
        running--;
      },
      quick: () => void total++
    });
    for (let i = 0; i < 20; i++) await agent.schedules.schedule(1, "slow", i);
    await world.advance(5000);
    expect(most).toBe(CONCURRENCY_LIMIT);
    await agent.schedules.schedule(1, "quick");
    await world.advance(100_000);
    expect(total).toBe(21);
    open();
    await world.advance(10);
    expect(world.count("cf_work")).toBe(0);
  });

  test("a running row is never started twice in one activation, however often the wake comes", async () => {
    const { opened, open } = gate();
    let runs = 0;
    const agent = boot({
      slow: async () => {
        runs++;
        await opened;
      }
    });
    await agent.schedules.scheduleEvery(1, "slow");
    await world.advance(1000);
    const others = [agent.schedules.runDue(), agent.schedules.runDue()];
    await world.advance(100_000);
    await Promise.all(others);
    expect(runs).toBe(1);
    open();
    await world.advance(1000);
    expect(runs).toBe(2);
  });

  test("overlapping wakes with more than eight due rows run each schedule once", async () => {
    const starts = new Map<unknown, number>();
    const gates: (() => void)[] = [];
    const random = seeded(3);
    const agent = boot({
      work: async (payload) => {
        starts.set(payload, (starts.get(payload) ?? 0) + 1);
        const { opened, open } = gate();
        gates.push(open);
        await opened;
      }
    });
    const count = 3 * CONCURRENCY_LIMIT;
    for (let i = 0; i < count; i++) {
      if (i % 2 === 0) await agent.schedules.schedule(1, "work", i);
      else await agent.schedules.scheduleEvery(1, "work", i);
    }
    await world.advance(1000);
    const others: Promise<void>[] = [];
    while (gates.length > 0) {
      // Ends in any order: a row is met by the lists of other wakes while it runs, and after it ended.
      gates.splice(Math.floor(random() * gates.length), 1)[0]?.();
      // A wake at every step in between: it may take a place before the wake whose row has ended does.
      for (let step = 0; step < 20; step++) {
        others.push(agent.schedules.runDue());
        await Promise.resolve();
      }
      await world.settle();
    }
    await Promise.all(others);
    expect([...starts.values()]).toEqual(Array.from({ length: count }, () => 1));
  });

  test("a callback that schedules its own successor for now goes through the wake each time", async () => {
    let runs = 0;
    const agent: TestAgent = boot({
      chain: async () => {
        runs++;
        await agent.schedules.schedule(0, "chain");
      }
    });
    await agent.schedules.schedule(0, "chain");
    await world.advance(50);
    expect(runs).toBeGreaterThan(10);
    expect(runs).toBeLessThanOrEqual(51);
  });

  test("ten due one-shots of one callback give one warning, and still run", async () => {
    let runs = 0;
    const agent = boot({ ping: () => void runs++, pong: () => undefined });
    for (let i = 0; i < 12; i++) await agent.schedules.schedule(1, "ping", i);
    for (let i = 0; i < 9; i++) await agent.schedules.schedule(1, "pong", i);
    await world.advance(2000);
    expect(world.eventsOf("schedule:duplicate_warning")).toEqual([{ callback: "ping", count: 12, type: "one-shot" }]);
    expect(runs).toBe(12);
  });
});

describe("when the table itself fails", () => {
  test("nothing is lost and nothing spins", async () => {
    let runs = 0;
    const agent = boot({ ping: () => void runs++ });
    await agent.schedules.schedule(1, "ping");
    world.database.exec(
      "CREATE TRIGGER broken BEFORE UPDATE ON cf_work BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"
    );
    await world.advance(300_000);
    expect(runs).toBe(0);
    expect(world.alarmsFired).toBeLessThan(20);
    expect(world.alarmErrors.length).toBeGreaterThan(2);
    world.database.exec("DROP TRIGGER broken");
    await world.advance(60_000);
    expect(runs).toBe(1);
    expect(world.count("cf_work")).toBe(0);
  });
});
