import type { ModelMessage } from "ai";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answeredCallIds, shrinkToolResults, SHRINKS_ABOVE_CHARS, toolResultChars } from "./shrink-results.ts";

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;
type Output = Extract<ToolMessage["content"][number], { type: "tool-result" }>["output"];

const result = (toolCallId: string, output: Output): ToolMessage => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId, toolName: "work", output }]
});
const long = (toolCallId: string, chars: number) => result(toolCallId, { type: "text", value: "x".repeat(chars) });
const all = (messages: ModelMessage[]) => new Set(answeredCallIds(messages));
const lengths = (messages: ModelMessage[]) => messages.map((message) => toolResultChars([message], all(messages)));

describe("results that are too long together", () => {
  test("are cut oldest first, and no more of them than needed", () => {
    const messages = [long("a", 10_000), long("b", 10_000), long("c", 10_000)];
    const shrunk = shrinkToolResults(messages, { callIds: all(messages), toChars: 25_000 });
    expect(lengths(shrunk)).toEqual([2_000, 10_000, 10_000]);
    expect(shrunk[1]).toBe(messages[1]);
  });

  test("are cut further, oldest first, when one pass is not enough", () => {
    const messages = [long("a", 10_000), long("b", 10_000), long("c", 10_000)];
    const shrunk = shrinkToolResults(messages, { callIds: all(messages), toChars: 5_000 });
    expect(lengths(shrunk)).toEqual([500, 2_000, 2_000]);
  });

  test("are the same list when they fit, or when none of them may be cut", () => {
    const messages = [long("a", 10_000), { role: "user", content: "x".repeat(10_000) } as const];
    expect(shrinkToolResults(messages, { callIds: all(messages), toChars: 10_000 })).toBe(messages);
    expect(shrinkToolResults(messages, { callIds: new Set(["other"]), toChars: 0 })).toBe(messages);
    const short = [long("a", 500)];
    expect(shrinkToolResults(short, { callIds: all(short), toChars: 0 })).toBe(short);
    expect(SHRINKS_ABOVE_CHARS).toBeGreaterThan(500);
  });

  test.each<[string, Output, Output]>([
    [
      "a text stays a text",
      { type: "text", value: "x".repeat(3_000) },
      { type: "text", value: expect.stringMatching(/^x+\.\.\. \[truncated 3000 chars\]$/) }
    ],
    [
      "an error stays an error",
      { type: "error-text", value: "x".repeat(3_000) },
      { type: "error-text", value: expect.stringContaining("truncated") }
    ],
    [
      "an object keeps its keys",
      { type: "json", value: { title: "T", body: "x".repeat(3_000) } },
      { type: "json", value: expect.objectContaining({ title: "T", body: expect.stringContaining("truncated") }) }
    ],
    [
      "pictures stay, texts beside them are cut",
      {
        type: "content",
        value: [
          { type: "text", text: "x".repeat(3_000) },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "y".repeat(9_000) } }
        ]
      },
      {
        type: "content",
        value: [
          { type: "text", text: expect.stringContaining("truncated") },
          { type: "file", mediaType: "image/png", data: { type: "data", data: "y".repeat(9_000) } }
        ]
      }
    ]
  ])("%s", (_rule, output, expected) => {
    const messages = [result("a", output)];
    const [shrunk] = shrinkToolResults(messages, { callIds: all(messages), toChars: 0 });
    expect(shrunk).toEqual(result("a", expected));
  });

  test("keep order, calls and kinds, and only ever get shorter", () => {
    const output = fc.oneof(
      fc.integer({ min: 0, max: 5_000 }).map((chars): Output => ({ type: "text", value: "x".repeat(chars) })),
      fc.jsonValue({ maxDepth: 3 }).map((value): Output => ({ type: "json", value: JSON.parse(JSON.stringify(value)) }))
    );
    fc.assert(
      fc.property(fc.array(output, { maxLength: 12 }), fc.integer({ min: 0, max: 20_000 }), (outputs, toChars) => {
        const messages = outputs.map((one, index) => result(`c${index}`, one));
        const options = { callIds: all(messages), toChars };
        const shrunk = shrinkToolResults(messages, options);
        expect(answeredCallIds(shrunk)).toEqual(answeredCallIds(messages));
        const [before, after] = [lengths(messages), lengths(shrunk)];
        for (const [index, chars] of after.entries()) expect(chars).toBeLessThanOrEqual(before[index] ?? 0);
        const total = after.reduce((sum, chars) => sum + chars, 0);
        expect(total <= toChars || after.every((chars) => chars <= 500)).toBe(true);
        // A second time changes nothing.
        expect(shrinkToolResults(shrunk, options)).toBe(shrunk);
      })
    );
  });
});
