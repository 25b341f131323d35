// What is to be done with an open turn, from the fold of its records. Total and pure; the order of the rows is the
// contract: what a person asked for comes first, then what is already known, then the budget, and only then another
// attempt.
import type { TurnFold } from "../journal/folds/turn-fold.ts";
import { exhaustionOf, isHandover, retryAtOf, type ExhaustionReason, type RecoveryLimits } from "./retry-policy.ts";

/** What earlier attempts left of the answer. */
export type Progress =
  /** Not looked at yet: that is decided before anything large is read. */
  | "unread"
  /** Nothing that would be missed. */
  | "nothing"
  | "partial"
  /** A person or a client is asked something. */
  | "awaiting"
  /** The model had finished. */
  | "finished";

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
  readonly progress: Progress;
  /** When the next attempt is due. */
  readonly retryAt: number | null;
  readonly nowMs: number;
}

export type Decision =
  | { readonly do: "settle"; readonly status: "aborted" | "skipped"; readonly reason: string }
  /** The answer is there as it will ever be. */
  | { readonly do: "complete"; readonly reason: "stream_terminal" | "awaiting_client_interaction" }
  /** First of all, the death is recorded; then it is looked at again. */
  | { readonly do: "note-death" }
  /** What was written is read; then it is looked at again. */
  | { readonly do: "examine" }
  | { readonly do: "give-up"; readonly reason: ExhaustionReason }
  | { readonly do: "wait"; readonly until: number }
  | { readonly do: "start" }
  | { readonly do: "retry" }
  | { readonly do: "continue" };

/** What the records do not say. */
export interface Circumstances extends Pick<TurnState, "refused" | "isUntried" | "progress" | "nowMs"> {
  readonly policy: RecoveryLimits & { readonly enabled: boolean };
  /** Of this process. */
  readonly epoch: string;
}

export function decide(fold: TurnFold, { policy, epoch, ...known }: Circumstances): Decision {
  return classify({
    ...known,
    attempts: fold.attempt,
    isCutOff: fold.attempts.at(-1)?.end === null,
    // Handing over is part of a healthy attempt.
    recovers: policy.enabled || isHandover(fold),
    exhausted: exhaustionOf(fold, { limits: policy, epoch, nowMs: known.nowMs }),
    retryAt: retryAtOf(fold)
  });
}

export function classify(turn: TurnState): Decision {
  if (turn.refused === "cleared" || turn.refused === "superseded") return settle("skipped", turn.refused);
  if (turn.refused === "cancelled") return settle("aborted", turn.refused);
  if (turn.attempts === 0 || turn.isUntried) return { do: "start" };
  if (turn.isCutOff) return { do: "note-death" };
  // Reading is what there is not enough memory for.
  if (turn.exhausted === "out_of_memory") return { do: "give-up", reason: turn.exhausted };
  switch (turn.progress) {
    case "unread":
      return { do: "examine" };
    case "finished":
      return { do: "complete", reason: "stream_terminal" };
    case "awaiting":
      return { do: "complete", reason: "awaiting_client_interaction" };
    case "nothing":
    case "partial":
      if (!turn.recovers) return settle("aborted", "interrupted");
      if (turn.exhausted) return { do: "give-up", reason: turn.exhausted };
      if (turn.retryAt !== null && turn.retryAt > turn.nowMs) return { do: "wait", until: turn.retryAt };
      return { do: turn.progress === "nothing" ? "retry" : "continue" };
  }
}

function settle(status: "aborted" | "skipped", reason: string): Decision {
  return { do: "settle", status, reason };
}
