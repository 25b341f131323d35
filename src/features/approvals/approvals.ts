// Approvals of a class, from wherever they were asked: actions that are parked, code that waits, and questions of
// workflows. One list, one pair of decisions and one address for all of them.
import type { WaitingQuestion } from "../submissions/workflow-approvals.ts";
import {
  noActions,
  type ActionOutput,
  type ActionsFeature,
  type ApprovalDecision,
  type PendingApproval
} from "../actions/contract.ts";
import { approvalsResponse } from "./approvals-http.ts";
import { approvalRefusal } from "./approval-check.ts";
import { approverOf } from "./approver.ts";
import { executionsRestored } from "../execute/restore-executions.ts";
import type { Feature } from "../../feature/feature.ts";
import { thinkRuntimeOf } from "../../think/runtime.ts";

type Decision = ApprovalDecision & { readonly reason?: string };

/** The address of what waits. An agent in which nothing has waited, or can, keeps the address for itself. */
export function approvalsFeature(agent: object): Feature {
  return {
    name: "approvals",
    routes: {
      approvals: async (request, rest) => {
        await executionsRestored(agent);
        const { features, parts } = thinkRuntimeOf(agent);
        if (features.approvals().length === 0 && !parts.deferred.approvals.hasAny) return undefined;
        return approvalsResponse(request, rest, {
          pendingApprovals: (executionId) => pendingApprovals(agent, executionId),
          approveExecution: (executionId, decision) =>
            decideApproval(agent, executionId, { ...decision, isApproved: true }),
          rejectExecution: (executionId, decision) =>
            decideApproval(agent, executionId, { ...decision, isApproved: false })
        });
      }
    }
  };
}

export function pendingApprovals(agent: object, executionId: string | undefined): PendingApproval[] {
  const { features, parts } = thinkRuntimeOf(agent);
  const asked = parts.deferred.approvals.waiting(executionId).map(approvalOf);
  return [...features.approvals().flatMap((source) => source.pendingApprovals(executionId)), ...asked];
}

export async function decideApproval(
  agent: object,
  executionId: string,
  { isApproved, by: given, ...rest }: Decision & { readonly isApproved: boolean }
): Promise<ActionOutput> {
  const by = approverOf(thinkRuntimeOf(agent).overrides, given);
  await executionsRestored(agent);
  const decision = { ...rest, ...(by !== undefined && { by }) };
  const [asked] = thinkRuntimeOf(agent).parts.deferred.approvals.waiting(executionId);
  if (asked) return decideQuestion(agent, asked, { isApproved, ...decision });
  const sources = thinkRuntimeOf(agent).features.approvals();
  const source = sources.find((one) => one.owns(executionId)) ?? sources[0];
  if (!source) return noActions(executionId);
  return isApproved ? source.approveExecution(executionId, decision) : source.rejectExecution(executionId, decision);
}

/** Undefined for a class without actions. */
export function actionsOf(agent: object): ActionsFeature | undefined {
  return thinkRuntimeOf(agent).features.broughtBy("getActions");
}

async function decideQuestion(
  agent: object,
  asked: WaitingQuestion,
  { isApproved, reason, by, inputHash }: Decision & { readonly isApproved: boolean }
): Promise<ActionOutput> {
  const { executionId } = asked;
  const runtime = thinkRuntimeOf(agent);
  if (inputHash !== undefined && inputHash !== asked.inputHash) {
    return refused(
      executionId,
      "Nothing was done: what waits for approval has another input than the one decided about."
    );
  }
  const refusal = await approvalRefusal(runtime.overrides, {
    ...approvalOf(asked),
    decision: isApproved ? "approve" : "reject",
    by: by ?? null,
    grant: { allowed: true }
  });
  if (refusal !== undefined) return refused(executionId, refusal);
  const decision = { approved: isApproved, ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) };
  return runtime.parts.deferred.approvals.decide(asked, decision) ? decision : noActions(executionId);
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
