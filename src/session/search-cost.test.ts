// What a search costs beside the query it cannot do without, measured in one run: the two take turns, and medians are
// compared.
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { openTestSession, text } from "./session.test-support.ts";

// Ten thousand messages are stored and indexed before anything is measured.
vi.setConfig({ testTimeout: 30_000 });

const MESSAGES = 10_000;
const ROUNDS = 31;
/** A busy machine may disturb one measurement; it does not disturb all of them. */
const MEASUREMENTS = 4;
const RAW = "SELECT rowid FROM cf_search_text WHERE cf_search_text MATCH '\"common\"' ORDER BY rank LIMIT 20";

test("a search for a common word at 10,000 messages costs at most twice a raw FTS5 query", async () => {
  const { store, sql } = openTestSession(new DatabaseSync(":memory:"));
  for (let index = 0; index < MESSAGES; index += 1) {
    store.appendMessage(
      text(`m${index}`, index % 2 === 0 ? "user" : "assistant", `a common word, and number ${index}`)
    );
  }
  expect(await store.searchMessages("common")).toHaveLength(20);
  const ratios: number[] = [];
  for (let measurement = 0; measurement < MEASUREMENTS && !(Math.min(...ratios) <= 2); measurement += 1) {
    const [raw, searched]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      raw.push(await timeOf(() => sql.all(RAW)));
      searched.push(await timeOf(() => store.searchMessages("common")));
    }
    ratios.push(median(searched) / median(raw));
  }
  expect(Math.min(...ratios)).toBeLessThanOrEqual(2);
});

async function timeOf(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
