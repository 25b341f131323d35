// Questions of workflows among everything that waits for humans.
import {
  noActions,
  type ActionOutput,
  type ApprovalSource,
  type Decision,
  type PendingApproval
} from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import { describeDecision, isSameDecision } from "../approvals/decision-log.ts";
import { notificationOf, type WaitingQuestion, type WorkflowApprovals } from "./workflow-approvals.ts";

export function questionsSource(questions: WorkflowApprovals, agent: object): ApprovalSource {
  return {
    get isInUse() {
      return questions.hasAny;
    },
    isLast: true,
    owns: (executionId) => questions.find(executionId) !== undefined,
    pendingApprovals: (executionId) => questions.waiting(executionId).map(approvalOf),
    decide: (executionId, decision) => decideQuestion({ questions, agent, executionId }, decision)
  };
}

async function decideQuestion(
  { questions, agent, executionId }: { questions: WorkflowApprovals; agent: object; executionId: string },
  decision: Decision
): Promise<ActionOutput> {
  const asked = questions.find(executionId);
  if (!asked) return noActions(executionId);
  const { inputHash, isApproved, by = null } = decision;
  if (inputHash !== undefined && inputHash !== asked.inputHash) return refused(executionId, OTHER_INPUT);
  const refusal = await approvals.of(agent).refusal({
    ...approvalOf(asked),
    ...{ decision: isApproved ? "approve" : "reject", by, grant: { allowed: true } }
  });
  if (refusal !== undefined) return refused(executionId, refusal);
  if (questions.waiting(executionId).length > 0 && questions.decide(asked, decision)) return notificationOf(decision);
  const first = questions.decisions.find(executionId);
  if (first && isSameDecision(first, decision)) {
    return { approved: isApproved, reason: first.reason ?? undefined, by: first.by ?? undefined };
  }
  return first ? refused(executionId, `Nothing was done: ${describeDecision(first)}.`) : noActions(executionId);
}

const OTHER_INPUT = "Nothing was done: what waits for approval has another input than the one decided about.";

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
