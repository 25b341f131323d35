import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { BadRow } from "../host/quarantine.ts";
import { requestId, turnId } from "../util/ids.ts";
import { openJournal } from "./journal.ts";
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
import { emptyTurn } from "./folds/turn-fold.ts";

let journal: TestJournal;

beforeEach(() => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  journal = openTestJournal(sql);
});

it("the records of all open turns are read in one pass, and none of a conversation without", () => {
  const ids = Array.from({ length: 40 }, (_, index) => turnId(`turn-${index}`));
  for (const id of ids) journal.writer.append([admitted(id)]);
  const reopened = openTestJournal(journal.sql.reboot());
  const reads = vi.spyOn(reopened.reader, "read");
  for (const id of ids) expect(reopened.folds.get(id)).toMatchObject({ turnId: id, attempt: 0 });
  expect(reads).toHaveBeenCalledTimes(1);
  expect(reopened.folds.get("never-seen")).toBeUndefined();
  reopened.writer.append(ids.map((id) => settled({ turnId: id })));
  for (const id of ids) expect(reopened.folds.get(id)).toBeUndefined();
  expect(reads).toHaveBeenCalledTimes(1);
});

it("a transaction of user code that is undone takes what it had advanced with it, and nothing else", () => {
  journal.writer.append([admitted(), started(1)]);
  journal.writer.append([admitted(T2)]);
  const other = journal.folds.get(T2);
  expect(() =>
    journal.sql.transaction(() => {
      journal.writer.append([segment(1, 0, [delta("never")]), call("c1")]);
      expect(journal.folds.get(T1)).toMatchObject({ nextChunk: 1 });
      throw new Error("changed my mind");
    })
  ).toThrow("changed my mind");
  expect(journal.folds.get(T1)).toMatchObject({ nextChunk: 0, attempt: 1 });
  expect(journal.folds.get(T1)?.calls.size).toBe(0);
  expect(journal.folds.get(T2)).toBe(other);
  journal.writer.append([segment(1, 0, [delta("kept")])]);
});

it("values that tools were given and returned are not held, whatever their size", () => {
  const large = "x".repeat(100_000);
  journal.writer.append([admitted(), started(1), call("c1", { input: large })]);
  journal.writer.append([settledCall("c1", { kind: "output", output: large })]);
  for (const { folds } of [journal, openTestJournal(journal.sql.reboot())]) {
    const fold = folds.get(T1);
    expect([...fold!.calls.values()]).toMatchObject([{ callId: "c1", state: "output", input: null }]);
    expect(JSON.stringify([...fold!.calls.values()]).length).toBeLessThan(1_000);
  }
});

it("a row that cannot be read is set aside once, and the fold counts the chunks that were in it", () => {
  journal.writer.append([admitted(), started(1)]);
  journal.writer.append([segment(1, 0, [delta("a"), delta("b")])]);
  journal.sql.run("UPDATE cf_journal SET body = replace(body, '{\"type\":\"text-delta\"', 'x') WHERE last = 3");
  const aside: BadRow[] = [];
  const { conversation, blobs, sql } = openTestJournal(journal.sql.reboot());
  const reopened = openJournal({ sql, blobs, conversation, setAside: (row) => void aside.push(row) });
  // An outline does not look into the chunks; reading them does.
  expect(reopened.folds.get(T1)).toMatchObject({ nextChunk: 2 });
  expect([...reopened.reader.pages({ turnId: T1 })].flatMap(({ corrupt }) => corrupt)).toHaveLength(1);
  expect(aside).toHaveLength(1);
  expect(reopened.folds.get(T1)).toMatchObject({ nextChunk: 2, contentSequence: 0 });
  journal.sql.run("UPDATE cf_journal SET body = 'garbage' WHERE last = 2");
  const again = openJournal({ sql, blobs, conversation, setAside: (row) => void aside.push(row) });
  expect(again.folds.get(T1)).toEqual({ ...emptyTurn(T1), nextChunk: 2, lastSequence: 3 });
  expect(aside).toHaveLength(2);
});

describe("an ended turn by what its client calls it", () => {
  const alias = requestId("again");
  const find = (name: string = alias) => journal.folds.findEnded(name);
  const reopen = () => (journal = openTestJournal(journal.sql.reboot()));

  it("is the newest of its name, in this process and the next", () => {
    const append = journal.writer.append.bind(journal.writer);
    append([admitted()]);
    expect([find(), find(`request-of-${T1}`)]).toEqual([undefined, undefined]);
    append([admitted(T2, { requestId: alias })]);
    expect(find()).toBeUndefined();
    append([settled({ turnId: T2 })]);
    expect(find()).toEqual({ turnId: T2, firstSequence: 2 });
    append([admitted(turnId("t3"), { requestId: alias }), admitted(turnId("t4"), { requestId: alias })]);
    // The newer of two is over, the older still waits: the client means the newer.
    append([settled({ turnId: turnId("t4"), outcome: "skipped" })]);
    expect(find()).toEqual({ turnId: "t4", firstSequence: 5 });
    expect(reopen().folds.findEnded(alias)).toEqual({ turnId: "t4", firstSequence: 5 });
    journal.writer.append([settled({ turnId: turnId("t3") })]);
    expect(find()).toEqual({ turnId: "t4", firstSequence: 5 });
    expect(reopen().folds.findEnded("never-seen")).toBeUndefined();
  });

  it("is forgotten with a clear and with a transaction that is undone, and found beside damage", () => {
    expect(find()).toBeUndefined();
    const undone = () =>
      journal.sql.transaction(() => {
        journal.writer.append([admitted(T2, { requestId: alias }), settled({ turnId: T2 })]);
        throw new Error("changed my mind");
      });
    expect(undone).toThrow("changed my mind");
    expect(find()).toBeUndefined();
    journal.writer.append([admitted(T2, { requestId: alias })]);
    journal.writer.append([settled({ turnId: T2 })]);
    journal.sql.run("UPDATE cf_journal SET body = 'garbage' WHERE last = 2");
    expect(reopen().folds.findEnded(alias)).toEqual({ turnId: T2, firstSequence: 1 });
    journal.writer.append([SAMPLES["conversation-cleared"]]);
    expect(find()).toBeUndefined();
    expect(reopen().folds.findEnded(alias)).toBeUndefined();
  });

  it("goes by its own id when no client named it", () => {
    const own = turnId("own");
    journal.writer.append([admitted(own, { requestId: null }), settled({ turnId: own })]);
    expect(find(own)).toMatchObject({ turnId: own });
  });

  it("is looked for in the journal once in a process, however many requests and turns there are", () => {
    const turn = (index: number) => {
      const id = turnId(`turn-${index}`);
      journal.writer.append([admitted(id), settled({ turnId: id })]);
    };
    for (let index = 0; index < 50; index++) turn(index);
    reopen();
    expect(find("request-of-turn-7")).toMatchObject({ turnId: "turn-7" });
    turn(50);
    const reads = [vi.spyOn(journal.sql, "one"), vi.spyOn(journal.sql, "all")];
    for (const name of ["new", "request-of-turn-7", "request-of-turn-50"]) find(name);
    for (const read of reads) expect(read).not.toHaveBeenCalled();
    expect(find("request-of-turn-50")).toMatchObject({ turnId: "turn-50" });
  });
});
