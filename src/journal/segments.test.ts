import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTables, MemorySql, openTestJournal } from "./memory-sql.test-support.ts";
import { admitted, delta, started, T1 } from "./record-samples.test-support.ts";
import type { ContentSegment } from "./records.ts";
import { segmentLimits, SEGMENT_LIMITS, SegmentPacker, type SegmentLimits } from "./segments.ts";

function packer(limits: Partial<SegmentLimits> = {}, firstChunk = 0): SegmentPacker {
  return new SegmentPacker({ turnId: T1, attempt: 1, firstChunk, limits });
}

/** Streams chunks at a pace, with the owner polling when due, and returns the rows. */
function rowsOf(chunks: string[], gapMs: number): number {
  const packing = packer();
  let rows = 0;
  chunks.forEach((chunk, index) => {
    const now = index * gapMs;
    while (packing.dueAt !== null && packing.dueAt < now) rows += packing.flushDue(packing.dueAt).length;
    rows += packing.push(chunk, now).length;
  });
  return rows + packing.flush(chunks.length * gapMs).length;
}

const words = (count: number) => Array.from({ length: count }, (_, index) => delta(` word${index}`));

describe("rows", () => {
  it.each([
    [0, 1],
    [5, 2],
    [20, 3],
    [40, 4],
    [100, 7]
  ])("25 small chunks, one every %i ms, take at most %i", (gapMs, rows) => {
    expect(rowsOf(words(25), gapMs)).toBeLessThanOrEqual(rows);
  });

  it("2,000 chunks in a burst take at most 12", () => {
    expect(rowsOf(words(2000), 0)).toBeLessThanOrEqual(12);
    expect(rowsOf(words(2000), 2)).toBeLessThanOrEqual(12);
  });

  it("a slow stream costs a row per delay, not per chunk", () => {
    expect(rowsOf(words(600), 100)).toBeLessThanOrEqual(60_000 / SEGMENT_LIMITS.nextDelayMs + 4);
  });
});

describe("flushing", () => {
  it("happens on demand, and an empty packer gives nothing", () => {
    const packing = packer();
    expect(packing.flush(0)).toEqual([]);
    packing.push(delta("a"), 5);
    expect(packing.flush(6)).toMatchObject([{ at: 6, firstChunk: 0, chunks: [delta("a")] }]);
    expect(packing.flush(7)).toEqual([]);
    expect(packing.dueAt).toBeNull();
  });

  it("is due a fixed time after the first unflushed chunk: a short one at first, then a longer one", () => {
    const packing = packer({ firstDelayMs: 100, nextDelayMs: 200 });
    const dueAfterPush = (now: number) => {
      packing.push(delta("a"), now);
      return packing.dueAt;
    };
    expect(dueAfterPush(1000)).toBe(1100);
    expect(packing.flushDue(1099)).toEqual([]);
    packing.push(delta("b"), 1050);
    expect(packing.dueAt).toBe(1100);
    expect(packing.flushDue(1100)).toHaveLength(1);
    expect(dueAfterPush(2000)).toBe(2200);
    packing.flushDue(2200);
    expect(dueAfterPush(3000)).toBe(3200);
  });

  it("happens before a segment would exceed its size", () => {
    const packing = packer({ maxBytes: 60 });
    const chunk = delta("x".repeat(10));
    expect(packing.push(chunk, 0)).toEqual([]);
    expect(packing.push(chunk, 0)).toMatchObject([{ firstChunk: 0, chunks: [chunk] }]);
  });

  it("counts what is stored of a chunk: of one like the one before, the text alone", () => {
    const packing = packer({ maxBytes: 100 });
    const chunk = delta("x".repeat(10));
    // The first costs its frame, the others twelve bytes and a line break each.
    const first = chunk.length + 1;
    const fitting = 1 + Math.floor((100 - first) / 13);
    for (let count = 0; count < fitting; count += 1) expect(packing.push(chunk, 0)).toEqual([]);
    expect(packing.push(chunk, 0)).toMatchObject([{ chunks: Array.from({ length: fitting }, () => chunk) }]);
  });

  it("a chunk above the size is a segment of its own, between its neighbours", () => {
    const packing = packer({ maxBytes: 100 });
    const large = delta("é".repeat(100));
    packing.push(delta("a"), 0);
    expect(packing.push(large, 0)).toMatchObject([
      { firstChunk: 0, chunks: [delta("a")] },
      { firstChunk: 1, chunks: [large] }
    ]);
    packing.push(delta("b"), 0);
    expect(packing.flush(0)).toMatchObject([{ firstChunk: 2, chunks: [delta("b")] }]);
  });

  it("takes JSON over several lines and refuses what is no chunk", () => {
    const packing = packer();
    packing.push('{\n  "type": "finish"\n}', 0);
    expect(() => packing.push("[1]", 0)).toThrow(/could not be stored/);
    expect(packing.flush(0)).toMatchObject([{ chunks: ['{"type":"finish"}'] }]);
  });
});

