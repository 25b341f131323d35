import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { BLOB_TABLES } from "../host/blobs.ts";
import { TableSet } from "../host/table-set.ts";
import { emptyTurn, foldTurn } from "./folds/turn-fold.ts";
import { turnId } from "../util/ids.ts";
import { allEntries, moves, openIn, play } from "./journal-script.test-support.ts";
import { Crash, createTables, MemorySql, openTestJournal, type TestJournal } from "./memory-sql.test-support.ts";
import { JOURNAL_TABLES } from "./rows.ts";
import {
  admitted,
  call,
  delta,
  SAMPLES,
  segment,
  settled,
  settledCall,
  started,
  T2
} from "./record-samples.test-support.ts";
import type { JournalRecord } from "./records.ts";

// Histories of any kind are written again for every write they could be cut off after.
vi.setConfig({ testTimeout: 30_000 });

const large = "w".repeat(400_000);

/** One conversation's life, an append per line: large values, a second turn, a clear. */
const LIFE: JournalRecord[][] = [
  [admitted()],
  [started(1)],
  [segment(1, 0, [delta("a"), delta("b")])],
  [segment(1, 2, [delta(large)]), call("c1")],
  [settledCall("c1", { kind: "output", output: large }, { attempt: 1 }), SAMPLES["step-finished"]],
  [admitted(T2)],
  [call("c2", { executor: "client" }), SAMPLES["attempt-ended"]],
  [settledCall("c2", { kind: "output", output: 2 }), started(2, 3)],
  [segment(2, 3, [delta("c")])],
  [settled({ responds: true, attempt: 2 })],
  [SAMPLES["turn-responded"]],
  [settled({ turnId: T2, outcome: "skipped" }), SAMPLES["conversation-cleared"]]
];

function fresh(): TestJournal {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  return openTestJournal(sql);
}

/** The conversation's row is a cache of the folds, and every blob belongs to a row. */
function expectConsistent(journal: TestJournal): void {
  const entries = allEntries(journal);
  const { openTurns } = journal.conversation.row;
  expect(openTurns.map((turn) => turn.turnId)).toEqual(openIn(entries));
  for (const open of openTurns) {
    const { attempt, nextChunk } = foldTurn(emptyTurn(turnId(open.turnId)), entries);
    expect(journal.folds.get(open.turnId)).toMatchObject({ attempt, nextChunk });
  }
  const owned = new TableSet(journal.sql, BLOB_TABLES)
    .all<{ owner: string }>("SELECT owner FROM cf_blob_owners")
    .map((row) => row.owner);
  const rows = new TableSet(journal.sql, JOURNAL_TABLES).all<{ last: number }>(
    "SELECT last FROM cf_journal WHERE blob IS NOT NULL"
  );
  expect(owned.toSorted()).toEqual(rows.map((row) => `journal:${row.last}`).toSorted());
}

describe("a crash at any write", () => {
  it("leaves a readable journal that is a prefix of whole appends, and the rest can follow", () => {
    const uninterrupted = fresh();
    for (const records of LIFE) uninterrupted.writer.append(records);
    const whole = allEntries(uninterrupted);
    const prefixes = LIFE.map((_, done) => LIFE.slice(0, done).flat().length);
    for (let crashAt = 1; ; crashAt++) {
      const journal = fresh();
      journal.sql.crashAtWrite(crashAt);
      let done = 0;
      let crashed = false;
      try {
        for (; done < LIFE.length; done++) journal.writer.append(LIFE[done]!);
      } catch (error) {
        expect(error).toBeInstanceOf(Crash);
        crashed = true;
      }
      const rebooted = openTestJournal(journal.sql.reboot());
      expect(allEntries(rebooted)).toEqual(whole.slice(0, prefixes[done] ?? whole.length));
      expectConsistent(rebooted);
      for (; done < LIFE.length; done++) rebooted.writer.append(LIFE[done]!);
      expect(allEntries(rebooted)).toEqual(whole);
      // The first run that is not interrupted has shown every write before it.
      if (!crashed) return void expect(crashAt).toBeGreaterThan(LIFE.length);
    }
  });

  it("of a sweep leaves everything or what it should, and the next sweep finishes", () => {
    for (let crashAt = 1; ; crashAt++) {
      const journal = fresh();
      for (const records of LIFE) journal.writer.append(records);
      journal.sql.crashAtWrite(crashAt);
      const before = allEntries(openTestJournal(journal.sql.reboot()));
      let crashed = false;
      try {
        journal.retention.sweep(10_000);
      } catch (error) {
        expect(error).toBeInstanceOf(Crash);
        crashed = true;
      }
      const rebooted = openTestJournal(journal.sql.reboot());
      if (crashed) expect(allEntries(rebooted)).toEqual(before);
      rebooted.retention.sweep(10_000);
      // The row of the clear itself goes by age.
      expect(allEntries(rebooted).map((entry) => entry.record.type)).toEqual(["turn-settled", "conversation-cleared"]);
      rebooted.retention.sweep(1e12);
      expect(allEntries(rebooted)).toEqual([]);
      expect(rebooted.writer.head()).toBe(LIFE.flat().length);
      expect(rebooted.sql.all("SELECT hash FROM cf_blobs")).toEqual([]);
      if (!crashed) return;
    }
  });

  it("of any history leaves a prefix of it", () => {
    fc.assert(
      fc.property(moves, fc.integer({ min: 1, max: 80 }), (script, crashAt) => {
        const uninterrupted = fresh();
        play(uninterrupted, script);
        const whole = allEntries(uninterrupted);
        const journal = fresh();
        journal.sql.crashAtWrite(crashAt);
        try {
          play(journal, script);
        } catch (error) {
          expect(error).toBeInstanceOf(Crash);
        }
        const rebooted = openTestJournal(journal.sql.reboot());
        const left = allEntries(rebooted);
        expect(left).toEqual(whole.slice(0, left.length));
        expectConsistent(rebooted);
      })
    );
  });
});
