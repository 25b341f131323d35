// Records to test with: one builder per type that tests vary, and one sample of every type.
import { approvalId, callId, epochId, messageId, requestId, turnId, type TurnId } from "../util/ids.ts";
import type {
  AttemptStarted,
  CallOutcome,
  CallSettled,
  CallStarted,
  ContentSegment,
  JournalRecord,
  RecordType,
  TurnAdmitted,
  TurnSettled,
  UnknownRecord
} from "./records.ts";

export const T1 = turnId("turn-1");
export const T2 = turnId("turn-2");

export function admitted(turn: TurnId = T1, more: Partial<TurnAdmitted> = {}): TurnAdmitted {
  return {
    type: "turn-admitted",
    turnId: turn,
    at: 1000,
    generation: 0,
    messageId: messageId(`answer-of-${turn}`),
    requestId: requestId(`request-of-${turn}`),
    trigger: "ws-chat",
    continuation: false,
    parentMessageId: null,
    input: [{ id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] }],
    inputMessageIds: [messageId("u1")],
    body: { model: "small" },
    channel: "web",
    clientTools: [{ name: "locate", description: null, parameters: { type: "object" } }],
    isDeferred: false,
    supersedable: false,
    extendsAnswer: false,
    questionId: null,
    resolvesMessageId: null,
    idempotencyId: null,
    notBeforeAt: null,
    entry: null,
    ...more
  };
}

export function started(attempt: number, firstChunk = 0, more: Partial<AttemptStarted> = {}): AttemptStarted {
  return {
    type: "attempt-started",
    turnId: T1,
    at: 1100,
    attempt,
    kind: attempt === 1 ? "first" : "continue",
    firstChunk,
    keeps: firstChunk,
    repairs: 0,
    ...more
  };
}

export function delta(text: string): string {
  return JSON.stringify({ type: "text-delta", id: "0", delta: text });
}

export function segment(attempt: number, firstChunk: number, chunks: string[]): ContentSegment {
  return { type: "content-segment", turnId: T1, at: 1200, attempt, firstChunk, chunks };
}

export function call(name: string, more: Partial<CallStarted> = {}): CallStarted {
  return {
    type: "call-started",
    turnId: T1,
    at: 1300,
    attempt: 1,
    callId: callId(name),
    step: 0,
    toolName: "weather",
    executor: "server",
    dynamic: false,
    input: { city: "Ulm" },
    ...more
  };
}

export function settledCall(name: string, outcome: CallOutcome, more: Partial<CallSettled> = {}): CallSettled {
  return {
    type: "call-settled",
    turnId: T1,
    at: 1400,
    attempt: null,
    callId: callId(name),
    outcome,
    ...more
  };
}

export function settled(more: Partial<TurnSettled> = {}): TurnSettled {
  return {
    type: "turn-settled",
    turnId: T1,
    at: 2000,
    attempt: null,
    outcome: "completed",
    reason: null,
    error: null,
    output: null,
    messageStored: true,
    responds: false,
    ...more
  };
}

export function unknown(more: Partial<UnknownRecord> = {}): UnknownRecord {
  return {
    type: "unknown",
    turnId: T1,
    at: 1500,
    recordType: "mood-changed",
    range: null,
    ...more
  };
}

/** As a newer build wrote it. */
export function futureText(header: object = {}, body = '{"mood" : "curious"}'): string {
  return `${JSON.stringify({ type: "mood-changed", version: 3, turn: T1, at: 1500, ...header })}\n${body}`;
}

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: null, cachedInputTokens: 2 };
const error = { code: "provider", message: "It failed." };

export const SAMPLES: { readonly [Type in RecordType]: Extract<JournalRecord, { type: Type }> } = {
  "turn-admitted": admitted(),
  "attempt-started": started(1),
  "attempt-ended": { type: "attempt-ended", turnId: T1, at: 1, attempt: 1, reason: "stalled", error, retryAt: 5 },
  "content-segment": segment(1, 0, [delta("a"), delta("line\nbreak"), '{"type":"text-end","id":"0"}']),
  "call-started": call("c1"),
  "call-settled": settledCall("c1", { kind: "output", output: { degrees: 21.5 } }),
  "approval-asked": {
    type: "approval-asked",
    turnId: T1,
    at: 1,
    attempt: 1,
    callId: callId("c1"),
    approvalId: approvalId("a1"),
    descriptor: { summary: "Send?" }
  },
  "approval-answered": {
    type: "approval-answered",
    turnId: T1,
    at: 1,
    callId: callId("c1"),
    approvalId: approvalId("a1"),
    approved: true,
    reason: null
  },
  "model-called": { type: "model-called", turnId: T1, at: 1, attempt: 1, modelId: "m", tools: ["a", "b"], prompt: "p" },
  "step-finished": {
    type: "step-finished",
    turnId: T1,
    at: 1,
    attempt: 1,
    step: 0,
    finishReason: "stop",
    usage
  },
  "turn-granted": {
    type: "turn-granted",
    turnId: T1,
    at: 1,
    attempt: 1,
    allowed: true,
    reason: null,
    permissions: ["billing:read"]
  },
  "recovery-started": { type: "recovery-started", turnId: T1, at: 1, epoch: epochId("e2") },
  "turn-stashed": { type: "turn-stashed", turnId: T1, at: 1, attempt: 1, data: { page: 3 } },
  "turn-cancel-requested": { type: "turn-cancel-requested", turnId: T1, at: 1, reason: "enough" },
  "turn-stop-requested": { type: "turn-stop-requested", turnId: T1, at: 1 },
  "input-edited": {
    type: "input-edited",
    turnId: T1,
    at: 1,
    input: [{ id: "u1", role: "user", parts: [{ type: "text", text: "ho" }] }]
  },
  "steer-applied": {
    type: "steer-applied",
    turnId: T1,
    at: 1,
    from: T2,
    fromRequestId: "request-of-turn-2",
    rootTurnId: T2,
    rootRequestId: "request-of-turn-2",
    rootTrigger: "rpc",
    idempotencyId: null,
    step: 2,
    steps: 2,
    tokens: 40
  },
  "steer-passed": { type: "steer-passed", turnId: T1, at: 1, runId: "run-1" },
  "turn-settled": settled({ error, outcome: "failed", reason: "attempts" }),
  "turn-responded": { type: "turn-responded", turnId: T1, at: 1 },
  "conversation-cleared": { type: "conversation-cleared", turnId: null, at: 1, generation: 1 },
  "conversation-changed": {
    type: "conversation-changed",
    turnId: null,
    at: 1,
    change: "edited",
    by: "client",
    why: "posted",
    messageIds: ["m1", "m2"],
    count: 2,
    callId: null
  },
  "record-quarantined": {
    type: "record-quarantined",
    turnId: T1,
    at: 1,
    recordType: "content-segment",
    reason: "its body is missing",
    lostChunks: { firstChunk: 4, chunkCount: 2 }
  }
};
