import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { estimateMessageTokens, estimateStringTokens } from "./tokens.ts";

const message = (...parts: SessionMessagePart[]): SessionMessage => ({ id: "m", role: "user", parts });

test.each([
  ["", 0],
  ["a", 2],
  ["abcd efgh", 3],
  ["a b c d", 6],
  ["x".repeat(400), 100],
  ["你好世界", 4],
  ["こんにちは world", 7],
  ["안녕하세요", 5]
])("%j has about %i tokens", (text, tokens) => {
  expect(estimateStringTokens(text)).toBe(tokens);
});

test("text without Chinese, Japanese or Korean counts by the larger of characters and words", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/)), (words) => {
      const text = words.join(" ");
      const expected = text === "" ? 0 : Math.ceil(Math.max(text.length / 4, words.length * 1.3));
      expect(estimateStringTokens(text)).toBe(expected);
    })
  );
});

test("more text never has fewer tokens", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (first, second) => {
      expect(estimateStringTokens(`${first} ${second}`)).toBeGreaterThanOrEqual(estimateStringTokens(first));
    })
  );
});

describe("a message", () => {
  test.each<[string, SessionMessagePart, number]>([
    ["text", { type: "text", text: "x".repeat(40) }, 14],
    ["reasoning", { type: "reasoning", text: "x".repeat(40) }, 14],
    [
      "a tool call with its result",
      { type: "tool-a", toolCallId: "c", input: "x".repeat(40), output: { a: "x".repeat(32) } },
      24
    ],
    [
      "a dynamic call with a result field",
      { type: "dynamic-tool", toolCallId: "c", toolName: "t", input: {}, result: "x".repeat(40) },
      16
    ],
    ["a step", { type: "step-start" }, 4],
    ["a source", { type: "source-url", url: "x".repeat(400), title: "t" }, 4],
    ["data", { type: "data-chart", data: { text: "x".repeat(400) } }, 4],
    ["an image", { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" }, 1_204],
    [
      "a page",
      { type: "file", mediaType: "application/pdf", url: `data:application/pdf;base64,${"A".repeat(40_000)}` },
      2_004
    ],
    [
      "a long document",
      { type: "file", mediaType: "application/pdf", url: `data:application/pdf;base64,${"A".repeat(400_000)}` },
      12_004
    ],
    ["speech", { type: "file", mediaType: "audio/mpeg", url: `data:audio/mpeg;base64,${"A".repeat(4_000)}` }, 10],
    ["a text file", { type: "file", mediaType: "text/plain", url: `data:text/plain;base64,${"A".repeat(4_000)}` }, 754],
    ["a file elsewhere", { type: "file", mediaType: "application/pdf", url: "https://example.com/a.pdf" }, 2_004]
  ])("counts %s", (_name, part, tokens) => {
    expect(estimateMessageTokens(message(part))).toBe(tokens);
  });

  it("counts several together", () => {
    const one = message({ type: "text", text: "hello there" });
    expect(estimateMessageTokens([one, one])).toBe(2 * estimateMessageTokens(one));
  });
});
