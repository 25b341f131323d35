// Whether the class lets its caller decide over an approval, from wherever it was asked.
import { sha256 } from "../../host/blobs.ts";
import { toolNameOf, type ToolPart } from "../../model/index.ts";
import type { ChatDecision } from "../../turn/hooks.ts";
import { canonicalJson, isObject } from "../../util/json.ts";
import { isThenable, type MaybePromise } from "../../util/maybe-promise.ts";
import {
  grantOf,
  type ActionApprovalDescriptor,
  type ApprovalAuthorizationContext
} from "../../feature/approval-contract.ts";
import { shownApprover } from "./approver.ts";
import type { DecidedCall } from "./decision-log.ts";
import type { ApprovalMembers } from "./capability.ts";

/** What is to be decided; `by` is the text of `approverOf`. */
export type AskedApproval = Omit<ApprovalAuthorizationContext, "approver">;

/** Why the caller may not decide this; undefined when it may. Never throws: a class that fails refuses. */
export function approvalRefusal(
  agent: Pick<ApprovalMembers, "authorizeApproval">,
  { by, ...asked }: AskedApproval
): MaybePromise<string | undefined> {
  try {
    const decision: unknown = agent.authorizeApproval({ ...asked, ...shownApprover(by) });
    return isThenable(decision) ? Promise.resolve(decision).then(refusalOf).catch(failure) : refusalOf(decision);
  } catch (error) {
    return failure(error);
  }
}

/** A call that was asked about in the chat, as the class is asked about it. */
export function askedInChat({ part, approved, by }: ChatDecision): AskedApproval {
  const { toolCallId, approval } = part;
  const action = toolNameOf(part);
  // Of an action it is the action's own: the server stored it with the question.
  const stored = isObject(approval?.descriptor) ? (approval.descriptor as Partial<ActionApprovalDescriptor>) : {};
  const input = isObject(part.input) || Array.isArray(part.input) ? part.input : {};
  return {
    executionId: toolCallId,
    source: "tool",
    descriptor: {
      ...{ requestId: "", toolCallId, action, summary: action, input, permissions: [], kind: "approval-gated" },
      ...stored
    },
    decision: approved ? "approve" : "reject",
    by: by ?? null,
    grant: { allowed: true }
  };
}

/** What a decision in the chat is recorded about. */
export function callInChat({ part, messageId }: ChatDecision): DecidedCall {
  const { toolCallId: callId } = part;
  return { executionId: callId, source: "tool", name: toolNameOf(part), callId, messageId, inputHash: hashOf(part) };
}

/** Of the input that was asked about. */
export function hashOf(part: ToolPart): string {
  return sha256(`${toolNameOf(part)} ${canonicalJson(part.input ?? null)}`);
}

function refusalOf(decision: unknown): string | undefined {
  const { allowed, reason } = grantOf(decision);
  return allowed ? undefined : (reason ?? "Nothing was done: you may not decide this.");
}

/** What failed is the developer's to know. */
function failure(error: unknown): string {
  console.error("authorizeApproval() failed: the decision is refused.", error);
  return "Nothing was done: whether you may decide this could not be found out.";
}
