// What a class gets for executed code: declarations only. What runs code is in src/execute.
import { executionsOf, type PausedDescription, type PendingExecution } from "./restore-executions.ts";
import { ChannelAgent } from "../channels/channel-agent.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export abstract class ExecutionAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ChannelAgent<Env, State, Props> {
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
    return executionsOf(this)?.pendingExecutions(executionId) ?? [];
  }

  /** What a human is shown about a call of executed code that waits. Default: its name and its arguments. */
  describePausedExecution(
    _pending: PendingExecution,
    _call: { readonly requestId: string; readonly toolCallId: string }
  ): PausedDescription | undefined {
    return undefined;
  }
}
