import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Blobs } from "../../host/blobs.ts";
import { World } from "./actions.test-support.ts";
import { MemorySql } from "../../journal/memory-sql.test-support.ts";
import { readResultTool } from "../../feature/read-result.ts";
import { executeTool } from "./actions.test-support.ts";
import { MAX_PAGE_BYTES, MAX_RESULTS, RESULT_AGE_MS, Results } from "./results.ts";

function open(): { world: World; results: Results } {
  const world = new World(new DatabaseSync(":memory:"));
  const sql = new MemorySql(world.database);
  const results = new Results({
    sql,
    blobs: new Blobs(sql),
    clock: { now: () => world.nowMs, sleep: () => Promise.resolve() },
    ids: { next: () => `id-${++world.ids}`, random: () => 0 }
  });
  return { world, results };
}

function pages(results: Results, id: string, length: number): string {
  let text = "";
  for (let from: number | undefined = 0; from !== undefined;) {
    const page = results.page(id, from, length);
    if (!page) throw new Error("gone");
    expect(page.text === "" && page.next !== undefined).toBe(false);
    text += page.text;
    from = page.next;
  }
  return text;
}

test("the pages of a result, joined, are the result, however they are cut", () => {
  const { results } = open();
  let next = 0;
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, length) => {
      const id = `result-${++next}`;
      results.keep(id, text);
      expect(pages(results, id, length)).toBe(text);
    }),
    { numRuns: 80 }
  );
});

test("a page may start anywhere, and starts at the next whole character", () => {
  const { results } = open();
  results.keep("r", "aé€😀z");
  expect(results.page("r", 2, 100)).toEqual({ id: "r", from: 3, totalBytes: 11, text: "€😀z" });
  expect(results.page("r", 500, 100)).toMatchObject({ text: "" });
});

test("old results make way for new ones, and leave nothing behind", () => {
  const { world, results } = open();
  for (let index = 0; index < MAX_RESULTS + 3; index++) results.keep(`r${index}`, `value ${index}`);
  expect(world.rows("SELECT id FROM cf_action_results")).toHaveLength(MAX_RESULTS);
  expect(results.page("r2", 0, 10)).toBeUndefined();
  expect(results.page("r3", 0, 10)).toBeDefined();
  world.nowMs += RESULT_AGE_MS + 1;
  results.sweep();
  expect(world.rows("SELECT id FROM cf_action_results")).toEqual([]);
  expect(world.rows("SELECT hash FROM cf_blobs")).toEqual([]);
});

test("two results of the same content live and die separately", () => {
  const { world, results } = open();
  results.keep("a", "same");
  world.nowMs += RESULT_AGE_MS;
  results.keep("b", "same");
  world.nowMs += 1;
  results.sweep();
  expect(results.page("a", 0, 10)).toBeUndefined();
  expect(results.page("b", 0, 10)?.text).toBe("same");
});

test("read_result reads pages and answers any nonsense without failing", async () => {
  const { results } = open();
  results.keep("r", "x".repeat(MAX_PAGE_BYTES + 5));
  const tools = readResultTool([(...asked) => results.page(...asked)]);
  const read = (input: unknown) => executeTool(tools, "read_result", { input, toolCallId: "c", messages: [] });
  expect(await read({ id: "r" })).toMatchObject({ from: 0, next: MAX_PAGE_BYTES, totalBytes: MAX_PAGE_BYTES + 5 });
  expect(await read({ id: "r", from: MAX_PAGE_BYTES })).toEqual({
    id: "r",
    from: MAX_PAGE_BYTES,
    totalBytes: MAX_PAGE_BYTES + 5,
    text: "xxxxx"
  });
  expect(await read({ id: "r", from: "abc", length: 1e9 })).toMatchObject({ from: 0 });
  expect(await read({ id: 5 })).toMatchObject({ error: { name: "ResultGone" } });
});
