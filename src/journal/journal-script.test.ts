import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { allEntries, moves, play, recordsOf } from "./journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal } from "./memory-sql.test-support.ts";

// Hundreds of histories, each checked record by record.
vi.setConfig({ testTimeout: 30_000 });

it("the histories of the property tests hold every kind of record, plenty of content, and refusals", () => {
  const counts = new Map<string, number>();
  let refused = 0;
  for (const script of fc.sample(moves, { numRuns: 100, seed: 7 })) {
    const sql = new MemorySql(new DatabaseSync(":memory:"));
    createTables(sql);
    const journal = openTestJournal(sql);
    for (const move of script) {
      const intended = recordsOf(journal, move, 1000).length;
      const head = journal.writer.head();
      play(journal, [move]);
      if (intended > 0 && journal.writer.head() === head) refused += 1;
    }
    for (const { record } of allEntries(journal)) counts.set(record.type, (counts.get(record.type) ?? 0) + 1);
  }
  // A quarantine has no rules of order to play with.
  const expected = [
    ...["turn-admitted", "attempt-started", "attempt-ended", "content-segment", "call-started", "call-settled"],
    ...["approval-asked", "approval-answered", "step-finished"],
    ...["recovery-started", "turn-stashed", "turn-cancel-requested", "turn-settled", "turn-responded"],
    "conversation-cleared"
  ];
  for (const type of expected) expect([type, (counts.get(type) ?? 0) >= 5]).toEqual([type, true]);
  expect(counts.get("content-segment")).toBeGreaterThan(200);
  expect(refused).toBeGreaterThan(100);
});
