import { expect, test } from "vitest";
import { rotated } from "./rounds.ts";

test("each contender begins as often as every other, and all take part in every round", () => {
  const orders = [0, 1, 2, 3].map((round) => rotated(["a", "b", "c"], round).join(""));
  expect(orders).toEqual(["abc", "bca", "cab", "abc"]);
});
