import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, test, vi } from "vitest";
import { byteLength } from "../util/bytes.ts";
import { limitMessage, ROW_LIMIT_BYTES } from "./row-limit.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { openTestSession, text } from "./session.test-support.ts";

const bytesOf = (message: SessionMessage) => byteLength(JSON.stringify(message));
const assistant = (...parts: SessionMessagePart[]): SessionMessage => ({ id: "a1", role: "assistant", parts });
const open = () => {
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return openTestSession(new DatabaseSync(":memory:"));
};
const MEGABYTE = 1_000_000;

describe("a message that is too large", () => {
  it("fits afterwards, and one that fits is the same object", () => {
    const small = text("m");
    expect(limitMessage(small)).toBe(small);
    const exact = text("m", "user", "x".repeat(ROW_LIMIT_BYTES - bytesOf(text("m", "user", ""))));
    expect(limitMessage(exact)).toBe(exact);
  });

  it("loses tool outputs first, which keep their shape and are listed", () => {
    const limited = limitMessage(
      assistant(
        { type: "text", text: "t".repeat(5_000) },
        {
          type: "tool-a",
          toolCallId: "c1",
          state: "output-available",
          input: {},
          output: { rows: "x".repeat(2 * MEGABYTE) }
        },
        { type: "tool-a", toolCallId: "c2", state: "output-available", input: {}, output: "short" },
        { type: "tool-a", toolCallId: "c3", state: "output-available", input: {}, output: ["y".repeat(2_000)] }
      )
    );
    expect(limited.metadata).toEqual({ compactedToolOutputs: ["c1", "c3"] });
    expect(limited.parts[0]).toEqual({ type: "text", text: "t".repeat(5_000) });
    expect(limited.parts[1]!["output"]).toHaveProperty("rows");
    expect(limited.parts[2]!["output"]).toBe("short");
    expect(limited.parts[3]!["output"]).toBeInstanceOf(Array);
  });

  it("loses a large file before any text", () => {
    const url = `data:image/png;base64,${"A".repeat(5 * MEGABYTE)}`;
    const limited = limitMessage({
      ...text("m", "user", "t".repeat(20_000)),
      parts: [
        { type: "text", text: "t".repeat(20_000) },
        { type: "file", mediaType: "image/png", filename: "a.png", url }
      ]
    });
    expect(limited.parts).toEqual([
      { type: "text", text: "t".repeat(20_000) },
      { type: "text", text: "[evicted image/png, 3750000 bytes]" }
    ]);
    expect(limited.metadata).toEqual({ compactedParts: [1] });
  });

  it("loses texts oldest first, only as many as must be, each quoted with its length", () => {
    const limited = limitMessage({
      id: "m",
      role: "user",
      metadata: { own: 1 },
      parts: ["a", "b", "c"].map((letter) => ({ type: "text", text: letter.repeat(700_000) }))
    });
    expect(limited.metadata).toEqual({ own: 1, compactedTextParts: [0] });
    expect(limited.parts[0]!["text"]).toContain("700000");
    expect(limited.parts[0]!["text"]).toContain("a".repeat(500));
    expect(limited.parts[1]!["text"]).toHaveLength(700_000);
  });

  test.each<[string, SessionMessagePart]>([
    [
      "a tool input, still an object",
      { type: "tool-a", toolCallId: "c", state: "input-available", input: { code: "x".repeat(3 * MEGABYTE) } }
    ],
    [
      "an error text",
      { type: "tool-a", toolCallId: "c", state: "output-error", input: {}, errorText: "x".repeat(3 * MEGABYTE) }
    ],
    ["data", { type: "data-chart", data: { points: Array.from({ length: 400_000 }, (_, index) => index) } }],
    [
      "a preliminary output",
      {
        type: "dynamic-tool",
        toolName: "t",
        toolCallId: "c",
        state: "input-available",
        output: "x".repeat(3 * MEGABYTE)
      }
    ],
    ["an unknown field", { type: "custom", thing: "é".repeat(1.5 * MEGABYTE) }]
  ])("loses %s", (_name, part) => {
    const limited = limitMessage(assistant({ type: "text", text: "kept" }, part));
    expect(bytesOf(limited)).toBeLessThan(10_000);
    expect(limited.parts[0]).toEqual({ type: "text", text: "kept" });
    for (const [field, value] of Object.entries(part)) expect(typeof limited.parts[1]![field]).toBe(typeof value);
  });

  it("never shows reasoning beside a signature of other words", () => {
    const limited = limitMessage(
      assistant({
        type: "reasoning",
        text: "x".repeat(3 * MEGABYTE),
        providerMetadata: { anthropic: { signature: "s" } }
      })
    );
    expect(limited.parts[0]).not.toHaveProperty("providerMetadata");
  });

  it("loses its metadata, or its tail, when nothing else helps", () => {
    expect(limitMessage({ ...text("m"), metadata: { a: "x".repeat(3 * MEGABYTE) } }).parts).toEqual(text("m").parts);
    const many = limitMessage(
      assistant(...Array.from({ length: 40_000 }, () => ({ type: "text", text: "x".repeat(40) })))
    );
    expect(many.metadata).toEqual({ compactedMessage: true });
    expect(many.parts.length).toBeGreaterThan(20_000);
    expect(bytesOf(many)).toBeLessThanOrEqual(ROW_LIMIT_BYTES);
  });

  it("always fits, whatever it is made of; limiting again changes nothing", () => {
    const size = fc.nat(3_000);
    const long = (letter: string) => size.map((count) => letter.repeat(count));
    const part = fc.oneof(
      fc.record({ type: fc.constant("text"), text: long("é") }),
      fc.record({ type: fc.constant("reasoning"), text: long("r"), providerMetadata: fc.constant({ a: { s: "x" } }) }),
      fc.record({
        type: fc.constant("file"),
        mediaType: long("m"),
        url: long("A").map((body) => `data:;base64,${body}`)
      }),
      fc.record({
        type: fc.constant("tool-a"),
        toolCallId: long("c"),
        state: fc.constantFrom("output-available", "output-error"),
        input: fc.dictionary(fc.string(), long("i")),
        output: fc.oneof(long("o"), fc.array(long("o")), fc.dictionary(fc.string(), long("o"))),
        errorText: long("e")
      })
    );
    const message = fc.record({
      id: fc.constant("m"),
      role: fc.constantFrom("user", "assistant"),
      parts: fc.array(part, { maxLength: 12 }),
      metadata: fc.option(fc.dictionary(fc.string(), long("d")), { nil: undefined })
    });
    fc.assert(
      fc.property(message, fc.integer({ min: 600, max: 12_000 }), (input, limit) => {
        const limited = limitMessage(input, limit);
        expect(bytesOf(limited)).toBeLessThanOrEqual(limit);
        expect(limitMessage(limited, limit)).toBe(limited);
        expect(limited.id).toBe("m");
      }),
      { numRuns: 300 }
    );
  });
});

