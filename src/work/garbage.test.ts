// Rows of durable work that hold what was never written there.
import { describe, expect, test } from "vitest";
import { SETTLED } from "./kind.ts";
import { settle, world } from "./work.test-support.ts";

describe("an item", () => {
  test("that cannot be read is set aside and costs only itself", async () => {
    const scene = world();
    const { sql, work } = scene.boot();
    work.add({ key: "good", payload: "x", dueAt: 2_000 });
    work.add({ key: "bad", payload: "x", dueAt: 1_900 });
    sql.run("UPDATE cf_work SET payload = '{' WHERE key = 'bad'");
    scene.state.now = 2_000;
    await work.runDue();
    await settle();
    expect(scene.started).toEqual(["good"]);
    expect(scene.bad).toMatchObject([{ table: "cf_work", key: "letters:bad", body: "{" }]);
    expect(work.state("bad")).toBeUndefined();
  });

  const GARBAGE = ['{"broken', "", new Uint8Array([0, 255]), -7];
  const COLUMNS = ["due_at", "claimed_at", "settled_at", "claim", "starts", "failures", "troubled_since", "created_at"];
  test.each(COLUMNS)("whose %s is garbage after a death runs, or is set aside, and the others run", async (column) => {
    for (const garbage of GARBAGE) {
      const scene = world();
      const before = scene.boot();
      for (const key of ["bad", "good"]) before.work.add({ key, payload: "x", dueAt: 2_000 });
      before.sql.run(`UPDATE cf_work SET ${column} = ? WHERE key = 'bad'`, garbage);
      const { work } = scene.boot();
      scene.state.now = 2_000;
      await work.runDue();
      await settle();
      expect(scene.started).toContain("good");
      expect([garbage, scene.started.includes("bad") || scene.bad.length === 1]).toEqual([garbage, true]);
      for (const run of [...scene.running]) run.end(SETTLED);
      await settle();
      // Nothing is waited for: no hot loop.
      expect([garbage, work.nextWake()]).toEqual([garbage, null]);
    }
  });

  test("that is not over and cannot be read is set aside by the first look at it", () => {
    const scene = world();
    const { sql, work } = scene.boot();
    for (const name of ["bad", "good", "worse"]) work.add({ key: name, payload: "x", dueAt: null });
    work.add({ key: "over", payload: "x", dueAt: null });
    work.know("noted");
    sql.run("UPDATE cf_work SET payload = '{' WHERE key IN ('bad', 'worse')");
    expect([work.find("bad"), work.find("noted")]).toEqual([undefined, undefined]);
    expect([...work.items()].map((item) => item.key)).toEqual(["good", "over"]);
    expect(scene.bad.map((row) => row.key)).toEqual(["letters:bad", "letters:worse"]);
    expect(["bad", "noted", "worse"].map((name) => work.state(name))).toEqual([undefined, "settled", undefined]);
  });

  test("that cannot be read is its kind's to report, with what is left of it", async () => {
    const seen: unknown[] = [];
    const scene = world({ unreadable: (item) => void seen.push(item) });
    const { sql, work } = scene.boot();
    work.add({ key: "a", payload: "x", dueAt: 2_000 });
    sql.run(`UPDATE cf_work SET payload = '{"words":1}'`);
    scene.state.now = 2_000;
    await work.runDue();
    expect(seen).toEqual([{ key: "a", lane: null, stored: { words: 1 }, error: "it has no text" }]);
  });
});
