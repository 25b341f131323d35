// What a class has for runs of sub-agents as tools: its settings, its hooks, and the names that parents and children call.
// Declarations and delegation; what they do lives in `agent-tools/`.
import type { UIMessage } from "ai";
import { assertCallerMayChange } from "../agent/connections/readonly.ts";
import type { SubAgentClass } from "../agent/tree/sub-agent-stub.ts";
import type { AgentToolChunk } from "../agent/agent-tools/chunk-feed.ts";
import { inputText, type AgentToolRunInspection, type RunProgress } from "../agent/agent-tools/own-run.ts";
import type { AgentToolRetention } from "../agent/agent-tools/ports.ts";
import { agentToolsOf, type AgentToolParts } from "../agent/agent-tools/registry.ts";
import type {
  AgentToolRunInfo,
  AgentToolValue,
  RunAgentToolOptions,
  RunAgentToolResult
} from "../agent/agent-tools/run.ts";
import type { ClearAgentToolRunsOptions } from "../agent/agent-tools/run-table.ts";
import { NotStartedError } from "./errors.ts";
import { PlainChatAgent } from "./plain-chat-agent.ts";

type MaybePromise<T> = T | Promise<T>;

/** Runs that `listAgentToolRuns` returns. */
const LIST_LIMIT = 200;

export abstract class AgentToolsAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends PlainChatAgent<Env, State, Props> {
  // ── As a parent ──

  /** Children that may work at the same time. A run above it waits, if `maxQueuedAgentTools` allows, or is an error. */
  maxConcurrentAgentTools: number = Infinity;

  /** Runs that may wait for one of `maxConcurrentAgentTools` to end, in order. Default 0: none waits. */
  maxQueuedAgentTools: number = 0;

  /**
   * A run is given up as "interrupted" when its child shows no sign of life for so long. Left alone it is 10 minutes, and 2
   * minutes for a child that an earlier process started.
   */
  agentToolNoProgressMs: number | undefined = undefined;

  /** What is kept of runs that are over, with their children. Default: everything. */
  agentToolRetention: AgentToolRetention = {};

  /** Called before a child begins. A throw is the run's error, and the child does not begin. */
  onAgentToolStart(_run: AgentToolRunInfo): MaybePromise<void> {}

  /** Called when a run is over: once, after a crash at least once. The run's caller waits for it. A throw is logged. */
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
    return (await partsOf(this).children.run(childClass, options)) as RunAgentToolResult<Output>;
  }

  /** Whether this agent has such a run: for `onBeforeSubAgent`, so that clients can only open children that exist. */
  hasAgentToolRun(childClass: SubAgentClass | string, runId: string): boolean {
    return partsOf(this).children.has(typeof childClass === "string" ? childClass : childClass.name, runId);
  }

  /** The newest runs of this agent's children, oldest first; at most 200. */
  listAgentToolRuns(): AgentToolRunInfo[] {
    return partsOf(this).children.list(LIST_LIMIT);
  }

  /** Deletes runs with their children. Those that are open are stopped first. */
  async clearAgentToolRuns(options?: ClearAgentToolRunsOptions): Promise<void> {
    assertCallerMayChange(this);
    await partsOf(this).children.clear(options);
  }

  // ── As a child ──

  /** The message that a run begins with. Default: a text as it is, anything else as JSON. */
  formatAgentToolInput(input: unknown): MaybePromise<string | UIMessage> {
    return inputText(input);
  }

  /** What a parent gets as the run's output. Asked when its turn is over; undefined: the turn's structured output, if any. */
  getAgentToolOutput(_runId: string): unknown {
    return undefined;
  }

  /** What a parent's model reads of the run. Undefined: the text of its answer, or the output as text. */
  getAgentToolSummary(_runId: string, _output: unknown): MaybePromise<string | undefined> {
    return undefined;
  }

  /** Called by a parent. The same `runId` starts nothing a second time. */
  async startAgentToolRun(
    input: unknown,
    options: { runId: string; maxTokens?: number }
  ): Promise<AgentToolRunInspection | null> {
    assertCallerMayChange(this);
    return partsOf(this).own.start(input, options);
  }

  /** A run that a parent asked of this agent, or one that this agent has of a child. Null: there is no such run. */
  async inspectAgentToolRun(
    runId: string
  ): Promise<AgentToolRunInspection | (AgentToolRunInfo & RunAgentToolResult) | null> {
    const { own, children } = partsOf(this);
    return (await own.inspect(runId)) ?? children.inspect(runId) ?? null;
  }

  /** Stops a run of either kind, with everything below it. Nothing for one that is over. */
  async cancelAgentToolRun(runId: string, reason?: string): Promise<void> {
    assertCallerMayChange(this);
    const { own, children } = partsOf(this);
    if (own.has(runId)) await own.cancel(runId, reason);
    else await children.cancel(runId, reason ?? "cancelled");
  }

  /** What a run of this agent has streamed after a chunk, as long as that is kept. */
  async getAgentToolChunks(
    runId: string,
    options: { afterSequence?: number } = {}
  ): Promise<readonly AgentToolChunk[]> {
    return (await partsOf(this).own.read(runId, options)).chunks;
  }

  /** The same, and what follows, as lines of JSON. Ends with the run; leaving it does not stop the run. */
  tailAgentToolRun(runId: string, options?: { afterSequence?: number }): ReadableStream<Uint8Array> {
    return partsOf(this).own.tail(runId, options);
  }

  /** Called by a parent: what is new after a chunk, and how the run is. Waits so long for something new. */
  async readAgentToolRun(runId: string, options?: { afterSequence?: number; waitMs?: number }): Promise<RunProgress> {
    return partsOf(this).own.read(runId, options);
  }
}

function partsOf(agent: object): AgentToolParts {
  const parts = agentToolsOf(agent);
  if (!parts) throw new NotStartedError(agent.constructor.name);
  return parts;
}
