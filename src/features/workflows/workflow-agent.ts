// The part of every class that is about workflows: public names. What they do is in `workflows.ts` and `workflow-control.ts`.
import { BaseAgent } from "../../agent/base-agent.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { WorkflowCriteria, WorkflowInstanceStatus, WorkflowPage, WorkflowQuery } from "./workflow-control.ts";
import type { WorkflowInfo } from "./workflow-table.ts";
import type { RunWorkflowOptions, WorkflowEventInput } from "./workflows.ts";

export abstract class WorkflowAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends BaseAgent<Env, State, Props> {
  /** Starts a workflow that reports back to this agent; returns its id. */
  runWorkflow(bindingName: string, params?: unknown, options?: RunWorkflowOptions): Promise<string> {
    return runtimeOf(this).workflows.run(bindingName, params, options);
  }

  /** Hands a workflow the event it waits for. */
  sendWorkflowEvent(bindingName: string, workflowId: string, event: WorkflowEventInput): Promise<void> {
    return runtimeOf(this).workflows.sendEvent(bindingName, workflowId, event);
  }

  /** What this agent knows of a workflow it has started. The platform is not asked. */
  getWorkflow(id: string): WorkflowInfo | undefined {
    return runtimeOf(this).workflows.get(id);
  }

  /** A page of the workflows that this agent has started. The platform is not asked. */
  getWorkflows(query?: WorkflowQuery): WorkflowPage {
    return runtimeOf(this).workflows.control.list(query);
  }

  /** What the platform says of a workflow now; the record follows it. */
  getWorkflowStatus(bindingName: string, workflowId: string): Promise<WorkflowInstanceStatus> {
    return runtimeOf(this).workflows.control.status(bindingName, workflowId);
  }

  /** Lets a workflow go on that waits with `waitForApproval`, which returns the metadata. */
  approveWorkflow(workflowId: string, decision?: { reason?: string; metadata?: unknown }): Promise<void> {
    return runtimeOf(this).workflows.control.approve(workflowId, decision);
  }

  /** Makes `waitForApproval` of a workflow throw. */
  rejectWorkflow(workflowId: string, decision?: { reason?: string }): Promise<void> {
    return runtimeOf(this).workflows.control.reject(workflowId, decision);
  }

  /** Stops a workflow for good. What it still reports changes nothing. */
  terminateWorkflow(workflowId: string): Promise<void> {
    return runtimeOf(this).workflows.control.terminate(workflowId);
  }

  pauseWorkflow(workflowId: string): Promise<void> {
    return runtimeOf(this).workflows.control.pause(workflowId);
  }

  resumeWorkflow(workflowId: string): Promise<void> {
    return runtimeOf(this).workflows.control.resume(workflowId);
  }

  /** Runs a workflow again from its beginning. Its record begins anew, too, unless `resetTracking` is false. */
  restartWorkflow(workflowId: string, options?: { resetTracking?: boolean }): Promise<void> {
    return runtimeOf(this).workflows.control.restart(workflowId, options);
  }

  /** Forgets a workflow without stopping it; what it still reports is refused. */
  deleteWorkflow(id: string): boolean {
    return runtimeOf(this).workflows.remove(id);
  }

  /** Forgets all workflows that match, without stopping them; returns how many. */
  deleteWorkflows(criteria?: WorkflowCriteria & { createdBefore?: Date | number }): number {
    return runtimeOf(this).workflows.control.removeAll(criteria);
  }
}
