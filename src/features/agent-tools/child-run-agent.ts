// What a class has as the child of a run: how it reads the input, what it returns, and the names that its parent calls.
// Declarations and delegation; what they do lives in `agent/agent-tools/`. As a parent it is any `Agent`.
import type { UIMessage } from "ai";
import type { AgentToolChunk } from "./chunk-feed.ts";
import { inputText, type OwnRuns } from "./own-run.ts";
import type { AgentToolRunInspection, RunProgress } from "./run-progress.ts";
import type { AgentToolRunInfo, RunAgentToolResult } from "./run.ts";
import { assertCallerMayChange } from "../../agent/connections/readonly.ts";
import { NotStartedError } from "../../think/errors.ts";
import { PlainChatAgent } from "../clients/plain-chat-agent.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

const ownRuns = new WeakMap<object, OwnRuns>();

export function provideOwnRuns(agent: object, given: OwnRuns): void {
  ownRuns.set(agent, given);
}

export abstract class ChildRunAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends PlainChatAgent<Env, State, Props> {
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
    return ownRunsOf(this).start(input, options);
  }

  /** A run that a parent asked of this agent, or one that this agent has of a child. Null: there is no such run. */
  override async inspectAgentToolRun(
    runId: string
  ): Promise<AgentToolRunInspection | (AgentToolRunInfo & RunAgentToolResult) | null> {
    return (await ownRunsOf(this).inspect(runId)) ?? super.inspectAgentToolRun(runId);
  }

  /** Stops a run of either kind, with everything below it. Nothing for one that is over. */
  override async cancelAgentToolRun(runId: string, reason?: string): Promise<void> {
    assertCallerMayChange(this);
    if (ownRunsOf(this).has(runId)) await ownRunsOf(this).cancel(runId, reason);
    else await super.cancelAgentToolRun(runId, reason);
  }

  /** What a run of this agent has streamed after a chunk, as long as that is kept. */
  async getAgentToolChunks(
    runId: string,
    options: { afterSequence?: number } = {}
  ): Promise<readonly AgentToolChunk[]> {
    return (await ownRunsOf(this).read(runId, options)).chunks;
  }

  /** The same, and what follows, as lines of JSON. Ends with the run; leaving it does not stop the run. */
  tailAgentToolRun(runId: string, options?: { afterSequence?: number }): ReadableStream<Uint8Array> {
    return ownRunsOf(this).tail(runId, options);
  }

  /** Called by a parent: what is new after a chunk, and how the run is. Waits so long for something new. */
  override async readAgentToolRun(
    runId: string,
    options?: { afterSequence?: number; waitMs?: number }
  ): Promise<RunProgress> {
    return ownRunsOf(this).read(runId, options);
  }
}

function ownRunsOf(agent: object): OwnRuns {
  const known = ownRuns.get(agent);
  if (!known) throw new NotStartedError(agent.constructor.name);
  return known;
}
