import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byteLength } from "../util/bytes.ts";
import { err, ok } from "../util/result.ts";
import { decodeFrame, MAX_ROW_BYTES, MAX_ROW_RECORDS, packBatches, unpackBatch, type Batch } from "./batch.ts";
import { delta, SAMPLES, segment, started } from "./record-samples.test-support.ts";
import type { JournalRecord } from "./records.ts";

/** What a row with this batch gives, as the records or the word "lost". */
function unpacked({ count, body }: Pick<Batch, "count" | "body">): unknown[] {
  return unpackBatch({ last: 100, count }, ok(body)).map((frame) => {
    const record = decodeFrame(frame);
    return record.ok ? record.value : "lost";
  });
}

const records: JournalRecord[] = [
  SAMPLES["call-started"],
  segment(1, 0, [delta("a"), delta("b")]),
  SAMPLES["turn-stashed"]
];
const [whole] = packBatches(records) as [Batch];
const lines = whole.body.split("\n");

describe("a row", () => {
  it("holds the records of an append, numbered up to its key", () => {
    expect(packBatches(records)).toHaveLength(1);
    expect(whole).toMatchObject({ count: 3, sizeBytes: byteLength(whole.body) });
    expect(unpacked(whole)).toEqual(records);
    const frames = unpackBatch({ last: 100, count: 3 }, ok(whole.body));
    expect(frames.map(({ sequence }) => sequence)).toEqual([98, 99, 100]);
    expect(frames.map(({ text }) => text).join("\n")).toBe(whole.body);
  });

  it("is split when it would be too large, and a larger record stands alone", () => {
    const large = (letter: string, bytes: number) => segment(1, 0, [delta(letter.repeat(bytes))]);
    const append = [
      started(1),
      large("a", MAX_ROW_BYTES / 2),
      large("b", MAX_ROW_BYTES / 2),
      large("é", MAX_ROW_BYTES)
    ];
    const batches = packBatches([...append, started(2)]);
    expect(batches.map(({ count }) => count)).toEqual([2, 1, 1, 1]);
    for (const batch of batches.filter((_, index) => index !== 2)) {
      expect(batch.sizeBytes).toBeLessThanOrEqual(MAX_ROW_BYTES);
    }
    expect(batches.flatMap(unpacked)).toEqual([...append, started(2)]);
    const many = Array.from({ length: MAX_ROW_RECORDS + 1 }, () => started(1));
    expect(packBatches(many).map(({ count }) => count)).toEqual([MAX_ROW_RECORDS, 1]);
  });
});

describe("damage", () => {
  const damaged = (index: number, line: string) => lines.with(index, line).join("\n");

  it("of one body loses one record", () => {
    expect(unpacked({ count: 3, body: damaged(1, "{") })).toEqual(["lost", records[1], records[2]]);
    expect(unpacked({ count: 3, body: damaged(4, "x") })).toEqual([records[0], "lost", records[2]]);
  });

  it("of a header loses that record and what follows, never what came before", () => {
    expect(unpacked({ count: 3, body: damaged(2, "garbage") })).toEqual([records[0], "lost", "lost"]);
    expect(unpacked({ count: 3, body: lines.slice(0, 4).join("\n") })).toEqual([records[0], "lost", "lost"]);
  });

  it("of the count, or a text that holds more, loses the row: which sequence is whose is not known", () => {
    expect(unpacked({ ...whole, count: 2 })).toEqual(["lost", "lost"]);
    for (const count of [0, -1, 1.5, 101, MAX_ROW_RECORDS + 1]) expect(unpacked({ ...whole, count })).toEqual(["lost"]);
  });

  it("of the whole text loses as many records as there were", () => {
    const frames = unpackBatch({ last: 9, count: 2 }, err("its blob is gone"));
    expect(frames.map(({ sequence, header }) => [sequence, header])).toEqual([
      [8, err("its blob is gone")],
      [9, err("its blob is gone")]
    ]);
  });

  it("anywhere gives as many frames as there were records, in their places, and no throw", () => {
    fc.assert(
      fc.property(fc.nat(whole.body.length), fc.nat(40), fc.string(), (start, cut, instead) => {
        const body = whole.body.slice(0, start) + instead + whole.body.slice(start + cut);
        const frames = unpackBatch({ last: 100, count: 3 }, ok(body));
        expect(frames.map(({ sequence }) => sequence)).toEqual([98, 99, 100]);
        for (const frame of frames) decodeFrame(frame);
      })
    );
  });
});
