// An approval as a state machine over the fold of calls: a call asks, several surfaces decide (also late, twice, or about
// another question), the process dies, and a continuation runs what was allowed.
import { foldCalls, NO_CALLS, openCall, type CallsFold } from "../../src/journal/folds/calls-fold.ts";
import { call, settledCall, T1 } from "../../src/journal/record-samples.test-support.ts";
import type { ApprovalAnswered, ApprovalAsked } from "../../src/journal/records.ts";
import { approvalId, callId } from "../../src/util/ids.ts";
import type { Machine, Step } from "./explore.ts";

export interface ApprovalRules {
  readonly fold: typeof foldCalls;
  readonly openCall: typeof openCall;
  /** The outcome is written before another process may look at the call. */
  readonly settlesCutOff: boolean;
}

export const APPROVAL_RULES: ApprovalRules = { fold: foldCalls, openCall, settlesCutOff: true };

interface ApprovalState {
  readonly calls: CallsFold;
  readonly isAlive: boolean;
  readonly crashes: number;
  /** The first decision about the question that was asked. */
  readonly decision: "approved" | "denied" | undefined;
  /** What was approved, and what ran. */
  readonly approvedInput: unknown;
  readonly ranWith: readonly unknown[];
  /** A continuation runs the call. */
  readonly isRunning: boolean;
  readonly asked: number;
}

const CALL = callId("c");
const CRASHES = 2;
const SURFACES = ["page", "messenger", "Studio"] as const;

export function approvalMachine(rules: ApprovalRules = APPROVAL_RULES): Machine<ApprovalState> {
  const fold = (state: ApprovalState, record: Parameters<typeof foldCalls>[1]): ApprovalState => ({
    ...state,
    calls: rules.fold(state.calls, record)
  });
  const decided = (state: ApprovalState, record: ApprovalAnswered): ApprovalState => {
    const after = fold(state, record);
    if (after.calls === state.calls || state.decision) return after;
    return {
      ...after,
      decision: record.approved ? "approved" : "denied",
      approvedInput: record.approved ? (after.calls.get(CALL)?.input ?? null) : null
    };
  };
  return {
    initial: {
      calls: NO_CALLS,
      isAlive: true,
      crashes: 0,
      decision: undefined,
      approvedInput: null,
      ranWith: [],
      isRunning: false,
      asked: 0
    },
    *steps(state): Generator<Step<ApprovalState>> {
      const { calls, isAlive, crashes, isRunning, asked } = state;
      if (!isAlive) {
        yield { name: "start of a process", to: recovered({ ...state, isAlive: true }, rules) };
        return;
      }
      if (crashes < CRASHES) {
        yield {
          name: "crash",
          isDisturbance: true,
          to: { ...state, isAlive: false, isRunning: false, crashes: crashes + 1 }
        };
      }
      const known = calls.get(CALL);
      yield { name: "call", to: fold(state, call("c")) };
      for (const id of ["first", "second"]) {
        if (known && asked < 3) yield { name: `asks ${id}`, to: { ...fold(state, question(id)), asked: asked + 1 } };
      }
      for (const surface of SURFACES) {
        for (const id of ["first", "second"]) {
          yield { name: `${surface} approves ${id}`, to: decided(state, answered(id, true)) };
          yield { name: `${surface} denies ${id}`, to: decided(state, answered(id, false)) };
        }
      }
      yield {
        name: "page approves first, changed",
        to: decided(state, { ...answered("first", true), input: { city: "Bonn" } })
      };
      if (known && rules.openCall(known) === "allowed" && !isRunning) {
        yield {
          name: "continuation runs it",
          to: { ...state, isRunning: true, ranWith: [...state.ranWith, known.input] }
        };
      }
      if (isRunning) {
        yield {
          name: "it ends",
          to: { ...fold(state, settledCall("c", { kind: "output", output: 1 })), isRunning: false }
        };
      }
      yield {
        name: "expires",
        isDisturbance: true,
        to: isRunning ? state : fold(state, settledCall("c", { kind: "denied", reason: "expired" }))
      };
    },
    check(after, before) {
      if (after.ranWith.length > 1) return "it ran twice";
      const [ran] = after.ranWith;
      if (after.ranWith.length > 0 && after.decision !== "approved") return "it ran without an approval";
      if (ran !== undefined && JSON.stringify(ran) !== JSON.stringify(after.approvedInput))
        return "it ran with another input";
      if (before.decision && after.decision !== before.decision) return "a second decision won";
      const [was, is] = [before.calls.get(CALL), after.calls.get(CALL)];
      if (was?.outcome && is?.outcome !== was.outcome) return "an outcome changed";
      if (was && was.state === "denied" && is?.state !== "denied") return "a refused call was opened again";
      if (was?.state === "approval-responded" && JSON.stringify(is?.input) !== JSON.stringify(was.input))
        return "an approved input changed";
      return undefined;
    },
    isAtRest: ({ calls }) => calls.get(CALL)?.outcome !== null && calls.has(CALL)
  };
}

/** What ran when the process died is settled, and not run again by itself. */
function recovered(state: ApprovalState, rules: ApprovalRules): ApprovalState {
  const known = state.calls.get(CALL);
  const wasCutOff = state.ranWith.length > 0 && known !== undefined && known.outcome === null;
  if (!rules.settlesCutOff || !wasCutOff) return state;
  return { ...state, calls: rules.fold(state.calls, settledCall("c", { kind: "unknown", reason: "interrupted" })) };
}

function question(id: string): ApprovalAsked {
  return {
    type: "approval-asked",
    turnId: T1,
    at: 1,
    attempt: 1,
    callId: CALL,
    approvalId: approvalId(id),
    descriptor: null
  };
}

function answered(id: string, approved: boolean): ApprovalAnswered {
  return {
    type: "approval-answered",
    turnId: T1,
    at: 1,
    callId: CALL,
    approvalId: approvalId(id),
    approved,
    reason: null
  };
}
