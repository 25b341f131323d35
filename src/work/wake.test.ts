// What one wake does for a kind whose items are claimed by wakes only.
import { describe, expect, test } from "vitest";
import { settle, world } from "./work.test-support.ts";
import { SETTLED } from "./kind.ts";
import { runInWake } from "./wake.ts";

const PICKUP_MS = 300_000;

function open() {
  const timers: { readonly at: number; readonly run: () => void }[] = [];
  const scene = world({ byWake: true, concurrency: 2, slowMs: 1_000 });
  const { work } = scene.boot();
  const { state, running } = scene;
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      timers.push({ at: state.now + ms, run: resolve });
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  /** The next time that the wake waits for. */
  const pass = async (ms: number) => {
    state.now += ms;
    for (const timer of timers.filter(({ at }) => at <= state.now)) timer.run();
    await settle();
  };
  const wake = () => {
    const made = { isOver: false, ended: Promise.resolve() };
    made.ended = runInWake(work, { clock: { now: () => state.now, sleep }, pickupMs: PICKUP_MS }).then(() => {
      made.isOver = true;
    });
    return made;
  };
  const end = async (key: string) => {
    running.find((run) => run.key === key)?.end(SETTLED);
    await settle();
  };
  return { scene, work, pass, wake, end };
}

describe("a wake", () => {
  test("lasts as long as its runs, slow and cancelled ones included", async () => {
    const { scene, work, wake, end, pass } = open();
    work.add({ key: "slow", payload: "x" });
    work.add({ key: "cancelled", payload: "x" });
    const made = wake();
    await settle();
    work.cancel("cancelled");
    work.add({ key: "next", payload: "x" });
    await pass(999);
    // It works until it returns, and keeps its place as long as others do.
    expect(scene.started).toEqual(["slow", "cancelled"]);
    await pass(1);
    expect(scene.started).toEqual(["slow", "cancelled", "next"]);
    await end("next");
    expect(work.running().map(({ key }) => key)).toEqual(["slow", "cancelled"]);
    await end("slow");
    expect(work.running().map(({ key }) => key)).toEqual(["cancelled"]);
    await end("cancelled");
    await made.ended;
    expect(work.running()).toEqual([]);
  });

  test("takes up what becomes due while its runs go on, and what waited for a place", async () => {
    const { scene, work, wake, end, pass } = open();
    for (const key of ["a", "b", "c"]) work.add({ key, payload: "x" });
    work.add({ key: "later", payload: "x", dueAt: scene.state.now + 50 });
    const made = wake();
    await settle();
    expect(scene.started).toEqual(["a", "b"]);
    await end("b");
    expect(scene.started).toEqual(["a", "b", "c"]);
    await end("c");
    await pass(50);
    expect(scene.started).toEqual(["a", "b", "c", "later"]);
    // Both are slow: their places are free, and the wake waits for them.
    await pass(2_000);
    work.add({ key: "new", payload: "x" });
    await pass(1);
    expect(scene.started.at(-1)).toBe("new");
    for (const key of ["new", "later", "a"]) await end(key);
    await made.ended;
    expect(made.isOver).toBe(true);
  });

  test("leaves to the next what is added for now while time stands still, and what becomes due after its window", async () => {
    const { scene, work, wake, end, pass } = open();
    work.add({ key: "slow", payload: "x" });
    const made = wake();
    await settle();
    work.add({ key: "now", payload: "x" });
    await settle();
    expect(scene.started).toEqual(["slow"]);
    await pass(1);
    expect(scene.started).toEqual(["slow", "now"]);
    await end("now");
    await pass(PICKUP_MS);
    work.add({ key: "late", payload: "x" });
    await pass(1);
    expect([scene.started, work.nextWake()]).toEqual([["slow", "now"], expect.any(Number)]);
    await end("slow");
    await made.ended;
    expect(work.state("late")).toBe("waiting");
  });

  test("does not wait for runs of an earlier one that outlasted it", async () => {
    const { work, wake, end } = open();
    work.add({ key: "hung", payload: "x" });
    const first = wake();
    await settle();
    const second = wake();
    await settle();
    expect([first.isOver, second.isOver]).toEqual([false, true]);
    await end("hung");
    expect(first.isOver).toBe(true);
  });

  test("that finds more than a hundred items to be due runs them all", async () => {
    const { scene, work, wake, end } = open();
    for (let n = 0; n < 250; n += 1) work.add({ key: `${n}`, payload: "x" });
    const made = wake();
    await settle();
    while (scene.running.length > 0) await end(scene.running[0]?.key ?? "");
    await made.ended;
    expect(scene.started).toHaveLength(250);
  });
});
