import { expect, test } from "vitest";
import { markAsOwn } from "./members.ts";

test("a class cannot protect a method that it does not have", () => {
  class Agent {
    name = "a";
    rename(): void {}
  }
  expect(() => markAsOwn(Agent, ["rename"])).not.toThrow();
  expect(() => markAsOwn(Agent, ["renamed"])).toThrow('Agent has no method "renamed".');
  expect(() => markAsOwn(Agent, ["name"])).toThrow('Agent has no method "name".');
});
