import { describe, expect, test } from "vitest";
import { SETTLED } from "./kind.ts";
import { settle, world } from "./work.test-support.ts";

describe("an item", () => {
  test("that failed is tried sooner when another succeeds, and is given up at its age all the same", async () => {
    const scene = world({ retry: { backoff: { baseMs: 100, maxMs: 10_000 }, maxAgeMs: 1_150 } });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    const fail = async () => {
      await settle();
      scene.running[0]?.fail(new Error("no"));
      await settle();
    };
    for (let failure = 0; failure < 4; failure += 1) {
      scene.state.now = work.nextWake() ?? scene.state.now;
      await work.runDue();
      await fail();
    }
    expect(work.find("a")).toMatchObject({ failures: 4, dueAt: scene.state.now + 800 });
    work.add({ key: "new", payload: "x", dueAt: scene.state.now + 700 });
    work.retryBy(scene.state.now + 400);
    expect(work.find("new")).toMatchObject({ dueAt: scene.state.now + 700 });
    scene.state.now += 400;
    await work.runDue();
    await fail();
    expect(work.find("a")).toMatchObject({ failures: 1, dueAt: scene.state.now + 100 });
    work.retryBy(scene.state.now + 10_000);
    expect(work.find("a")).toMatchObject({ failures: 0, dueAt: scene.state.now + 100 });
    scene.state.now += 100;
    await work.runDue();
    await fail();
    expect(scene.givenUp).toEqual(["a"]);
  });

  test("is waited for until none that is due waits for a place, and no run has one", async () => {
    const scene = world({ concurrency: 1 });
    const { work } = scene.boot();
    for (const name of ["a", "b"]) work.add({ key: name, payload: "x" });
    work.add({ key: "later", payload: "x", dueAt: 5_000 });
    let isDrained = false;
    void work.drained().then(() => (isDrained = true));
    for (const name of ["a", "b"]) {
      await settle();
      expect([isDrained, ...scene.running.map((run) => run.key)]).toEqual([false, name]);
      scene.running[0]?.end(SETTLED);
    }
    await settle();
    expect(isDrained).toBe(true);
    // Nothing is due.
    await work.drained();
  });

  test("that failed is not tried before the time that its failure names", async () => {
    const pauseMs = (error: unknown) => (error instanceof Error && error.message === "busy" ? 700 : 0);
    const scene = world({ retry: { backoff: { baseMs: 100, maxMs: 10_000 }, pauseMs } });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    for (const [reason, wait] of [["busy", 700] as const, ["no", 200] as const, ["no", 400] as const]) {
      await settle();
      scene.running[0]?.fail(new Error(reason));
      await settle();
      expect(work.find("a")?.dueAt).toBe(scene.state.now + wait);
      scene.state.now += wait;
      await work.runDue();
    }
  });

  test("that is given up is handed over with what its run has saved", async () => {
    const handed: string[] = [];
    const scene = world({
      retry: { backoff: { baseMs: 100, maxMs: 100 }, maxAttempts: 1 },
      givenUp: ({ payload }) => void handed.push(payload)
    });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "as it was" });
    await settle();
    const [run] = scene.running;
    if (run) work.save(run.item, "as it is now");
    run?.fail(new Error("no"));
    await settle();
    expect(handed).toEqual(["as it is now"]);
  });

  test("ends in one transaction with what follows from it, or not at all", async () => {
    const scene = world();
    const { work } = scene.boot();
    for (const key of ["a", "b", "cancelled"]) work.add({ key, payload: "x" });
    await settle();
    const [a, b, cancelled] = scene.running;
    a?.end({ ...SETTLED, also: () => void work.add({ key: "after a", payload: "x", dueAt: 9_000 }) });
    b?.end({
      ...SETTLED,
      also: () => {
        work.add({ key: "after b", payload: "x", dueAt: 9_000 });
        throw new Error("The disk is full.");
      }
    });
    work.cancel("cancelled");
    cancelled?.end({ ...SETTLED, also: () => void work.add({ key: "after c", payload: "x", dueAt: 9_000 }) });
    await settle();
    const states = ["a", "b", "after a", "after b", "after c"].map((key) => work.state(key));
    expect(states).toEqual(["settled", "claimed", "waiting", undefined, undefined]);
    // The run that could not be stored is repeated, as after a death.
    scene.state.now += 30_000;
    await work.runDue();
    expect(work.find("b")).toMatchObject({ state: "claimed", claim: 2 });
  });

  test("that is put again is moved with its new payload, in one row", async () => {
    const scene = world();
    const { sql, work } = scene.boot();
    work.put({ key: "a", payload: "first", dueAt: null });
    const before = sql.one<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0;
    expect(work.put({ key: "a", payload: "second", dueAt: 5_000 })).toBe(true);
    expect((sql.one<{ n: number }>("SELECT total_changes() AS n")?.n ?? 0) - before).toBe(1);
    expect(work.find("a")).toMatchObject({ state: "waiting", payload: "second", dueAt: 5_000 });
  });
});
