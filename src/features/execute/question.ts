// Which question a decision is about. A run asks several, and the same one again after a crash; a decision that was sent
// twice must not be taken for the answer to the next one. Pure.
import { sha256 } from "../../host/blobs.ts";
import type { ApprovalQuestion } from "../../feature/approval-contract.ts";
import type { LogEntry } from "./execution-store.ts";
import type { PendingCall } from "./outcome.ts";
import { decodeValue, shownValue } from "./value-codec.ts";

export function pendingCall(executionId: string, entry: LogEntry): PendingCall {
  const { seq, connector, method, args, mayHaveRun } = entry;
  return {
    executionId,
    seq,
    connector,
    method,
    args: shownValue(decodeValue(args)),
    ...(mayHaveRun && { mayHaveRun: true })
  };
}

/** What a client is shown of it, and gives back with the decision. */
export function questionOf(entry: LogEntry): ApprovalQuestion & { readonly inputHash: string } {
  const { seq, mayHaveRun } = entry;
  return { seq, inputHash: questionHash(entry), mayHaveRun: mayHaveRun || undefined };
}

/** Of this one question: the same call made again, or asked about again after a crash, is another one to decide about. */
function questionHash({ seq, connector, method, args, askedAgain }: LogEntry, time = askedAgain): string {
  return sha256(`${seq}.${time} ${connector}.${method} ${args}`);
}

export interface FoundQuestion {
  readonly entry: LogEntry;
  readonly state: "waits" | "approved" | "rejected";
}

/** Of the calls of a run, the one that this hash was shown for; undefined: it was not asked about. */
export function askedWith(log: readonly LogEntry[], inputHash: string): FoundQuestion | undefined {
  for (const entry of log) {
    // A call that no gate asked about is asked about only after a crash.
    for (let time = entry.requiresApproval ? 0 : 1; time <= entry.askedAgain; time++) {
      if (questionHash(entry, time) !== inputHash) continue;
      // Asked again only after it was approved.
      return { entry, state: time < entry.askedAgain ? "approved" : stateOf(entry) };
    }
  }
  return undefined;
}

function stateOf({ state, order }: LogEntry): FoundQuestion["state"] {
  if (state === "pending") return "waits";
  // A call that ran and was rolled back has an answer; one that was rejected has none.
  return state === "reverted" && order === null ? "rejected" : "approved";
}
