import { expect, test } from "vitest";
import { knownCostOf, sumOfCosts } from "./cost.ts";

const usage = (inputTokens: number | null, outputTokens: number | null, cachedInputTokens: number | null = null) => ({
  ...{ inputTokens, outputTokens, cachedInputTokens },
  ...{ totalTokens: null, reasoningTokens: null }
});
const PRICES = [
  { provider: "p", model: "small", input: 2, output: 8 },
  { provider: "p", model: "cached", input: 2, output: 8, cachedInput: 0.5 }
];

test.each([
  ["tokens times price, per million", "small", usage(1_000_000, 500_000), { amount: 6, currency: "USD" }],
  ["cached tokens at their own price", "cached", usage(1000, 0, 400), { amount: 0.0014, currency: "USD" }],
  ["cached tokens as any other, without one", "small", usage(1000, 0, 400), { amount: 0.002, currency: "USD" }],
  ["more cached than read was counted beside it", "cached", usage(100, 0, 900), { amount: 0.00065, currency: "USD" }],
  [
    "one side that the provider did not say counts as none",
    "small",
    usage(null, 1000),
    { amount: 0.008, currency: "USD" }
  ],
  ["no tokens known: no cost", "small", usage(null, null), null],
  ["no price: no cost", "other", usage(1, 1), null],
  ["a name of every object is no price", "constructor", usage(1, 1), null],
  ["no model: no cost", null, usage(1, 1), null]
])("%s", (_, model, used, expected) => {
  const cost = knownCostOf(PRICES, model, used);
  expect(cost && { ...cost, amount: Number(cost.amount.toFixed(9)) }).toEqual(expected);
});

test("a sum with an unknown part, or of two currencies, is not known", () => {
  const [one, other] = [
    { amount: 1, currency: "USD" },
    { amount: 2, currency: "EUR" }
  ];
  expect(sumOfCosts([one, { ...one, amount: 2 }])).toEqual({ amount: 3, currency: "USD" });
  expect([sumOfCosts([]), sumOfCosts([one, null]), sumOfCosts([null, one]), sumOfCosts([one, other])]).toEqual(
    Array(4).fill(null)
  );
});
