// Runs of sub-agents as tools, as two capabilities: what every agent has as a parent (its public names are in `members.ts`),
// and what a conversation has as the child of such a run.
import { capability, chatCapability } from "../../feature/capability.ts";
import { ChildRuns } from "./child-runs.ts";
import { openOwnRuns } from "./own-runs-feature.ts";
import { inputText } from "./own-run.ts";
import type { AgentToolChunk } from "./chunk-feed.ts";
import type { Feature } from "../../feature/feature.ts";
import type { UIMessage } from "ai";
import { AgentToolsMembers } from "./members.ts";
import type { PassedMessage } from "./given-steers.ts";
import type { AgentToolRunInspection } from "./run-progress.ts";
import { RUN_TABLES } from "./run-table.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export interface AgentToolsFeature extends Feature {
  /** Those of this agent's children. */
  readonly runs: ChildRuns;
}

/** An agent that starts none has no row of them, and asks no table for them. */
export const agentTools = capability({
  name: "agent-tools",
  members: AgentToolsMembers,
  feature: (services): AgentToolsFeature => {
    // Only agents that have these members open it.
    const runs = new ChildRuns(services.agent as AgentToolsMembers);
    return {
      name: "agent-tools",
      runs,
      tables: RUN_TABLES,
      start: () => runs.start(),
      ready: () => runs.ready(),
      connected: (connection) => runs.connected(connection),
      nextWake: () => runs.nextWake(),
      runDue: () => runs.runDue(),
      stop: () => runs.stop()
    };
  }
});

export class ChildRunMembers {
  static readonly changes = ["startAgentToolRun", "steerAgentToolRun"] satisfies (keyof ChildRunMembers)[];

  /**
   * The message that a run begins with. Default: a text as it is, anything else as JSON.
   * @example
   * formatAgentToolInput(input: unknown) {
   *   return `Research this and name your sources: ${JSON.stringify(input)}`;
   * }
   */
  formatAgentToolInput(input: unknown): MaybePromise<string | UIMessage> {
    return inputText(input);
  }

  /**
   * What a parent gets as the run's output. Asked when its turn is over; undefined: the turn's structured output, if
   * any.
   * @example
   * getAgentToolOutput() {
   *   return { sources: this.sources };
   * }
   */
  getAgentToolOutput(_runId: string): unknown {
    return undefined;
  }

  /**
   * What a parent's model reads of the run. Undefined: the text of its answer, or the output as text.
   * @example
   * getAgentToolSummary() {
   *   return `Found ${this.sources.length} sources.`;
   * }
   */
  getAgentToolSummary(_runId: string, _output: unknown): MaybePromise<string | undefined> {
    return undefined;
  }

  /** Called by a parent. The same `runId` starts nothing a second time. */
  async startAgentToolRun(
    input: unknown,
    options: { runId: string; maxTokens?: number; limits?: object }
  ): Promise<AgentToolRunInspection | null> {
    return childRuns.of(this).own.start(input, options);
  }

  /**
   * Called by a parent whose tool passes steers to its child: gives the message to the run's turn, which reads it at its next
   * step boundary. False: the run takes none, and never had it. The same id is not taken twice.
   */
  async steerAgentToolRun(runId: string, message: PassedMessage): Promise<boolean> {
    return childRuns.of(this).own.steer(runId, message);
  }

  /** What a run of this agent has streamed after a chunk, as long as that is kept. */
  async getAgentToolChunks(
    runId: string,
    options: { afterSequence?: number } = {}
  ): Promise<readonly AgentToolChunk[]> {
    return (await childRuns.of(this).own.read(runId, options)).chunks;
  }

  /** The same, and what follows, as lines of JSON. Ends with the run; leaving it does not stop the run. */
  tailAgentToolRun(runId: string, options?: { afterSequence?: number }): ReadableStream<Uint8Array> {
    return childRuns.of(this).own.tail(runId, options);
  }
}

/** Every conversation may be a parent of such runs, and a child. */
export const childRuns = chatCapability({
  name: "agent-tool-runs",
  requires: [agentTools],
  members: ChildRunMembers,
  feature: (services) => openOwnRuns(services, agentTools.of(services.agent).runs)
});