it("whatever the sizes, paces and demands, every chunk comes out once, in order, under its number", () => {
  const step = fc.record({
    text: fc.string({ maxLength: 60 }),
    waitMs: fc.integer({ min: 0, max: 400 }),
    flush: fc.boolean()
  });
  fc.assert(
    fc.property(fc.array(step), fc.nat(50), (steps, firstChunk) => {
      const packing = packer({ maxBytes: 120, firstDelayMs: 100, nextDelayMs: 200 }, firstChunk);
      let now = 0;
      const segments = steps.flatMap(({ text, waitMs, flush }) => {
        now += waitMs;
        return [...packing.flushDue(now), ...packing.push(delta(text), now), ...(flush ? packing.flush(now) : [])];
      });
      segments.push(...packing.flush(now));
      expect(segments.flatMap((one) => one.chunks)).toEqual(steps.map(({ text }) => delta(text)));
      let next = firstChunk;
      for (const one of segments) {
        expect(one.firstChunk).toBe(next);
        next += one.chunks.length;
      }
      expect(packing.nextChunk).toBe(next);
    })
  );
});

// [what the class says, what it gets, how late the owner may come]
it.each([
  [500, 500, 100],
  [100, 100, 20],
  [0, 100, 20],
  [2_000, 2_000, 400],
  [Infinity, 5_000, 1_000],
  [Number.NaN, 500, 100]
])("maxUnstoredTextMs %d: never more than %d ms or 4 KiB of text is unflushed", (said, promiseMs, lateMs) => {
  const step = fc.record({ length: fc.integer({ min: 1, max: 10_000 }), waitMs: fc.integer({ min: 0, max: 900 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const packing = packer(segmentLimits(said));
      const pushed: string[] = [];
      let now = 0;
      let written = 0;
      let oldest: number | null = null;
      const write = (segments: readonly ContentSegment[]) => {
        for (const { firstChunk, chunks } of segments) written = firstChunk + chunks.length;
        return segments.length > 0;
      };
      for (const { length, waitMs } of steps) {
        const due = packing.dueAt;
        if (due !== null && due + lateMs <= now + waitMs) {
          expect(due + lateMs - (oldest ?? 0)).toBeLessThanOrEqual(promiseMs);
          write(packing.flushDue(due + lateMs));
          oldest = null;
        }
        now += waitMs;
        pushed.push("x".repeat(length));
        const hasWritten = write(packing.push(delta(pushed.at(-1) ?? ""), now));
        const unwritten = pushed.slice(written);
        if (hasWritten || oldest === null) oldest = unwritten.length > 0 ? now : null;
        expect(unwritten.join("").length).toBeLessThanOrEqual(4 * 1024);
      }
    })
  );
});

it("a 5 MB chunk in the middle of a stream is replayed with the rest", () => {
  const sql = new MemorySql(new DatabaseSync(":memory:"));
  createTables(sql);
  const journal = openTestJournal(sql);
  journal.writer.append([admitted(), started(1)]);
  const packing = packer();
  const chunks = [delta("a"), delta("z".repeat(5 * 1024 * 1024)), delta("b")];
  for (const chunk of chunks) journal.writer.append(packing.push(chunk, 0));
  journal.writer.append(packing.flush(0));
  const entries = [...journal.reader.pages()].flatMap((page) => page.entries);
  expect(entries.flatMap(({ record }) => (record.type === "content-segment" ? record.chunks : []))).toEqual(chunks);
  // One per append: the large chunk comes with what it pushed out.
  expect(sql.one("SELECT count(*) AS rows FROM cf_journal")).toEqual({ rows: 3 });
});
