// The public names that every agent has as the parent of runs.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import { runtimeOf } from "../../agent/runtime.ts";
import type { SubAgentClass } from "../../agent/tree/sub-agent-stub.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { agentTools, childRuns } from "./capability.ts";
import { readChildMethods } from "./child-methods.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";
import type { ClearAgentToolRunsOptions } from "./run-table.ts";
import type {
  AgentToolRetention,
  AgentToolRunInfo,
  AgentToolValue,
  RunAgentToolOptions,
  RunAgentToolResult
} from "./run.ts";

/** Runs that `listAgentToolRuns` returns. */
const LIST_LIMIT = 200;

export class AgentToolsMembers {
  static readonly changes = [
    "runAgentTool",
    "clearAgentToolRuns",
    "cancelAgentToolRun",
    "cancelAgentTool"
  ] satisfies (keyof AgentToolsMembers)[];

  /**
   * Children that may work at the same time. A run above it waits, if `maxQueuedAgentTools` allows, or is an error.
   * @example
   * maxConcurrentAgentTools = 4;
   */
  maxConcurrentAgentTools: number = Infinity;

  /**
   * Runs that may wait for one of `maxConcurrentAgentTools` to end, in order. Default 0: none waits.
   * @example
   * maxQueuedAgentTools = 100;
   */
  maxQueuedAgentTools: number = 0;

  /**
   * A run is given up as "interrupted" when its child shows no sign of life for so long. Left alone it is 15 minutes, more
   * than a child's `chatStreamStallTimeoutMs`, and 2 minutes for a child that an earlier process started.
   * @example
   * agentToolNoProgressMs = 30 * 60_000;
   */
  agentToolNoProgressMs: number | undefined = undefined;

  /**
   * What is kept of runs that are over, with their children. Default: everything.
   * @example
   * agentToolRetention = { maxRuns: 100 };
   */
  agentToolRetention: AgentToolRetention = {};

  /**
   * Called before a child begins. A throw is the run's error, and the child does not begin.
   * @example
   * onAgentToolStart({ agentType }: AgentToolRunInfo) {
   *   if (agentType === "Buyer" && this.isClosed) throw new Error("The shop is closed.");
   * }
   */
  onAgentToolStart(_run: AgentToolRunInfo): MaybePromise<void> {}

  /**
   * Called when a run is over, once; once more by the next process, if this one dies before it has returned. The run's
   * caller waits for it, at most 15 minutes. A throw is logged.
   * @example
   * onAgentToolFinish({ agentType, runId }: AgentToolRunInfo, { status, error }: RunAgentToolResult) {
   *   if (status === "error") console.error(`${agentType} ${runId} failed: ${error}`);
   * }
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
    // What the child returned; its type is the caller's word.
    return (await agentTools.of(this).runs.run(childClass, options)) as RunAgentToolResult<Output>;
  }

  /** Whether this agent has such a run: for `onBeforeSubAgent`, so that clients can only open children that exist. */
  hasAgentToolRun(childClass: SubAgentClass | string, runId: string): boolean {
    return agentTools.of(this).runs.has(typeof childClass === "string" ? childClass : childClass.name, runId);
  }

  /** The newest runs of this agent's children, oldest first; at most 200. */
  listAgentToolRuns(): AgentToolRunInfo[] {
    return agentTools.of(this).runs.list(LIST_LIMIT);
  }

  /** Deletes runs with their children. Those that are open are stopped first. */
  async clearAgentToolRuns(options?: ClearAgentToolRunsOptions): Promise<void> {
    await agentTools.of(this).runs.clear(options);
  }

  /** A run that this agent has of a child; for a `Think` also one that a parent asked of it. Null: there is no such run. */
  async inspectAgentToolRun(
    runId: string
  ): Promise<AgentToolRunInspection | (AgentToolRunInfo & RunAgentToolResult) | null> {
    return (await childRuns.find(this)?.own?.inspect(runId)) ?? agentTools.of(this).runs.inspect(runId) ?? null;
  }

  /** Stops such a run, with everything below it. Nothing for one that is over. */
  async cancelAgentToolRun(runId: string, reason?: string): Promise<void> {
    const own = childRuns.find(this)?.own;
    if (own?.has(runId)) return own.cancel(runId, reason);
    await agentTools.of(this).runs.cancel(runId, reason ?? "cancelled");
  }

  /** The same for a run of a child only. A background run is reported as "aborted". */
  async cancelAgentTool(runId: string, reason?: string): Promise<void> {
    await agentTools.of(this).runs.cancel(runId, reason ?? "cancelled");
  }

  /**
   * Called by a parent: what is new after a chunk, and how the run is. Waits so long for something new. A class without
   * conversation that runs as a tool has the methods it reads by: `startAgentToolRun`, `inspectAgentToolRun`,
   * `cancelAgentToolRun` and, to stream, `getAgentToolChunks`.
   */
  async readAgentToolRun(runId: string, options?: { afterSequence?: number; waitMs?: number }): Promise<RunProgress> {
    const own = childRuns.find(this)?.own;
    if (own) return own.read(runId, options);
    return readChildMethods(this, runtimeOf(this).clock, { runId, ...options });
  }
}
