// Questions of workflows among everything that waits for humans.
import {
  noActions,
  type ActionOutput,
  type ApprovalDecision,
  type ApprovalSource,
  type PendingApproval
} from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import type { WaitingQuestion, WorkflowApprovals } from "../submissions/workflow-approvals.ts";

type Decision = ApprovalDecision & { readonly reason?: string };

export function questionsSource(questions: WorkflowApprovals, agent: object): ApprovalSource {
  const decide = async (executionId: string, decision: Decision & { readonly isApproved: boolean }) => {
    const [asked] = questions.waiting(executionId);
    return asked ? decideQuestion({ questions, agent, asked }, decision) : noActions(executionId);
  };
  return {
    get isInUse() {
      return questions.hasAny;
    },
    isLast: true,
    owns: (executionId) => questions.waiting(executionId).length > 0,
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
  const refusal = await approvals.of(agent).refusal({
    ...approvalOf(asked),
    decision: isApproved ? "approve" : "reject",
    by: by ?? null,
    grant: { allowed: true }
  });
  if (refusal !== undefined) return refused(executionId, refusal);
  const decision = { approved: isApproved, ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) };
  return questions.decide(asked, decision) ? decision : noActions(executionId);
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
      ...(risk !== undefined && { risk }),
      kind: "durable-pause"
    },
    inputHash
  };
}
