import { expect, test } from "vitest";
import { addUsage, normaliseUsage, NO_USAGE } from "./usage.ts";

test("detail fields of either major are read", () => {
  const details = {
    inputTokenDetails: { cacheReadTokens: 3, cacheWriteTokens: 4 },
    outputTokenDetails: { reasoningTokens: 5 }
  };
  expect(normaliseUsage({ inputTokens: 10, outputTokens: 20, totalTokens: 31, ...details })).toEqual({
    inputTokens: 10,
    outputTokens: 20,
    totalTokens: 31,
    reasoningTokens: 5,
    cachedInputTokens: 3,
    cacheWriteTokens: 4
  });
});

test("flat fields are read where there are no details", () => {
  expect(normaliseUsage({ inputTokens: 1, outputTokens: 2, reasoningTokens: 3, cachedInputTokens: 4 })).toMatchObject({
    totalTokens: 3,
    reasoningTokens: 3,
    cachedInputTokens: 4
  });
});

test.each([undefined, null, 7, "x", {}, { inputTokens: Number.NaN }])("%j reports nothing, not zero", (usage) => {
  expect(normaliseUsage(usage)).toEqual(NO_USAGE);
});

test("adding keeps unknown counts unknown", () => {
  const sum = addUsage(normaliseUsage({ inputTokens: 1 }), normaliseUsage({ inputTokens: 2, outputTokens: 3 }));
  expect(sum).toMatchObject({ inputTokens: 3, outputTokens: 3, reasoningTokens: undefined });
});