describe("in storage", () => {
  test.each<[string, SessionMessage]>([
    [
      "a data URL of 5 MB",
      {
        id: "m",
        role: "user",
        parts: [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(5 * MEGABYTE)}` }]
      }
    ],
    [
      "a tool input of 3 MB",
      assistant({
        type: "tool-a",
        toolCallId: "c",
        state: "input-available",
        input: { code: "x".repeat(3 * MEGABYTE) }
      })
    ],
    ["a text of 3 MB", text("m", "user", "é".repeat(1.5 * MEGABYTE))],
    [
      "100,000 parts",
      assistant(...Array.from({ length: 100_000 }, (_, index) => ({ type: "text", text: `part ${index}` })))
    ]
  ])("%s is kept whole, and its row is small enough", (_name, message) => {
    const { store, memory } = open();
    store.appendMessage(message);
    const [row] = memory.all<{ bytes: number; size: number }>(
      "SELECT LENGTH(CAST(content AS BLOB)) AS bytes, size_bytes AS size FROM assistant_messages"
    );
    expect(row!.bytes).toBeLessThanOrEqual(ROW_LIMIT_BYTES);
    expect(row!.size).toBe(row!.bytes);
    expect(store.getMessage(message.id)).toEqual(message);
    expect(store.getHistory()).not.toEqual([message]);
    store.deleteMessages([message.id]);
    expect(memory.all("SELECT * FROM cf_blobs")).toEqual([]);
  });

  it("a message changed in its shown form keeps its large values, until they themselves change", () => {
    const { store, memory } = open();
    const large = {
      type: "tool-a",
      toolCallId: "c1",
      state: "input-available",
      input: { code: "x".repeat(3 * MEGABYTE) }
    };
    const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(3 * MEGABYTE)}` };
    store.appendMessage(assistant(large, { type: "text", text: "a" }, image));
    const shown = store.getHistory()[0]!;
    store.updateMessage({
      ...shown,
      parts: [
        { type: "step-start" },
        { ...shown.parts[0]!, state: "output-available", output: 1 },
        ...shown.parts.slice(1)
      ]
    });
    expect(store.getMessage("a1")).toEqual(
      assistant(
        { type: "step-start" },
        { ...large, state: "output-available", output: 1 },
        { type: "text", text: "a" },
        image
      )
    );
    store.updateMessage(assistant({ type: "text", text: "small" }));
    expect(store.getMessage("a1")).toEqual(assistant({ type: "text", text: "small" }));
    expect(memory.all("SELECT * FROM cf_blobs")).toEqual([]);
  });

  it("an edit keeps the large values of both versions", () => {
    const { store } = open();
    const image = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(3 * MEGABYTE)}` };
    const first: SessionMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "what" }, image] };
    store.appendMessage(first);
    store.appendMessage(text("a1", "assistant"));
    const shown = store.getHistory()[0]!;
    store.editMessage({ ...shown, parts: [{ type: "text", text: "why" }, ...shown.parts.slice(1)] }, "archived");
    expect(store.getMessage("u1")).toEqual({ ...first, parts: [{ type: "text", text: "why" }, image] });
    expect(store.getMessage("archived")).toEqual({ ...first, id: "archived" });
  });

  it("a lost blob leaves what the row shows", () => {
    const { store, memory } = open();
    store.appendMessage(text("m", "user", "x".repeat(2 * MEGABYTE)));
    memory.run("DELETE FROM cf_blobs");
    expect(store.getMessage("m")).toEqual(store.getHistory()[0]);
  });
});
