// Whatever instruction the process ends at, no schedule is lost and none that finished runs again.
import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { seeded, SimulatedCrash, World, type TestAgent } from "../../testing/agent-core.test-support.ts";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

interface Script {
  world: World;
  /** Finished runs per payload. */
  finished: Map<string, number>;
  accepted: Set<string>;
  /** Payloads whose row was gone when a run of theirs began again. */
  zombies: string[];
}

function open(): Script {
  const world = new World();
  const script: Script = { world, finished: new Map(), accepted: new Set(), zombies: [] };
  world.boot({
    methods: {
      work: async (payload, schedule) => {
        const agent = world.agent;
        const name = payload as string;
        const { id } = schedule as { id: string };
        if (world.rows("SELECT 1 FROM cf_work WHERE key = ?", id).length === 0) script.zombies.push(name);
        if (agent) await agent.clock.sleep(500);
        if (name === "flaky" && world.random() < 0.5) throw new Error("flaky");
        script.finished.set(name, (script.finished.get(name) ?? 0) + 1);
      }
    },
    options: { retry: { maxAttempts: 20 } }
  });
  return script;
}

async function accept(script: Script, name: string, act: (agent: TestAgent) => Promise<unknown>): Promise<void> {
  try {
    await act(script.world.agent ?? script.world.boot());
    script.accepted.add(name);
  } catch (error) {
    // Not accepted: the caller got no answer, so nothing is promised.
    if (!(error instanceof SimulatedCrash)) throw error;
  }
}

async function play(script: Script): Promise<void> {
  const { world } = script;
  await accept(script, "once", (agent) => agent.schedules.schedule(1, "work", "once"));
  await accept(script, "date", (agent) => agent.schedules.schedule(new Date(world.nowMs + 1200), "work", "date"));
  await accept(script, "flaky", (agent) => agent.schedules.schedule(2, "work", "flaky"));
  await accept(script, "cron", (agent) => agent.schedules.schedule("*/30 * * * * *", "work", "cron"));
  await accept(script, "every", (agent) => agent.schedules.scheduleEvery(20, "work", "every"));
  await world.advance(65_000);
}

describe("crash after every write", () => {
  test("everything accepted runs, and nothing runs again after its row was deleted", async () => {
    const whole = open();
    await play(whole);
    const writes = whole.world.writes;
    expect(writes).toBeGreaterThan(15);
    for (let n = 1; n <= writes; n++) {
      const script = open();
      script.world.random = seeded(n);
      script.world.crashAtWrite(n);
      await play(script);
      script.world.noCrash();
      if (!script.world.agent) script.world.boot();
      await script.world.advance(120_000);
      for (const name of script.accepted) {
        expect(script.finished.get(name) ?? 0, `${name}, crash at write ${n}`).toBeGreaterThanOrEqual(1);
      }
      expect(script.zombies, `crash at write ${n}`).toEqual([]);
      // At least once, and only the crash is a reason for twice.
      for (const name of ["once", "date", "flaky"]) {
        expect(script.finished.get(name) ?? 0, `${name}, crash at write ${n}`).toBeLessThanOrEqual(2);
      }
      const left = script.world.rows("SELECT payload ->> '$.type' AS type FROM cf_work").map((row) => row["type"]);
      expect(
        left.filter((type) => type !== "cron" && type !== "interval"),
        `crash at write ${n}`
      ).toEqual([]);
    }
  });
});

