import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { INTERRUPTED_TEXT, isPendingInteraction, repairTranscript, type RepairOptions } from "./transcript-repair.ts";

const part = (state: string, more: object = {}): SessionMessagePart => ({
  type: "tool-look",
  toolCallId: "c1",
  state,
  input: {},
  ...more
});
const message = (...parts: SessionMessagePart[]): SessionMessage => ({ id: "a1", role: "assistant", parts });
const repair = (parts: SessionMessagePart[], options: Partial<RepairOptions> = {}) =>
  repairTranscript([message(...parts)], { clientTools: new Set(), isUserTurn: false, ...options });

describe("a call that was cut off", () => {
  test.each(["input-streaming", "input-available", "something-new"])("in state %s is stored as an error", (state) => {
    const result = repair([part(state)]);
    const expected = message(part("output-error", { errorText: INTERRUPTED_TEXT }));
    expect(result.messages).toEqual([expected]);
    expect(result.changed).toEqual([expected]);
    expect(result).toMatchObject({ removedToolCalls: 1, normalizedInputs: 0, toolCallIds: ["c1"] });
  });

  it("with a preliminary output loses it", () => {
    const result = repair([part("output-available", { output: "half", preliminary: true })]);
    expect(result.messages[0]!.parts[0]).toEqual(part("output-error", { errorText: INTERRUPTED_TEXT }));
  });

  it("becomes whatever the agent says", () => {
    const result = repair([part("input-available")], { repairPart: () => ({ type: "text", text: "cut off" }) });
    expect(result.changed[0]!.parts).toEqual([{ type: "text", text: "cut off" }]);
    expect(result.removedToolCalls).toBe(1);
  });

  it("is left alone while this turn runs it", () => {
    expect(repair([part("input-available")], { runningCalls: new Set(["c1"]) }).changed).toEqual([]);
  });
});

describe("a settled call", () => {
  test.each<[string, SessionMessagePart]>([
    ["a result", part("output-available", { output: 1 })],
    ["an error text", part("output-error", { errorText: "the real reason" })],
    ["a denial", part("output-denied", { approval: { id: "p", approved: false } })],
    [
      "an approval about to be acted on",
      part("approval-responded", { input: "", approval: { id: "p", approved: true } })
    ],
    ["a result in an old field", { type: "dynamic-tool", toolName: "x", toolCallId: "c", input: {}, result: 1 }]
  ])("with %s stays as it is", (_name, settled) => {
    const result = repair([settled]);
    expect(result.messages[0]!.parts[0]).toBe(settled);
    expect(result.changed).toEqual([]);
  });

  test.each<[unknown, object]>([
    [undefined, {}],
    [null, {}],
    ["", {}],
    ["nonsense", {}],
    [[1], {}],
    [7, {}],
    ['{"a":1}', { a: 1 }],
    ["[1]", {}]
  ])("with the input %j has the input %j", (input, expected) => {
    const settled = part("output-error", { errorText: "why", input });
    const result = repair([settled]);
    expect(result.changed[0]!.parts[0]).toEqual({ ...settled, input: expected });
    expect(result).toMatchObject({ removedToolCalls: 0, normalizedInputs: 1, toolCallIds: ["c1"] });
  });
});

describe("a question somebody can still answer", () => {
  const questions: [string, SessionMessagePart][] = [
    ["an approval", part("approval-requested", { approval: { id: "p" } })],
    ["a client's tool", { ...part("input-available"), type: "tool-pick" }]
  ];
  const clientTools = new Set(["pick"]);

  test.each(questions)(
    "(%s) survives a turn that nobody's message started, and the model sees it settled",
    (_name, question) => {
      const result = repair([question], { clientTools });
      expect(result.changed).toEqual([]);
      expect(result.toolCallIds).toEqual([]);
      expect(result.messages[0]!.parts[0]).toMatchObject({ state: "output-error" });
    }
  );

  test.each(questions)("(%s) is over when the user says something new", (_name, question) => {
    const result = repair([question], { clientTools, isUserTurn: true });
    expect(result.changed[0]!.parts[0]).toMatchObject({ state: "output-error" });
    expect(result.removedToolCalls).toBe(1);
  });

  it("is an approval, or a call of a tool the client runs", () => {
    expect(isPendingInteraction(part("input-available"), clientTools)).toBe(false);
    expect(isPendingInteraction({ type: "text", text: "" }, clientTools)).toBe(false);
    expect(questions.map(([, question]) => isPendingInteraction(question, clientTools))).toEqual([true, true]);
  });

  it("does not keep an orphan beside it from being repaired", () => {
    const orphan = { ...part("input-available"), toolCallId: "c2" };
    const result = repair([questions[0]![1], orphan], { clientTools });
    expect(result.changed[0]!.parts).toEqual([
      questions[0]![1],
      { ...orphan, state: "output-error", errorText: INTERRUPTED_TEXT }
    ]);
    expect(result.toolCallIds).toEqual(["c2"]);
  });
});

test("repairing again changes nothing, and messages without calls are the same objects", () => {
  const anyPart = fc.oneof(
    fc.constant<SessionMessagePart>({ type: "text", text: "x" }),
    fc.record({
      type: fc.constantFrom("tool-look", "dynamic-tool"),
      toolCallId: fc.string(),
      state: fc.constantFrom(
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied"
      ),
      input: fc.oneof(fc.jsonValue(), fc.constant(undefined)),
      preliminary: fc.boolean()
    })
  );
  fc.assert(
    fc.property(fc.array(fc.array(anyPart, { maxLength: 4 }), { maxLength: 4 }), (lists) => {
      const messages = lists.map((parts, index) => ({ id: `m${index}`, role: "assistant", parts }));
      const options = { clientTools: new Set<string>(), isUserTurn: true };
      const once = repairTranscript(messages, options);
      const twice = repairTranscript(once.messages, options);
      expect(twice.changed).toEqual([]);
      twice.messages.forEach((each, index) => expect(each).toBe(once.messages[index]));
    })
  );
});
