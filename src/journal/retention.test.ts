import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { turnId, type TurnId } from "../util/ids.ts";
import { allEntries, moves, play } from "./journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal, type TestJournal } from "./memory-sql.test-support.ts";
import {
  admitted,
  call,
  delta,
  SAMPLES,
  segment,
  settled,
  settledCall,
  started,
  T1,
  T2
} from "./record-samples.test-support.ts";
import { RETENTION, type RetentionOptions } from "./retention.ts";

let journal: TestJournal;
const { contentTtlMs } = RETENTION;
const types = () => allEntries(journal).map((entry) => entry.record.type);

function open(options: Partial<RetentionOptions> = {}): TestJournal {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  return openTestJournal(sql, options);
}

beforeEach(() => {
  journal = open();
});

/** Takes `segments + 2` rows. */
function finished(turn: TurnId, at: number, segments = 3): void {
  const { generation } = journal.conversation.row;
  journal.writer.append([admitted(turn, { generation }), { ...started(1), turnId: turn }]);
  for (let chunk = 0; chunk < segments; chunk++) {
    journal.writer.append([{ ...segment(1, chunk, [delta("x")]), turnId: turn }]);
  }
  journal.writer.append([settled({ turnId: turn, at })]);
}

describe("a settled turn", () => {
  it("goes after its time, which counts from its outcome", () => {
    finished(T1, 5_000_000);
    expect(journal.retention.nextSweepAt()).toBe(5_000_000 + contentTtlMs);
    expect(journal.retention.sweep(5_000_000 + contentTtlMs - 1)).toEqual({ deletedRows: 0, more: false });
    expect(types().filter((type) => type === "content-segment")).toHaveLength(3);
    expect(journal.retention.sweep(5_000_000 + contentTtlMs)).toEqual({ deletedRows: 5, more: false });
    expect(types()).toEqual([]);
    expect(journal.retention.nextSweepAt()).toBeNull();
  });

  it("waits for the response hook", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
    journal.writer.append([settled({ at: 5000, responds: true })]);
    expect(journal.retention.nextSweepAt()).toBeNull();
    journal.writer.append([{ ...SAMPLES["turn-responded"], at: 6000 }]);
    expect(journal.retention.nextSweepAt()).toBe(6000 + contentTtlMs);
    expect(journal.retention.sweep(6000 + contentTtlMs).deletedRows).toBe(3);
  });

  it("waits for an older one that is open, and goes with it", () => {
    journal.writer.append([admitted()]);
    finished(T2, 5000);
    expect(journal.retention.nextSweepAt()).toBeNull();
    expect(journal.retention.sweep(1e15).deletedRows).toBe(0);
    journal.writer.append([settled({ at: 9000 })]);
    expect(journal.retention.nextSweepAt()).toBe(9000 + contentTtlMs);
    expect(journal.retention.sweep(9000 + contentTtlMs).deletedRows).toBe(7);
  });

  it("goes while a newer one is open, up to the row they share", () => {
    finished(T1, 5000);
    journal.writer.append([SAMPLES["conversation-changed"], admitted(T2)]);
    expect(journal.retention.sweep(5000 + contentTtlMs).deletedRows).toBe(5);
    expect(types()).toEqual(["conversation-changed", "turn-admitted"]);
    expect(journal.retention.nextSweepAt()).toBeNull();
  });

  it("takes its blobs along", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x".repeat(300_000))])]);
    journal.writer.append([settled({ at: 1 })]);
    journal.retention.sweep(1300 + contentTtlMs);
    expect(journal.sql.all("SELECT hash FROM cf_blobs")).toEqual([]);
  });
});

it("an open turn loses nothing, however old", () => {
  journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
  expect(journal.retention.nextSweepAt()).toBeNull();
  expect(journal.retention.sweep(1e15).deletedRows).toBe(0);
});

