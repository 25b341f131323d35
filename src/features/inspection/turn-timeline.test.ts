// Records to a timeline, case by case.
import { describe, expect, test } from "vitest";
import { NO_STEP_USAGE } from "../../journal/folds/turn-fold.ts";
import type { TurnHistory } from "../../journal/history.ts";
import type { ReadableRecord, SequencedRecord } from "../../journal/records.ts";
import { callId, turnId } from "../../util/ids.ts";
import { withCosts } from "./cost.ts";
import { foldTimeline, timelineOfHistory, withDecisions } from "./turn-timeline.ts";

const ID = turnId("t");
const USAGE = { ...NO_STEP_USAGE, inputTokens: 10, outputTokens: 2, totalTokens: 12 };

type Part<Type extends ReadableRecord["type"]> = Partial<Extract<ReadableRecord, { type: Type }>>;

/** A record of the turn; fields that a case does not name have some value. */
function record<Type extends ReadableRecord["type"]>(type: Type, at: number, fields: Part<Type> = {}): ReadableRecord {
  const attempt = { attempt: 1, kind: "first", firstChunk: 0, keeps: 0, repairs: 0 };
  const admission = { requestId: "r", trigger: "ws-chat", channel: null, continuation: false, inputMessageIds: ["u"] };
  const others = { error: null, retryAt: null, reason: null, outcome: "completed", messageId: "a", chunks: [] };
  const base = type === "turn-admitted" ? { ...others, ...admission } : { ...others, ...attempt };
  return { ...base, type, turnId: ID, at, ...fields } as object as ReadableRecord;
}

function folded(...records: ReadableRecord[]) {
  return foldTimeline(
    ID,
    records.map((one, index): SequencedRecord => ({ sequence: index + 1, record: one }))
  );
}

const ADMITTED = record("turn-admitted", 1000);
const STARTED = record("attempt-started", 1500);
const text = (at: number, ...types: string[]) =>
  record("content-segment", at, { firstChunk: 0, chunks: types.map((type) => `{"type":"${type}","id":"1"}`) });
const started = (at: number, id: string, executor: "server" | "client" = "server") =>
  record("call-started", at, {
    callId: callId(id),
    toolName: "look",
    executor,
    input: { a: 1 },
    step: 0,
    dynamic: false
  });
const settled = (at: number, id: string) =>
  record("call-settled", at, { callId: callId(id), outcome: { kind: "output", output: "seen" } });
const finished = (at: number) => record("step-finished", at, { step: 0, finishReason: "stop", usage: USAGE });

describe("status", () => {
  const cases: [name: string, records: ReadableRecord[], status: string][] = [
    ["a turn that was only admitted is queued", [ADMITTED], "queued"],
    ["one with an attempt is running", [ADMITTED, STARTED], "running"],
    ["a call that a client owes makes it waiting", [ADMITTED, STARTED, started(1600, "c", "client")], "waiting"],
    ["an outcome is its status", [ADMITTED, STARTED, record("turn-settled", 2000, { outcome: "aborted" })], "aborted"]
  ];
  test.each(cases)("%s", (_name, records, status) => expect(folded(...records).status).toBe(status));
});

test("the wait in the queue lasts from the admission to the first attempt", () => {
  expect(folded(ADMITTED, STARTED, record("attempt-started", 9000, { attempt: 2, kind: "retry" })).queueMs).toBe(500);
});

test("an attempt that the next one follows without a word was interrupted, and the next says why it is there", () => {
  const next = record("attempt-started", 5000, { attempt: 2, kind: "continue", keeps: 7, firstChunk: 7 });
  const { attempts } = folded(ADMITTED, STARTED, text(1600, "text-delta"), next);
  expect(attempts.map(({ end, endedAt }) => [end, endedAt])).toEqual([
    ["interrupted", 5000],
    [null, null]
  ]);
  expect(attempts[1]?.decision).toBe(
    "The process died: the model was asked to go on where its answer stopped; 7 chunks of the answer were kept."
  );
});

test("a failure names its code in the decision that follows it", () => {
  const ended = record("attempt-ended", 1700, {
    reason: "failed",
    error: { code: "rate-limit", message: "Slow down." }
  });
  const { attempts } = folded(ADMITTED, STARTED, ended, record("attempt-started", 2700, { attempt: 2, kind: "retry" }));
  expect(attempts[0]).toMatchObject({ end: "failed", errorCode: "rate-limit" });
  expect(attempts[1]?.decision).toMatch(/^The attempt before it failed \(rate-limit\): the model was asked again/);
});

test("a switch says which model was asked in place of which, and each step which one wrote it", () => {
  const called = (attempt: number, chosen: string, more: Part<"model-called"> = {}) =>
    record("model-called", 1600, { attempt, modelId: chosen, prompt: "p", tools: [], chosen, ...more });
  const error = { code: "transient", message: "" };
  const next = { model: "b/two", keepsText: false };
  const { attempts, usage } = folded(
    ADMITTED,
    STARTED,
    called(1, "a/one"),
    record("attempt-ended", 1700, { reason: "failed", error, retryAt: null, next }),
    record("attempt-started", 1700, { attempt: 2, kind: "retry" }),
    called(2, "b/two"),
    record("model-called", 1750, { attempt: 2, modelId: "x", prompt: "p", tools: [], beside: "c/three" }),
    record("step-finished", 1800, {
      ...{ attempt: 2, step: 0, finishReason: "stop", usage: USAGE, model: "b/two" },
      cancelled: [{ model: "c/three", usage: { ...NO_STEP_USAGE, inputTokens: 10, totalTokens: 10 } }]
    })
  );
  expect(attempts).toMatchObject([
    { model: "a/one", nextModel: "b/two" },
    { model: "b/two", modelId: "b/two", steps: [{ model: "b/two", cancelled: [{ model: "c/three" }] }] }
  ]);
  expect(attempts[1]?.decision).toContain("(transient): b/two was asked in place of a/one");
  expect(usage.totalTokens).toBe(22);
  const prices = [
    { provider: "b", model: "two", input: 1_000_000, output: 0 },
    { provider: "c", model: "three", input: 2_000_000, output: 0 }
  ];
  expect(withCosts(attempts, prices).cost).toEqual({ amount: 30, currency: "USD" });
});

