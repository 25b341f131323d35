import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { assistant, user } from "../turn/engine.test-support.ts";
import { isEmptyInput, turnInput, type ChatInput } from "./turn-input.ts";

const newId = () => "fresh";

describe("the input of a turn", () => {
  test.each<[string, ChatInput, UIMessage[]]>([
    ["a text becomes one user message", "Hi", [user("fresh", "Hi")]],
    ["even an empty one", "", [user("fresh", "")]],
    ["a message stands for itself", user("a"), [user("a")]],
    ["as do several", [user("a"), assistant("b")], [user("a"), assistant("b")]]
  ])("%s", (_promise, input, expected) => {
    expect(turnInput(input, { newId })).toEqual(expected);
  });

  test("a function is not called before the engine calls it, and its messages are checked then", async () => {
    const input = turnInput((current) => [...current, user("b")], { newId });
    if (typeof input !== "function") throw new Error("expected a function");
    expect(await input([user("a")])).toEqual([user("a"), user("b")]);
    const broken = turnInput(() => [{ id: "x" } as UIMessage], { newId });
    await expect(async () => typeof broken === "function" && broken([])).rejects.toThrow("could not be accepted");
  });

  test("the channel is stamped on user messages beside what they carry", () => {
    const input = turnInput([{ ...user("a"), metadata: { tone: "warm" } }, assistant("b")], {
      newId,
      channel: "slack"
    });
    expect(input).toEqual([{ ...user("a"), metadata: { tone: "warm", channel: "slack" } }, assistant("b")]);
  });

  test.each<[unknown]>([
    [{}],
    [null],
    [5],
    [[null]],
    [[{ id: "", role: "user", parts: [] }]],
    [[{ id: "a", parts: [] }]]
  ])("%j is refused", (input) => {
    expect(() => turnInput(input as ChatInput, { newId })).toThrow("could not be accepted");
  });

  test("only what is empty in advance is empty", () => {
    expect([isEmptyInput(""), isEmptyInput([])]).toEqual([true, true]);
    expect([isEmptyInput(" "), isEmptyInput([user("a")]), isEmptyInput(() => [])]).toEqual([false, false, false]);
  });
});
