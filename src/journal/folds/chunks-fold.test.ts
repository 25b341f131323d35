import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allEntries, moves, play, turnsIn } from "../journal-script.test-support.ts";
import { createTables, MemorySql, openTestJournal } from "../memory-sql.test-support.ts";
import { admitted, delta, SAMPLES, segment, settled, started, T1, T2 } from "../record-samples.test-support.ts";
import type { JournalEntry, ReadableRecord } from "../records.ts";
import { isReleased, replayAll, replayEntry, startReplay } from "./chunks-fold.ts";

function numbered(...records: ReadableRecord[]): JournalEntry[] {
  return records.map((record, index) => ({ sequence: index + 1, record }));
}

describe("replay", () => {
  it("hands out each chunk once, under its number, across attempts", () => {
    const entries = numbered(
      ...[admitted(), started(1), segment(1, 0, [delta("a"), delta("b")]), started(2, 2), segment(2, 2, [delta("c")])],
      settled({ chunkCount: 3 })
    );
    const { chunks, state } = replayAll(startReplay(T1), entries);
    expect(chunks).toEqual([delta("a"), delta("b"), delta("c")].map((text, number) => ({ number, text })));
    expect(state).toMatchObject({ nextChunk: 3, attempt: 2, outcome: { outcome: "completed" } });
    expect(isReleased(state)).toBe(false);
    expect(replayAll(startReplay(T2), entries).chunks).toEqual([]);
  });

  it("a damaged segment leaves a counted hole and the rest intact", () => {
    const lost = { ...SAMPLES["record-quarantined"], lostChunks: { firstChunk: 1, chunkCount: 2 } };
    const quarantined = numbered(segment(1, 0, [delta("a")]), lost, segment(1, 3, [delta("d")]));
    expect(replayAll(startReplay(T1), quarantined)).toMatchObject({ lost: 2, chunks: [{ number: 0 }, { number: 3 }] });
    const unreadable = numbered(segment(1, 0, [delta("a")]), segment(1, 3, [delta("d")]));
    expect(replayAll(startReplay(T1), unreadable)).toMatchObject({ lost: 2, chunks: [{ number: 0 }, { number: 3 }] });
  });

  it("knows a stream that is no longer kept from one that was empty", () => {
    expect(isReleased(replayAll(startReplay(T1), numbered(admitted(), settled({ chunkCount: 9 }))).state)).toBe(true);
    expect(isReleased(replayAll(startReplay(T1), numbered(admitted(), settled({ chunkCount: 0 }))).state)).toBe(false);
  });

  it("a reader that was shown what did not last takes it back; nobody else does", () => {
    const entries = numbered(started(1), segment(1, 0, [delta("a")]), started(2, 1), segment(2, 1, [delta("B")]));
    // It saw chunks 1 to 4 of attempt 1 before they were durable; they died with it.
    const ahead = replayEntry(startReplay(T1, 5, 1), entries[2]!);
    expect(ahead).toMatchObject({ takenBackFrom: 1, state: { nextChunk: 1 } });
    expect(replayEntry(ahead.state, entries[3]!).chunks).toEqual([{ number: 1, text: delta("B") }]);
    expect(replayAll(startReplay(T1), entries).takenBackFrom).toBeNull();
    expect(replayEntry(startReplay(T1, 2, 2), entries[2]!).takenBackFrom).toBeNull();
  });
});

describe("for any history", () => {
  it("starting at any chunk gives the rest of the whole, and seeing records again gives nothing", () => {
    fc.assert(
      fc.property(moves, fc.nat(12), fc.nat(), (script, fromChunk, cut) => {
        const sql = new MemorySql(new DatabaseSync(":memory:"));
        createTables(sql);
        const journal = openTestJournal(sql);
        play(journal, script);
        const entries = allEntries(journal);
        for (const turnId of turnsIn(entries)) {
          const whole = replayAll(startReplay(turnId), entries);
          expect(whole.chunks.map((chunk) => chunk.number)).toEqual(whole.chunks.map((_, index) => index));
          const rest = whole.chunks.filter((chunk) => chunk.number >= fromChunk);
          expect(replayAll(startReplay(turnId, fromChunk), entries).chunks).toEqual(rest);
          const skipped = [...journal.reader.pages({ turnId, fromChunk })].flatMap((page) => page.entries);
          expect(replayAll(startReplay(turnId, fromChunk), skipped).chunks).toEqual(rest);
          const middle = cut % (entries.length + 1);
          const halfway = replayAll(startReplay(turnId), entries.slice(0, middle));
          expect([...halfway.chunks, ...replayAll(halfway.state, entries).chunks]).toEqual(whole.chunks);
          expect(replayAll(whole.state, entries).chunks).toEqual([]);
        }
      })
    );
  });
});
