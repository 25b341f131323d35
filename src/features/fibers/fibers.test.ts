import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gate, World, type Methods, type TestAgent } from "../../testing/agent-core.test-support.ts";

let world: World;

beforeEach(() => {
  world = new World();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function boot(methods: Methods = {}): TestAgent {
  return world.boot({ methods });
}

describe("run", () => {
  test("has a row and a keep-alive while it runs, and neither afterwards", async () => {
    const { opened, open } = gate();
    const { fibers, keepAlive } = boot();
    const running = fibers.run("report", async ({ id, signal, snapshot }) => {
      expect(signal.aborted).toBe(false);
      expect(snapshot).toBeNull();
      await opened;
      return id;
    });
    await world.settle();
    expect(world.rows("SELECT name, managed, status, snapshot FROM cf_fibers")).toEqual([
      { name: "report", managed: 0, status: "running", snapshot: null }
    ]);
    expect(keepAlive.isHeld).toBe(true);
    expect(world.alarmAt).toBe(world.nowMs + 30_000);
    world.nowMs += 5000;
    open();
    const fiberId = await running;
    expect(world.count("cf_fibers")).toBe(0);
    expect(keepAlive.isHeld).toBe(false);
    expect(world.alarmAt).toBeNull();
    const fiber = { fiberId, fiberName: "report", managed: false };
    expect(world.events).toEqual([
      { type: "fiber:run:started", payload: fiber },
      { type: "fiber:run:completed", payload: { ...fiber, elapsedMs: 5000 } }
    ]);
  });

  test("the error goes to the caller, the row goes away, nothing is retried", async () => {
    const { fibers } = boot();
    let calls = 0;
    const work = () => {
      calls++;
      throw new Error("boom");
    };
    await expect(fibers.run("report", work)).rejects.toThrow("boom");
    await world.advance(100_000);
    expect(calls).toBe(1);
    expect(world.count("cf_fibers")).toBe(0);
    expect(world.eventsOf("fiber:run:failed")).toMatchObject([{ error: "boom", managed: false }]);
  });

  test("a fiber whose wake cannot be armed does not begin and leaves no row", async () => {
    const agent = boot();
    await world.settle();
    agent.armError = new Error("the root is gone");
    let calls = 0;
    await expect(agent.fibers.run("report", () => void calls++)).rejects.toThrow("the root is gone");
    expect(calls).toBe(0);
    expect(world.count("cf_fibers")).toBe(0);
  });

  test("names need not be unique and any number run at once", async () => {
    const { opened, open } = gate();
    const { fibers } = boot();
    const all = Array.from({ length: 20 }, (_, i) => fibers.run("same", () => opened.then(() => i)));
    await world.settle();
    expect(world.count("cf_fibers")).toBe(20);
    open();
    expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });
});

describe("stash", () => {
  const snapshots = () =>
    Object.fromEntries(world.rows("SELECT name, snapshot FROM cf_fibers").map((row) => [row["name"], row["snapshot"]]));

  test("this.stash in two concurrent fibers writes to the right rows, at once", async () => {
    const { opened, open } = gate();
    const { fibers } = boot();
    const helper = async (value: string) => {
      await Promise.resolve();
      fibers.stash({ value });
      expect(Object.values(snapshots())).toContain(JSON.stringify({ value }));
      await opened;
    };
    const running = Promise.all([
      fibers.run("a", () => helper("first")),
      fibers.run("b", async ({ stash }) => {
        stash("replaced");
        await helper("second");
      })
    ]);
    await world.settle();
    expect(snapshots()).toEqual({ a: '{"value":"first"}', b: '{"value":"second"}' });
    open();
    await running;
  });

  test("a nested fiber has its own", async () => {
    const { fibers } = boot();
    await fibers.run("outer", async () => {
      fibers.stash(1);
      await fibers.run("inner", async () => {
        fibers.stash(2);
        expect(snapshots()).toEqual({ outer: "1", inner: "2" });
      });
      fibers.stash(3);
      expect(snapshots()).toEqual({ outer: "3" });
    });
  });

  test("outside a fiber it throws, in another agent's fiber too", async () => {
    const { fibers } = boot();
    const other = new World().boot();
    expect(() => fibers.stash(1)).toThrow("stash() called outside a fiber");
    await other.fibers.run("theirs", () => {
      expect(() => fibers.stash(1)).toThrow("stash() called outside a fiber");
    });
  });

  test("a snapshot that is too large or not JSON is refused and the previous one stays", async () => {
    const { fibers } = boot();
    await fibers.run("a", ({ stash }) => {
      stash("kept");
      expect(() => stash("x".repeat(2_000_000))).toThrow(expect.objectContaining({ code: "too-large" }));
      expect(() => stash(1n)).toThrow(expect.objectContaining({ code: "not-json" }));
      expect(snapshots()).toEqual({ a: '"kept"' });
      stash(undefined);
      expect(snapshots()).toEqual({ a: "null" });
    });
  });

  test("a stash after the end is dropped", async () => {
    const { fibers } = boot();
    let late: ((data: unknown) => void) | undefined;
    await fibers.run("a", ({ stash }) => void (late = stash));
    late?.(1);
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("start", () => {
  test("returns pending at once, runs in the background, keeps the record", async () => {
    const { opened, open } = gate();
    const { fibers } = boot();
    const createdAt = world.nowMs;
    const started = await fibers.start("import", () => opened, { fiberId: "f1", metadata: { file: "a.csv" } });
    expect(started).toEqual({
      fiberId: "f1",
      name: "import",
      status: "pending",
      metadata: { file: "a.csv" },
      createdAt,
      accepted: true
    });
    await world.settle();
    expect(fibers.inspect("f1")).toMatchObject({ status: "running", startedAt: createdAt });
    world.nowMs += 10;
    open();
    await world.settle();
    expect(fibers.inspect("f1")).toMatchObject({ status: "completed", settledAt: createdAt + 10 });
    expect(world.alarmAt).toBeNull();
  });

  test("two calls with one key run the callback once, and both waiters get the same terminal status", async () => {
    const { opened, open } = gate();
    const { fibers } = boot();
    let calls = 0;
    const work = async () => {
      calls++;
      await opened;
    };
    const first = fibers.start("import", work, { idempotencyKey: "k", waitForCompletion: true });
    const second = fibers.start("import", work, { idempotencyKey: "k", waitForCompletion: true });
    const third = await fibers.start("import", work, { idempotencyKey: "k" });
    expect(third.accepted).toBe(false);
    open();
    const results = await Promise.all([first, second]);
    expect(results.map(({ accepted, status }) => [accepted, status])).toEqual([
      [true, "completed"],
      [false, "completed"]
    ]);
    expect(calls).toBe(1);
    expect((await fibers.start("import", work, { idempotencyKey: "k" })).status).toBe("completed");
    expect(fibers.inspectByKey("k")?.fiberId).toBe(results[0]?.fiberId);
  });

  test("a failure resolves the waiter with status error, it never rejects", async () => {
    const { fibers } = boot();
    const result = await fibers.start("import", () => Promise.reject(new Error("boom")), { waitForCompletion: true });
    expect(result).toMatchObject({ accepted: true, status: "error", error: "boom" });
    expect(world.eventsOf("fiber:run:failed")).toMatchObject([{ managed: true, error: "boom" }]);
  });

  test("a setup that fails is the record's error", async () => {
    const agent = boot();
    await world.settle();
    agent.armError = new Error("the root is gone");
    let calls = 0;
    expect(await agent.fibers.start("import", () => void calls++)).toMatchObject({
      status: "error",
      error: "the root is gone"
    });
    expect(calls).toBe(0);
  });

  test.each(["", "   "])("blank ids and keys (%j) are refused", async (blank) => {
    const { fibers } = boot();
    const work = () => undefined;
    await expect(fibers.start("x", work, { fiberId: blank })).rejects.toThrow("fiberId must not be blank");
    await expect(fibers.start("x", work, { idempotencyKey: blank })).rejects.toThrow(
      "idempotencyKey must not be blank"
    );
  });

  test("an id and a key of different records are refused", async () => {
    const { fibers } = boot();
    const work = () => undefined;
    await fibers.start("x", work, { fiberId: "a" });
    await fibers.start("x", work, { fiberId: "b", idempotencyKey: "kb" });
    await expect(fibers.start("x", work, { fiberId: "a", idempotencyKey: "kb" })).rejects.toThrow(
      "fiberId and idempotencyKey refer to different fibers"
    );
    expect((await fibers.start("x", work, { fiberId: "b", idempotencyKey: "kb" })).accepted).toBe(false);
  });

  test("limits on metadata and keys are errors of their own", async () => {
    const { fibers } = boot();
    const work = () => undefined;
    await expect(fibers.start("x", work, { metadata: { big: "x".repeat(70_000) } })).rejects.toMatchObject({
      code: "too-large"
    });
    await expect(fibers.start("x", work, { idempotencyKey: "k".repeat(2000) })).rejects.toMatchObject({
      code: "too-large"
    });
    expect(world.count("cf_fibers")).toBe(0);
  });
});

describe("cancel and resolve", () => {
  test("cancel resolves waiters at once; a callback that ignores the signal and returns later changes nothing", async () => {
    const { opened, open } = gate();
    const { fibers } = boot();
    let signal: AbortSignal | undefined;
    const waiting = fibers.start(
      "import",
      async (context) => {
        signal = context.signal;
        await opened;
      },
      { fiberId: "f", idempotencyKey: "k", waitForCompletion: true }
    );
    await world.settle();
    expect(await fibers.cancelByKey("k", "user left")).toBe(true);
    expect(await waiting).toMatchObject({ status: "aborted", error: "user left" });
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ message: "user left" });
    expect(await fibers.cancel("f")).toBe(false);
    open();
    await world.settle();
    expect(fibers.inspect("f")).toMatchObject({ status: "aborted", error: "user left" });
    expect(world.eventsOf("fiber:run:completed")).toEqual([]);
    expect(world.eventsOf("fiber:run:failed")).toHaveLength(1);
    expect(world.alarmAt).toBeNull();
  });

  test.each([
    ["cancelled", async () => undefined, { status: "aborted" }],
    ["completed", async (open: () => void) => open(), { status: "completed" }]
  ] as const)("a late stash does not change a fiber that was %s", async (_how, end, ended) => {
    const { opened, open } = gate();
    const { fibers } = boot();
    let late: ((data: unknown) => void) | undefined;
    await fibers.start(
      "import",
      async ({ stash }) => {
        late = stash;
        stash({ page: 1 });
        await opened;
      },
      { fiberId: "f" }
    );
    await world.settle();
    await end(open);
    await world.settle();
    await fibers.cancel("f");
    late?.({ page: 2 });
    expect(fibers.inspect("f")).toMatchObject({ ...ended, snapshot: { page: 1 } });
  });

  test("a callback that throws because of the signal leaves it aborted", async () => {
    const { fibers } = boot();
    await fibers.start(
      "import",
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted by signal")));
        }),
      { fiberId: "f" }
    );
    await world.settle();
    await fibers.cancel("f");
    await world.settle();
    expect(fibers.inspect("f")).toMatchObject({ status: "aborted" });
    expect(fibers.inspect("f")).not.toHaveProperty("error");
  });

  test("a fiber cancelled before it began never begins", async () => {
    const { fibers } = boot();
    let calls = 0;
    const started = fibers.start("import", () => void calls++, { fiberId: "f" });
    expect(await fibers.cancel("f")).toBe(true);
    await started;
    await world.settle();
    expect(calls).toBe(0);
    expect(fibers.inspect("f")?.status).toBe("aborted");
  });

  test("unknown, finished and unmanaged fibers cannot be cancelled, resolved or inspected", async () => {
    const { fibers } = boot();
    await fibers.start("x", () => undefined, { fiberId: "done", waitForCompletion: true });
    expect(await fibers.cancel("done")).toBe(false);
    expect(await fibers.cancelByKey("unknown")).toBe(false);
    expect(await fibers.resolve("done", { status: "error" })).toBe(false);
    await fibers.run("plain", async ({ id }) => {
      expect(await fibers.cancel(id)).toBe(false);
      expect(fibers.inspect(id)).toBeNull();
      await expect(fibers.start("x", () => undefined, { fiberId: id })).rejects.toThrow(
        "belongs to a fiber of runFiber"
      );
    });
  });

  test("resolve works from interrupted only, once", async () => {
    const agent = boot();
    await agent.fibers.start("x", () => new Promise(() => undefined), { fiberId: "f", metadata: { a: 1 } });
    await world.settle();
    world.crash();
    const { fibers } = boot({ onFiberRecovered: () => undefined });
    await world.settle();
    expect(fibers.inspect("f")?.status).toBe("interrupted");
    expect(await fibers.resolve("f", { status: "completed", snapshot: { done: 1 }, metadata: { b: 2 } })).toBe(true);
    expect(fibers.inspect("f")).toMatchObject({ status: "completed", snapshot: { done: 1 }, metadata: { b: 2 } });
    expect(await fibers.resolve("f", { status: "error" })).toBe(false);
  });
});

describe("list and remove", () => {
  async function fill() {
    const { fibers } = boot();
    for (let i = 0; i < 6; i++) {
      world.nowMs += 10;
      const name = i % 2 === 0 ? "even" : "odd";
      const work = i === 5 ? () => Promise.reject(new Error("boom")) : () => undefined;
      await fibers.start(name, work, { fiberId: `f${i}`, waitForCompletion: true });
    }
    await fibers.start("even", () => new Promise(() => undefined), { fiberId: "open" });
    return fibers;
  }
  const ids = (list: { fiberId: string }[]) => list.map(({ fiberId }) => fiberId);

  test("list is newest first, filtered, and bounded", async () => {
    const fibers = await fill();
    expect(ids(fibers.list())).toEqual(["open", "f5", "f4", "f3", "f2", "f1", "f0"]);
    expect(ids(fibers.list({ name: "odd", status: "completed" }))).toEqual(["f3", "f1"]);
    expect(ids(fibers.list({ status: ["error", "running"] }))).toEqual(["open", "f5"]);
    expect(fibers.list({ limit: 0 })).toHaveLength(1);
    expect(fibers.list({ limit: 1e9 })).toHaveLength(7);
    expect(fibers.list({ limit: Number.NaN })).toHaveLength(7);
  });

  test("remove takes the oldest settled first and never one without an outcome", async () => {
    const fibers = await fill();
    const settledAt = fibers.inspect("f2")?.settledAt ?? 0;
    expect(fibers.remove({ settledBefore: settledAt, limit: 1 })).toBe(1);
    expect(fibers.inspect("f0")).toBeNull();
    expect(fibers.remove({ settledBefore: new Date(settledAt) })).toBe(1);
    expect(fibers.remove({ status: "error" })).toBe(1);
    expect(fibers.remove({ status: ["running", "pending", "completed"] })).toBe(3);
    expect(ids(fibers.list())).toEqual(["open"]);
  });

  test("interrupted records go only when named, and only after their recovery", async () => {
    const fibers = await fill();
    expect(fibers.remove()).toBe(6);
    world.crash();
    const { opened, open } = gate();
    const next = boot({ onFiberRecovered: () => opened });
    await world.settle();
    expect(next.fibers.remove({ status: "interrupted" })).toBe(0);
    open();
    await world.settle();
    expect(next.fibers.remove()).toBe(0);
    expect(next.fibers.remove({ status: "interrupted" })).toBe(1);
  });

  test("a key deduplicates until its record is removed", async () => {
    const { fibers } = boot();
    let calls = 0;
    const start = () => fibers.start("x", () => void calls++, { idempotencyKey: "k", waitForCompletion: true });
    await start();
    await start();
    expect(calls).toBe(1);
    fibers.remove();
    await start();
    expect(calls).toBe(2);
  });
});
