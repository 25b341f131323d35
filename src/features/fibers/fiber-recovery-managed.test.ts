import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, World } from "../../testing/agent-core.test-support.ts";
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

describe("an interrupted managed fiber", () => {
  test("is `interrupted` before any hook ran, and stays so if the hook returns nothing", async () => {
    const seen: unknown[] = [];
    await leaveInterrupted(world, {
      managed: true,
      methods: { onFiberRecovered: (context) => void seen.push(context) }
    });
    const { fibers } = world.boot();
    expect(fibers.inspect("f0")).toMatchObject({ status: "interrupted", snapshot: { step: 0 } });
    await world.settle();
    expect(seen).toMatchObject([
      { id: "f0", snapshot: { step: 0 }, status: "interrupted", idempotencyKey: "k0", metadata: { i: 0 } }
    ]);
    expect(fibers.inspect("f0")).toMatchObject({ status: "interrupted", settledAt: world.nowMs });
    expect(world.eventsOf("fiber:recovery:handled")).toMatchObject([{ status: "managed", managed: true }]);
    expect(world.alarmAt).toBeNull();
    world.crash();
    world.boot();
    await world.settle();
    expect(seen).toHaveLength(1);
  });

  test.each([
    [
      { status: "completed", snapshot: { done: true }, metadata: { b: 1 } },
      { status: "completed", snapshot: { done: true }, metadata: { b: 1 } }
    ],
    [{ status: "completed" }, { status: "completed", snapshot: { step: 0 }, metadata: { i: 0 } }],
    [
      { status: "error", error: "lost", metadata: { b: 1 } },
      { status: "error", error: "lost", metadata: { i: 0 } }
    ],
    [
      { status: "aborted", reason: "stale" },
      { status: "aborted", error: "stale" }
    ],
    [
      { status: "interrupted", snapshot: 9, reason: "ask the user" },
      { status: "interrupted", snapshot: 9, error: "ask the user" }
    ],
    [{ status: "nonsense" }, { status: "interrupted" }],
    ["completed", { status: "interrupted" }]
  ])("the hook's result %j is applied", async (result, expected) => {
    await leaveInterrupted(world, { managed: true, methods: { onFiberRecovered: () => result } });
    const { fibers } = world.boot();
    await world.settle();
    expect(fibers.inspect("f0")).toMatchObject(expected);
    expect(world.alarmAt).toBeNull();
  });

  test("a throwing hook stores `error` and is never asked again", async () => {
    let calls = 0;
    await leaveInterrupted(world, {
      managed: true,
      methods: {
        onFiberRecovered: () => {
          calls++;
          throw new Error("cannot");
        }
      }
    });
    const { fibers } = world.boot();
    await world.advance(DAY_MS);
    expect(calls).toBe(1);
    expect(fibers.inspect("f0")).toMatchObject({ status: "error", error: "cannot" });
    expect(world.alarmAt).toBeNull();
  });

  test("a platform failure during the hook does not decide the fiber", async () => {
    let calls = 0;
    await leaveInterrupted(world, {
      managed: true,
      methods: {
        onFiberRecovered: () => {
          if (calls++ === 0) throw new Error("Durable Object reset because its code was updated.");
          return { status: "completed" };
        }
      }
    });
    const { fibers } = world.boot();
    await world.settle();
    expect(fibers.inspect("f0")?.status).toBe("interrupted");
    await world.advance(30_000);
    expect(fibers.inspect("f0")?.status).toBe("completed");
  });

  test("one accepted but never begun is interrupted too", async () => {
    const agent = world.boot({ methods: { onFiberRecovered: () => undefined } });
    void agent.fibers.start("job", () => undefined, { fiberId: "f" }).catch(() => undefined);
    world.crash();
    const { fibers } = world.boot();
    await world.settle();
    expect(fibers.inspect("f")).toMatchObject({ status: "interrupted" });
    expect(fibers.inspect("f")).not.toHaveProperty("startedAt");
  });

  test("a start with its key after the crash waits for the recovery instead of running again", async () => {
    const { opened, open } = gate();
    await leaveInterrupted(world, {
      managed: true,
      methods: {
        onFiberRecovered: async () => {
          await opened;
          return { status: "completed" };
        }
      }
    });
    const { fibers } = world.boot();
    let calls = 0;
    const joined = fibers.start("job", () => void calls++, { idempotencyKey: "k0", waitForCompletion: true });
    await world.settle();
    open();
    expect(await joined).toMatchObject({ accepted: false, status: "completed" });
    expect(calls).toBe(0);
  });

  test("a hook that starts its own fiber and waits does not wait for itself", async () => {
    let inner: unknown;
    await leaveInterrupted(world, {
      managed: true,
      options: { fiberRecoveryScanDeadlineMs: 0 },
      methods: {
        onFiberRecovered: async () => {
          inner = await world.agent?.fibers.start("job", never, { idempotencyKey: "k0", waitForCompletion: true });
        }
      }
    });
    world.boot();
    await world.settle();
    expect(inner).toMatchObject({ accepted: false, status: "interrupted" });
  });

  test("resolveFiber before the hook came makes the hook unnecessary", async () => {
    let calls = 0;
    await leaveInterrupted(world, { managed: true, methods: { onFiberRecovered: () => void calls++ } });
    world.boot({
      methods: { onFiberRecovered: () => void calls++ },
      prepare: (agent) => {
        agent.fibers.claim();
        void agent.fibers.resolve("f0", { status: "completed" });
      }
    });
    await world.settle();
    expect(calls).toBe(0);
    expect(world.agent?.fibers.inspect("f0")?.status).toBe("completed");
  });
});
