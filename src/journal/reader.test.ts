import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { BLOB_CHUNK_BYTES } from "../host/blobs.ts";
import { byteLength } from "../util/bytes.ts";
import { turnId } from "../util/ids.ts";
import { encodeRecord } from "./codec.ts";
import { allEntries, moves, play, turnsIn } from "./journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal, type TestJournal } from "./memory-sql.test-support.ts";
import { quarantineRow } from "./quarantine.ts";
import type { JournalPage } from "./reader.ts";
import {
  admitted,
  call,
  delta,
  futureText,
  SAMPLES,
  segment,
  settled,
  settledCall,
  started,
  T1,
  T2,
  unknown
} from "./record-samples.test-support.ts";
import type { BadRow } from "../host/quarantine.ts";

let journal: TestJournal;
const sequences = (page: JournalPage) => page.entries.map((entry) => entry.sequence);

beforeEach(() => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  journal = openTestJournal(sql);
  journal.writer.append([admitted()]);
  journal.writer.append([started(1)]);
});

function stream(count: number, text = "x"): void {
  const first = journal.folds.get(T1)!.nextChunk;
  for (let index = 0; index < count; index++) journal.writer.append([segment(1, first + index, [delta(text)])]);
}

describe("a page", () => {
  it("starts after the cursor and says where to go on", () => {
    stream(5);
    const page = journal.reader.read({ after: 2, maxRecords: 3 });
    expect(sequences(page)).toEqual([3, 4, 5]);
    expect(page).toMatchObject({ cursor: 5, more: true });
    expect(journal.reader.read({ after: page.cursor, maxRecords: 3 })).toMatchObject({ cursor: 7, more: false });
  });

  it("is bounded by bytes, and always moves on", () => {
    stream(4, "y".repeat(1000));
    const pages = [...journal.reader.pages({ after: 2, maxBytes: 2500 })];
    expect(pages.map(sequences)).toEqual([
      [3, 4],
      [5, 6]
    ]);
    expect([...journal.reader.pages({ maxBytes: 0 })].map(sequences)).toEqual([[1], [2], [3], [4], [5], [6]]);
  });

  it("at the end is empty and keeps the cursor", () => {
    expect(journal.reader.read({ after: 2 })).toEqual({ entries: [], corrupt: [], cursor: 2, more: false });
    expect(journal.reader.read({ after: 99 }).cursor).toBe(99);
  });

  it("of one turn skips the others, and its cursor moves over them", () => {
    journal.writer.append([admitted(T2)]);
    stream(1);
    journal.writer.append([settled(), settled({ turnId: T2 })]);
    const page = journal.reader.read({ turnId: T1, after: 2 });
    expect(sequences(page)).toEqual([4, 5]);
    expect(page.cursor).toBe(6);
    expect(sequences(journal.reader.read({ turnId: T2 }))).toEqual([3, 6]);
  });

  it("can leave out the content a reader has seen, or all chunks", () => {
    stream(4);
    expect(sequences(journal.reader.read({ turnId: T1, fromChunk: 2 }))).toEqual([1, 2, 5, 6]);
    const outline = journal.reader.read({ turnId: T1, outline: true, maxBytes: 2000 });
    expect(outline.entries.at(-1)?.record).toMatchObject({ type: "content-outline", firstChunk: 3, chunkCount: 1 });
  });

  it("walks the primary key: reading from a cursor scans neither table nor sorts", () => {
    const plan = journal.sql.all<{ detail: string }>(
      "EXPLAIN QUERY PLAN SELECT last FROM cf_journal WHERE last >= 5 AND last <= 9 ORDER BY last"
    );
    expect(plan.map((row) => row.detail)).toEqual([
      expect.stringMatching(/^SEARCH cf_journal USING INTEGER PRIMARY KEY/)
    ]);
  });
});