describe("crash after every write, with wakes while callbacks run", () => {
  /** What was called, and when each call ended: null if it did not. */
  interface Call {
    readonly what: string;
    endedAt: number | null;
  }

  const WRITES = 40;

  async function playAll(crashAt: number): Promise<{ world: World; calls: Call[]; accepted: string[] }> {
    const world = new World();
    const calls: Call[] = [];
    const accepted: string[] = [];
    world.random = seeded(crashAt);
    const noted = (what: string, work: () => Promise<unknown>) => async () => {
      const call: Call = { what, endedAt: null };
      calls.push(call);
      await work();
      call.endedAt = world.nowMs;
    };
    const methods = {
      long: noted("long", async () => world.agent?.clock.sleep(45_000)),
      throws: noted("throws", () => Promise.reject(new Error("no"))),
      hangs: noted("hangs", () => new Promise(() => undefined)),
      quick: noted("quick", async () => undefined)
    };
    const agent = world.boot({ methods, options: { retry: { maxAttempts: 2 } } });
    world.crashAtWrite(crashAt);
    const accept = async (name: string, work: (agent: TestAgent) => Promise<unknown>) => {
      try {
        await work(world.agent ?? world.boot());
        accepted.push(name);
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error;
      }
    };
    for (const name of Object.keys(methods)) await accept(name, ({ schedules }) => schedules.schedule(1, name));
    await accept("quick", ({ schedules }) => schedules.scheduleEvery(30, "quick"));
    const others: Promise<unknown>[] = [];
    for (let step = 0; step < 12; step += 1) {
      await world.advance(10_000);
      others.push((world.agent ?? agent).schedules.runDue().catch(() => undefined));
    }
    world.noCrash();
    if (!world.agent) world.boot();
    await world.advance(120_000);
    return { world, calls, accepted };
  }

  test("callbacks that take long, throw or hang hold up no other, and none is lost or called again without a crash", async () => {
    const whole = await playAll(Number.POSITIVE_INFINITY);
    expect(whole.world.writes).toBeLessThan(WRITES);
    const count = (calls: Call[], name: string) => calls.filter(({ what }) => what === name).length;
    expect(["long", "throws", "hangs"].map((name) => count(whole.calls, name))).toEqual([1, 2, 1]);
    for (let n = 1; n <= whole.world.writes; n += 1) {
      const { world, calls, accepted } = await playAll(n);
      for (const name of accepted) expect(count(calls, name), `${name}, crash at write ${n}`).toBeGreaterThanOrEqual(1);
      // At least once, and only the crash is a reason for twice; what throws is tried twice each time.
      for (const [name, most] of [
        ["long", 2],
        ["hangs", 2],
        ["throws", 4]
      ] as const) {
        expect(count(calls, name), `${name}, crash at write ${n}`).toBeLessThanOrEqual(most);
      }
      const left = world.rows(
        "SELECT payload ->> '$.callback' AS callback, claimed_at IS NOT NULL AS runs FROM cf_work"
      );
      expect(
        left.filter(({ callback }) => callback !== "quick"),
        `crash at write ${n}`
      ).toEqual(
        accepted.includes("hangs")
          ? [{ callback: "hangs", runs: 1 }]
          : left.filter(({ callback }) => callback === "hangs")
      );
      if (accepted.filter((name) => name === "quick").length === 2) {
        expect(count(calls, "quick"), `crash at write ${n}`).toBeGreaterThan(5);
      }
    }
  });
});

describe("random interleavings of crash and time", () => {
  test("never lose a one-shot and never run one whose row is gone", async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant("add" as const), delay: fc.integer({ min: 0, max: 90 }) }),
      fc.record({ do: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
      fc.record({ do: fc.constant("crash" as const), atWrite: fc.integer({ min: 0, max: 6 }) })
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const script = open();
        const { world } = script;
        for (const [index, action] of steps.entries()) {
          if (action.do === "advance") await world.advance(action.ms);
          else if (action.do === "crash" && action.atWrite === 0) world.crash();
          else if (action.do === "crash") world.crashAtWrite(action.atWrite);
          else
            await accept(script, `job ${index}`, (agent) =>
              agent.schedules.schedule(action.delay, "work", `job ${index}`)
            );
        }
        world.noCrash();
        // No visitor from here on: the alarm alone must finish the work.
        await world.advance(3_600_000);
        for (const name of script.accepted) expect(script.finished.get(name) ?? 0, name).toBeGreaterThanOrEqual(1);
        expect(script.zombies).toEqual([]);
        expect(world.count("cf_work")).toBe(0);
        expect(world.alarmAt).toBeNull();
      }),
      { numRuns: 60 }
    );
  });
});
