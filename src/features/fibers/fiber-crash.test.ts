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

  test("of fibers whose hooks take long, throw and hang, each is recovered, or asked for as long as it hangs", async () => {
    const whole = await recoverAll(undefined);
    expect(Object.fromEntries(whole.ended)).toEqual({ slow: 1, throws: 1, managed: 1 });
    expect(whole.writes).toBeGreaterThan(10);
    for (let n = 1; n <= whole.writes; n++) {
      const { world, ended } = await recoverAll(n);
      const label = `crash at write ${n}`;
      // Once more only if the process ended between the end of the hook and its record.
      for (const name of ["slow", "throws", "managed"]) expect([1, 2], `${name}, ${label}`).toContain(ended.get(name));
      expect(
        [...ended.values()].reduce((sum, times) => sum + times),
        label
      ).toBeLessThanOrEqual(4);
      const handled = new Set<string>();
      for (const { type, payload } of world.events) {
        const { fiberName } = payload as { fiberName: string };
        if (type === "fiber:recovery:handled") handled.add(fiberName);
        if (type === "fiber:recovery:attempt") expect(handled, label).not.toContain(fiberName);
      }
      expect(world.rows("SELECT name, status FROM cf_fibers ORDER BY seq"), label).toEqual([
        { name: "managed", status: "interrupted" },
        { name: "hangs", status: "interrupted" }
      ]);
      expect(world.rows("SELECT COUNT(*) AS owed FROM cf_work"), label).toEqual([{ owed: 1 }]);
    }
  });
});

/** Recovers four fibers, with wakes that come meanwhile; the process ends once, at this write. */
async function recoverAll(crashAt: number | undefined) {
  const world = new World();
  /** Ends of hooks. */
  const ended = new Map<string, number>();
  const thrown = new Set<string>();
  const onFiberRecovered = async (context: unknown) => {
    const { name } = context as FiberRecoveryContext;
    const { agent } = world;
    if (name === "hangs") return new Promise(() => undefined);
    if (name === "slow") await agent?.clock.sleep(70_000);
    if (name === "throws" && !thrown.has(name)) {
      thrown.add(name);
      throw new Error("not yet");
    }
    ended.set(name, (ended.get(name) ?? 0) + 1);
    return undefined;
  };
  const { fibers } = world.boot({ methods: { onFiberRecovered } });
  await fibers.start("managed", () => new Promise(() => undefined));
  for (const name of ["hangs", "slow", "throws"])
    void fibers.run(name, () => new Promise(() => undefined)).catch(isDeath);
  await world.settle();
  world.crash();
  const before = world.writes;
  if (crashAt !== undefined) world.crashAtWrite(crashAt);
  await world.advance(400_000);
  world.noCrash();
  await world.advance(400_000);
  return { world, ended, writes: world.writes - before };
}

function isDeath(error: unknown): void {
  if (!(error instanceof SimulatedCrash)) throw error;
}
