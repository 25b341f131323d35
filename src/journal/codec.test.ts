import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Blobs } from "../host/blobs.ts";
import { decodeBody, decodeOutline, decodeRow, encodeRecord, type EncodedRecord, type JournalRow } from "./codec.ts";
import { InvalidRecordError } from "./errors.ts";
import { createTables, MemorySql } from "./memory-sql.test-support.ts";
import { RECORD_SHAPES } from "./record-shapes.ts";
import { admitted, delta, SAMPLES, segment, unknown } from "./record-samples.test-support.ts";

const sql = new MemorySql(new DatabaseSync(":memory:"));
createTables(sql);
const blobs = new Blobs(sql);

function asRow(encoded: EncodedRecord, more: Partial<Record<keyof JournalRow, unknown>> = {}): JournalRow {
  // A damaged row may hold anything in any column; that is what the codec has to survive.
  return { ...encoded, position: 1, blob: null, ...more } as JournalRow;
}

describe("every record type", () => {
  it.each(Object.values(SAMPLES))("$type comes back as it was written", (record) => {
    expect(decodeRow(asRow(encodeRecord(record)), blobs)).toEqual({ ok: true, value: record });
  });

  it.each(Object.values(SAMPLES))("$type is written the same way again", (record) => {
    const row = encodeRecord(record);
    const decoded = decodeRow(asRow(row), blobs);
    expect(decoded.ok && decoded.value.type !== "content-outline" && encodeRecord(decoded.value)).toEqual(row);
  });

  it.each(Object.values(SAMPLES))("$type with a damaged body is reported, not thrown", (record) => {
    const row = encodeRecord(record);
    for (const body of ["", "{", "[]", "null", 7, null]) {
      expect(decodeRow(asRow(row, { body }), blobs)).toMatchObject({ ok: false, error: expect.any(String) });
    }
  });
});

describe("content", () => {
  it("keeps each chunk's text byte for byte", () => {
    const chunks = ['{ "type":"x" , "b":1, "a":"\\u2028" }', delta("ünï \u2028 \r"), '{"a":1,"a":2}'];
    const decoded = decodeRow(asRow(encodeRecord(segment(1, 7, chunks))), blobs);
    expect(decoded).toMatchObject({ ok: true, value: { firstChunk: 7, chunks } });
  });

  it("can be outlined without its body", () => {
    expect(decodeOutline(asRow(encodeRecord(segment(2, 7, [delta("a"), delta("b")])), { body: null }))).toMatchObject({
      ok: true,
      value: { type: "content-outline", attempt: 2, firstChunk: 7, chunkCount: 2 }
    });
  });

  it("with a chunk too many or too few is damaged", () => {
    const row = encodeRecord(segment(1, 0, [delta("a"), delta("b")]));
    expect(decodeRow(asRow(row, { chunk_count: 3 }), blobs).ok).toBe(false);
    expect(decodeRow(asRow(row, { first_chunk: null }), blobs).ok).toBe(false);
    expect(decodeRow(asRow(row, { body: `${delta("a")}\nnot json` }), blobs).ok).toBe(false);
  });
});

describe("records of the future", () => {
  it("of unknown type or newer version are carried and written back byte for byte", () => {
    const future: EncodedRecord[] = [
      encodeRecord(unknown()),
      { ...encodeRecord(SAMPLES["call-settled"]), version: 99, body: '{"new":  "shape"}', size_bytes: 17 },
      { ...encodeRecord(segment(3, 10, [delta("x")])), version: 2, body: "packed differently", size_bytes: 18 }
    ];
    for (const row of future) {
      const decoded = decodeRow(asRow(row), blobs);
      expect(decoded).toMatchObject({ ok: true, value: { type: "unknown", body: row.body } });
      expect(decoded.ok && decoded.value.type === "unknown" && encodeRecord(decoded.value)).toEqual(row);
    }
  });

  it("may be named like anything an object inherits", () => {
    const row = { ...encodeRecord(unknown()), type: "constructor" };
    expect(decodeRow(asRow(row), blobs)).toMatchObject({ ok: true, value: { recordType: "constructor" } });
  });

  it("a field added to a known version survives reading and writing", () => {
    const row = encodeRecord(SAMPLES["turn-resumed"]);
    const body = '{"cause":"x","extra":{"kept":true}}';
    const decoded = decodeRow(asRow(row, { body }), blobs);
    expect(decoded.ok && decoded.value.type === "turn-resumed" && encodeRecord(decoded.value).body).toBe(body);
  });
});

it("an older version is brought up step by step, and one without a way is damage", () => {
  const shape = {
    ...RECORD_SHAPES["turn-resumed"],
    version: 3,
    upgrades: {
      1: (body: Record<string, unknown>) => ({ why: body["reason"] }),
      2: (body: Record<string, unknown>) => ({ cause: body["why"] })
    }
  };
  const row = asRow({ ...encodeRecord(SAMPLES["turn-resumed"]), version: 1 });
  expect(decodeBody(row, shape, '{"reason":"answered"}')).toMatchObject({ ok: true, value: { cause: "answered" } });
  expect(decodeBody({ ...row, version: 0 }, shape, "{}").ok).toBe(false);
});

describe("the writing side", () => {
  it("refuses what it could not read back", () => {
    const broken = [
      { ...admitted(), body: undefined },
      { ...admitted(), notBeforeAt: Infinity },
      { ...admitted(), at: 1.5 },
      { ...segment(1, 0, []) },
      segment(1, 0, ["{\n}"]),
      segment(1, 0, ["7"])
    ];
    for (const record of broken) {
      // The type system refuses these too; callers with looser types must not get further.
      expect(() => encodeRecord(record as (typeof SAMPLES)["turn-admitted"])).toThrow(InvalidRecordError);
    }
  });
});

it("decoding never throws, whatever is in the row", () => {
  const cell = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null), fc.uint8Array());
  const type = fc.oneof(cell, fc.constantFrom(...Object.keys(SAMPLES)));
  const body = fc.oneof(cell, fc.json());
  const row = fc.record({
    ...{ position: fc.nat(), turn: cell, type, version: cell, at: cell, attempt: cell },
    ...{ first_chunk: cell, chunk_count: cell, size_bytes: cell, blob: fc.oneof(cell, fc.constant(null)), body }
  });
  fc.assert(
    fc.property(row, (cells) => {
      const result = decodeRow(asRow(encodeRecord(unknown()), cells), blobs);
      expect(typeof result.ok).toBe("boolean");
    })
  );
});
