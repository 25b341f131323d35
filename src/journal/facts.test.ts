import { expect, test } from "vitest";
import { Facts } from "./facts.ts";

test("a fact is read once, until somebody forgets it", () => {
  const facts = new Facts();
  let reads = 0;
  const read = () => (reads += 1);
  expect([facts.get("a", read), facts.get("a", read)]).toEqual([1, 1]);
  facts.forget("a");
  expect(facts.get("a", read)).toBe(2);
  facts.set("a", 7);
  expect(facts.get("a", read)).toBe(7);
});

test("that there is nothing is a fact too", () => {
  const facts = new Facts();
  facts.set("a", undefined);
  expect(facts.get("a", () => "read")).toBeUndefined();
});

test("a read that fails is no fact", () => {
  const facts = new Facts();
  const fail = () => {
    throw new Error("disk");
  };
  expect(() => facts.get("a", fail)).toThrow("disk");
  expect(facts.get("a", () => 1)).toBe(1);
});
