import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { failedCalls, maskInterrupted, normalMessages } from "./normal-form.ts";

type Parts = UIMessage["parts"];
const answer = (parts: Parts, id = "minted"): UIMessage => ({ id, role: "assistant", parts });
const call = (toolCallId: string, rest: object): Parts[number] => ({
  type: "tool-pay",
  toolCallId,
  state: "input-available",
  input: { n: 1 },
  ...rest
});

test("an answer taken up again after a crash has the form of one written in one go", () => {
  const whole = answer([{ type: "step-start" }, { type: "text", text: "One two." }]);
  const resumed = answer(
    [
      { type: "step-start" },
      { type: "text", text: "One " },
      { type: "step-start" },
      { type: "text", text: "" },
      { type: "text", text: "two." }
    ],
    "other"
  );
  expect(normalMessages([resumed])).toEqual(normalMessages([whole]));
});

test("words, thoughts, order, outcomes and the user's ids count", () => {
  const base = [answer([{ type: "reasoning", text: "Hm" }, call("c", { state: "output-available", output: 1 })])];
  const others = [
    [answer([call("c", { state: "output-available", output: 1 }), { type: "reasoning", text: "Hm" }])],
    [answer([{ type: "reasoning", text: "Hm" }, call("c", { state: "output-available", output: 2 })])],
    [answer([{ type: "reasoning", text: "Hm" }, call("c", { state: "output-error", errorText: "x" })])],
    [answer([{ type: "text", text: "Hm" }, call("c", { state: "output-available", output: 1 })])]
  ];
  for (const other of others) expect(normalMessages(other)).not.toEqual(normalMessages(base));
  const user = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: "hi" }] });
  expect(normalMessages([user("u1")])).not.toEqual(normalMessages([user("u2")]));
});

test("a call that was cut off is equal to any outcome of the same call at the same place", () => {
  const cutOff = [answer([call("new", { state: "output-error", errorText: "interrupted" })])];
  const actual = normalMessages(cutOff, { interrupted: new Set(["new"]) });
  const expected = normalMessages([answer([call("old", { state: "output-available", output: 1 })])]);
  expect(actual).not.toEqual(expected);
  expect(maskInterrupted(expected, actual)).toEqual(actual);
  expect(maskInterrupted(normalMessages([answer([{ type: "text", text: "x" }])]), actual)).not.toEqual(actual);
  expect(failedCalls(cutOff)).toEqual([{ callId: "new", tool: "pay", error: "interrupted" }]);
});

test("the id of a parked execution does not count; what it waits for does", () => {
  const parked = (executionId: string, action = "pay") =>
    normalMessages([
      answer([call("c", { state: "output-available", output: { status: "paused", executionId, action } })])
    ]);
  expect(parked("one")).toEqual(parked("other"));
  expect(parked("one")).not.toEqual(parked("one", "deploy"));
  const own = (executionId: string) =>
    normalMessages([answer([call("c", { state: "output-available", output: { status: "done", executionId } })])]);
  expect(own("one")).not.toEqual(own("other"));
});