describe("rows of several records", () => {
  const batch = () => [
    call("c1"),
    settledCall("c1", { kind: "output", output: "é".repeat(500) }),
    segment(1, 0, [delta("a"), delta("b")]),
    SAMPLES["step-finished"]
  ];
  beforeEach(() => {
    journal.writer.append(batch());
    journal.writer.append([SAMPLES["turn-stashed"]]);
  });

  it("can be entered in the middle", () => {
    expect(sequences(journal.reader.read({ after: 4 }))).toEqual([5, 6, 7]);
    expect(journal.reader.read({ after: 6 })).toMatchObject({ cursor: 7, more: false });
  });

  it("stay together where they fit, and are read in parts where they do not", () => {
    const bytes = batch().map((record) => byteLength(encodeRecord(record)));
    const pages = (options: object) => [...journal.reader.pages({ after: 1, ...options })].map(sequences);
    expect(pages({ maxRecords: 4 })).toEqual([[2], [3, 4, 5, 6], [7]]);
    expect(pages({ maxRecords: 5 })).toEqual([[2, 3, 4, 5, 6], [7]]);
    expect(pages({ maxRecords: 3 })).toEqual([[2], [3, 4, 5], [6, 7]]);
    expect(pages({ maxBytes: bytes[0]! + bytes[1]! })).toEqual([[2], [3, 4], [5, 6], [7]]);
    expect(pages({ maxBytes: 0 })).toEqual([[2], [3], [4], [5], [6], [7]]);
  });

  it("filtered to nothing still move the cursor", () => {
    journal.writer.append([admitted(T2)]);
    const other = turnId("never-seen");
    expect([...journal.reader.pages({ turnId: other, maxRecords: 1 })]).toEqual([]);
    expect(journal.reader.read({ turnId: other, maxRecords: 1 })).toMatchObject({ entries: [], cursor: 1, more: true });
    expect(journal.reader.read({ turnId: T2, maxRecords: 1 })).toMatchObject({ cursor: 8, more: false });
    expect(sequences(journal.reader.read({ after: 2, turnId: T1, maxRecords: 1, fromChunk: 2 }))).toEqual([3]);
  });

  it("larger than a page do not take its bytes for readers that skip them", () => {
    journal.writer.append([admitted(T2)]);
    journal.writer.append([call("c9"), { ...started(1), turnId: T2 }, call("c8")]);
    const pages = [...journal.reader.pages({ turnId: T2, maxRecords: 1 })];
    expect(pages.map(sequences)).toEqual([[8], [10]]);
  });
});

it("whatever the history, the cursor and the size of pages, each record comes once and in order", () => {
  fc.assert(
    fc.property(
      moves,
      fc.nat(80),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(3000),
      (script, after, maxRecords, maxBytes) => {
        const sql = new MemorySql(new DatabaseSync(":memory:"));
        createTables(sql);
        const other = openTestJournal(sql);
        play(other, script);
        const all = allEntries(other);
        const read = (options: object) =>
          [...other.reader.pages({ after, maxRecords, maxBytes, ...options })].flatMap(({ entries }) => entries);
        const rest = all.filter(({ sequence }) => sequence > after);
        expect(read({})).toEqual(rest);
        for (const turn of turnsIn(all)) {
          expect(read({ turnId: turn })).toEqual(rest.filter(({ record }) => record.turnId === turn));
        }
      }
    )
  );
});

