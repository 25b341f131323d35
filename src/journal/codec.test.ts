import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageId } from "../util/ids.ts";
import type { Result } from "../util/result.ts";
import { decodeFrame, unpackBatch } from "./batch.ts";
import { decodeBody, encodeRecord, type RecordHeader } from "./codec.ts";
import { RECORD_SHAPES } from "./record-shapes.ts";
import { admitted, delta, futureText, SAMPLES, segment, started } from "./record-samples.test-support.ts";
import type { ReadableRecord } from "./records.ts";

/** The one record of a row with this text. */
function decode(text: string, outline = false): Result<ReadableRecord> {
  return decodeFrame(unpackBatch({ last: 1, count: 1 }, { ok: true, value: text })[0]!, outline);
}

function reencoded(text: string): string | false {
  const decoded = decode(text);
  if (!decoded.ok || decoded.value.type === "content-outline" || decoded.value.type === "unknown") return false;
  return encodeRecord(decoded.value);
}

const withBody = (text: string, body: string) => `${text.slice(0, text.indexOf("\n"))}\n${body}`;

describe("every record type", () => {
  it.each(Object.values(SAMPLES))("$type comes back as it was written", (record) => {
    expect(decode(encodeRecord(record))).toEqual({ ok: true, value: record });
  });

  it.each(Object.values(SAMPLES))("$type is written the same way again", (record) => {
    expect(reencoded(encodeRecord(record))).toBe(encodeRecord(record));
  });

  it.each(Object.values(SAMPLES))("$type with a damaged body is reported, not thrown", (record) => {
    for (const body of ["", "{", "[]", "null"]) {
      expect(decode(withBody(encodeRecord(record), body))).toMatchObject({ ok: false, error: expect.any(String) });
    }
  });

  it.each(Object.values(SAMPLES))("$type with a damaged header is reported, not thrown", (record) => {
    const [line = "", ...lines] = encodeRecord(record).split("\n");
    const header: Record<string, unknown> = JSON.parse(line);
    const changes = { type: 7, version: "1", turn: "", at: -1, attempt: 0.5, chunks: ["a"], lines: "many" };
    for (const [field, value] of Object.entries(changes)) {
      const damaged = [JSON.stringify({ ...header, [field]: value }), ...lines].join("\n");
      expect([field, decode(damaged).ok]).toEqual([field, false]);
    }
  });
});

describe("content", () => {
  it("keeps each chunk's text byte for byte, one per line", () => {
    const chunks = ['{ "type":"x" , "b":1, "a":"\\u2028" }', delta("ünï \u2028 \r"), '{"a":1,"a":2}'];
    const text = encodeRecord(segment(1, 7, chunks));
    expect(text.split("\n").slice(1)).toEqual(chunks);
    expect(decode(text)).toMatchObject({ ok: true, value: { firstChunk: 7, chunks } });
  });

  it("can be outlined, whatever its chunks are", () => {
    const text = encodeRecord(segment(2, 7, [delta("a"), delta("b")]));
    const outline = { type: "content-outline", attempt: 2, firstChunk: 7, chunkCount: 2 };
    expect(decode(text, true)).toMatchObject({ ok: true, value: outline });
    expect(decode(withBody(text, "not\nJSON"), true)).toMatchObject({ ok: true, value: outline });
  });

  it("of the first version, which had whole lines only, reads the same", () => {
    const chunks = [delta("a"), delta("b")];
    const text = encodeRecord(segment(1, 0, chunks)).replace('"version":2', '"version":1');
    expect(decode(withBody(text, chunks.join("\n")))).toMatchObject({ ok: true, value: { chunks } });
  });

  it("whose first line is lost has no meaning for the short ones after it", () => {
    const text = encodeRecord(segment(1, 0, [delta("a"), delta("b")]));
    expect(decode(withBody(text, '{"type":"text-end","id":"x"}\n"b"')).ok).toBe(false);
  });

  it("with a chunk too many or too few is damaged", () => {
    const text = encodeRecord(segment(1, 0, [delta("a"), delta("b")]));
    expect(decode(text.replace('"chunks":[0,2]', '"chunks":[0,3]')).ok).toBe(false);
    expect(decode(text.replace('"chunks":[0,2],', "")).ok).toBe(false);
    expect(decode(withBody(text, `${delta("a")}\nnot json`)).ok).toBe(false);
    expect(decode(withBody(text, delta("a"))).ok).toBe(false);
    expect(decode(`${text}\n${delta("c")}`).ok).toBe(false);
  });
});

