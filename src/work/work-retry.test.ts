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
});
