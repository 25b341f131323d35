// What a client is told that asks whether there is something to resume, and one that has just connected. Total and
// pure; the order of the rows is the contract.
import type { NoneReason } from "./frames.ts";

/** A stream that is open, or a turn that has none yet. */
export interface ResumableTurn {
  readonly requestId: string;
  /** Continues after an answer of a client; that client's view is built by it. */
  readonly isAutoContinuation: boolean;
  readonly owner: "asker" | "another" | "nobody";
}

export interface ResumeState {
  readonly streaming: ResumableTurn | undefined;
  readonly waiting: ResumableTurn | undefined;
  /** Request of the failed turn that is still to be reported. */
  readonly failed: string | undefined;
}

export type ResumeDecision =
  /** `withhold`: live chunks would overtake the replay that the acknowledgement starts. */
  | { readonly answer: "resuming"; readonly requestId: string; readonly withhold: boolean }
  | { readonly answer: "pending"; readonly requestId: string }
  | { readonly answer: "none"; readonly reason: NoneReason };

export function decideResume({ streaming, waiting, failed }: ResumeState): ResumeDecision {
  if (streaming) {
    if (isOwnedByAnother(streaming)) return { answer: "none", reason: "continuation-owned" };
    return { answer: "resuming", requestId: streaming.requestId, withhold: true };
  }
  if (waiting?.isAutoContinuation && !isOwnedByAnother(waiting)) {
    return { answer: "pending", requestId: waiting.requestId };
  }
  if (failed !== undefined) return { answer: "resuming", requestId: failed, withhold: false };
  if (waiting && !isOwnedByAnother(waiting)) return { answer: "pending", requestId: waiting.requestId };
  // Not "idle": that would tell the client that nothing is going on anywhere.
  if (waiting) return { answer: "none", reason: "continuation-owned" };
  return { answer: "none", reason: "idle" };
}

export type ConnectDecision =
  /** No snapshot: it would overwrite the message the client is about to rebuild. */
  | { readonly send: "offer"; readonly requestId: string }
  | { readonly send: "snapshot"; readonly pending: string | undefined };

/** A new socket may take part in any stream: nobody on it has applied a chunk yet. */
export function decideConnect({ streaming, waiting }: Omit<ResumeState, "failed">): ConnectDecision {
  if (streaming) return { send: "offer", requestId: streaming.requestId };
  return { send: "snapshot", pending: waiting && !isOwnedByAnother(waiting) ? waiting.requestId : undefined };
}

function isOwnedByAnother(turn: ResumableTurn): boolean {
  return turn.isAutoContinuation && turn.owner === "another";
}
