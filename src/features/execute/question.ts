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
function questionHash({ seq, connector, method, args, askedAgain }: LogEntry): string {
  return sha256(`${seq}.${askedAgain} ${connector}.${method} ${args}`);
}

/** What a decision says about which question it is meant for. */
export interface NamedQuestion {
  readonly inputHash?: string;
  readonly seq?: number;
  /** It came from a client, which may send it a second time. */
  readonly isFromClient: boolean;
}

/** Why a decision must not decide this question of the run; undefined: it may. */
export function questionProblem(log: readonly LogEntry[], entry: LogEntry, named: NamedQuestion): string | undefined {
  const { inputHash, seq, isFromClient } = named;
  if (inputHash !== undefined) return inputHash === questionHash(entry) ? undefined : OTHER_INPUT;
  if (entry.mayHaveRun) return MAY_HAVE_RUN;
  if (seq !== undefined || !isFromClient) return undefined;
  return log.some(wasDecided) ? MAY_BE_REPEATED : undefined;
}

const OTHER_INPUT = "Nothing was done: what waits for approval has another input than the one that was decided about.";
const MAY_HAVE_RUN =
  "Nothing was done: this call may have run, because the process died in it. Look whether it did, then decide with the inputHash of this question.";
const MAY_BE_REPEATED =
  "Nothing was done: another question of this run was decided before, and this decision may be that one, sent again. Look at what waits now, then decide with the inputHash of this question.";

/** Whether a human has decided about this call, at least once. */
function wasDecided({ requiresApproval, state, askedAgain }: LogEntry): boolean {
  const timesAsked = (requiresApproval ? 1 : 0) + askedAgain;
  return timesAsked > (state === "pending" ? 1 : 0);
}
