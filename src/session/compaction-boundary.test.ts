import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  alignBoundaryBackward,
  alignBoundaryForward,
  findTailCutByTokens,
  firstOpenCall,
  sanitizeToolPairs
} from "./compaction-boundary.ts";
import type { SessionMessage, SessionMessagePart } from "./session-message.ts";
import { ids, text } from "./session.test-support.ts";

const message = (id: string, ...parts: SessionMessagePart[]): SessionMessage => ({ id, role: "assistant", parts });
const call = (toolCallId: string, state = "input-available"): SessionMessagePart => ({
  type: "tool-look",
  toolCallId,
  state,
  input: { q: 1 }
});
const result = (toolCallId: string): SessionMessagePart => ({
  type: "tool-look",
  toolCallId,
  state: "output-available",
  output: "found"
});
const whole = (toolCallId: string): SessionMessagePart => ({ ...call(toolCallId), ...result(toolCallId) });

const SPLIT = [
  text("u1"),
  message("a1", call("c1"), call("c2")),
  message("r1", result("c1")),
  message("r2", result("c2"))
];

describe("a boundary", () => {
  test.each([
    [0, 0, 0],
    [1, 1, 1],
    [2, 4, 1],
    [3, 4, 1],
    [4, 4, 4]
  ])("before message %i moves forward to %i and backward to %i", (boundary, forward, backward) => {
    expect(alignBoundaryForward(SPLIT, boundary)).toBe(forward);
    expect(alignBoundaryBackward(SPLIT, boundary)).toBe(backward);
  });

  test("stays where each call has its result in its own message", () => {
    const list = [message("a1", whole("c1")), message("a2", whole("c2")), text("u1")];
    for (const boundary of [0, 1, 2, 3]) {
      expect(alignBoundaryForward(list, boundary)).toBe(boundary);
      expect(alignBoundaryBackward(list, boundary)).toBe(boundary);
    }
  });

  test("of any list never has a call before it and its result after it", () => {
    const part = fc
      .tuple(fc.constantFrom(call, result, whole), fc.constantFrom("c1", "c2", "c3"))
      .map(([make, id]) => make(id));
    const list = fc.array(fc.array(part, { maxLength: 2 }), { maxLength: 8 });
    fc.assert(
      fc.property(list, fc.nat(8), (parts, at) => {
        const messages = parts.map((each, index) => message(`m${index}`, ...each));
        const boundary = Math.min(at, messages.length);
        const [forward, backward] = [
          alignBoundaryForward(messages, boundary),
          alignBoundaryBackward(messages, boundary)
        ];
        expect(forward).toBeGreaterThanOrEqual(boundary);
        expect(backward).toBeLessThanOrEqual(boundary);
        expect(alignBoundaryForward(messages, forward)).toBe(forward);
        expect(alignBoundaryBackward(messages, backward)).toBe(backward);
      })
    );
  });
});

test.each([
  ["input-available", 1],
  ["approval-requested", 1],
  ["approval-responded", 1],
  ["input-streaming", 1],
  ["output-available", 2],
  ["output-error", 2],
  ["output-denied", 2]
])("a call in state %s is %s", (state, position) => {
  expect(firstOpenCall([text("u1"), message("a1", call("c1", state))])).toBe(position);
});

test("a call that a later message settles is not open", () => {
  expect(firstOpenCall(SPLIT)).toBe(4);
  expect(firstOpenCall(SPLIT.slice(0, 3))).toBe(1);
  expect(firstOpenCall(SPLIT.slice(0, 3), 2)).toBe(3);
});

test.each([
  [100, 2, 1, 0],
  [20, 2, 0, 2],
  [20, 3, 0, 1],
  [1, 1, 0, 3],
  [0, 0, 0, 3],
  [0, 2, 3, 3]
])(
  "a tail of %i tokens and at least %i messages after %i starts at %i",
  (tailTokenBudget, minTailMessages, headEnd, cut) => {
    const list = ["a", "b", "c", "d"].map((id) => text(id));
    const found = findTailCutByTokens(list, { headEnd, tailTokenBudget, minTailMessages, countTokens: () => 10 });
    expect(found).toBe(Math.max(cut, headEnd));
  }
);

describe("tool pairs", () => {
  test("are left alone when they are whole", () => {
    const list = [text("u1"), message("a1", whole("c1")), ...SPLIT.slice(1)];
    expect(sanitizeToolPairs(list)).toEqual(list);
  });

  test("lose results without a call, and messages with nothing else in them", () => {
    const list = [message("r1", result("c1")), message("r2", result("c2"), { type: "text", text: "said" })];
    expect(sanitizeToolPairs(list)).toEqual([message("r2", { type: "text", text: "said" })]);
  });

  test("get a result where it is gone, once, and then are whole", () => {
    const list = sanitizeToolPairs([message("a1", call("c1")), text("u1")]);
    expect(ids(list)).toEqual(["a1", "stub-c1", "u1"]);
    expect(list[1]?.parts).toMatchObject([{ type: "tool-look", toolCallId: "c1", state: "output-available" }]);
    expect(sanitizeToolPairs(list)).toEqual(list);
  });
});
