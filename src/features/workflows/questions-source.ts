// Questions of workflows among everything that waits for humans.
import type { ApprovalSource, Question } from "../../feature/approval-contract.ts";
import { notificationOf, type AskedWorkflow, type WorkflowApprovals } from "./workflow-approvals.ts";

export function questionsSource(questions: WorkflowApprovals): ApprovalSource {
  return {
    get isInUse() {
      return questions.hasAny;
    },
    isLast: true,
    owns: (executionId) => questions.find(executionId) !== undefined,
    questions: (executionId) => questions.waiting(executionId).map(questionOf),
    find: (executionId) => {
      const asked = questions.find(executionId);
      if (!asked) return { is: "unknown" };
      const isWaiting = questions.waiting(executionId).length > 0;
      return { is: isWaiting ? "waiting" : "decided", question: questionOf(asked) };
    },
    take: ({ executionId }, decision, record) => questions.decide(executionId, decision, record),
    carryOut: async (_question, decision) => notificationOf(decision),
    outcomeOf: ({ executionId }) => questions.outcomeOf(executionId)
  };
}

function questionOf({ executionId, inputHash, workflow, summary, input, risk }: AskedWorkflow): Question {
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
    inputHash,
    messageId: "",
    grant: { allowed: true }
  };
}
