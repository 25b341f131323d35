// What an answer took, from what its message carries.
import fc from "fast-check";
import { expect, test } from "vitest";
import { usageText } from "./usage-text.ts";

test.each([
  [{ usage: { inputTokens: 1511, outputTokens: 17 }, cost: { usd: 0.00213 } }, "1,511 in · 17 out · $0.0021"],
  [{ usage: { inputTokens: 5, outputTokens: 0 } }, "5 in · 0 out"],
  [{ cost: { usd: 1.239 } }, "$1.24"],
  [{ cost: { usd: 0.0099 } }, "$0.0099"],
  [{ cost: { usd: 0 } }, "$0.00"],
  [{ cost: { usd: 1e-12 } }, "below $0.000000001"],
  [{ usage: { totalTokens: 9 } }, undefined],
  [{ usage: { inputTokens: -1, outputTokens: "many" } }, undefined],
  [undefined, undefined]
])("%j: %s", (metadata, text) => {
  expect(usageText({ metadata })).toBe(text);
});

test("whatever a message carries, there is a text or none", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (usage, cost) => {
      expect(["string", "undefined"]).toContain(typeof usageText({ metadata: { usage, cost } }));
    })
  );
});
