// Questions of workflows among everything that waits for humans.
import {
  noActions,
  type ActionOutput,
  type ApprovalDecision,
  type ApprovalSource,
  type PendingApproval
} from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import type { AnsweredQuestion, WaitingQuestion, WorkflowApprovals } from "./workflow-approvals.ts";

type Decision = ApprovalDecision & { readonly reason?: string };

export function questionsSource(questions: WorkflowApprovals, agent: object): ApprovalSource {
  const decide = async (executionId: string, decision: Decision & { readonly isApproved: boolean }) => {
    const [asked] = questions.waiting(executionId);
    if (asked) return decideQuestion({ questions, agent, asked }, decision);
    const decided = questions.decided(executionId);
    return decided ? decideAgain(agent, decided, decision) : noActions(executionId);
  };
  return {
    get isInUse() {
      return questions.hasAny;
    },
    isLast: true,
    owns: (executionId) => questions.waiting(executionId).length > 0 || questions.decided(executionId) !== undefined,
    pendingApprovals: (executionId) => questions.waiting(executionId).map(approvalOf),
    approveExecution: (executionId, decision) => decide(executionId, { ...decision, isApproved: true }),
    rejectExecution: (executionId, decision) => decide(executionId, { ...decision, isApproved: false })
  };
}

async function decideQuestion(
  { questions, agent, asked }: { questions: WorkflowApprovals; agent: object; asked: WaitingQuestion },
  { isApproved, reason, by, inputHash }: Decision & { readonly isApproved: boolean }
): Promise<ActionOutput> {
  const { executionId } = asked;
  if (inputHash !== undefined && inputHash !== asked.inputHash) {
    return refused(
      executionId,
      "Nothing was done: what waits for approval has another input than the one decided about."
    );
  }
  const refusal = await questionRefusal(agent, asked, { isApproved, by });
  if (refusal !== undefined) return refused(executionId, refusal);
  const decision = { approved: isApproved, reason, by };
  return questions.decide(asked, decision) ? decision : noActions(executionId);
}

/** The decision sent again, by the same person and over the same input, gets its first answer and does nothing. */
async function decideAgain(
  agent: object,
  decided: AnsweredQuestion,
  { isApproved, by, inputHash }: Decision & { readonly isApproved: boolean }
): Promise<ActionOutput> {
  const { executionId, decision } = decided;
  const isSame = inputHash === decided.inputHash && isApproved === decision.approved && by === decision.by;
  if (!isSame) return noActions(executionId);
  const refusal = await questionRefusal(agent, decided, { isApproved, by });
  return refusal === undefined ? decision : refused(executionId, refusal);
}

/** Why the caller may not decide this question; undefined: it may. */
function questionRefusal(
  agent: object,
  asked: WaitingQuestion,
  { isApproved, by }: { readonly isApproved: boolean; readonly by: string | undefined }
): MaybePromise<string | undefined> {
  return approvals.of(agent).refusal({
    ...approvalOf(asked),
    decision: isApproved ? "approve" : "reject",
    by: by ?? null,
    grant: { allowed: true }
  });
}

function refused(executionId: string, error: string): ActionOutput {
  return { status: "error", executionId, error };
}

function approvalOf({ executionId, inputHash, workflow, summary, input, risk }: WaitingQuestion): PendingApproval {
  return {
    executionId,
    source: "workflow",
    descriptor: {
      requestId: workflow.id,
      toolCallId: executionId,
      action: workflow.stepName,
      summary,
      input,
      permissions: [],
      risk,
      kind: "durable-pause"
    },
    inputHash
  };
}
