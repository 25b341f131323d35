import { describe, expect, test } from "vitest";
import { CallIds, callIdsOfPrompt } from "./call-ids.ts";
import type { ModelPart } from "./coalesce.ts";

type Fields = ModelPart & { readonly [field: string]: unknown };

const start = (id: unknown, more = {}): Fields => ({ type: "tool-input-start", id, toolName: "t", ...more });
const delta = (id: unknown, text = "x"): Fields => ({ type: "tool-input-delta", id, delta: text });
const end = (id: unknown): Fields => ({ type: "tool-input-end", id });
const call = (id: unknown, more = {}): Fields => ({ type: "tool-call", toolCallId: id, toolName: "t", ...more });
const result = (id: unknown, more = {}): Fields => ({ type: "tool-result", toolCallId: id, toolName: "t", ...more });
const approval = (id: unknown): Fields => ({ type: "tool-approval-request", approvalId: "a", toolCallId: id });

/** The ids of the parts of each stream; "-" for a part that is left out. */
function named(streams: readonly (readonly Fields[])[], taken: readonly string[] = []): string[][] {
  const ids = new CallIds({ taken, scope: "0f3b-9c21-77" });
  return streams.map((parts) => {
    const stream = ids.openStream();
    return parts.map((part) => {
      const applied = stream.apply(part) as Fields | undefined;
      return applied === undefined ? "-" : String(applied["id"] ?? applied["toolCallId"]);
    });
  });
}

const whole = (id: unknown): Fields[] => [start(id), delta(id), end(id), call(id)];

describe("a call", () => {
  test("keeps an id that no other call has, in all of its parts", () => {
    expect(named([whole("c1")])).toEqual([["c1", "c1", "c1", "c1"]]);
  });

  test("gets one of its own when the conversation has the id, in all of its parts", () => {
    expect(named([whole("c1")], ["c1"])).toEqual([Array(4).fill("c1_0f3b9c21")]);
    expect(named([whole("c1")], ["c1", "c1_0f3b9c21"])).toEqual([Array(4).fill("c1_0f3b9c21_2")]);
  });

  test("of a later step is another one", () => {
    expect(named([[call("c1")], [call("c1")], [call("c1")]])).toEqual([["c1"], ["c1_0f3b9c21"], ["c1_0f3b9c21_2"]]);
  });

  test("made twice in one answer is two, one after the other", () => {
    expect(named([[...whole("c1"), ...whole("c1")]])).toEqual([
      ["c1", "c1", "c1", "c1", "c1_0f3b9c21", "c1_0f3b9c21", "c1_0f3b9c21", "c1_0f3b9c21"]
    ]);
  });

  test("made twice at once is two: inputs are completed in the order they were announced", () => {
    const parts = [start("c1"), delta("c1"), start("c1"), delta("c1"), end("c1"), call("c1"), end("c1"), call("c1")];
    const other = "c1_0f3b9c21";
    expect(named([parts])).toEqual([["c1", "c1", other, other, "c1", "c1", other, other]]);
  });

  test("announced twice before anything of it came is announced once", () => {
    expect(named([[start("c1"), start("c1"), delta("c1"), call("c1")]])).toEqual([["c1", "-", "c1", "c1"]]);
  });

  test.each<[unknown]>([
    [undefined],
    [null],
    [5],
    [""],
    ["a\0b"],
    ["\ud800"],
    ["__proto__"],
    ["x".repeat(20_000)],
    [{}]
  ])("with the id %s gets one that can be stored and sent", (id) => {
    const [[first, second] = []] = named([[call(id), call(id)]]);
    for (const one of [first, second]) expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(second).not.toBe(first);
  });

  test("that does not exist has no input and no approval", () => {
    expect(named([[delta("c1"), end("c1"), approval("c1")]])).toEqual([["-", "-", "-"]]);
  });
});

describe("a result of the provider", () => {
  const own = { providerExecuted: true };

  test("belongs to the call of its stream, also when an earlier one has the id", () => {
    expect(named([[call("c1", own), result("c1")]], ["c1"])).toEqual([["c1_0f3b9c21", "c1_0f3b9c21"]]);
  });

  test("of two calls of one id comes in their order; a preliminary one is followed by another", () => {
    const parts = [call("c1", own), call("c1", { ...own, toolName: "u" }), result("c1", { preliminary: true })];
    const other = "c1_0f3b9c21";
    expect(named([[...parts, result("c1"), result("c1")]])).toEqual([["c1", other, "c1", "c1", other]]);
  });

  test("may come in a later step, or in a later turn", () => {
    expect(named([[call("c1", own)], [result("c1")]])).toEqual([["c1"], ["c1"]]);
    expect(named([[result("c1")]], ["c1"])).toEqual([["c1"]]);
    expect(named([[result("c1")]])).toEqual([["-"]]);
  });

  test("a call it tells of again in a later step is that call", () => {
    expect(named([[call("c1", own)], [call("c1", own), result("c1")]])).toEqual([["c1"], ["c1", "c1"]]);
    expect(named([[call("c1", own)], [call("c1", { ...own, toolName: "u" })]])).toEqual([["c1"], ["c1_0f3b9c21"]]);
  });

  test("an approval it asks for is about the newest call of that id", () => {
    expect(named([[call("c1", own), approval("c1")]], ["c1"])).toEqual([["c1_0f3b9c21", "c1_0f3b9c21"]]);
  });
});

test("parts that are not about calls stay as they are", () => {
  const part = { type: "text-delta", id: "c1", delta: "x" };
  expect(new CallIds({ taken: ["c1"], scope: "s" }).openStream().apply(part)).toBe(part);
});

test("the calls of a prompt are those of its assistant messages", () => {
  expect(
    callIdsOfPrompt([
      { role: "user", content: "hi" },
      { role: "assistant", content: "text" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "x" },
          { type: "tool-call", toolCallId: "c1", toolName: "t", input: {} }
        ]
      }
    ])
  ).toEqual(["c1"]);
});
