import type { ContextOverflowOptions } from "../feature/settings.ts";
import { describe, expect, test } from "vitest";
import { proactiveLimits, shrunkAfterOverflows } from "./context-overflow.ts";

describe("the limits of the guard", () => {
  test.each<[ContextOverflowOptions | undefined, ReturnType<typeof proactiveLimits>]>([
    [undefined, undefined],
    [{ reactive: true }, undefined],
    [{ proactive: { maxInputTokens: 0 } }, undefined],
    [{ proactive: { maxInputTokens: Number.NaN } }, undefined],
    [{ proactive: { maxInputTokens: 1_000 } }, { tokens: 900, compactions: 1 }],
    [{ proactive: { maxInputTokens: 1_000, headroom: 0.5 } }, { tokens: 500, compactions: 1 }],
    [{ proactive: { maxInputTokens: 1_000, headroom: 0 } }, { tokens: 900, compactions: 1 }],
    [{ proactive: { maxInputTokens: 1_000, maxCompactions: 2.9 } }, { tokens: 900, compactions: 2 }],
    [{ proactive: { maxInputTokens: 1_000, maxCompactions: 0 } }, { tokens: 900, compactions: 1 }],
    [{ proactive: { maxInputTokens: 1_000, maxCompactions: Number.NaN } }, { tokens: 900, compactions: 1 }],
    [{ proactive: { maxInputTokens: 1_000, maxCompactions: Infinity } }, { tokens: 900, compactions: Infinity }]
  ])("of %j are %j", (setting, expected) => {
    expect(proactiveLimits(setting)).toEqual(expected);
  });
});

test("each overflow halves what the turn's own results may take, and leaves those of others whole", () => {
  const result = (toolCallId: string) => ({
    role: "tool" as const,
    content: [
      {
        type: "tool-result" as const,
        toolCallId,
        toolName: "work",
        output: { type: "text" as const, value: "x".repeat(9_000) }
      }
    ]
  });
  const messages = [result("old"), ...["a", "b", "c", "d"].map(result)];
  const lengths = (overflows: number) =>
    shrunkAfterOverflows(messages, { overflows, ownCallIds: ["a", "b", "c", "d"] }).map(
      (message) => (message as ReturnType<typeof result>).content[0]?.output.value.length
    );
  expect(lengths(0)).toEqual([9_000, 9_000, 9_000, 9_000, 9_000]);
  expect(lengths(1)).toEqual([9_000, 2_000, 2_000, 2_000, 9_000]);
  expect(lengths(2)).toEqual([9_000, 2_000, 2_000, 2_000, 2_000]);
  expect(lengths(3)).toEqual([9_000, 500, 500, 500, 2_000]);
});
