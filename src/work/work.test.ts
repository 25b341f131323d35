import { describe, expect, test } from "vitest";
import { SETTLED } from "./kind.ts";
import { rowsOf, settle, world } from "./work.test-support.ts";

describe("an item", () => {
  test("is added once while it is known, and again when it is forgotten", async () => {
    const scene = world();
    const { work } = scene.boot();
    expect(work.add({ key: "a", payload: "x" })).toBe(true);
    expect(work.add({ key: "a", payload: "y" })).toBe(false);
    await settle();
    scene.running[0]?.end(SETTLED);
    await settle();
    expect(work.state("a")).toBe("settled");
    expect(work.add({ key: "a", payload: "z" })).toBe(false);
    scene.state.now += 10_001;
    const again = scene.boot().work;
    again.add({ key: "other", payload: "x", dueAt: scene.state.now + 1 });
    await settle();
    expect(again.state("a")).toBeUndefined();
    expect(again.add({ key: "a", payload: "z" })).toBe(true);
    await settle();
    expect(scene.running.map(({ item }) => item.payload)).toEqual(["z"]);
  });

  test("whose transaction is undone is neither known nor run", async () => {
    const scene = world();
    const { sql, work } = scene.boot();
    work.add({ key: "kept", payload: "x" });
    expect(() =>
      sql.transaction(() => {
        work.add({ key: "undone", payload: "x" });
        throw new Error("undone");
      })
    ).toThrow("undone");
    await settle();
    expect(work.state("undone")).toBeUndefined();
    expect(scene.started).toEqual(["kept"]);
  });

  test("whose process dies in it again and again is spaced out, and given up at its age", async () => {
    const scene = world({ retry: { backoff: { baseMs: 100, maxMs: 1_000 }, maxAgeMs: 5_000 } });
    scene.boot().work.add({ key: "a", payload: "x" });
    await settle();
    const pauses: number[] = [];
    for (let death = 0; death < 12 && scene.givenUp.length === 0; death += 1) {
      const { work } = scene.boot();
      const at = work.nextWake();
      if (at !== null && at > scene.state.now) {
        pauses.push(at - scene.state.now);
        scene.state.now = at;
        await work.runDue();
      }
      await settle();
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
    expect(scene.givenUp).toEqual(["a"]);
  });

  test("that fails for the last time is settled, and its kind is notified in the same transaction", async () => {
    const scene = world({ retry: { backoff: { baseMs: 100, maxMs: 1_000 }, maxAttempts: 2 }, deadLetters: 5 });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    await settle();
    scene.running[0]?.fail(new Error("first"));
    await settle();
    expect(work.state("a")).toBe("waiting");
    expect(work.nextWake()).toBe(scene.state.now + 100);
    scene.state.now += 100;
    await work.runDue();
    scene.running[0]?.fail(new Error("second"));
    await settle();
    expect(work.state("a")).toBe("dead");
    expect(work.revive("a")).toBe(true);
    await settle();
    expect(scene.running.map(({ item }) => [item.failures, item.claim])).toEqual([[0, 3]]);
    expect(work.revive("a")).toBe(false);
    scene.running[0]?.end(SETTLED);
    await settle();
    expect(work.state("a")).toBe("settled");
    expect(scene.givenUp).toEqual(["a"]);
  });

  test.each(["settled", "parked"] as const)(
    "that is concluded as %s in its own transaction is that: its run changes nothing more",
    async (as) => {
      const scene = world({ keepsPayload: true });
      const { sql, work } = scene.boot();
      work.add({ key: "a", payload: "x" });
      await settle();
      scene.running[0]?.fail(new Error("once"));
      await settle();
      scene.state.now += 100;
      await work.runDue();
      expect(() =>
        sql.transaction(() => {
          work.conclude("a", "undone", as);
          throw new Error("undone");
        })
      ).toThrow("undone");
      expect(work.state("a")).toBe("claimed");
      expect(work.conclude("a", "done", as)).toBe(true);
      scene.running[0]?.end({ end: "postponed", until: scene.state.now });
      await settle();
      expect(work.find("a")).toMatchObject({ state: as, payload: "done", error: null, failures: 0 });
      scene.boot();
      await settle();
      expect(scene.started).toEqual(["a", "a"]);
      expect([work.conclude("a", "again", "settled"), work.conclude("unknown", "x", as)]).toEqual([
        as === "parked",
        false
      ]);
    }
  );

  test("that is concluded and not kept is forgotten", async () => {
    const scene = world({ retentionMs: 0 });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    await settle();
    expect(work.conclude("a", "done", "settled")).toBe(true);
    scene.running[0]?.end(SETTLED);
    await settle();
    expect(rowsOf(scene.boot())).toEqual([]);
  });

  test("whose key is noted as known is never run, and its key is forgotten like that of one that ran", async () => {
    const scene = world({ hasLanes: true });
    const { work } = scene.boot();
    expect([work.know("a"), work.know("a"), work.add({ key: "a", payload: "x", lane: "one" })]).toEqual([
      true,
      false,
      false
    ]);
    work.add({ key: "b", payload: "x", lane: "one", dueAt: 5_000 });
    await settle();
    expect([work.state("a"), scene.started]).toEqual(["settled", []]);
    expect([...work.items({ states: ["waiting"], lane: "one" })].map((item) => item.key)).toEqual(["b"]);
    scene.state.now += 10_001;
    const again = scene.boot().work;
    await settle();
    expect(again.state("a")).toBeUndefined();
  });

  test("that is cancelled while it runs is asked to stop, and what it still reports changes nothing", async () => {
    const scene = world();
    const { work } = scene.boot();
    work.add({ key: "a", payload: "old" });
    await settle();
    const [old] = scene.running;
    expect(work.cancel("a", new Error("enough"))).toBe(true);
    expect(old?.signal.aborted).toBe(true);
    expect(work.add({ key: "a", payload: "new" })).toBe(true);
    await settle();
    old?.end(SETTLED);
    await settle();
    expect(work.state("a")).toBe("claimed");
    expect(scene.running.map(({ item }) => item.payload)).toEqual(["new"]);
  });

  test("whose kind parks it after a death waits until it is scheduled", async () => {
    const scene = world({ interrupted: () => "park" });
    scene.boot().work.add({ key: "a", payload: "x" });
    await settle();
    const { work } = scene.boot();
    await settle();
    expect(work.state("a")).toBe("parked");
    expect(work.nextWake()).toBeNull();
    expect(work.schedule("a", scene.state.now)).toBe(true);
    await settle();
    expect(scene.running.map(({ item }) => [item.claim, item.starts])).toEqual([[2, 2]]);
  });

  test("of a lane waits until one before it that was cancelled has returned", async () => {
    const scene = world({ hasLanes: true });
    const { work } = scene.boot();
    for (const name of ["a", "b"]) work.add({ key: name, payload: "x", lane: "one" });
    await settle();
    work.cancel("a");
    await settle();
    expect(scene.started).toEqual(["a"]);
    expect(work.nextWake()).toBeNull();
    scene.running[0]?.end(SETTLED);
    await settle();
    expect(scene.started).toEqual(["a", "b"]);
  });

  test("that the platform interrupted steps aside, and counts as having died in it", async () => {
    const isInterruption = (error: unknown) => error instanceof Error && error.message === "reset";
    const scene = world({
      hasLanes: true,
      retry: { backoff: { baseMs: 10, maxMs: 10 }, afterDeaths: { baseMs: 100, maxMs: 1_000 }, isInterruption }
    });
    const { work } = scene.boot();
    for (const name of ["a", "b"]) work.add({ key: name, payload: "x", lane: "one" });
    await settle();
    scene.running[0]?.fail(new Error("reset"));
    await settle();
    expect(scene.started).toEqual(["a", "b"]);
    expect(work.find("a")).toMatchObject({ state: "waiting", dueAt: 1_100, starts: 1, failures: 0 });
    scene.running[0]?.end(SETTLED);
    await settle();
    scene.state.now = 1_100;
    await work.runDue();
    scene.running[0]?.fail(new Error("reset"));
    await settle();
    expect(work.nextWake()).toBe(1_300);
  });

  test("that dies again and again steps aside while it pauses, if its kind says so, and keeps its failures", async () => {
    const retry = { backoff: { baseMs: 100, maxMs: 1_000 }, quickRestarts: 1, asideAfterDeaths: true } as const;
    const scene = world({ hasLanes: true, retry });
    scene.boot().work.add({ key: "a", payload: "x", lane: "one" });
    await settle();
    scene.running[0]?.fail(new Error("no"));
    await settle();
    scene.state.now += 100;
    await scene.boot().work.runDue();
    await settle();
    const { work } = scene.boot();
    work.add({ key: "b", payload: "x", lane: "one" });
    await settle();
    expect(scene.started).toEqual(["a", "a", "b"]);
    expect(work.find("a")).toMatchObject({ state: "waiting", dueAt: 1_200, failures: 1, starts: 1, lane: "one" });
    expect(work.find("a")?.troubledSince).toBe(1_000);
  });

  test("counts its failures anew after an interruption, and a run that gives it up is no failure", async () => {
    const isInterruption = (error: unknown) => error instanceof Error && error.message === "reset";
    const retry = { backoff: { baseMs: 100, maxMs: 100 }, maxAttempts: 2, isInterruption };
    const scene = world({ retry, deadLetters: 5 });
    const { work } = scene.boot();
    const next = async () => {
      scene.state.now += 100;
      await work.runDue();
      await settle();
      return scene.running[0];
    };
    work.add({ key: "a", payload: "x" });
    await settle();
    for (const said of ["no", "reset", "no", "no"]) {
      scene.running[0]?.fail(new Error(said));
      await settle();
      await next();
    }
    expect(work.find("a")).toMatchObject({ state: "dead", failures: 2, error: "no" });
    work.add({ key: "b", payload: "x" });
    await settle();
    scene.running[0]?.fail(new Error("no"));
    await settle();
    (await next())?.end({ end: "given-up", error: new Error("enough") });
    await settle();
    expect(work.find("b")).toMatchObject({ state: "dead", failures: 1, error: "enough" });
    expect(work.dead().map(({ key }) => key)).toEqual(["b", "a"]);
    expect(scene.givenUp).toEqual(["a", "b"]);
  });

  test("needs no wake of its own while it is about to be claimed, and has one when the table fails", async () => {
    const scene = world();
    const { sql, work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    expect(work.nextWake()).toBeNull();
    await settle();
    sql.run("CREATE TRIGGER full BEFORE UPDATE ON cf_work BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END");
    work.add({ key: "b", payload: "x" });
    await settle();
    expect([scene.started, work.nextWake()]).toEqual([["a"], 31_000]);
  });

  test("that is added at any moment of the end of the runs before it is run without a wake", async () => {
    for (let ticks = 0; ticks < 40; ticks += 1) {
      const scene = world({ run: async () => SETTLED, retentionMs: 0 });
      const { sql, work } = scene.boot();
      work.add({ key: "a", payload: "x" });
      for (let tick = 0; tick < ticks; tick += 1) await Promise.resolve();
      work.add({ key: "b", payload: "x" });
      for (let tick = 0; tick < 80; tick += 1) await Promise.resolve();
      expect([ticks, rowsOf({ sql })]).toEqual([ticks, []]);
    }
  });

  test("that is given up is kept with its payload, the newest so many of them", async () => {
    const retry = { backoff: { baseMs: 100, maxMs: 1_000 }, maxAttempts: 1 };
    const scene = world({ retry, deadLetters: 2, retentionMs: 0, concurrency: 1 });
    const { work } = scene.boot();
    for (const name of ["a", "b", "c", "d"]) {
      work.add({ key: name, payload: name });
      await settle();
      if (name === "c") scene.running[0]?.end(SETTLED);
      else scene.running[0]?.fail(new Error(`no ${name}`));
      await settle();
      scene.state.now += 1;
    }
    const dead = [...work.items({ states: ["dead"] })];
    expect(dead.map(({ key, payload, error }) => [key, payload, error])).toEqual([
      ["b", "b", "no b"],
      ["d", "d", "no d"]
    ]);
    expect(rowsOf(scene.boot()).map((row) => row.key)).toEqual(["b", "d"]);
  });

  test("has a payload that its run saves, and that a postponement and a further put replace", async () => {
    const scene = world();
    const { work } = scene.boot();
    work.add({ key: "a", payload: "first" });
    await settle();
    const [run] = scene.running;
    expect(run && work.save(run.item, "saved")).toBe(true);
    expect(work.find("a")?.payload).toBe("saved");
    run?.end({ end: "postponed", until: 2_000, payload: "later" });
    await settle();
    expect(work.find("a")).toMatchObject({ payload: "later", dueAt: 2_000, state: "waiting" });
    expect(run && work.save(run.item, "too late")).toBe(false);
    expect(work.put({ key: "a", payload: "put", dueAt: 1_500 })).toBe(true);
    expect(work.find("a")).toMatchObject({ payload: "put", dueAt: 1_500 });
  });

  test("that is due again by the time its run settles it waits for that, and else is settled", async () => {
    const scene = world();
    const { work } = scene.boot();
    for (const name of ["a", "b", "c"]) work.add({ key: name, payload: "x" });
    expect(work.again("a", 2_000)).toBe(false);
    await settle();
    expect([work.again("a", 2_000), work.again("b", 2_000), work.again("b", null)]).toEqual([true, true, true]);
    work.again("c", 9_000);
    expect(work.state("a")).toBe("claimed");
    const [a, b, c] = scene.running;
    a?.end(SETTLED);
    b?.end(SETTLED);
    c?.fail(new Error("no"));
    await settle();
    expect(work.find("a")).toMatchObject({ state: "waiting", dueAt: 2_000, starts: 0 });
    expect(work.state("b")).toBe("settled");
    expect(work.find("c")).toMatchObject({ dueAt: 1_100, failures: 1 });
    expect(work.again("a", 3_000)).toBe(false);
  });

  test("that takes long leaves its place to the next one, and goes on", async () => {
    const scene = world({ concurrency: 1, slowMs: 500 });
    const { work } = scene.boot();
    for (const name of ["a", "b"]) work.add({ key: name, payload: "x" });
    await settle();
    expect(scene.started).toEqual(["a"]);
    expect(work.nextWake()).toBe(1_500);
    scene.state.now = 1_500;
    await work.runDue();
    expect(scene.started).toEqual(["a", "b"]);
    expect(scene.running.some(({ signal }) => signal.aborted)).toBe(false);
  });

  test("is listed in order, by state and lane, and all of a lane are cancelled together", async () => {
    const scene = world({ hasLanes: true });
    const { work } = scene.boot();
    for (const key of ["a", "b", "c"]) work.add({ key, payload: key, lane: key === "b" ? "two" : "one" });
    await settle();
    expect([...work.items()].map(({ key, state }) => [key, state])).toEqual([
      ["a", "claimed"],
      ["b", "claimed"],
      ["c", "waiting"]
    ]);
    expect([...work.items({ lane: "one", states: ["waiting"] })].map(({ key }) => key)).toEqual(["c"]);
    expect([work.holdsAtLeast(3), work.holdsAtLeast(4)]).toEqual([true, false]);
    work.add({ key: "far", payload: "x", dueAt: 9_000 });
    work.cancel("b");
    expect([work.holdsAtLeast(3), work.holdsAtLeast(4)]).toEqual([true, false]);
    work.cancel("far");
    work.add({ key: "b", payload: "b", lane: "two" });
    await settle();
    work.cancelAll({ lane: "one" });
    expect([...work.items()].map(({ key }) => key)).toEqual(["b"]);
    expect(scene.running.find((run) => run.key === "a")?.signal.aborted).toBe(true);
  });

  test("that a wake claims waits for one, and stays claimed after an interruption until the wake is over", async () => {
    const isInterruption = (error: unknown) => error instanceof Error && error.message === "reset";
    const scene = world({ byWake: true, retry: { backoff: { baseMs: 100, maxMs: 100 }, isInterruption } });
    const { work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    await settle();
    expect([scene.started, work.nextWake()]).toEqual([[], 1_000]);
    await work.runDue();
    scene.running[0]?.fail(new Error("reset"));
    await settle();
    await work.runDue();
    expect([scene.started, work.state("a"), work.nextWake()]).toEqual([["a"], "claimed", null]);
    work.start();
    await work.runDue();
    expect(scene.started).toEqual(["a", "a"]);
  });

  test("whose process died runs when its kind says, with the time of the claim to go by", async () => {
    const scene = world({ interrupted: (_item, claimedAt) => ({ at: claimedAt + 700 }) });
    scene.boot().work.add({ key: "a", payload: "x" });
    await settle();
    scene.state.now += 300;
    const { work } = scene.boot();
    await settle();
    expect(scene.started).toEqual(["a"]);
    expect(work.nextWake()).toBe(1_700);
  });

  test("says when what became of a run is stored, also of one that was cancelled", async () => {
    const scene = world();
    const { work } = scene.boot();
    const seen: unknown[] = [];
    const afterwards = () => void seen.push(work.state("a"));
    work.add({ key: "a", payload: "x" });
    await settle();
    scene.running[0]?.end({ end: "postponed", until: 1_001, afterwards });
    await settle();
    scene.state.now = 1_001;
    await work.runDue();
    work.cancel("a");
    scene.running[0]?.end({ end: "settled", afterwards });
    await settle();
    expect(seen).toEqual(["waiting", undefined]);
  });

  test("whose end could not be stored is run again after a pause, in a process that lives on", async () => {
    const scene = world();
    const { sql, work } = scene.boot();
    work.add({ key: "a", payload: "x" });
    await settle();
    sql.run("CREATE TRIGGER full BEFORE UPDATE ON cf_work BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END");
    scene.running[0]?.end(SETTLED);
    await settle();
    expect([work.state("a"), work.nextWake()]).toEqual(["claimed", 31_000]);
    sql.run("DROP TRIGGER full");
    scene.state.now = 31_000;
    await work.runDue();
    expect(scene.started).toEqual(["a", "a"]);
  });

  test("of a lane waits for the one before it, unless that steps aside", async () => {
    const scene = world({ hasLanes: true });
    const { work } = scene.boot();
    for (const name of ["a", "b", "c"]) work.add({ key: name, payload: "x", lane: "one" });
    await settle();
    expect(scene.running.map((run) => run.key)).toEqual(["a"]);
    scene.running[0]?.end({ end: "postponed", until: 1_500 });
    await settle();
    expect(scene.running).toEqual([]);
    scene.state.now = 1_500;
    await work.runDue();
    scene.running[0]?.end({ end: "postponed", until: 2_000, aside: true });
    await settle();
    expect(scene.running.map((run) => run.key)).toEqual(["b"]);
  });
});

test("items that end without waiting for anything let other objects of the process go on in between", async () => {
  const scene = world({ run: async () => SETTLED, retentionMs: 0 });
  const { sql, work } = scene.boot();
  sql.transaction(() => {
    for (let index = 0; index < 1_000; index += 1) work.add({ key: `k${index}`, payload: "x" });
  });
  await work.idle();
  expect(rowsOf({ sql })).toEqual([]);
  expect(scene.state.yields).toBeGreaterThanOrEqual(1_000 / 20 - 1);
});
