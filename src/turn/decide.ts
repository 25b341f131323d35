// What is to be done with an open turn, from the fold of its records. Total and pure; the order of the rows is the
// contract: what a person asked for comes first, then what is already known, then the budget, and only then another
// attempt. The runner asks twice: before what was written is read, which may be large, and after it. When the next attempt
// is due is no decision: the runner takes no turn before its time.
import type { TurnFold } from "../journal/folds/turn-fold.ts";
import { exhaustionOf, isHandover, type ExhaustionReason, type RecoveryLimits } from "./retry-policy.ts";

/** What earlier attempts left of the answer. */
export type Progress =
  /** Nothing that would be missed. */
  | "nothing"
  | "partial"
  /** A person or a client is asked something. */
  | "awaiting"
  /** The model had finished. */
  | "finished";

/** What is known of a turn without reading what was written. */
export interface TurnState {
  /** Why it must not run at all. */
  readonly refused: "cleared" | "cancelled" | "superseded" | undefined;
  /** How many attempts were started. */
  readonly attempts: number;
  /** The newest attempt was recorded by this process and has not run yet. */
  readonly isUntried: boolean;
  /** The newest attempt has no end: its process died. */
  readonly isCutOff: boolean;
  readonly recovers: boolean;
  readonly exhausted: ExhaustionReason | undefined;
}

export interface ReadTurnState extends Pick<TurnState, "refused" | "recovers" | "exhausted"> {
  readonly progress: Progress;
  /** Another turn takes over: that is recorded. */
  readonly isSteered: boolean;
}

type Settle = { readonly do: "settle"; readonly status: "aborted" | "skipped"; readonly reason: string };
type GiveUp = { readonly do: "give-up"; readonly reason: ExhaustionReason };

/** What is to be done before what was written is read. */
export type UnreadDecision =
  | Settle
  | GiveUp
  | { readonly do: "start" }
  /** First of all, the death is recorded; then it is looked at again. */
  | { readonly do: "note-death" }
  /** What was written is read; then it is looked at again. */
  | { readonly do: "examine" };

/** What is to be done after it was read. */
export type ReadDecision =
  | Settle
  | GiveUp
  /** The answer is there as it will ever be. */
  | { readonly do: "complete"; readonly reason: "stream_terminal" | "awaiting_client_interaction" | "steered" }
  | { readonly do: "try-again" };

/** What the records do not say. */
export interface Circumstances extends Pick<TurnState, "refused" | "isUntried"> {
  readonly nowMs: number;
  readonly policy: RecoveryLimits & { readonly enabled: boolean };
  /** Of this process. */
  readonly epoch: string;
  /** As `BudgetOf.awaitsOutcome`. */
  readonly awaitsOutcome: boolean;
  /** As `ReadTurnState.isSteered`. */
  readonly isSteered: boolean;
}

export function decideUnread(fold: TurnFold, known: Circumstances): UnreadDecision {
  return classifyUnread(stateOf(fold, known));
}

export function decideRead(fold: TurnFold, progress: Progress, known: Circumstances): ReadDecision {
  return classifyRead({ ...stateOf(fold, known), progress, isSteered: known.isSteered });
}

function stateOf(fold: TurnFold, { refused, isUntried, policy, ...known }: Circumstances): TurnState {
  return {
    refused,
    attempts: fold.attempt,
    isUntried,
    isCutOff: fold.attempts.at(-1)?.end === null,
    // Handing over is part of a healthy attempt.
    recovers: policy.enabled || isHandover(fold),
    exhausted: exhaustionOf(fold, { ...known, limits: policy })
  };
}

export function classifyUnread(turn: TurnState): UnreadDecision {
  const isFresh = turn.attempts === 0 || turn.isUntried;
  // What an attempt has written stays, also of a turn that must not go on.
  if (turn.refused) return isFresh ? settleRefused(turn.refused) : { do: "examine" };
  if (isFresh) return { do: "start" };
  if (turn.isCutOff) return { do: "note-death" };
  // Reading is what there is not enough memory for.
  if (turn.exhausted === "out_of_memory") return { do: "give-up", reason: turn.exhausted };
  return { do: "examine" };
}

export function classifyRead(turn: ReadTurnState): ReadDecision {
  if (turn.refused) return settleRefused(turn.refused);
  if (turn.isSteered) return { do: "complete", reason: "steered" };
  if (turn.progress === "finished") return { do: "complete", reason: "stream_terminal" };
  if (turn.progress === "awaiting") return { do: "complete", reason: "awaiting_client_interaction" };
  if (!turn.recovers) return { do: "settle", status: "aborted", reason: "interrupted" };
  if (turn.exhausted) return { do: "give-up", reason: turn.exhausted };
  return { do: "try-again" };
}

function settleRefused(refused: NonNullable<TurnState["refused"]>): Settle {
  return { do: "settle", status: refused === "cancelled" ? "aborted" : "skipped", reason: refused };
}
