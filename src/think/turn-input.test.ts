import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { isEmptyInput, turnInput, type ChatInput } from "./turn-input.ts";
import { answer, userMessage } from "./turns.test-support.ts";

const newId = () => "fresh";

describe("the input of a turn", () => {
  test.each<[string, ChatInput, UIMessage[]]>([
    ["a text becomes one user message", "Hi", [userMessage("fresh", "Hi")]],
    ["even an empty one", "", [userMessage("fresh", "")]],
    ["a message stands for itself", userMessage("a"), [userMessage("a")]],
    ["as do several", [userMessage("a"), answer("b")], [userMessage("a"), answer("b")]]
  ])("%s", (_promise, input, expected) => {
    expect(turnInput(input, { newId })).toEqual(expected);
  });

  test("a function is not called before the engine calls it, and its messages are checked then", async () => {
    const input = turnInput((current) => [...current, userMessage("b")], { newId });
    if (typeof input !== "function") throw new Error("expected a function");
    expect(await input([userMessage("a")])).toEqual([userMessage("a"), userMessage("b")]);
    const broken = turnInput(() => [{ id: "x" } as UIMessage], { newId });
    await expect(async () => typeof broken === "function" && broken([])).rejects.toThrow("could not be accepted");
  });

  test("the channel is stamped on user messages beside what they carry", () => {
    const input = turnInput([{ ...userMessage("a"), metadata: { tone: "warm" } }, answer("b")], {
      newId,
      channel: "slack"
    });
    expect(input).toEqual([{ ...userMessage("a"), metadata: { tone: "warm", channel: "slack" } }, answer("b")]);
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
    expect([isEmptyInput(" "), isEmptyInput([userMessage("a")]), isEmptyInput(() => [])]).toEqual([
      false,
      false,
      false
    ]);
  });
});
