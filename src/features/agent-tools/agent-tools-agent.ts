// What every class has for runs of sub-agents as tools: its settings, its hooks, and the names by which it runs, reads and
// stops them. Declarations and delegation. What a `Think` has as the child of such a run is `ChildRunAgent`.
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import { McpAgent } from "../mcp/mcp-agent.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import type { SubAgentClass } from "../../agent/tree/sub-agent-stub.ts";
import { readChildMethods } from "./child-methods.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";
import { childRunsOf } from "./registry.ts";
import type {
  AgentToolRetention,
  AgentToolRunInfo,
  AgentToolValue,
  RunAgentToolOptions,
  RunAgentToolResult
} from "./run.ts";
import type { ClearAgentToolRunsOptions } from "./run-table.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

/** Runs that `listAgentToolRuns` returns. */
const LIST_LIMIT = 200;

export abstract class AgentToolsAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends McpAgent<Env, State, Props> {
  /** Children that may work at the same time. A run above it waits, if `maxQueuedAgentTools` allows, or is an error. */
  maxConcurrentAgentTools: number = Infinity;

  /** Runs that may wait for one of `maxConcurrentAgentTools` to end, in order. Default 0: none waits. */
  maxQueuedAgentTools: number = 0;

  /**
   * A run is given up as "interrupted" when its child shows no sign of life for so long. Left alone it is 15 minutes, more
   * than a child's `chatStreamStallTimeoutMs`, and 2 minutes for a child that an earlier process started.
   */
  agentToolNoProgressMs: number | undefined = undefined;

  /** What is kept of runs that are over, with their children. Default: everything. */
  agentToolRetention: AgentToolRetention = {};

  /** Called before a child begins. A throw is the run's error, and the child does not begin. */
  onAgentToolStart(_run: AgentToolRunInfo): MaybePromise<void> {}

  /**
   * Called when a run is over, once; once more by the next process, if this one dies before it has returned. The run's
   * caller waits for it, at most 15 minutes. A throw is logged.
   */
  onAgentToolFinish(_run: AgentToolRunInfo, _result: RunAgentToolResult): MaybePromise<void> {}

  /**
   * Runs a chat agent as a child and waits for its answer. What goes wrong with the child is a result, not a throw. Clients
   * of this agent see what the child says while it works.
   *
   * @example
   * const result = await this.runAgentTool(Researcher, { input: { query: "tides" } });
   * if (result.status === "completed") console.log(result.summary);
   */
  async runAgentTool<Input = unknown, Output = AgentToolValue>(
    childClass: SubAgentClass,
    options: RunAgentToolOptions<Input>
  ): Promise<RunAgentToolResult<Output>> {
    assertCallerMayChange(this);
    // What the child returned; its type is the caller's word.
    return (await childRunsOf(this).run(childClass, options)) as RunAgentToolResult<Output>;
  }

  /** Whether this agent has such a run: for `onBeforeSubAgent`, so that clients can only open children that exist. */
  hasAgentToolRun(childClass: SubAgentClass | string, runId: string): boolean {
    return childRunsOf(this).has(typeof childClass === "string" ? childClass : childClass.name, runId);
  }

  /** The newest runs of this agent's children, oldest first; at most 200. */
  listAgentToolRuns(): AgentToolRunInfo[] {
    return childRunsOf(this).list(LIST_LIMIT);
  }

  /** Deletes runs with their children. Those that are open are stopped first. */
  async clearAgentToolRuns(options?: ClearAgentToolRunsOptions): Promise<void> {
    assertCallerMayChange(this);
    await childRunsOf(this).clear(options);
  }

  /** A run that this agent has of a child; for a `Think` also one that a parent asked of it. Null: there is no such run. */
  async inspectAgentToolRun(
    runId: string
  ): Promise<AgentToolRunInspection | (AgentToolRunInfo & RunAgentToolResult) | null> {
    return childRunsOf(this).inspect(runId) ?? null;
  }

  /** Stops such a run, with everything below it. Nothing for one that is over. */
  async cancelAgentToolRun(runId: string, reason?: string): Promise<void> {
    assertCallerMayChange(this);
    await childRunsOf(this).cancel(runId, reason ?? "cancelled");
  }

  /** The same for a run of a child only. A background run is reported as "aborted". */
  async cancelAgentTool(runId: string, reason?: string): Promise<void> {
    assertCallerMayChange(this);
    await childRunsOf(this).cancel(runId, reason ?? "cancelled");
  }

  /**
   * Called by a parent: what is new after a chunk, and how the run is. Waits so long for something new. A class without
   * conversation that runs as a tool has the methods it reads by: `startAgentToolRun`, `inspectAgentToolRun`,
   * `cancelAgentToolRun` and, to stream, `getAgentToolChunks`.
   */
  async readAgentToolRun(runId: string, options?: { afterSequence?: number; waitMs?: number }): Promise<RunProgress> {
    return readChildMethods(this, runtimeOf(this).clock, { runId, ...options });
  }
}