describe("a sweep", () => {
  it("is bounded, and repeated sweeps finish", () => {
    journal = open({ maxRows: 4 });
    for (let turn = 0; turn < 3; turn++) finished(turnId(`t${turn}`), 5000);
    const reports = [];
    do reports.push(journal.retention.sweep(5000 + contentTtlMs));
    while (reports.at(-1)?.more);
    expect(reports.map((report) => report.deletedRows)).toEqual([4, 4, 4, 3]);
    expect(journal.retention.nextSweepAt()).toBeNull();
  });

  it("writes a row per deleted row, and one more only when the journal is empty afterwards", () => {
    finished(T1, 5000);
    journal.writer.append([admitted(T2)]);
    let before = journal.sql.rowsWritten;
    journal.retention.sweep(5000 + contentTtlMs);
    expect(journal.sql.rowsWritten - before).toBe(5);
    journal.writer.append([settled({ turnId: T2, at: 5000 })]);
    before = journal.sql.rowsWritten;
    journal.retention.sweep(5000 + contentTtlMs);
    expect(journal.sql.rowsWritten - before).toBe(3);
  });

  it("never lets a sequence be used twice, not even by the next process", () => {
    finished(T1, 5000, 0);
    const head = journal.writer.head();
    journal.retention.sweep(1e15);
    expect(allEntries(journal)).toEqual([]);
    journal = openTestJournal(journal.sql);
    expect(journal.reader.read().cursor).toBe(head);
    journal.writer.append([admitted(T2)]);
    expect(journal.reader.read({ after: head }).entries).toMatchObject([{ sequence: head + 1 }]);
  });

  it("at any time of any history deletes a prefix, nothing an open turn needs, and leaves no wake that does nothing", () => {
    fc.assert(
      fc.property(moves, fc.nat(60), fc.integer({ min: 1, max: 6 }), (script, ageMs, maxRows) => {
        journal = open({ maxRows, contentTtlMs: 10 });
        play(journal, script);
        const before = allEntries(journal);
        const { openTurns } = journal.conversation.row;
        journal.retention.sweep(1000 + ageMs);
        const left = allEntries(journal);
        expect(left).toEqual(before.slice(before.length - left.length));
        const [oldest] = openTurns;
        if (oldest) expect(left.some(({ sequence }) => sequence === oldest.firstSequence)).toBe(true);
        expect(journal.writer.head()).toBe(before.length);
        const next = journal.retention.nextSweepAt();
        if (next !== null) expect(journal.retention.sweep(next).deletedRows).toBeGreaterThan(0);
      })
    );
  });
});

it("a wake for a sweep never comes while sweeps pause, whatever the history and however the last sweep went", () => {
  fc.assert(
    fc.property(moves, fc.nat(60), fc.integer({ min: 1, max: 6 }), fc.boolean(), (script, ageMs, maxRows, fails) => {
      journal = open({ maxRows, maxSweeps: 2, contentTtlMs: 10, pauseMs: 5 });
      play(journal, script);
      // Tables are made with their first row.
      fc.pre(allEntries(journal).length > 0);
      const now = 1000 + ageMs;
      if (fails)
        journal.sql.run("CREATE TRIGGER full BEFORE DELETE ON cf_journal BEGIN SELECT RAISE(ABORT, 'full'); END");
      try {
        journal.retention.sweepDue(now);
      } catch (error) {
        expect(fails, String(error)).toBe(true);
      }
      if (fails) journal.sql.run("DROP TRIGGER full");
      const next = journal.retention.nextWakeAt();
      if (next === null) return;
      expect(next).toBeGreaterThanOrEqual(now + 5);
      const rows = allEntries(journal).length;
      journal.retention.sweepDue(next);
      expect(allEntries(journal).length).toBeLessThan(rows);
    })
  );
});

it("visits within a minute of a sweep make no other", () => {
  finished(T1, 0);
  finished(T2, 1_000);
  const at = contentTtlMs;
  journal.retention.sweepDue(at);
  const left = types().length;
  expect(left).toBeGreaterThan(0);
  journal.retention.sweepDue(at + RETENTION.pauseMs - 1);
  expect(types()).toHaveLength(left);
  journal.retention.sweepDue(at + RETENTION.pauseMs);
  expect(types()).toEqual([]);
});

describe("a clear", () => {
  const clear = () => journal.writer.append([{ ...SAMPLES["conversation-cleared"], at: 7000, generation: 1 }]);

  it("removes everything before it, at once, and itself by age", () => {
    finished(T1, 5000);
    journal.writer.append([SAMPLES["conversation-changed"]]);
    clear();
    journal.writer.append([admitted(T2, { generation: 1 })]);
    expect(journal.retention.nextSweepAt()).toBeLessThanOrEqual(7000);
    journal.retention.sweep(7000);
    expect(types()).toEqual(["conversation-cleared", "turn-admitted"]);
    expect(journal.retention.nextSweepAt()).toBe(7000 + contentTtlMs);
    journal.retention.sweep(7000 + contentTtlMs);
    expect(types()).toEqual(["turn-admitted"]);
    expect(journal.retention.nextSweepAt()).toBeNull();
  });

  it("waits for a turn that has not settled, without waking for it", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
    clear();
    journal.retention.sweep(7000);
    expect(types()).toHaveLength(4);
    expect(journal.retention.nextSweepAt()).toBeNull();
    journal.writer.append([settled({ outcome: "aborted", reason: "cleared", at: 7001 })]);
    expect(journal.retention.nextSweepAt()).toBeLessThanOrEqual(7000);
    journal.retention.sweep(7001);
    expect(types()).toEqual(["conversation-cleared", "turn-settled"]);
    expect(journal.retention.nextSweepAt()).toBe(7001 + contentTtlMs);
  });

  it("frees what large outcomes held", () => {
    journal.writer.append([admitted(), started(1), call("c1")]);
    journal.writer.append([settledCall("c1", { kind: "output", output: "y".repeat(300_000) }), settled()]);
    clear();
    journal.retention.sweep(7000);
    expect(journal.sql.all("SELECT owner FROM cf_blob_owners")).toEqual([]);
  });
});