test("the first content of a step is what the model wrote, not what opened the stream", () => {
  const called = record("model-called", 1510, { modelId: "m", tools: [], prompt: "p" });
  const { attempts } = folded(
    ADMITTED,
    STARTED,
    called,
    text(1530, "start", "start-step"),
    text(1900, "text-delta"),
    finished(2000)
  );
  expect(attempts[0]).toMatchObject({ modelId: "m", prompt: "p" });
  expect(attempts[0]?.steps).toMatchObject([
    { startedAt: 1510, firstContentAt: 1900, finishedAt: 2000, usage: USAGE, finishReason: "stop" }
  ]);
});

test("a step after tool calls begins when the last of them is settled", () => {
  const { attempts, usage } = folded(
    ...[ADMITTED, STARTED, text(1600, "tool-input-start"), started(1700, "c"), finished(1710), settled(2500, "c")],
    ...[text(2510, "tool-output-available", "finish-step"), text(3000, "text-delta"), finished(3100)]
  );
  expect(
    attempts[0]?.steps.map(({ startedAt, firstContentAt, calls }) => [startedAt, firstContentAt, calls.length])
  ).toEqual([
    [1600, 1600, 1],
    [2500, 3000, 0]
  ]);
  expect(attempts[0]?.steps[0]?.calls[0]).toMatchObject({ startedAt: 1700, settledAt: 2500, status: "output" });
  expect(usage).toEqual({ ...USAGE, inputTokens: 20, outputTokens: 4, totalTokens: 24 });
});

test("the first outcome of a call stays, and an outcome of a call that is not known changes nothing", () => {
  const late = record("call-settled", 3000, { callId: callId("c"), outcome: { kind: "error", errorText: "late" } });
  const { attempts } = folded(ADMITTED, STARTED, started(1700, "c"), settled(1800, "c"), late, settled(1900, "other"));
  expect(attempts[0]?.steps[0]?.calls).toMatchObject([{ status: "output", settledAt: 1800, output: { text: "seen" } }]);
});

test("an approval shows when it was asked, when and how it was decided, and by whom the ledger says", () => {
  const asked = record("approval-asked", 1800, { callId: callId("c"), approvalId: "p" as never, descriptor: null });
  const answered = record("approval-answered", 2800, {
    callId: callId("c"),
    approvalId: "p" as never,
    approved: false,
    reason: "no"
  });
  const timeline = folded(ADMITTED, STARTED, started(1700, "c"), asked, answered);
  const named = withDecisions(timeline, () => ({ decidedBy: "Ada" }));
  expect(named.attempts[0]?.steps[0]?.calls[0]).toMatchObject({
    status: "denied",
    approval: { askedAt: 1800, answeredAt: 2800, approved: false, reason: "no", by: "Ada" }
  });
});

test("records of other turns change nothing, and the same records give the same timeline", () => {
  const other = { ...record("attempt-started", 1600), turnId: turnId("other") } as ReadableRecord;
  expect(folded(ADMITTED, other, STARTED)).toEqual(folded(ADMITTED, STARTED));
});

test("a long input is cut, with its length", () => {
  const long = record("call-started", 1700, {
    callId: callId("c"),
    toolName: "look",
    executor: "server",
    input: "x".repeat(5_000_000)
  });
  const call = folded(ADMITTED, STARTED, long).attempts[0]?.steps[0]?.calls[0];
  expect(call?.input).toMatchObject({ chars: 5_000_000, isCut: true });
  expect(call?.input.text.length).toBe(20_000);
});

test("a turn whose records are gone shows what its history row keeps", () => {
  const attempt = {
    kind: "first",
    startedAt: 1500,
    end: "interrupted",
    endedAt: 4000,
    errorCode: null,
    retryAt: null
  } as const;
  const history: TurnHistory = {
    ...{ turnId: "t", requestId: "r", trigger: "rpc", outcome: "completed", reason: null, errorCode: null },
    ...{ messageId: "a", inputMessageIds: ["u"], admittedAt: 1000, startedAt: 1500, settledAt: 6000 },
    attempts: [attempt, { ...attempt, kind: "continue", startedAt: 4000, end: "settled", endedAt: 6000 }],
    ...{ steps: 2, usage: USAGE, models: ["m"], tools: { offered: [], called: [] }, prompts: ["p"] }
  };
  const timeline = timelineOfHistory(history, []);
  expect(timeline).toMatchObject({ status: "completed", queueMs: 500, usage: USAGE });
  expect(timeline.attempts.map(({ end, decision }) => [end, decision])).toEqual([
    ["interrupted", null],
    ["settled", "The process died: the model was asked to go on where its answer stopped."]
  ]);
});