describe("records of the future", () => {
  const texts: [string, string][] = [
    ["an unknown type", futureText()],
    ["a newer version", futureText({ type: "call-settled", version: 99 }, '{"new":  "shape"}')],
    [
      "content packed differently",
      futureText({ type: "content-segment", attempt: 3, chunks: [10, 4], lines: 4 }, "packed\n\ndifferently\n")
    ],
    ["nothing to say", futureText({ turn: undefined }, "")],
    ["the name of something inherited", futureText({ type: "constructor" })]
  ];
  it.each(texts)("with %s are carried unread", (_, text) => {
    expect(decode(text)).toMatchObject({ ok: true, value: { type: "unknown" } });
  });

  it("of an earlier build may carry fields and types that are gone", () => {
    const grants = { principal: null, permissions: null };
    const { type, turnId: turn, at, ...body } = { ...admitted(), grants, output: null, deadlineAt: null };
    const text = `${JSON.stringify({ type, version: 1, turn, at })}\n${JSON.stringify(body)}`;
    expect(decode(text)).toMatchObject({ ok: true, value: { type: "turn-admitted", input: admitted().input } });
    const gone = '{"type":"step-started","version":1,"turn":"turn-1","at":1,"attempt":1}\n{"step":0,"modelId":"m"}';
    expect(decode(gone)).toMatchObject({ ok: true, value: { type: "unknown", recordType: "step-started" } });
  });

  it("a field added to a known version survives reading and writing", () => {
    const text = withBody(encodeRecord(SAMPLES["turn-stashed"]), '{"data":"x","extra":{"kept":true}}');
    expect(reencoded(text)).toBe(text);
  });
});

it("an older version is brought up step by step, and one without a way is damage", () => {
  const shape = {
    ...RECORD_SHAPES["turn-stashed"],
    version: 3,
    upgrades: {
      1: (body: Record<string, unknown>) => ({ why: body["reason"] }),
      2: (body: Record<string, unknown>) => ({ data: body["why"] })
    }
  };
  const header: RecordHeader = { type: "turn-stashed", version: 1, turn: "t", at: 1, attempt: 1, range: null };
  expect(decodeBody(header, shape, '{"reason":"answered"}')).toMatchObject({ ok: true, value: { data: "answered" } });
  expect(decodeBody({ ...header, version: 0 }, shape, "{}").ok).toBe(false);
});

describe("an attempt as the first version wrote it", () => {
  const { keeps: _keeps, repairs: _repairs, ...first } = JSON.parse(encodeRecord(started(2, 7)).split("\n")[1] ?? "");
  const text = (body: object) => {
    const [line = ""] = encodeRecord(started(2, 7)).split("\n");
    return `${line.replace('"version":2', '"version":1')}\n${JSON.stringify({ ...first, ...body })}`;
  };

  it.each([
    ["that kept what was there keeps every chunk before its own", true, 7],
    ["that began anew keeps none", false, 0]
  ])("%s", (_promise, keepsContent, keeps) => {
    expect(decode(text({ keepsContent }))).toEqual({ ok: true, value: { ...started(2, 7), keeps, repairs: 0 } });
  });

  it("is written as the second, and then read the same", () => {
    const upgraded = reencoded(text({ keepsContent: true }));
    expect(upgraded).toContain('"version":2');
    expect(decode(String(upgraded))).toEqual(decode(text({ keepsContent: true })));
    expect(String(upgraded)).not.toContain("keepsContent");
  });

  it("is damaged where it does not say where its chunks begin", () => {
    expect(decode(text({ keepsContent: true, firstChunk: undefined })).ok).toBe(false);
    expect(decode(text({ keepsContent: true, firstChunk: "7" })).ok).toBe(false);
  });
});

