// The `step` an AgentWorkflow is given: the platform's own, and one more durable step for each report that the agent
// takes. A report is made until the agent has taken it and not made again when the workflow is replayed.
import type { WorkflowStep } from "#platform";
import { errorMessage } from "../../util/errors.ts";
import { encodeStored } from "../../agent/stored-json.ts";
import type { ReportAnswer, ReportContent } from "./report.ts";
import { workflowErrors } from "./errors.ts";

/** An agent that cannot be reached is tried for about four minutes; a deploy or a restart takes seconds. */
const REPORT_RETRIES = { retries: { limit: 8, delay: 1_000, backoff: "exponential" } } as const;

export interface ReportOptions {
  /**
   * The name of the durable step. Without it reports are numbered in the order they are made; branches that run in
   * parallel need names, because their order may differ when the workflow is replayed.
   */
  name?: string;
}

/**
 * The platform's steps, and reports to the agent. Each report is a durable step: retried until the agent has taken it,
 * never taken twice.
 */
export interface AgentWorkflowStep<Progress = unknown, State = unknown> extends WorkflowStep {
  /** Arrives at `onWorkflowProgress`; ignored after the end. */
  reportProgress(progress: Progress, options?: ReportOptions): Promise<void>;
  /** Arrives at `onWorkflowComplete`. Made with the result of `run` if `run` makes none. The first end counts. */
  reportComplete(result?: unknown, options?: ReportOptions): Promise<void>;
  /** Arrives at `onWorkflowError` as text. Made if `run` throws. The first end counts. */
  reportError(error: unknown, options?: ReportOptions): Promise<void>;
  /** Arrives at `onWorkflowEvent`. */
  sendEvent(event: unknown, options?: ReportOptions): Promise<void>;
  /** Replaces the agent's state. */
  updateAgentState(state: State, options?: ReportOptions): Promise<void>;
  /** Replaces some top-level keys of the agent's state. */
  mergeAgentState(partial: Partial<State>, options?: ReportOptions): Promise<void>;
  /** Back to the class's `initialState`. */
  resetAgentState(options?: ReportOptions): Promise<void>;
  /** Sends a text, or anything else as JSON, to every client of the agent. */
  broadcastToClients(message: unknown, options?: ReportOptions): Promise<void>;
}

type Reports = Omit<AgentWorkflowStep, keyof WorkflowStep>;

export type SendReport = (step: string, content: ReportContent) => Promise<ReportAnswer>;

export interface OpenedStep {
  step: AgentWorkflowStep;
  /** Whether the user's code has reported an end. */
  hasEnded(): boolean;
}

export function openStep(platform: WorkflowStep, send: SendReport): OpenedStep {
  const made = new Map<string, number>();
  let hasEnded = false;
  const report = async (content: ReportContent, options: ReportOptions | undefined): Promise<void> => {
    const count = (made.get(content.do) ?? 0) + 1;
    made.set(content.do, count);
    if (content.do === "complete" || content.do === "error") hasEnded = true;
    const name = options?.name ?? `agent:${content.do}:${count}`;
    const answer = await platform.do(name, REPORT_RETRIES, async () => ({ ...(await send(name, content)) }));
    // Outside the step, so that the refusal is its result: nothing retries it, and a replay refuses the same.
    if (!answer.taken) throw workflowErrors.ReportRefusedError(name, answer.reason);
  };
  const reports: Reports = {
    reportProgress: (progress, options) => report({ do: "progress", progress }, options),
    reportComplete: (result, options) => report({ do: "complete", result }, options),
    reportError: (error, options) => report({ do: "error", error: errorMessage(error) }, options),
    sendEvent: (event, options) => report({ do: "event", event }, options),
    updateAgentState: (state, options) => report({ do: "set-state", state }, options),
    mergeAgentState: (partial, options) => report({ do: "merge-state", partial }, options),
    resetAgentState: (options) => report({ do: "reset-state" }, options),
    broadcastToClients: async (message, options) =>
      report({ do: "broadcast", message: broadcastText(message) }, options)
  };
  // The members are what the type says.
  return { step: withMembers(platform, { ...reports }) as AgentWorkflowStep, hasEnded: () => hasEnded };
}

/** One object with both: the platform's step may be a remote one, whose members cannot be listed. */
export function withMembers(platform: WorkflowStep, members: Readonly<Record<string, unknown>>): WorkflowStep {
  const handler: ProxyHandler<WorkflowStep> = {
    get(target, name) {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      // A remote step would answer any name; being taken for a promise would call it.
      if (name === "then" || typeof name === "symbol") return undefined;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? (...args: unknown[]) => Reflect.apply(member, target, args) : member;
    }
  };
  return new Proxy(platform, handler);
}

function broadcastText(message: unknown): string {
  return typeof message === "string" ? message : encodeStored(message, "message");
}
