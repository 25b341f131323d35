import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import {
  AWAITS_CLIENT_TEXT,
  AWAITS_DECISION_TEXT,
  INTERRUPTED_TEXT,
  interruptedPart,
  isPendingInteraction,
  NOT_RUN_TEXT
} from "./open-calls.ts";
import { APPROVED_TEXT, repairTranscript, type RepairOptions } from "./transcript-repair.ts";

const part = (state: string, more: object = {}): SessionMessagePart => ({
  type: "tool-look",
  toolCallId: "c1",
  state,
  input: {},
  ...more
});
const message = (...parts: SessionMessagePart[]): SessionMessage => ({ id: "a1", role: "assistant", parts });
const repair = (parts: SessionMessagePart[], options: Partial<RepairOptions> = {}) =>
  repairTranscript([message(...parts)], { isClientTool: () => false, isUserTurn: false, ...options });

describe("a call that was cut off", () => {
  test.each([
    ["input-streaming", NOT_RUN_TEXT],
    ["input-available", INTERRUPTED_TEXT],
    ["something-new", INTERRUPTED_TEXT]
  ])("in state %s is stored as an error", (state, errorText) => {
    const result = repair([part(state)]);
    const expected = message(part("output-error", { errorText }));
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
});

describe("a settled call", () => {
  test.each<[string, SessionMessagePart]>([
    ["a result", part("output-available", { output: 1 })],
    ["an error text", part("output-error", { errorText: "the real reason" })],
    ["a denial", part("output-denied", { approval: { id: "p", approved: false } })],
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

describe("a call that waits for a person or a client", () => {
  const approval = part("approval-requested", { approval: { id: "p" } });
  const marked = part("input-available", { clientExecuted: true });
  const waiting: [string, SessionMessagePart, string][] = [
    ["an approval", approval, AWAITS_DECISION_TEXT],
    ["a client's call", marked, AWAITS_CLIENT_TEXT],
    ["a client's call that was allowed", { ...marked, state: "approval-responded" }, AWAITS_CLIENT_TEXT],
    ["a call of a tool the client described", { ...part("input-available"), type: "tool-pick" }, AWAITS_CLIENT_TEXT]
  ];
  const isClientTool = (name: string) => name === "pick";

  test.each(waiting)(
    "(%s) stays as it is whatever turn comes, and the prompt says that it waits",
    (_name, open, says) => {
      for (const isUserTurn of [false, true]) {
        const result = repair([open], { isClientTool, isUserTurn, repairPart: interruptedPart });
        expect(result.changed).toEqual([]);
        expect(result.toolCallIds).toEqual([]);
        expect(result.messages[0]!.parts[0]).toMatchObject({ state: "output-error", errorText: says });
      }
    }
  );

  const cutOff = { type: "text", text: "What is your name?" };
  const repairPart = () => cutOff;

  test("is replaced by what the class has for a client's call, once the user has said something new", () => {
    expect(repair([marked], { repairPart, isUserTurn: true }).changed[0]!.parts).toEqual([cutOff]);
    const other = repair([marked], { repairPart });
    expect(other.changed).toEqual([]);
    expect(other.messages[0]!.parts).toEqual([cutOff]);
  });

  test("is not replaced if it is an approval: what the class has for it shapes the prompt only", () => {
    const result = repair([approval], { repairPart, isUserTurn: true });
    expect(result.changed).toEqual([]);
    expect(result.messages[0]!.parts).toEqual([cutOff]);
  });

  test("is shown as waiting when the class leaves it as it is", () => {
    const result = repair([marked], { repairPart: (open) => open, isUserTurn: true });
    expect(result.changed).toEqual([]);
    expect(result.messages[0]!.parts[0]).toMatchObject({ errorText: AWAITS_CLIENT_TEXT });
  });

  it("is an approval, or a call that only a client can answer", () => {
    expect(isPendingInteraction(part("input-available"), isClientTool)).toBe(false);
    expect(isPendingInteraction(part("approval-responded"), isClientTool)).toBe(false);
    expect(isPendingInteraction({ type: "text", text: "" }, isClientTool)).toBe(false);
    expect(waiting.map(([, open]) => isPendingInteraction(open, isClientTool))).toEqual([true, true, true, true]);
    expect(waiting.map(([, open]) => isPendingInteraction(open))).toEqual([true, true, true, false]);
  });

  it("does not keep an orphan beside it from being repaired", () => {
    const orphan = { ...part("input-available"), toolCallId: "c2" };
    const result = repair([approval, orphan]);
    expect(result.changed[0]!.parts).toEqual([
      approval,
      { ...orphan, state: "output-error", errorText: INTERRUPTED_TEXT }
    ]);
    expect(result.toolCallIds).toEqual(["c2"]);
  });
});

describe("a call that was allowed", () => {
  const allowed = part("approval-responded", { input: "", approval: { id: "p", approved: true } });
  const callIds = new Set(["c1"]);

  test("stays as it is for the turn that runs it", () => {
    const result = repair([allowed], { running: { callIds, shown: "in-place" } });
    expect(result.messages[0]!.parts[0]).toBe(allowed);
    expect(result.changed).toEqual([]);
  });

  test("leaves a text in its place when that turn shows it at the end", () => {
    const result = repair([allowed], { running: { callIds, shown: "elsewhere" } });
    expect(result.messages[0]!.parts).toEqual([{ type: "text", text: expect.stringContaining('"look"') }]);
    expect(result.changed).toEqual([]);
  });

  test("is shown to any other turn as allowed and not run", () => {
    const result = repair([allowed]);
    expect(result.messages[0]!.parts[0]).toMatchObject({ state: "output-error", errorText: APPROVED_TEXT, input: {} });
    expect(result.changed).toEqual([]);
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
      const options = { isClientTool: () => false, isUserTurn: true };
      const once = repairTranscript(messages, options);
      const twice = repairTranscript(once.messages, options);
      expect(twice.changed).toEqual([]);
      twice.messages.forEach((each, index) => expect(each).toBe(once.messages[index]));
    })
  );
});
