import type { UIMessageChunk } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byteLength } from "../util/bytes.ts";
import { AnswerSize } from "./stream.ts";

const text = (delta: string): UIMessageChunk => ({ type: "text-delta", id: "t", delta });
const input = (inputTextDelta: string, toolCallId = "c"): UIMessageChunk => ({
  type: "tool-input-delta",
  toolCallId,
  inputTextDelta
});
const call = (value: unknown, toolCallId = "c"): UIMessageChunk => ({
  type: "tool-input-available",
  toolCallId,
  toolName: "x",
  input: value
});

describe("what counts", () => {
  test.each<[string, UIMessageChunk[], number]>([
    ["text, in bytes", [text("é"), text("a")], 3],
    ["reasoning", [{ type: "reasoning-delta", id: "r", delta: "abc" }], 3],
    ["the pieces of an input, and not the whole of it once more", [input('{"a":'), input("1}"), call({ a: 1 })], 7],
    ["an input that came in one piece", [call({ a: 1 })], 7],
    [
      "an input that was refused",
      [{ type: "tool-input-error", toolCallId: "c", toolName: "x", input: "ab", errorText: "no" }],
      4
    ],
    [
      "no outputs, files or data",
      [
        { type: "tool-output-available", toolCallId: "c", output: "x".repeat(99) },
        { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
        { type: "finish-step" }
      ],
      0
    ]
  ])("%s", (_what, chunks, bytes) => {
    const size = new AnswerSize(1_000);
    for (const chunk of chunks) expect(size.take(chunk)).toBe(chunk);
    expect([size.bytes, size.isExceeded]).toEqual([bytes, false]);
  });
});

describe("at the limit", () => {
  test("text is cut, an input is left out, and nothing comes after it", () => {
    const size = new AnswerSize(5, 2);
    expect(size.take(text("abcd"))).toEqual(text("abc"));
    expect([size.bytes, size.isExceeded]).toEqual([5, true]);
    expect(size.take({ type: "finish-step" })).toBeUndefined();
    const other = new AnswerSize(5);
    expect(other.take(input("123456"))).toBeUndefined();
    expect([other.bytes, other.isExceeded]).toEqual([0, true]);
  });

  test.each([0, -3, Number.NaN, Infinity])("of %s there is none", (limit) => {
    const size = new AnswerSize(limit);
    expect(size.take(text("x".repeat(100_000)))).toEqual(text("x".repeat(100_000)));
    expect(size.isExceeded).toBe(false);
  });

  test("whatever the text: what is taken is the beginning of it, whole characters, and as much as fits", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 12 });
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 8 }), fc.integer({ min: 1, max: 40 }), (texts, limit) => {
        const size = new AnswerSize(limit);
        const taken = texts.flatMap((delta) => {
          const chunk = size.take(text(delta));
          return chunk?.type === "text-delta" ? [chunk.delta] : [];
        });
        const whole = texts.join("");
        expect(whole.startsWith(taken.join(""))).toBe(true);
        expect(size.bytes).toBe(taken.reduce((sum, one) => sum + byteLength(one), 0));
        expect(size.bytes).toBeLessThanOrEqual(limit);
        if (size.isExceeded) expect(size.bytes).toBeGreaterThan(limit - 4);
        else expect(taken.join("")).toBe(whole);
      })
    );
  });
});
