// Executed code as a capability: settings, override points and public names. What runs code comes with the first tool of
// `createExecuteTool`, which carries it.
import { approvals } from "../approvals/capability.ts";
import { chatCapability } from "../../feature/capability.ts";
import { RestoredExecutions, type PausedDescription, type PendingExecution } from "./restore-executions.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export class ExecutionMembers {
  static readonly callables = ["pendingExecutions"];

  /** The runtime that `createExecuteTool(this)` or `createExecuteRuntime(this)` made last. */
  codemode: object | undefined = undefined;

  /**
   * What goes on with code that waited over a restart. By default `getTools()` is asked; override it if that needs a turn.
   *
   * @example
   * getExecuteRuntime() {
   *   return createExecuteRuntime(this, { tools: this.ownTools() });
   * }
   */
  getExecuteRuntime(): MaybePromise<object | undefined> {
    return undefined;
  }

  /** Calls of executed code that wait for a human, newest run first, with their whole arguments. */
  pendingExecutions(executionId?: string): PendingExecution[] {
    return executions.of(this).open()?.pendingExecutions(executionId) ?? [];
  }

  /**
   * What a human is shown about a call of executed code that waits. Default: its name and its arguments.
   * @example
   * describePausedExecution({ method }: PendingExecution) {
   *   return method === "publish_note" ? { summary: "Publishes the note for everyone." } : undefined;
   * }
   */
  describePausedExecution(
    _pending: PendingExecution,
    _call: { readonly requestId: string; readonly toolCallId: string }
  ): PausedDescription | undefined {
    return undefined;
  }
}

export const executions = chatCapability({
  name: "execute-restore",
  requires: [approvals],
  members: ExecutionMembers,
  feature: (services) => new RestoredExecutions(services)
});