describe("damage", () => {
  it("in one row is reported beside the rest", () => {
    stream(3);
    journal.sql.run("UPDATE cf_journal SET body = 'garbage' WHERE last = 4");
    const page = journal.reader.read();
    expect(sequences(page)).toEqual([1, 2, 3, 5]);
    expect(page.corrupt).toMatchObject([{ sequence: 4, reason: expect.any(String) }]);
    expect(page.cursor).toBe(5);
  });

  it("of a blob hurts only its row", () => {
    const output = "z".repeat(2 * BLOB_CHUNK_BYTES);
    journal.writer.append([call("c1")]);
    journal.writer.append([settledCall("c1", { kind: "output", output }), SAMPLES["turn-stashed"]]);
    journal.writer.append([SAMPLES["step-finished"]]);
    journal.sql.run("DELETE FROM cf_blob_chunks WHERE chunk = 1");
    const page = journal.reader.read({ maxBytes: Infinity });
    expect(sequences(page)).toEqual([1, 2, 3, 6]);
    expect(page.corrupt).toMatchObject([{ sequence: 4, lost: 2, last: 5 }]);
    expect(journal.reader.read({ after: 4, maxBytes: Infinity }).corrupt).toMatchObject([{ sequence: 5, lost: 1 }]);
    expect(journal.reader.read({ after: 5, maxBytes: Infinity }).corrupt).toEqual([]);
  });

  it("is set aside once; a record takes its place and numbering goes on", () => {
    stream(3);
    journal.sql.run("UPDATE cf_journal SET body = replace(body, '{\"type\":\"text-delta\"', 'x') WHERE last = 5");
    const aside: BadRow[] = [];
    const init = { ...journal, setAside: (row: BadRow) => void aside.push(row) };
    const [corrupt] = journal.reader.read().corrupt;
    quarantineRow(init, corrupt!, 5000);
    quarantineRow(init, corrupt!, 6000);
    const body = expect.stringMatching(/^\{"type":"content-segment".*\nx/);
    expect(aside).toEqual([{ table: "cf_journal", key: "5", body, error: corrupt!.reason }]);
    const page = journal.reader.read();
    expect(page.corrupt).toEqual([]);
    expect(page.entries.at(-1)?.record).toMatchObject({
      type: "record-quarantined",
      turnId: T1,
      recordType: "content-segment",
      lostChunks: { firstChunk: 2, chunkCount: 1 }
    });
    journal.writer.append([segment(1, 3, [delta("after the hole")])]);
  });

  it("of one record in a row leaves the others as they were, byte for byte", () => {
    const stashed = encodeRecord(SAMPLES["turn-stashed"]);
    journal.writer.append([
      ...[call("c1"), settledCall("c1", { kind: "output", output: "DAMAGED" })],
      SAMPLES["turn-stashed"]
    ]);
    journal.sql.run("UPDATE cf_journal SET body = replace(body, ?, ?) WHERE last = 5", stashed, futureText());
    journal.sql.run(`UPDATE cf_journal SET body = replace(body, '"DAMAGED"', '') WHERE last = 5`);
    const page = journal.reader.read({ after: 2 });
    expect(sequences(page)).toEqual([3, 5]);
    expect(page.corrupt).toMatchObject([{ sequence: 4, lost: 1, last: 5 }]);
    quarantineRow({ ...journal, setAside: () => undefined }, page.corrupt[0]!, 5000);
    expect(journal.reader.read({ after: 2 }).entries.map(({ record }) => record)).toEqual([
      call("c1"),
      expect.objectContaining({ type: "record-quarantined", turnId: T1, recordType: "call-settled" }),
      unknown()
    ]);
    const stored = journal.sql.one<{ body: string }>("SELECT body FROM cf_journal WHERE last = 5");
    expect(stored?.body.endsWith(`\n${futureText()}`)).toBe(true);
  });

  it("of a whole row keeps its sequences used, and the running turn learns that something is missing", () => {
    journal.writer.append([admitted(T2)]);
    journal.writer.append([call("c1"), SAMPLES["turn-stashed"]]);
    journal.sql.run("UPDATE cf_journal SET body = 'garbage' WHERE last = 5");
    const [corrupt] = journal.reader.read({ turnId: T2 }).corrupt;
    expect(corrupt).toMatchObject({ sequence: 4, lost: 2, last: 5 });
    quarantineRow({ ...journal, setAside: () => undefined }, corrupt!, 5000);
    const lost = { type: "record-quarantined", turnId: T1, recordType: "unreadable", lostChunks: null };
    expect(journal.reader.read({ turnId: T1, after: 3 }).entries).toMatchObject([
      { sequence: 4, record: lost },
      { sequence: 5, record: lost }
    ]);
    journal.writer.append([call("c2")]);
    expect(journal.writer.head()).toBe(6);
  });

  it("that is set aside gives up its blob", () => {
    journal.writer.append([call("c1"), settledCall("c1", { kind: "output", output: "z".repeat(300_000) })]);
    journal.sql.run("UPDATE cf_blob_chunks SET digest = 'wrong'");
    const [corrupt] = journal.reader.read().corrupt;
    quarantineRow({ ...journal, setAside: () => undefined }, corrupt!, 5000);
    expect(journal.sql.all("SELECT hash FROM cf_blobs")).toEqual([]);
  });
});
