import { minifiedHint } from "../../host/errors.ts";
import { errorTable, ThinkError } from "../../util/errors.ts";

export const workflowErrors = errorTable(ThinkError, {
  WorkflowBindingError: (bindingName: string, found: string[]) => ({
    code: "workflow-binding-unknown",
    message: `There is no workflow binding "${bindingName}".`,
    hint: `Add it to "workflows" in the Worker's configuration (found: ${found.join(", ") || "none"}).`
  }),
  WorkflowTrackedError: (workflowId: string) => ({
    code: "workflow-tracked",
    message: `The workflow "${workflowId}" is already being tracked.`,
    hint: "Leave out the id for a fresh one, or call deleteWorkflow() once the old record is of no use."
  }),
  WorkflowLimitError: (limit: number) => ({
    code: "workflow-limit",
    message: `This agent already tracks ${limit} workflows that have not ended.`,
    hint: "A record ends when its AgentWorkflow returns, throws or reports it. Forget the others with deleteWorkflow()."
  }),
  WorkflowUntrackedError: (workflowId: string) => ({
    code: "workflow-not-tracked",
    message: `This agent does not track a workflow "${workflowId}".`,
    hint: "It tracks those that it has started with runWorkflow(), until deleteWorkflow()."
  }),
  AgentBindingError: (className: string, found: string[]) => ({
    code: "agent-binding-unknown",
    message: `The workflow could not find the way back: no binding or export for the agent class "${className}".`,
    hint:
      `Pass the name of its Durable Object binding as agentBinding to runWorkflow() ` +
      `(found: ${found.join(", ") || "none"}).${minifiedHint(className)}`
  }),
  /** An AgentWorkflow was created by other means than `runWorkflow`. */
  WorkflowOriginError: (className: string) => ({
    code: "workflow-without-agent",
    message: `${className} was not started by an agent.`,
    hint: "Start it with runWorkflow() of an agent; extend WorkflowEntrypoint for workflows that need none."
  }),
  /** The agent did not take a report, and would not take it again either. */
  ReportRefusedError: (step: string, reason: string) => ({
    code: "workflow-report-refused",
    message: `The agent refused "${step}": ${reason}`,
    hint: "Trying the same again cannot help, so the step is not retried."
  })
});

/** Thrown by `waitForApproval`. */
export class WorkflowRejectedError extends ThinkError {
  constructor(
    readonly workflowId: string,
    readonly reason: string | undefined
  ) {
    super({
      code: "workflow-rejected",
      message: reason === undefined ? "The workflow was rejected." : `The workflow was rejected: ${reason}`,
      hint: "rejectWorkflow() was called for it."
    });
  }
}
