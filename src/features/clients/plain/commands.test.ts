import { describe, expect, test } from "vitest";
import { readPlainRequest } from "./commands.ts";

const user = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: id }] });
const answer = (id: string, ...parts: object[]) => ({ id, role: "assistant", parts });
const call = (toolCallId: string, rest: object) => ({ type: "tool-place", toolCallId, input: {}, ...rest });
const given = (toolCallId: string) => call(toolCallId, { state: "output-available", output: "Oslo" });

function read(messages: readonly unknown[], rest: object = {}) {
  const request = readPlainRequest({ messages, ...rest });
  if (!request.ok) throw request.error;
  return request.value;
}

const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

describe("of a posted list", () => {
  /** Nothing of it could be read. */
  const unreadable = Array.from({ length: 5_000 }, () => ({ role: "user", parts: "none" }));

  test("nothing is looked at before the last answer, however long it is", () => {
    const { messages, answers } = read([...unreadable, user("u1"), answer("a1", given("c1")), user("u2")]);
    expect(idsOf(messages)).toEqual(["a1", "u2"]);
    expect(answers).toEqual([{ kind: "result", toolCallId: "c1", output: "Oslo" }]);
  });

  test("an earlier answer counts only if the client names it: it has decided a call of it", () => {
    const list = [answer("a1", given("c1")), user("u1"), answer("a2", given("c2")), user("u2")];
    expect(read(list).answers.map(({ toolCallId }) => toolCallId)).toEqual(["c2"]);
    const named = read(list, { messageId: "a1" });
    expect(named.answers.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c2"]);
    expect([named.continues, idsOf(named.messages)]).toEqual(["a1", ["a1", "a2", "u2"]]);
  });

  test("without an answer in it all is read, and refused if it cannot be", () => {
    expect(idsOf(read([user("u1"), user("u2")]).messages)).toEqual(["u1", "u2"]);
    expect(readPlainRequest({ messages: [...unreadable, user("u1")] }).ok).toBe(false);
    expect(readPlainRequest({ messages: "hi" }).ok).toBe(false);
  });
});

test.each([
  ["a result", given("c"), { kind: "result", toolCallId: "c", output: "Oslo" }],
  ["a result of nothing", call("c", { state: "output-available" }), { kind: "result", toolCallId: "c", output: null }],
  [
    "a failure",
    call("c", { state: "output-error", errorText: "no map" }),
    { kind: "result", toolCallId: "c", output: null, errorText: "no map" }
  ],
  [
    "a decision",
    call("c", { state: "approval-responded", approval: { id: "p", approved: false } }),
    { kind: "approval", toolCallId: "c", approved: false, approvalId: "p" }
  ],
  ["a decision without a word", call("c", { state: "approval-responded", approval: { id: "p" } }), undefined],
  ["a call that waits", call("c", { state: "input-available" }), undefined]
])("%s is read from a posted part", (_what, part, expected) => {
  expect(read([answer("a1", part)]).answers).toEqual(expected ? [expected] : []);
});

test.each([
  ["a question", [user("u1")], {}, { continues: undefined, asksAgain: false }],
  ["a question that is named", [user("u1")], { messageId: "u1" }, { continues: undefined, asksAgain: true }],
  ["an answer", [user("u1"), answer("a1")], {}, { continues: "a1", asksAgain: false }],
  [
    "an answer to be replaced",
    [user("u1"), answer("a1")],
    { trigger: "regenerate-message", messageId: "a1" },
    { continues: undefined, asksAgain: false }
  ]
])("a list that ends in %s means that", (_what, messages, rest, expected) => {
  expect(read(messages, rest)).toMatchObject(expected);
});
