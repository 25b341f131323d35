// A decision about what waits beyond its turn, as it is sent: with the question that it is about, so that an agent which
// gets it twice, or after a crash, decides no other question by it.
import type { RepeatableCall } from "./calls.ts";
import { CallMayHaveRunError } from "./errors.ts";
import { questionIn, type AskedQuestion } from "./message-list.ts";
import type { WaitingApproval } from "./view.ts";

/** An approval of `pendingApprovals`, of this client or of the agent's method. */
export type DecidedQuestion = AskedQuestion & Partial<Pick<WaitingApproval, "callId" | "executionId" | "approvalId">>;

export type CallAgent = (method: string, args: readonly unknown[], options?: RepeatableCall) => Promise<unknown>;

export interface Decided {
  readonly output: unknown;
  /** Nothing was done by it. */
  readonly isRefused: boolean;
  /** The connection broke in between: the agent may have got it twice. */
  readonly isRepeated: boolean;
}

interface SentDecision {
  readonly executionId: string;
  readonly question: AskedQuestion;
  readonly isApproved: boolean;
  readonly reason: string | undefined;
  /** What the call is to run with in place of the input that was asked about. */
  readonly input: unknown;
}

export async function sendDecision(
  call: CallAgent,
  { executionId, question, isApproved, reason, input }: SentDecision
): Promise<Decided> {
  const { inputHash, seq } = question;
  const named = { inputHash, seq };
  let isRepeated = false;
  const onRepeat = () => {
    isRepeated = true;
  };
  const options = { timeoutMs: Infinity, onRepeat };
  const output = isApproved
    ? await call("approveExecution", [executionId, { ...named, input }], options)
    : await call("rejectExecution", [executionId, reason ?? null, named], options);
  return { output, isRefused: isRefusal(output, executionId), isRepeated };
}

/** What a caller that names only a run decides: the question of now, and never one that comes after it. Throws CallMayHaveRunError. */
export async function questionOfRun(call: CallAgent, executionId: string): Promise<AskedQuestion> {
  // A class may have no such method.
  const waiting = await call("pendingApprovals", [executionId]).catch(() => undefined);
  const asked = Array.isArray(waiting) ? questionIn({ approvalDescriptor: waiting[0] as unknown }) : {};
  if (asked.mayHaveRun) throw new CallMayHaveRunError(executionId);
  return asked;
}

/** Actions return what they like; a refusal names the run that it is about. */
function isRefusal(output: unknown, executionId: string): boolean {
  if (typeof output !== "object" || output === null) return false;
  return Reflect.get(output, "status") === "error" && Reflect.get(output, "executionId") === executionId;
}
