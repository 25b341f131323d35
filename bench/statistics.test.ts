import { expect, test } from "vitest";
import { quantile, ratios, summarize } from "./statistics.ts";

test.each([
  { values: [3, 1, 2], share: 0.5, expected: 2 },
  { values: [4, 1, 2, 3], share: 0.5, expected: 2.5 },
  { values: [10, 20, 30, 40, 50], share: 0.25, expected: 20 },
  { values: [10, 20], share: 0.25, expected: 12.5 },
  { values: [7], share: 0.75, expected: 7 }
])("the $share quantile of $values is $expected", ({ values, share, expected }) => {
  expect(quantile(values, share)).toBe(expected);
});

test("numbers are sorted as numbers, and the samples stay as they were", () => {
  const values = [100, 9, 20];
  expect(summarize(values)).toEqual({ median: 20, low: 14.5, high: 60, samples: 3 });
  expect(values).toEqual([100, 9, 20]);
});

test("there is no median of nothing", () => {
  expect(quantile([], 0.5)).toBeNaN();
});

test("ratios are taken between samples of the same round", () => {
  const values = [
    { round: 0, value: 10 },
    { round: 1, value: 300 },
    { round: 3, value: 5 }
  ];
  const base = [
    { round: 1, value: 100 },
    { round: 0, value: 5 },
    { round: 2, value: 1 }
  ];
  expect(ratios(values, base)).toEqual([2, 3]);
});

test("nothing is compared to zero", () => {
  expect(ratios([{ round: 0, value: 1 }], [{ round: 0, value: 0 }])).toEqual([]);
});
