// The base class of workflows that belong to an agent. It takes the agent's identity out of the params, gives the user's
// `run` a stub of that agent and steps that report to it, and reports the end if `run` does not.
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "#platform";
import type { AgentBase } from "../../agent/agent-base.ts";
import { isUpgrade } from "../../agent/connections/upgrade.ts";
import { isUnknownChild } from "../../agent/tree/internal.ts";
import { remoteStub, type SubAgentStub } from "../../agent/tree/sub-agent-stub.ts";
import { openAddress, type OriginAddress } from "./agent-address.ts";
import { detachOrigin, type Detached, type WorkflowOrigin } from "./origin.ts";
import { refused, type ReportAnswer } from "./report.ts";
import { openStep, type AgentWorkflowStep, type OpenedStep } from "./workflow-step.ts";
import { APPROVAL_EVENT } from "./workflow-control.ts";
import { WorkflowRejectedError, workflowErrors } from "./errors.ts";

/** What `run` is given: the platform's event, with the params exactly as they were given to `runWorkflow`. */
export type AgentWorkflowEvent<Params = unknown> = Readonly<WorkflowEvent<Params>>;

export interface ApprovalWait {
  /** Default "wait-for-approval". */
  stepName?: string;
  /** Default "approval", which is what the agent's methods send. */
  eventType?: string;
  /** Default: the platform's. */
  timeout?: WorkflowSleepDuration | number;
}

type Run = AgentWorkflow["run"];

interface Running {
  origin: WorkflowOrigin;
  workflowId: string;
  agent: object;
}

/**
 * A workflow started with `runWorkflow`, in a Worker that knows the agent's class.
 *
 * @example
 * export class Importer extends AgentWorkflow<Library, { url: string }, { done: number }> {
 *   async run(event: AgentWorkflowEvent<{ url: string }>, step: AgentWorkflowStep<{ done: number }>) {
 *     const books = await step.do("download", () => download(event.payload.url));
 *     await step.reportProgress({ done: books.length });
 *     await step.do("store", () => this.agent.store(books));
 *     return books.length; // reported as complete
 *   }
 * }
 */
export abstract class AgentWorkflow<
  AgentClass extends AgentBase = AgentBase,
  Params = unknown,
  Progress = unknown,
  Env = unknown
> extends WorkflowEntrypoint<Env, Params> {
  #running: Running | undefined;

  constructor(ctx: ExecutionContext, env: Env) {
    super(ctx, env);
    AgentWorkflow.#wrapRun(Object.getPrototypeOf(this) as AgentWorkflow);
  }

  /** The user's part. Runs again from the top after a restart; finished steps answer from their record. */
  abstract override run(
    event: AgentWorkflowEvent<Params>,
    step: AgentWorkflowStep<Progress, AgentClass["state"]>
  ): Promise<unknown>;

  /** The agent that started this workflow, also if it is a sub-agent. A call starts it if it is not running. */
  get agent(): SubAgentStub<AgentClass> {
    // The origin was recorded by an instance of the class the workflow names.
    return this.#current.agent as SubAgentStub<AgentClass>;
  }

  get workflowId(): string {
    return this.#current.workflowId;
  }

  /** The binding the workflow was started with, as given to `runWorkflow`. */
  get workflowName(): string {
    return this.#current.origin.workflowName;
  }

  /**
   * Waits until `approveWorkflow` or `rejectWorkflow` of the agent is called for this workflow. Returns the metadata of the
   * approval; throws WorkflowRejectedError, or the platform's error when `timeout` is over.
   */
  protected async waitForApproval<Metadata = unknown>(
    step: AgentWorkflowStep<Progress, AgentClass["state"]>,
    options: ApprovalWait = {}
  ): Promise<Metadata | undefined> {
    const { stepName = "wait-for-approval", eventType: type = APPROVAL_EVENT, timeout } = options;
    const wait = { type, ...(timeout !== undefined && { timeout }) };
    // What the agent's methods send.
    const { payload } = await step.waitForEvent<{ approved?: boolean; reason?: string; metadata?: object }>(
      stepName,
      wait
    );
    if (payload.approved !== true) throw new WorkflowRejectedError(this.workflowId, payload.reason);
    return payload.metadata as Metadata | undefined;
  }

  /** Where a class of the package adds steps of its own. */
  protected extendStep(step: AgentWorkflowStep): AgentWorkflowStep {
    return step;
  }

  get #current(): Running {
    if (!this.#running) throw workflowErrors.WorkflowOriginError(this.constructor.name);
    return this.#running;
  }

  static readonly #wrapped = new WeakSet<object>();

  /** On the prototype, once per class: the platform does not call methods that an instance carries itself. */
  static #wrapRun(prototype: AgentWorkflow): void {
    if (this.#wrapped.has(prototype)) return;
    this.#wrapped.add(prototype);
    const userRun = prototype.run;
    const run = function (this: AgentWorkflow, event: AgentWorkflowEvent, step: WorkflowStep): Promise<unknown> {
      return this.#enter(userRun, event, step);
    };
    Object.defineProperty(prototype, "run", { value: run, configurable: true, writable: true });
  }

  async #enter(userRun: Run, event: AgentWorkflowEvent, step: WorkflowStep): Promise<unknown> {
    const detached = detachOrigin(event.payload);
    // Without an origin this is `super.run(…)` of a run that is under way, or a workflow no agent started.
    if (!detached && this.#running) return userRun.call(this, event, step as AgentWorkflowStep);
    if (!detached) throw workflowErrors.WorkflowOriginError(this.constructor.name);
    const opened = this.#open(detached, event.instanceId, step);
    try {
      // Params have the type the class gives them.
      const given = { ...event, payload: detached.params } as AgentWorkflowEvent;
      const result = await userRun.call(this, given, this.extendStep(opened.step));
      await reportEnd(opened, () => opened.step.reportComplete(result));
      return result;
    } catch (error) {
      await reportEnd(opened, () => opened.step.reportError(error));
      throw error;
    }
  }

  #open({ origin }: Detached, workflowId: string, step: WorkflowStep): OpenedStep {
    const { exports } = this.ctx as { exports?: unknown };
    const address = openAddress(origin, { exports, env: this.env });
    this.#running = { origin, workflowId, agent: stubOf(address, origin) };
    const { workflowName } = origin;
    return openStep(step, async (name, content) => {
      const answer = await address.ask({ op: "report", report: { workflowId, workflowName, step: name, content } });
      if (isUnknownChild(answer)) return refused("the sub-agent was deleted.");
      // Every agent answers "report" with this.
      return answer as ReportAnswer;
    });
  }
}

/**
 * Only if the user's code has not. A report that cannot be made must not change how the workflow itself ends; and when
 * the platform is stopping the run, the step does not run, so a pause is not reported as an error.
 */
async function reportEnd(opened: OpenedStep, report: () => Promise<void>): Promise<void> {
  if (opened.hasEnded()) return;
  try {
    await report();
  } catch (error) {
    console.error("The end of a workflow could not be reported to its agent:", error);
  }
}

function stubOf(address: OriginAddress, { path }: WorkflowOrigin): object {
  return remoteStub({
    className: path.at(-1)?.className ?? "",
    ask: (call) => address.ask(call),
    async fetch(request) {
      if (isUpgrade(request)) throw new TypeError("A workflow's agent stub does not take WebSocket upgrades.");
      // `fetch` of an agent answers with a Response.
      return (await address.ask({ op: "fetch", request })) as Response;
    }
  });
}
