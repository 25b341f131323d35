// The public names of workflows on the class.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { workflows } from "./capability.ts";
import type { WorkflowCriteria, WorkflowInstanceStatus, WorkflowPage, WorkflowQuery } from "./workflow-control.ts";
import type { WorkflowInfo } from "./workflow-table.ts";
import type { RunWorkflowOptions, WorkflowEventInput } from "./workflows.ts";

export class WorkflowMembers {
  /**
   * Called with a report of a workflow this agent started; one that throws is made again. `workflowName` is its binding.
   * @example
   * onWorkflowProgress(_workflowName: string, workflowId: string, progress: unknown) {
   *   this.broadcast(JSON.stringify({ type: "progress", workflowId, progress }));
   * }
   */
  onWorkflowProgress(_workflowName: string, _workflowId: string, _progress: unknown): MaybePromise<void> {}

  /**
   * Called with what a workflow that this agent started has returned, or reported with `reportComplete`.
   * @example
   * onWorkflowComplete(_workflowName: string, workflowId: string, result?: unknown) {
   *   this.broadcast(JSON.stringify({ type: "imported", workflowId, result }));
   * }
   */
  onWorkflowComplete(_workflowName: string, _workflowId: string, _result?: unknown): MaybePromise<void> {}

  /**
   * Called with the message of the error that ended a workflow this agent started.
   * @example
   * onWorkflowError(workflowName: string, workflowId: string, error: string) {
   *   console.error(`${workflowName} ${workflowId} failed: ${error}`);
   * }
   */
  onWorkflowError(_workflowName: string, _workflowId: string, _error: string): MaybePromise<void> {}

  /**
   * Called with an event that a workflow this agent started has sent with `sendEvent`.
   * @example
   * onWorkflowEvent(_workflowName: string, workflowId: string, event: unknown) {
   *   this.broadcast(JSON.stringify({ type: "event", workflowId, event }));
   * }
   */
  onWorkflowEvent(_workflowName: string, _workflowId: string, _event: unknown): MaybePromise<void> {}

  /** Starts a workflow that reports back to this agent; returns its id. */
  runWorkflow(bindingName: string, params?: unknown, options?: RunWorkflowOptions): Promise<string> {
    return workflows.of(this).started.run(bindingName, params, options);
  }

  /** Hands a workflow the event it waits for. */
  sendWorkflowEvent(bindingName: string, workflowId: string, event: WorkflowEventInput): Promise<void> {
    return workflows.of(this).started.sendEvent(bindingName, workflowId, event);
  }

  /** What this agent knows of a workflow it has started. The platform is not asked. */
  getWorkflow(id: string): WorkflowInfo | undefined {
    return workflows.of(this).started.get(id);
  }

  /** A page of the workflows that this agent has started. The platform is not asked. */
  getWorkflows(query?: WorkflowQuery): WorkflowPage {
    return workflows.of(this).started.control.list(query);
  }

  /** What the platform says of a workflow now; the record follows it. */
  getWorkflowStatus(bindingName: string, workflowId: string): Promise<WorkflowInstanceStatus> {
    return workflows.of(this).started.control.status(bindingName, workflowId);
  }

  /** Lets a workflow go on that waits with `waitForApproval`, which returns the metadata. */
  approveWorkflow(workflowId: string, decision?: { reason?: string; metadata?: unknown }): Promise<void> {
    return workflows.of(this).started.control.approve(workflowId, decision);
  }

  /** Makes `waitForApproval` of a workflow throw. */
  rejectWorkflow(workflowId: string, decision?: { reason?: string }): Promise<void> {
    return workflows.of(this).started.control.reject(workflowId, decision);
  }

  /** Stops a workflow for good. What it still reports changes nothing. */
  terminateWorkflow(workflowId: string): Promise<void> {
    return workflows.of(this).started.control.terminate(workflowId);
  }

  pauseWorkflow(workflowId: string): Promise<void> {
    return workflows.of(this).started.control.pause(workflowId);
  }

  resumeWorkflow(workflowId: string): Promise<void> {
    return workflows.of(this).started.control.resume(workflowId);
  }

  /** Runs a workflow again from its beginning. Its record begins anew, too, unless `resetTracking` is false. */
  restartWorkflow(workflowId: string, options?: { resetTracking?: boolean }): Promise<void> {
    return workflows.of(this).started.control.restart(workflowId, options);
  }

  /** Forgets a workflow without stopping it; what it still reports is refused. */
  deleteWorkflow(id: string): boolean {
    return workflows.of(this).started.remove(id);
  }

  /** Forgets all workflows that match, without stopping them; returns how many. */
  deleteWorkflows(criteria?: WorkflowCriteria & { createdBefore?: Date | number }): number {
    return workflows.of(this).started.control.removeAll(criteria);
  }
}
