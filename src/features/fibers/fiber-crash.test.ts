// Whatever instruction the process ends at: a fiber either reported its end or is recovered, never neither.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { SimulatedCrash, World, type TestAgent } from "../../testing/agent-core.test-support.ts";
import type { FiberRecoveryContext } from "./fiber-row.ts";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

interface Script {
  world: World;
  /** Ran to their last instruction. */
  finished: string[];
  recovered: Map<string, unknown>;
  begun: Set<string>;
}

function open(): Script {
  const world = new World();
  const script: Script = { world, finished: [], recovered: new Map(), begun: new Set() };
  world.boot({
    methods: {
      onFiberRecovered: (context) => {
        const { name, snapshot } = context as FiberRecoveryContext;
        script.recovered.set(name, snapshot);
        return { status: "completed" };
      },
      resume: async (snapshot, context) => {
        const { name } = context as FiberRecoveryContext;
        script.recovered.set(name, snapshot);
        script.finished.push(name);
      }
    }
  });
  return script;
}

async function play(script: Script): Promise<void> {
  const { world } = script;
  const work =
    (name: string) =>
    async ({ stash }: { stash(data: unknown): void }) => {
      const { agent } = world;
      script.begun.add(name);
      stash("begun");
      await agent?.clock.sleep(100);
      stash("half");
      await agent?.clock.sleep(100);
      script.finished.push(name);
    };
  const acts: ((agent: TestAgent) => Promise<unknown>)[] = [
    ({ fibers }) => fibers.run("plain", work("plain")),
    ({ fibers }) => fibers.run("resumable", work("resumable"), { onInterrupted: "resume" }),
    ({ fibers }) => fibers.start("managed", work("managed"), { idempotencyKey: "k" })
  ];
  for (const act of acts) {
    const agent = await living(world);
    act(agent).catch((error: unknown) => {
      if (!agent.isDead) throw error;
    });
    await world.settle();
  }
  await world.advance(5000);
}

async function living(world: World): Promise<TestAgent> {
  try {
    return world.agent ?? world.boot();
  } catch (error) {
    if (!(error instanceof SimulatedCrash)) throw error;
    return world.boot();
  }
}

describe("crash after every write", () => {
  test("what began has finished or was recovered with its last stash, and no row stays behind", async () => {
    const whole = open();
    await play(whole);
    expect(whole.finished).toHaveLength(3);
    expect(whole.world.writes).toBeGreaterThan(10);
    for (let n = 1; n <= whole.world.writes; n++) {
      const script = open();
      script.world.crashAtWrite(n);
      await play(script);
      script.world.noCrash();
      // No visitor: the alarm alone must find what was left.
      await script.world.advance(120_000);
      const label = `crash at write ${n}`;
      for (const name of script.begun) {
        const isFinished = script.finished.includes(name);
        expect(isFinished || script.recovered.has(name), `${name}, ${label}`).toBe(true);
      }
      for (const snapshot of script.recovered.values()) expect([null, "begun", "half"], label).toContain(snapshot);
      const left = script.world.rows(
        "SELECT name, status FROM cf_fibers WHERE managed = 0 OR status NOT IN ('completed')"
      );
      expect(left, label).toEqual([]);
      expect(script.world.alarmAt, label).toBeNull();
    }
  });
});
