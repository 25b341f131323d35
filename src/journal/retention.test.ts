import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { turnId, type TurnId } from "../util/ids.ts";
import { isReleased, replayAll, startReplay } from "./folds/chunks-fold.ts";
import { allEntries } from "./journal-script.test-support.ts";
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
import { JournalRetention, RETENTION, type RetentionOptions } from "./retention.ts";

let journal: TestJournal;
const { contentTtlMs } = RETENTION;
const recordTtlMs = RETENTION.recordTtlMs ?? 0;
const retention = (options: Partial<RetentionOptions> = {}) =>
  new JournalRetention(journal.sql, journal.blobs, options);
const types = () => allEntries(journal).map((entry) => entry.record.type);

beforeEach(() => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  journal = openTestJournal(sql);
});

function finished(turn: TurnId, at: number, segments = 3): void {
  const generation = journal.writer.generation();
  journal.writer.append([admitted(turn, { generation }), { ...started(1), turnId: turn }]);
  for (let chunk = 0; chunk < segments; chunk++) {
    journal.writer.append([{ ...segment(1, chunk, [delta("x")]), turnId: turn }]);
  }
  journal.writer.append([settled({ turnId: turn, at, chunkCount: segments })]);
}

describe("content", () => {
  it("of a settled turn goes after its time, the rest of the turn stays", () => {
    finished(T1, 5000);
    expect(retention().nextSweepAt()).toBe(5000 + contentTtlMs);
    expect(retention().sweep(5000 + contentTtlMs - 1)).toEqual({ deletedRows: 0, more: false });
    expect(retention().sweep(5000 + contentTtlMs)).toEqual({ deletedRows: 3, more: false });
    expect(types()).toEqual(["turn-admitted", "attempt-started", "turn-settled"]);
    expect(isReleased(replayAll(startReplay(T1), allEntries(journal)).state)).toBe(true);
  });

  it("of an open turn is never touched, however old", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
    expect(retention().nextSweepAt()).toBeNull();
    expect(retention().sweep(1e15).deletedRows).toBe(0);
  });

  it("waits for the response hook", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
    journal.writer.append([settled({ at: 5000, chunkCount: 1, responds: true })]);
    expect(retention().nextSweepAt()).toBeNull();
    journal.writer.append([SAMPLES["turn-responded"]]);
    expect(retention().nextSweepAt()).toBe(5000 + contentTtlMs);
  });

  it("takes its blobs along", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x".repeat(300_000))])]);
    journal.writer.append([settled({ at: 1, chunkCount: 1 })]);
    retention().sweep(1 + contentTtlMs);
    expect(journal.sql.all("SELECT hash FROM cf_blobs")).toEqual([]);
  });

  it("half swept, replays as a stream that ends early, never with a hole", () => {
    finished(T1, 5000, 5);
    expect(retention({ maxRows: 2 }).sweep(5000 + contentTtlMs)).toEqual({ deletedRows: 2, more: true });
    const replay = replayAll(startReplay(T1), allEntries(journal));
    expect(replay).toMatchObject({ lost: 0, chunks: [{ number: 0 }, { number: 1 }, { number: 2 }] });
    expect(isReleased(replay.state)).toBe(true);
  });
});

describe("a sweep", () => {
  it("is bounded, and repeated sweeps finish", () => {
    for (let turn = 0; turn < 5; turn++) finished(turnId(`t${turn}`), 5000);
    const sweeper = retention({ maxRows: 4 });
    const reports = [];
    do reports.push(sweeper.sweep(5000 + contentTtlMs));
    while (reports.at(-1)?.more);
    expect(reports.map((report) => report.deletedRows)).toEqual([4, 4, 4, 3]);
    expect(sweeper.nextSweepAt()).toBeNull();
  });

  it("of an idle object is never due: old records wait for company", () => {
    finished(T1, 5000);
    retention().sweep(5000 + contentTtlMs);
    expect(retention().nextSweepAt()).toBeNull();
    retention().sweep(5000 + recordTtlMs);
    expect(types()).toEqual([]);
    expect(journal.sql.all("SELECT turn FROM cf_journal_turns")).toEqual([]);
  });

  it("keeps records for ever when told so", () => {
    finished(T1, 5000, 0);
    expect(retention({ recordTtlMs: null }).sweep(1e15).deletedRows).toBe(0);
  });

  it("never lets a sequence be used twice", () => {
    finished(T1, 5000, 0);
    const head = journal.writer.head();
    retention().sweep(1e15);
    expect(allEntries(journal)).toEqual([]);
    expect(journal.writer.append([admitted(T2)]).first).toBe(head + 1);
    expect(journal.reader.read({ after: head }).entries).toHaveLength(1);
  });
});

describe("a clear", () => {
  const clear = () => journal.writer.append([{ ...SAMPLES["conversation-cleared"], at: 7000, generation: 1 }]);

  it("removes everything before it, at once, and nothing after it", () => {
    finished(T1, 5000);
    journal.writer.append([SAMPLES["conversation-compacted"]]);
    clear();
    journal.writer.append([admitted(T2, { generation: 1 })]);
    expect(retention().nextSweepAt()).toBe(7000);
    retention().sweep(7000);
    expect(types()).toEqual(["conversation-cleared", "turn-admitted"]);
    expect(journal.sql.all("SELECT turn FROM cf_journal_turns")).toEqual([{ turn: T2 }]);
    expect(retention().nextSweepAt()).toBeNull();
  });

  it("in pieces leaves neither a turn without records nor a record without its turn", () => {
    for (let turn = 0; turn < 3; turn++) finished(turnId(`t${turn}`), 5000, 2);
    clear();
    for (let sweeps = 0; sweeps < 20; sweeps++) {
      retention({ maxRows: 1 }).sweep(7000);
      const withRecords = new Set(allEntries(journal).flatMap(({ record }) => record.turnId ?? []));
      const indexed = journal.sql.all<{ turn: string }>("SELECT turn FROM cf_journal_turns").map((row) => row.turn);
      expect(new Set(indexed)).toEqual(withRecords);
    }
    expect(types()).toEqual(["conversation-cleared"]);
    expect(retention().nextSweepAt()).toBeNull();
  });

  it("waits for a turn that has not settled, without waking for it", () => {
    journal.writer.append([admitted(), started(1), segment(1, 0, [delta("x")])]);
    clear();
    retention().sweep(7000);
    expect(types()).toHaveLength(4);
    expect(retention().nextSweepAt()).toBeNull();
    journal.writer.append([settled({ outcome: "aborted", reason: "cleared", chunkCount: 1, responds: true })]);
    expect(retention().nextSweepAt()).toBe(7000);
    retention().sweep(7001);
    expect(types()).toEqual(["conversation-cleared"]);
    expect(retention().nextSweepAt()).toBeNull();
  });

  it("of one conversation leaves the others alone", () => {
    const other = openTestJournal(journal.sql, 3);
    other.writer.append([admitted(T2)]);
    finished(T1, 5000);
    clear();
    retention().sweep(7000);
    expect(allEntries(other)).toHaveLength(1);
  });

  it("frees what large outcomes held", () => {
    journal.writer.append([admitted(), started(1), call("c1")]);
    journal.writer.append([settledCall("c1", { kind: "output", output: "y".repeat(300_000) }), settled()]);
    clear();
    retention().sweep(7000);
    expect(journal.sql.all("SELECT owner FROM cf_blob_owners")).toEqual([]);
  });
});
