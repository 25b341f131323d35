import fc from "fast-check";
import { expect, test } from "vitest";
import type { TurnHistory } from "./history.ts";
import { decodeTurn, encodeTurn } from "./turn-row.ts";

const END = 1_893_456_001_234;
const time = fc.option(fc.integer({ min: END - 1e9, max: END }));
const name = fc.string({ maxLength: 20 });
const attempt = fc.record({
  kind: fc.constantFrom("first", "continue-text"),
  startedAt: fc.integer({ min: END - 1e9, max: END }),
  end: fc.constantFrom("settled", "interrupted", null),
  endedAt: time,
  errorCode: fc.option(name),
  retryAt: fc.option(fc.integer({ min: END - 1e9, max: END + 1e9 }))
});
const count = fc.option(fc.nat());
// Its words are checked where they are made.
const history = fc.record(
  {
    turnId: name,
    requestId: fc.option(name),
    trigger: fc.option(name),
    outcome: fc.constantFrom("completed", "failed", "aborted"),
    reason: fc.option(name),
    errorCode: fc.option(name),
    messageId: fc.option(name),
    inputMessageIds: fc.array(name, { maxLength: 3 }),
    admittedAt: time,
    startedAt: time,
    settledAt: fc.constant(END),
    attempts: fc.array(attempt, { maxLength: 3 }),
    steps: fc.nat(5),
    usage: fc.record({
      inputTokens: count,
      outputTokens: count,
      totalTokens: count,
      reasoningTokens: count,
      cachedInputTokens: count
    }),
    models: fc.array(name, { maxLength: 2 }),
    tools: fc.record({
      offered: fc.array(name, { maxLength: 2 }),
      called: fc.array(fc.record({ name, calls: fc.nat(3), failed: fc.nat(3) }), { maxLength: 2 })
    }),
    deciders: fc.array(fc.record({ callId: name, decidedBy: name }), { minLength: 1, maxLength: 2 }),
    prompts: fc.array(name, { maxLength: 2 }),
    isCut: fc.constant(true as const)
  },
  {
    requiredKeys: [
      ...["turnId", "requestId", "trigger", "outcome", "reason", "errorCode", "messageId", "inputMessageIds"],
      ...["admittedAt", "startedAt", "settledAt", "attempts", "steps", "usage", "models", "tools", "prompts"]
    ] as never[]
  }
) as fc.Arbitrary<unknown> as fc.Arbitrary<TurnHistory>;

test("what is stored of a turn reads as it was", () => {
  fc.assert(fc.property(history, (turn) => void expect(decodeTurn(encodeTurn(turn))).toEqual(turn)));
});

const USUAL: TurnHistory = {
  turnId: "qP7BGNtO7OMal4kjrCBgk",
  requestId: "vUrngOmwBsC8si9v2g2eL",
  trigger: "ws-chat",
  outcome: "completed",
  reason: null,
  errorCode: null,
  messageId: "SXmnOHuuQA8Rp0Eft40cc",
  inputMessageIds: ["Rp0Eft40ccSXmnOHuuQA8"],
  admittedAt: END - 1_500,
  startedAt: END - 1_500,
  settledAt: END,
  attempts: [{ kind: "first", startedAt: END - 1_500, end: "settled", endedAt: END, errorCode: null, retryAt: null }],
  steps: 1,
  usage: { inputTokens: 20, outputTokens: 30, totalTokens: 50, reasoningTokens: null, cachedInputTokens: null },
  models: ["gpt-5"],
  tools: { offered: [], called: [] },
  prompts: ["db858e8c505119e9"]
};

test("a turn of one attempt takes at most 400 bytes", () => {
  expect(encodeTurn(USUAL).length).toBeLessThanOrEqual(400);
});

test("a row of an earlier build reads as it was", () => {
  expect(decodeTurn(JSON.stringify(USUAL))).toEqual(USUAL);
});

test.each(["{", "7", "null", '{"form":3}', '{"form":2}', '{"form":2,"settledAt":1,"attempts":[7]}'])(
  "a row that cannot be read is nothing: %s",
  (body) => {
    expect(decodeTurn(body)).toBeUndefined();
  }
);
