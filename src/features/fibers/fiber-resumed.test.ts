// A fiber that a recovery hook starts goes on with the one that is recovered, wherever the process ends meanwhile.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SimulatedCrash, World, type Methods } from "../../testing/agent-core.test-support.ts";
import { leaveInterrupted, never } from "./fiber-recovery.test-support.ts";
import type { FiberContext, FiberRecoveryContext } from "./fiber-row.ts";

const DAY_MS = 86_400_000;
const PAGES = 4;

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** The names and checkpoints that the hook is asked with. */
function recording(hook: (context: FiberRecoveryContext, asked: number) => unknown): {
  asked: unknown[];
  methods: Methods;
} {
  const asked: unknown[] = [];
  const onFiberRecovered = (context: unknown) => {
    const { name, snapshot } = context as FiberRecoveryContext;
    asked.push([name, snapshot]);
    return hook(context as FiberRecoveryContext, asked.length);
  };
  return { asked, methods: { onFiberRecovered } };
}

async function restart(): Promise<void> {
  await world.settle();
  world.crash();
  world.boot();
  await world.settle();
}

describe("a fiber of the same name that the hook waits for", () => {
  test.each([false, true])("is recovered as the one it goes on with, once (managed: %s)", async (managed) => {
    const { asked, methods } = recording(async (_context, count) => {
      await world.agent?.fibers.run("job", async ({ stash }) => {
        if (count < 4) stash({ step: count });
        if (count < 4) await never();
      });
      return { status: "completed" };
    });
    await leaveInterrupted(world, { methods, managed });
    for (let i = 0; i < 4; i++) await restart();
    const steps = [0, 1, 2, 3].map((step) => ["job", { step }]);
    expect(asked).toEqual(steps);
    expect(world.rows("SELECT id, status FROM cf_fibers")).toEqual(managed ? [{ id: "f0", status: "completed" }] : []);
  });

  test("is recovered from the old checkpoint as long as it has none of its own", async () => {
    const { asked, methods } = recording(() => world.agent?.fibers.run("job", never));
    await leaveInterrupted(world, { methods });
    world.boot();
    await restart();
    await world.advance(60_000);
    expect(asked).toEqual([
      ["job", { step: 0 }],
      ["job", { step: 0 }]
    ]);
    expect(world.count("cf_fibers")).toBe(2);
  });

  test("leaves its checkpoint to the next try of a hook that fails", async () => {
    const { asked, methods } = recording(async (_context, count) => {
      await world.agent?.fibers.run("job", ({ stash }) => stash({ step: count }));
      if (count < 3) throw new Error("not yet");
    });
    await leaveInterrupted(world, { methods });
    await world.advance(300_000);
    expect(asked).toEqual([0, 1, 2].map((step) => ["job", { step }]));
    expect(world.count("cf_fibers")).toBe(0);
  });

  test("that gets further with every life is not given up for its age", async () => {
    const { asked, methods } = recording((_context, count) =>
      world.agent?.fibers.run("job", ({ stash }) => {
        stash({ step: count });
        return count < 4 ? never() : undefined;
      })
    );
    await leaveInterrupted(world, { methods });
    for (let life = 0; life < 4; life++) {
      world.boot();
      await world.advance(0.7 * DAY_MS);
      world.crash();
    }
    expect(asked).toHaveLength(4);
    expect(world.eventsOf("fiber:recovery:skipped")).toEqual([]);
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("a fiber of another name", () => {
  test("with a checkpoint replaces the one whose hook started it", async () => {
    const { asked, methods } = recording(({ name }) =>
      name === "job"
        ? world.agent?.fibers.run("rest", ({ stash }) => (stash("rest of it"), never()))
        : world.agent?.fibers.run("rest", () => undefined)
    );
    await leaveInterrupted(world, { methods });
    world.boot();
    await restart();
    expect(asked).toEqual([
      ["job", { step: 0 }],
      ["rest", "rest of it"]
    ]);
    await world.advance(DAY_MS);
    expect(asked).toHaveLength(2);
    expect(world.count("cf_fibers")).toBe(0);
  });

  test("without one is started anew by the hook, and is not recovered beside it", async () => {
    const { asked, methods } = recording((_context, count) =>
      world.agent?.fibers.run("rest", () => (count < 2 ? never() : undefined))
    );
    await leaveInterrupted(world, { methods });
    world.boot();
    await restart();
    await world.advance(60_000);
    expect(asked).toEqual([
      ["job", { step: 0 }],
      ["job", { step: 0 }]
    ]);
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("a managed fiber that the hook starts", () => {
  test.each([false, true])(
    "goes on from the checkpoint, and the hook is not asked again (managed: %s)",
    async (managed) => {
      const { asked, methods } = recording(async ({ id }) => {
        const { fibers } = world.agent ?? {};
        if (id !== "successor") await fibers?.start("job", never, { fiberId: "successor", waitForCompletion: true });
        return { status: "completed" };
      });
      await leaveInterrupted(world, { methods, managed });
      world.boot();
      await restart();
      expect(asked).toEqual([
        ["job", { step: 0 }],
        ["job", { step: 0 }]
      ]);
      await world.advance(DAY_MS);
      expect(asked).toHaveLength(2);
      expect(world.rows("SELECT key FROM cf_work UNION SELECT id FROM cf_fibers WHERE managed = 0")).toEqual([]);
      expect(world.agent?.fibers.inspect("successor")).toMatchObject({ status: "completed" });
    }
  );
});

/** The import of the agent page. */
class Import {
  readonly world = new World();
  readonly begun: number[] = [];
  /** Pages whose checkpoint was written. */
  readonly kept = new Set<number>();
  readonly repeated: number[] = [];

  /** Killed at the first write, and at the second one counted from there. */
  async play(...deaths: number[]): Promise<void> {
    const agent = this.world.boot({
      methods: { onFiberRecovered: (context) => this.#resume(context as FiberRecoveryContext) }
    });
    const [first, second] = deaths;
    if (first !== undefined) this.world.crashAtWrite(first);
    agent.fibers.start("import", this.#importFrom(0), { idempotencyKey: "import" }).catch(isDeath);
    await this.world.settle();
    // Small steps, so that nothing starts again before the next death is arranged.
    for (let step = 0; step < 2 * PAGES && !agent.isDead; step++) await this.world.advance(50);
    if (second !== undefined) this.world.crashAtWrite(second);
    await this.world.advance(600_000);
    this.world.noCrash();
    await this.world.advance(600_000);
  }

  async #resume({ snapshot }: FiberRecoveryContext) {
    const next = (snapshot as number | null) ?? 0;
    await this.world.agent?.fibers.run("import", this.#importFrom(next));
    return { status: "completed" };
  }

  #importFrom(first: number) {
    return async ({ stash }: FiberContext) => {
      const { agent } = this.world;
      for (let page = first; page < PAGES; page++) {
        if (this.kept.has(page)) this.repeated.push(page);
        this.begun.push(page);
        await agent?.clock.sleep(100);
        stash(page + 1);
        this.kept.add(page);
      }
    };
  }
}

function isDeath(error: unknown): void {
  if (!(error instanceof SimulatedCrash)) throw error;
}

test("killed at any two writes, an import does no finished page again and ends once", async () => {
  const whole = new Import();
  await whole.play();
  expect(whole.begun).toEqual([0, 1, 2, 3]);
  const { writes } = whole.world;
  let deathsInRecovery = 0;
  for (let first = 1; first <= writes; first++) {
    for (let second = 1; second <= writes + 4; second++) {
      const script = new Import();
      await script.play(first, second);
      const label = `killed at write ${first} and ${second} writes later`;
      const [record] = script.world.rows("SELECT status FROM cf_fibers WHERE managed = 1");
      // Killed before it was accepted.
      if (!record) continue;
      if (script.begun.length > PAGES + 1) deathsInRecovery++;
      expect([...script.kept], label).toEqual([0, 1, 2, 3]);
      expect(script.repeated, label).toEqual([]);
      expect(record, label).toEqual({ status: "completed" });
      expect(script.world.count("cf_fibers"), label).toBe(1);
    }
  }
  expect(deathsInRecovery).toBeGreaterThan(5);
});
