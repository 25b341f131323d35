import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import { turnId } from "../util/ids.ts";
import { MAX_ROW_BYTES } from "./batch.ts";
import { AttemptFencedError, TurnSettledError } from "./errors.ts";
import { createTables, MemorySql, openTestJournal, openTurn, type TestJournal } from "./memory-sql.test-support.ts";
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
import type { JournalRecord } from "./records.ts";
import { INLINE_BODY_BYTES } from "./rows.ts";

let journal: TestJournal;
const append = (...records: JournalRecord[]) => journal.writer.append(records);
const records = () => journal.reader.read({ maxBytes: Infinity }).entries.map((entry) => entry.record);

beforeEach(() => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  journal = openTestJournal(sql);
});

describe("appending", () => {
  it("numbers records one after another, across appends", () => {
    append(admitted(), started(1));
    append(segment(1, 0, [delta("a")]));
    append();
    expect(journal.reader.read().entries.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(journal.writer.head()).toBe(3);
  });

  it("returns the turns that it changed, as they are now, also one that it ended", () => {
    append(admitted(), started(1), admitted(T2));
    const changed = append(segment(1, 0, [delta("a")]), settled());
    expect([...changed.keys()]).toEqual([T1]);
    expect(changed.get(T1)).toMatchObject({ nextChunk: 1, outcome: settled(), lastSequence: 5 });
    expect(append().size).toBe(0);
  });

  it("is all or nothing", () => {
    append(admitted());
    expect(() => append(started(1), segment(7, 0, [delta("a")]))).toThrow(AttemptFencedError);
    expect(records()).toEqual([admitted()]);
    expect(journal.folds.get(T1)).toMatchObject({ attempt: 0, attempts: [] });
  });

  it("writes one row, and the conversation's only when a turn was admitted or ended", () => {
    const large = "x".repeat(INLINE_BODY_BYTES / 2);
    const table: [rows: number, records: JournalRecord[]][] = [
      [2, [admitted(), started(1)]],
      [1, [segment(1, 0, [delta("a"), delta("b")])]],
      [1, [segment(1, 2, [delta("c")]), call("c1", { input: large })]],
      [1, [settledCall("c1", { kind: "output", output: large }, { attempt: 1 }), SAMPLES["step-finished"]]],
      [1, [SAMPLES["turn-cancel-requested"]]],
      [1, [SAMPLES["attempt-ended"]]],
      [1, [started(2, 3)]],
      [2, [segment(2, 3, [delta("d")]), settled({ responds: true })]],
      [2, [SAMPLES["turn-responded"]]]
    ];
    for (const [rows, records] of table) {
      const before = journal.sql.rowsWritten;
      append(...records);
      expect([records[0]?.type, journal.sql.rowsWritten - before]).toEqual([records[0]?.type, rows]);
    }
  });

  it("takes several rows when it is too large for one", () => {
    append(admitted(), started(1));
    const large = delta("x".repeat(MAX_ROW_BYTES / 2));
    append(...[0, 1, 2].map((chunk) => segment(1, chunk, [large])));
    expect(journal.sql.all("SELECT last, count FROM cf_journal")).toEqual([
      { last: 2, count: 2 },
      { last: 3, count: 1 },
      { last: 4, count: 1 },
      { last: 5, count: 1 }
    ]);
    expect(records().slice(2)).toEqual([0, 1, 2].map((chunk) => segment(1, chunk, [large])));
  });

  it("keeps a body of any size, and no large one in a cell", () => {
    const output = "é".repeat(3 * 1024 * 1024);
    append(admitted(), started(1), call("c1"), settledCall("c1", { kind: "output", output }));
    expect(records().at(-1)).toEqual(settledCall("c1", { kind: "output", output }));
    const largest = journal.sql.one<{ size: number }>("SELECT coalesce(max(length(body)), 0) AS size FROM cf_journal");
    expect(largest?.size).toBeLessThan(INLINE_BODY_BYTES);
  });
});

describe("identity", () => {
  it("a turn is admitted once", () => {
    append(admitted());
    expect(() => append(admitted())).toThrow(expect.objectContaining({ code: "duplicate-turn" }));
  });

  it("nothing is recorded of a turn that was not admitted", () => {
    expect(() => append(started(1))).toThrow(expect.objectContaining({ code: "unknown-turn" }));
  });

  it("a turn no client named goes by its own id", () => {
    append(admitted(T1, { requestId: null }));
    expect(openTurn(journal, T1)).toMatchObject({ requestId: T1, firstSequence: 1, generation: 0 });
  });
});

describe("the fence", () => {
  beforeEach(() => void append(admitted(), started(1), segment(1, 0, [delta("a")])));

  it("an older attempt writes nothing once a newer one has begun", () => {
    append(started(2, 1));
    const stale: JournalRecord[] = [
      segment(1, 1, [delta("b")]),
      call("c1"),
      settledCall("c1", { kind: "output", output: 1 }, { attempt: 1 }),
      SAMPLES["step-finished"],
      settled({ attempt: 1 })
    ];
    for (const record of stale) expect(() => append(record)).toThrow(AttemptFencedError);
    expect(journal.writer.head()).toBe(4);
  });

  it("an attempt that has ended writes nothing more, even before the next begins", () => {
    append(SAMPLES["attempt-ended"]);
    expect(() => append(segment(1, 1, [delta("late")]))).toThrow(AttemptFencedError);
    append(started(2, 1), { ...SAMPLES["attempt-ended"], attempt: 2 });
    expect(() => append(segment(2, 1, [delta("late")]))).toThrow(AttemptFencedError);
  });

  it("attempts are numbered without a hole", () => {
    expect(() => append(started(3, 1))).toThrow(AttemptFencedError);
    expect(() => append(started(1, 1))).toThrow(AttemptFencedError);
  });

  it("answers from outside are not fenced", () => {
    append(call("c1"), started(2, 1));
    append(settledCall("c1", { kind: "output", output: 1 }), SAMPLES["turn-cancel-requested"]);
    expect(records().at(-1)).toEqual(SAMPLES["turn-cancel-requested"]);
  });

  it("a turn has one outcome, and nothing after it but its response", () => {
    append(settled({ responds: true }));
    expect(() => append(settled({ outcome: "failed" }))).toThrow(TurnSettledError);
    expect(() => append(settledCall("c1", { kind: "output", output: 1 }))).toThrow(TurnSettledError);
    append(SAMPLES["turn-responded"]);
    expect(() => append(SAMPLES["turn-responded"])).toThrow(TurnSettledError);
    expect(() => append(segment(1, 1, [delta("late")]))).toThrow(TurnSettledError);
  });

  it("within one append holds as between appends", () => {
    expect(() => append(settled(), segment(1, 1, [delta("late")]))).toThrow(TurnSettledError);
    expect(() => append(admitted(T2), admitted(T2))).toThrow(expect.objectContaining({ code: "duplicate-turn" }));
    append(SAMPLES["attempt-ended"], started(2, 1), segment(2, 1, [delta("b")]), settled({ attempt: 2 }));
  });
});

describe("numbering of chunks", () => {
  it("has neither hole nor overlap, within and across attempts", () => {
    append(admitted(), started(1), segment(1, 0, [delta("a"), delta("b")]));
    expect(() => append(segment(1, 3, [delta("d")]))).toThrow(expect.objectContaining({ code: "chunk-order" }));
    expect(() => append(segment(1, 1, [delta("b")]))).toThrow(expect.objectContaining({ code: "chunk-order" }));
    expect(() => append(started(2, 0))).toThrow(expect.objectContaining({ code: "chunk-order" }));
    append(started(2, 2), segment(2, 2, [delta("c")]));
  });

  it("is each turn's own", () => {
    append(admitted(), started(1), segment(1, 0, [delta("a")]), admitted(T2));
    append({ ...started(1), turnId: T2 }, { ...segment(1, 0, [delta("x")]), turnId: T2 });
    append(segment(1, 1, [delta("b")]));
  });

  it("forgets what was rolled back, also when the same sequences were used again", () => {
    append(admitted(), started(1), segment(1, 0, [delta("a")]));
    expect(() =>
      journal.conversation.transaction(() => {
        append(segment(1, 1, [delta("b"), delta("c")]));
        append(call("c1"));
        throw new Error("changed my mind");
      })
    ).toThrow("changed my mind");
    append(call("c1"));
    append(call("c2"));
    expect(() => append(segment(1, 3, [delta("d")]))).toThrow(expect.objectContaining({ code: "chunk-order" }));
    append(segment(1, 1, [delta("B")]));
  });

  it("is found again by the next process", () => {
    append(admitted(), started(1), segment(1, 0, [delta("a"), delta("b")]), call("c1"));
    journal = openTestJournal(journal.sql);
    expect(() => append(started(2, 0))).toThrow(expect.objectContaining({ code: "chunk-order" }));
    append(started(2, 2));
    journal = openTestJournal(journal.sql);
    append(segment(2, 2, [delta("c")]));
  });
});

describe("clearing", () => {
  it("a turn of an older generation is not admitted", () => {
    append(SAMPLES["conversation-cleared"]);
    expect(() => append(admitted(T1, { generation: 0 }))).toThrow(
      expect.objectContaining({ code: "conversation-cleared" })
    );
    append(admitted(T1, { generation: 1 }));
    expect(journal.conversation.row).toMatchObject({ generation: 1, clearedSequence: 1 });
  });

  it("generations are counted one by one", () => {
    expect(() => append({ ...SAMPLES["conversation-cleared"], generation: 2 })).toThrow(
      expect.objectContaining({ code: "conversation-cleared" })
    );
  });
});

describe("the conversation's row", () => {
  it("lists open turns in the order of admission, and those whose response is due", () => {
    const { conversation } = journal;
    append(admitted(T2), admitted(T1), admitted(turnId("t3")));
    append(settled({ turnId: T2, responds: true }));
    expect(conversation.row.openTurns.map((turn) => turn.turnId)).toEqual([T1, "t3"]);
    expect(conversation.row.respondingTurns).toEqual([T2]);
    append({ ...SAMPLES["turn-responded"], turnId: T2 });
    expect(conversation.row.respondingTurns).toEqual([]);
  });
});
