import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";
import type { FiberRecoveryContext } from "./fiber-row.ts";
import { leaveInterrupted, never } from "./fiber-recovery.test-support.ts";

const DAY_MS = 24 * 3_600_000;
let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe("an interrupted unmanaged fiber", () => {
  test("killed mid-run is recovered by the alarm alone, with no client traffic, with its last stash", async () => {
    const seen: unknown[] = [];
    await leaveInterrupted(world, { methods: { onFiberRecovered: (context) => void seen.push(context) } });
    const createdAt = world.nowMs;
    await world.advance(30_000);
    expect(seen).toEqual([
      { id: expect.any(String), name: "job", snapshot: { step: 0 }, createdAt, recoveryReason: "interrupted" }
    ]);
    expect(world.count("cf_fibers")).toBe(0);
    expect(world.alarmAt).toBeNull();
    expect(world.events.map(({ type }) => type)).toEqual([
      "fiber:recovery:detected",
      "fiber:run:interrupted",
      "fiber:recovery:attempt",
      "fiber:recovery:handled"
    ]);
    expect(world.eventsOf("fiber:recovery:handled")).toMatchObject([{ status: "user", elapsedMs: 30_000 }]);
  });

  test("whatever the hook returns, the row is gone", async () => {
    await leaveInterrupted(world, { methods: { onFiberRecovered: () => ({ status: "interrupted" }) } });
    world.boot();
    await world.settle();
    expect(world.count("cf_fibers")).toBe(0);
  });

  test("without a hook it warns and lets go", async () => {
    await leaveInterrupted(world, { methods: {} });
    world.boot();
    await world.settle();
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining("onFiberRecovered"));
    expect(world.count("cf_fibers")).toBe(0);
  });

  test("a corrupt snapshot arrives as null, with a warning, and the text is kept in quarantine", async () => {
    const seen: FiberRecoveryContext[] = [];
    await leaveInterrupted(world, {
      methods: { onFiberRecovered: (context) => void seen.push(context as FiberRecoveryContext) }
    });
    world.database.exec("UPDATE cf_fibers SET snapshot = '{half'");
    world.boot();
    await world.settle();
    expect(seen).toMatchObject([{ snapshot: null }]);
    expect(console.warn).toHaveBeenCalled();
    expect(world.rows("SELECT source, body FROM cf_quarantine")).toEqual([{ source: "cf_fibers", body: "{half" }]);
  });

  test("an always-throwing hook is retried at growing intervals up to 5 minutes and dropped after 24 h", async () => {
    const times: number[] = [];
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: () => {
          times.push(world.nowMs);
          throw new Error("boom");
        }
      }
    });
    world.boot();
    await world.advance(DAY_MS - 1000);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(gaps.slice(0, 5)).toEqual([30_000, 60_000, 120_000, 240_000, 300_000]);
    expect(Math.max(...gaps)).toBe(300_000);
    expect(world.count("cf_fibers")).toBe(1);
    await world.advance(600_000);
    expect(world.count("cf_fibers")).toBe(0);
    expect(world.eventsOf("fiber:recovery:skipped")).toMatchObject([{ reason: "max_age_exceeded" }]);
    expect(world.eventsOf("fiber:recovery:failed").at(-1)).toMatchObject({ error: "boom", reason: "handler_error" });
    // It was tried once more after the limit.
    expect(times.at(-1)).toBeGreaterThan((times[0] ?? 0) + DAY_MS);
    expect(world.alarmAt).toBeNull();
  });

  test("a restart does not reset the interval, and one successful recovery does", async () => {
    let attempts = 0;
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: (context) => {
          if ((context as FiberRecoveryContext).name !== "job") return;
          attempts++;
          throw new Error("boom");
        }
      }
    });
    world.boot();
    await world.advance(7 * 60_000 + 31_000);
    expect(attempts).toBe(5);
    for (let i = 0; i < 10; i++) {
      world.crash();
      world.boot();
      await world.settle();
    }
    expect(attempts).toBe(5);
    void world.agent?.fibers.run("other", never).catch(() => undefined);
    await world.settle();
    world.crash();
    world.boot();
    await world.settle();
    expect(world.eventsOf("fiber:recovery:handled")).toMatchObject([{ fiberName: "other" }]);
    await world.advance(30_000);
    expect(attempts).toBe(6);
    await world.advance(29_999);
    expect(attempts).toBe(6);
    await world.advance(1);
    expect(attempts).toBe(7);
  });

  test("a hook that kills the process cannot spin, and does not live for ever", async () => {
    const times: number[] = [];
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: () => {
          times.push(world.nowMs);
          world.crash();
          return never();
        }
      }
    });
    await world.advance(DAY_MS + 3_600_000);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30_000);
    expect(times.length).toBeLessThan(320);
    expect(world.count("cf_fibers")).toBe(0);
    expect(world.eventsOf("fiber:recovery:skipped")).toMatchObject([{ reason: "max_age_exceeded" }]);
  });

  test("a hook that kills the process is not asked again by visitors before its interval is over", async () => {
    let calls = 0;
    const onFiberRecovered = () => {
      calls++;
      world.crash();
      return never();
    };
    await leaveInterrupted(world, { methods: { onFiberRecovered } });
    for (let visit = 0; visit < 5; visit++) {
      world.boot();
      await world.settle();
    }
    expect(calls).toBe(1);
    await world.advance(31_000);
    expect(calls).toBe(2);
  });

  test("resuming inside the hook is a new fiber that can be interrupted again", async () => {
    const steps: unknown[] = [];
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: async (context) => {
          const { snapshot } = context as FiberRecoveryContext;
          steps.push(snapshot);
          const agent = world.agent;
          agent?.background(
            agent.fibers.run("job", async ({ stash }) => {
              stash({ resumed: steps.length });
              if (steps.length < 3) await never();
            })
          );
        }
      }
    });
    for (let i = 0; i < 4; i++) {
      world.boot();
      await world.settle();
      world.crash();
    }
    expect(steps).toEqual([{ step: 0 }, { resumed: 1 }, { resumed: 2 }]);
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("onInterrupted", () => {
  test("the named method gets the snapshot and the context instead of the hook, with the same retry rules", async () => {
    const seen: unknown[][] = [];
    let hookCalls = 0;
    const methods: Methods = {
      resume: (...args) => {
        seen.push(args);
        if (seen.length < 3) throw new Error("not yet");
      },
      onFiberRecovered: () => void hookCalls++
    };
    const agent = world.boot({ methods });
    agent.background(agent.fibers.run("job", ({ stash }) => (stash("point"), never()), { onInterrupted: "resume" }));
    await world.settle();
    world.crash();
    await world.advance(30_000);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toEqual(["point", expect.objectContaining({ name: "job", snapshot: "point" })]);
    await world.advance(30_000);
    expect(seen).toHaveLength(2);
    await world.advance(60_000);
    expect(seen).toHaveLength(3);
    expect(world.count("cf_fibers")).toBe(0);
    expect(hookCalls).toBe(0);
  });

  test("a name that is no method is refused at once", async () => {
    const { fibers } = world.boot();
    await expect(fibers.run("job", () => undefined, { onInterrupted: "nope" })).rejects.toThrow(
      "this.nope is not a function"
    );
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("a scan", () => {
  test("runs once at a time", async () => {
    const { opened, open } = gate();
    let calls = 0;
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: async () => {
          calls++;
          await opened;
        }
      }
    });
    const agent = world.boot();
    const scans = [agent.fibers.recover(), agent.fibers.recover()];
    expect(scans[0]).toBe(scans[1]);
    await world.settle();
    expect(calls).toBe(1);
    open();
    await Promise.all(scans);
  });

  test("stops at its deadline and goes on from the follow-up alarm", async () => {
    let done = 0;
    await leaveInterrupted(world, {
      count: 10,
      methods: {
        onFiberRecovered: async () => {
          await world.agent?.clock.sleep(4000);
          done++;
        }
      }
    });
    world.boot();
    await world.advance(12_500);
    expect(world.eventsOf("fiber:recovery:skipped")).toMatchObject([{ reason: "scan_deadline_exceeded" }]);
    await world.advance(60_000);
    expect(done).toBe(10);
    expect(world.count("cf_fibers")).toBe(0);
    expect(world.alarmAt).toBeNull();
  });

  test("a hook that never ends does not keep the others from being recovered", async () => {
    const recovered: unknown[] = [];
    await leaveInterrupted(world, {
      count: 3,
      methods: {
        onFiberRecovered: (context) => {
          const { snapshot } = context as FiberRecoveryContext;
          if ((snapshot as { step: number }).step === 0) return never();
          recovered.push(snapshot);
          return undefined;
        }
      }
    });
    world.boot();
    await world.advance(15_000);
    expect(recovered).toEqual([{ step: 1 }, { step: 2 }]);
    expect(world.count("cf_fibers")).toBe(1);
  });

  test("a fiber running in this isolate is never taken for an orphan", async () => {
    const { opened, open } = gate();
    let hooks = 0;
    const agent = world.boot({ methods: { onFiberRecovered: () => void hooks++ } });
    const running = agent.fibers.run("job", () => opened);
    await agent.fibers.start("managed", () => opened, { fiberId: "m" });
    await world.advance(300_000);
    await agent.fibers.recover();
    expect(hooks).toBe(0);
    expect(agent.fibers.inspect("m")?.status).toBe("running");
    open();
    await running;
  });

  test("claim() says whether there is anything to recover now", async () => {
    await leaveInterrupted(world, {
      methods: {
        onFiberRecovered: () => {
          throw new Error("boom");
        }
      }
    });
    const found: boolean[] = [];
    const prepare = (agent: TestAgent) => void found.push(agent.fibers.claim());
    world.boot({ methods: { onFiberRecovered: () => Promise.reject(new Error("boom")) }, prepare });
    await world.settle();
    world.crash();
    world.boot();
    expect(found).toEqual([true, false]);
  });

  test("stop() ends it: nothing is written after the tables are gone", async () => {
    const { opened, open } = gate();
    await leaveInterrupted(world, { methods: { onFiberRecovered: () => opened } });
    const agent = world.boot();
    await world.settle();
    agent.fibers.stop();
    world.database.exec("DROP TABLE cf_fibers");
    open();
    await world.settle();
    expect(world.logged).toEqual([]);
  });
});
