// The state of each tool call. States only move forward along one order, and the first terminal state wins: whatever is
// repeated, late or contradictory changes nothing. Outcomes address calls, never messages or positions.
import { assertNever } from "../../util/assert-never.ts";
import type { ApprovalId, CallId } from "../../util/ids.ts";
import type { Json } from "../../util/json.ts";
import type {
  ApprovalAnswered,
  ApprovalAsked,
  CallExecutor,
  CallOutcome,
  CallSettled,
  CallStarted,
  ReadableRecord
} from "../records.ts";

/** Lowest first; all terminal states share the top rank. */
const RANKS = {
  "input-available": 0,
  "approval-requested": 1,
  "approval-responded": 2,
  output: 3,
  error: 3,
  denied: 3,
  unknown: 3
} as const;

export type CallState = keyof typeof RANKS;

/** The rule every holder of call states uses: forward only, and never out of a terminal state. */
export function canAdvance(from: CallState, to: CallState): boolean {
  return RANKS[to] > RANKS[from];
}

interface ApprovalView {
  readonly approvalId: ApprovalId;
  readonly descriptor: Json;
  /** The name of the person who decided, if it is known. */
  readonly decidedBy?: string;
  /** What was asked about, where the call was approved with another input. */
  readonly askedInput?: Json;
  /** That other input before its schema changed it, where it did. */
  readonly givenInput?: Json;
}

export interface CallView {
  readonly callId: CallId;
  readonly toolName: string;
  readonly executor: CallExecutor;
  readonly dynamic: boolean;
  readonly input: Json;
  readonly state: CallState;
  readonly approval: ApprovalView | null;
  readonly outcome: CallOutcome | null;
}

/** In the order in which the calls started. */
export type CallsFold = ReadonlyMap<CallId, CallView>;

export const NO_CALLS: CallsFold = new Map();

/** The calls after this record; the same object when nothing changed. */
export function foldCalls(calls: CallsFold, record: ReadableRecord): CallsFold {
  switch (record.type) {
    case "call-started":
      return calls.has(record.callId) ? calls : replaced(calls, startedCall(record));
    case "approval-asked":
      return changed(calls, record.callId, (call) => ask(call, record));
    case "approval-answered":
      return changed(calls, record.callId, (call) => answer(call, record));
    case "call-settled":
      return changed(calls, record.callId, (call) => settle(call, record));
    default:
      return calls;
  }
}

/** What becomes of a call without an outcome when no attempt runs it any more. */
export type OpenCall =
  /** The user or a client can still answer it: its turn waits for it, and no turn ends it. */
  | "awaited"
  /** It was allowed, and the turn that goes on from its answer runs it. */
  | "allowed"
  /** Its provider runs it, and may finish it in a later answer. */
  | "provided"
  /** It is settled as interrupted, and never run again by itself. */
  | "cut-off";

/** The states of calls in records, and of their parts in messages. */
const WITH_OUTCOME: ReadonlySet<unknown> = new Set([
  ...["output", "error", "denied", "unknown"],
  ...["output-available", "output-error", "output-denied"]
]);

/** Undefined: the call has its outcome. */
export function openCall(call: { readonly state: unknown; readonly executor: CallExecutor }): OpenCall | undefined {
  const { state, executor } = call;
  if (WITH_OUTCOME.has(state)) return undefined;
  if (state === "approval-requested") return "awaited";
  if (executor === "client" && (state === "input-available" || state === "approval-responded")) return "awaited";
  if (state === "approval-responded") return "allowed";
  return executor === "provider" ? "provided" : "cut-off";
}

export function isAwaited(call: Pick<CallView, "state" | "executor">): boolean {
  return openCall(call) === "awaited";
}

function startedCall(record: CallStarted): CallView {
  const { callId, toolName, executor, dynamic, input } = record;
  return {
    ...{ callId, toolName, executor, dynamic, input },
    state: "input-available",
    approval: null,
    outcome: null
  };
}

function ask(call: CallView, record: ApprovalAsked): CallView {
  if (!canAdvance(call.state, "approval-requested")) return call;
  const { approvalId, descriptor } = record;
  return { ...call, state: "approval-requested", approval: { approvalId, descriptor } };
}

/** Only the question that was asked can be answered. */
function answer(call: CallView, record: ApprovalAnswered): CallView {
  const { approval } = call;
  if (call.state !== "approval-requested" || approval?.approvalId !== record.approvalId) return call;
  const { approved, reason, decidedBy, input, givenInput } = record;
  const isChanged = input !== undefined;
  const changed = isChanged && { askedInput: call.input, givenInput };
  const decided = { ...call, ...(isChanged && { input }), approval: { ...approval, decidedBy, ...changed } };
  return approved
    ? { ...decided, state: "approval-responded" }
    : { ...decided, state: "denied", outcome: { kind: "denied", reason } };
}

function settle(call: CallView, record: CallSettled): CallView {
  const state = stateOf(record.outcome);
  if (!canAdvance(call.state, state)) return call;
  return { ...call, state, outcome: record.outcome };
}

function stateOf(outcome: CallOutcome): CallState {
  switch (outcome.kind) {
    case "output":
    case "error":
    case "denied":
    case "unknown":
      return outcome.kind;
    default:
      return assertNever(outcome);
  }
}

function changed(calls: CallsFold, callId: CallId, change: (call: CallView) => CallView): CallsFold {
  const call = calls.get(callId);
  if (!call) return calls;
  const next = change(call);
  return next === call ? calls : replaced(calls, next);
}

function replaced(calls: CallsFold, call: CallView): CallsFold {
  return new Map(calls).set(call.callId, call);
}