describe("an admission as it has always been stored", () => {
  const notes = {
    ...{ "deferred-input": true, supersedable: true, extends: true },
    ...{ question: "u7", idempotencyId: "k1", resolves: "a3" }
  };
  const fields = {
    ...{ isDeferred: true, supersedable: true, extendsAnswer: true },
    ...{ questionId: messageId("u7"), idempotencyId: "k1", resolvesMessageId: messageId("a3") }
  };
  /** Written out: what the codec writes now is no proof of what it wrote. */
  const stored = (metadata: unknown) => {
    const asked = '"input":[{"id":"u1","role":"user","parts":[]}],"inputMessageIds":["u1"]';
    const ids = '"generation":2,"messageId":"a9","requestId":"r1"';
    const how = '"trigger":"programmatic","continuation":true,"parentMessageId":null';
    const rest = `"body":null,"channel":"web","clientTools":[],"metadata":${JSON.stringify(metadata)},"notBeforeAt":5`;
    return `{"type":"turn-admitted","version":1,"turn":"t1","at":7}\n{${ids},${how},${asked},${rest}}`;
  };

  it("has its notes in fields of their own", () => {
    const decoded = decode(stored(notes));
    expect(decoded).toMatchObject({ ok: true, value: { ...fields, messageId: "a9", channel: "web", notBeforeAt: 5 } });
    expect(decoded.ok && "metadata" in decoded.value).toBe(false);
  });

  it.each([
    ["that notes nothing", {}],
    ["whose notes are missing", null],
    ["whose notes are something else", { "deferred-input": "yes", extends: 1, question: 7, resolves: "", other: true }]
  ])("%s is read as one without", (_, metadata) => {
    const none = { isDeferred: false, supersedable: false, extendsAnswer: false };
    const noIds = { questionId: null, idempotencyId: null, resolvesMessageId: null };
    expect(decode(stored(metadata))).toMatchObject({ ok: true, value: { ...none, ...noIds } });
  });

  it.each([[notes], [{}], [{ resolves: "a3" }]])("is written in the same form: %j", (metadata) => {
    const [header, body = ""] = stored(metadata).split("\n");
    const [newHeader, newBody = ""] = String(reencoded(stored(metadata))).split("\n");
    expect([newHeader, JSON.parse(newBody)]).toEqual([header, JSON.parse(body)]);
  });
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
      expect(() => encodeRecord(record as (typeof SAMPLES)["turn-admitted"])).toThrow(
        expect.objectContaining({ code: "invalid-record" })
      );
    }
  });
});

it("decoding never throws, whatever is in the header and the body", () => {
  const cell = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null), fc.array(fc.integer()));
  const header = fc.record(
    {
      ...{ type: fc.oneof(cell, fc.constantFrom(...Object.keys(SAMPLES))), version: fc.oneof(cell, fc.constant(1)) },
      ...{ turn: cell, at: fc.oneof(cell, fc.nat()), attempt: cell, chunks: cell, lines: cell }
    },
    { requiredKeys: [] }
  );
  const text = fc.oneof(
    fc.string(),
    fc.tuple(header, fc.oneof(fc.string(), fc.json())).map(([head, body]) => `${JSON.stringify(head)}\n${body}`)
  );
  fc.assert(
    fc.property(text, fc.boolean(), (row, outline) => {
      expect(typeof decode(row, outline).ok).toBe("boolean");
    })
  );
});
