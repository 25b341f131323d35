import { expect, test } from "vitest";
import { inputHash } from "./call-records.ts";

test("the hash of an input does not depend on the order of its keys, and on everything else", () => {
  const hash = inputHash({ a: { x: 1, y: [1, { p: 1, q: 2 }] }, b: 2 });
  expect(inputHash({ b: 2, a: { y: [1, { q: 2, p: 1 }], x: 1 } })).toBe(hash);
  expect(inputHash({ b: 2, a: { y: [{ q: 2, p: 1 }, 1], x: 1 } })).not.toBe(hash);
  expect(inputHash({ b: "2", a: { y: [1, { q: 2, p: 1 }], x: 1 } })).not.toBe(hash);
});
