// The workflows an agent starts: a record of each, written before the platform is asked, and what they report back.
// A report is taken at least once and, within the last DELIVERED_STEPS_LIMIT of a workflow, not again once it was taken;
// changes of state and broadcasts are taken exactly once. What runs inside a workflow is the platform's business.
import { isPlatformTransient, isRetryable } from "../../host/platform-errors.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import type { Identity } from "../../agent/identity.ts";
import { runAttempts } from "../../agent/retry.ts";
import { encodeStored, storedError } from "../../agent/stored-json.ts";
import { bindingOf, isExported, namespaceNames } from "./agent-address.ts";
import { attachOrigin, type WorkflowOrigin } from "./origin.ts";
import { refused, TAKEN, type ReportAnswer, type ReportContent, type WorkflowReport } from "./report.ts";
import { WorkflowControl, type WorkflowInstance } from "./workflow-control.ts";
import { workflowErrors } from "./errors.ts";
import { deliveredSteps, toInfo, WorkflowTable, type WorkflowInfo, type WorkflowRow } from "./workflow-table.ts";

/** Bytes of a record's metadata, as JSON. */
export const WORKFLOW_METADATA_LIMIT_BYTES = 16 * 1024;
const SEND_RETRY = { maxAttempts: 3, baseDelayMs: 200, maxDelayMs: 3_000 };

export interface RunWorkflowOptions {
  /** Unique within the workflow binding. Default: `wf_` and random characters. */
  id?: string;
  /** Kept with the record, at most 16 KiB of JSON. */
  metadata?: unknown;
  /** The root agent's Durable Object binding in the workflow's Worker. Needed only if it is not named like the class. */
  agentBinding?: string;
}

export interface WorkflowEventInput {
  /** What `step.waitForEvent` of the workflow waits for. */
  type: string;
  payload?: unknown;
}

/** The part of a platform workflow binding that is used here. */
interface WorkflowBinding {
  create(options: { id: string; params: unknown }): Promise<unknown>;
  get(id: string): Promise<WorkflowInstance>;
}

/** What workflows need beyond the core: who the agent is, what it can reach, and what a workflow may change. */
export interface WorkflowsHost extends AgentCore {
  readonly env: unknown;
  readonly ctx: { readonly id: { toString(): string }; readonly exports?: unknown };
  readonly identity: Identity;
  readonly agent: { readonly initialState: unknown };
  readonly state: { readonly value: unknown; set(next: unknown, source: "server"): void };
  readonly connections: { broadcast(message: string): void };
}

interface Start {
  id: string;
  binding: WorkflowBinding;
  params: unknown;
}

export class Workflows {
  readonly host: WorkflowsHost;
  readonly table: WorkflowTable;
  readonly control: WorkflowControl;
  /** Ids the platform is being asked about right now. In memory: a crash ends the asking. */
  readonly #starting = new Set<string>();
  /** A step that timed out and is retried while its report is still being taken waits for the first. */
  readonly #taking = new Map<string, Promise<ReportAnswer>>();

  constructor(host: WorkflowsHost) {
    this.host = host;
    this.table = new WorkflowTable(host.sql, () => host.clock.now());
    this.control = new WorkflowControl(this);
  }

  /** The platform's handle of a workflow. */
  instance(bindingName: string, workflowId: string): Promise<WorkflowInstance> {
    return this.#binding(bindingName).get(workflowId);
  }

  async run(bindingName: string, params: unknown, options: RunWorkflowOptions = {}): Promise<string> {
    const binding = this.#binding(bindingName);
    const origin = this.#origin(bindingName, options.agentBinding);
    const id = options.id ?? `wf_${this.host.ids.next()}`;
    const metadata =
      options.metadata === undefined
        ? null
        : encodeStored(options.metadata, "workflow's metadata", WORKFLOW_METADATA_LIMIT_BYTES);
    const isNew = this.table.insert({ id, workflow: bindingName, metadata });
    if (!isNew && !this.#isInterrupted(id, bindingName)) throw workflowErrors.WorkflowTrackedError(id);
    this.#starting.add(id);
    try {
      const start = { id, binding, params: attachOrigin(params, origin) };
      if (isNew || !(await exists(start))) await this.#create(start);
    } finally {
      this.#starting.delete(id);
    }
    this.table.markCreated(id);
    this.host.emit("workflow:start", { workflowId: id, workflowName: bindingName });
    return id;
  }

  async sendEvent(bindingName: string, workflowId: string, event: WorkflowEventInput): Promise<void> {
    const binding = this.#binding(bindingName);
    const { clock, ids } = this.host;
    await runAttempts(
      async () => (await binding.get(workflowId)).sendEvent({ type: event.type, payload: event.payload }),
      {
        ...SEND_RETRY,
        clock,
        ids,
        shouldRetry: isRetryable
      }
    );
    this.host.emit("workflow:event", { workflowId, eventType: event.type });
  }

  get(id: string): WorkflowInfo | undefined {
    const row = this.table.byId(id);
    return row && toInfo(row);
  }

  remove(id: string): boolean {
    return this.table.remove(id);
  }

  /** What a workflow reports. Rejects when the agent's own code failed: the workflow's step is then retried. */
  async receive(report: WorkflowReport): Promise<ReportAnswer> {
    const key = `${report.workflowId}/${report.step}`;
    const earlier = this.#taking.get(key);
    if (earlier) return earlier;
    const taking = this.#take(report).finally(() => this.#taking.delete(key));
    this.#taking.set(key, taking);
    return taking;
  }

  async #take(report: WorkflowReport): Promise<ReportAnswer> {
    const row = this.table.byId(report.workflowId);
    if (!row) return refused("it does not track this workflow (any more).");
    if (deliveredSteps(row).includes(report.step)) return TAKEN;
    const { content } = report;
    switch (content.do) {
      case "progress":
        if (row.settled_by !== null) return TAKEN;
        this.table.markRunning(row.id);
        return this.#tell(report, "onWorkflowProgress", content.progress);
      case "complete":
        if (!this.#settle(row, report, null)) return TAKEN;
        return this.#tell(report, "onWorkflowComplete", content.result);
      case "error":
        if (!this.#settle(row, report, content.error)) return TAKEN;
        return this.#tell(report, "onWorkflowError", content.error);
      case "event":
        this.table.markRunning(row.id);
        return this.#tell(report, "onWorkflowEvent", content.event);
      default:
        return this.#apply(report, content);
    }
  }

  /** False when another step has ended the workflow. Its own retry goes on: the hook may not have finished. */
  #settle(row: WorkflowRow, { step }: WorkflowReport, error: string | null): boolean {
    if (row.settled_by !== null) return row.settled_by === step;
    const end = error === null ? { status: "complete" as const, error } : { status: "errored" as const, error };
    this.table.settle(row.id, { ...end, error: error === null ? null : storedError(error), step });
    return true;
  }

  async #tell({ workflowId, workflowName, step }: WorkflowReport, hook: string, data: unknown): Promise<ReportAnswer> {
    try {
      const work = new DurableWork(`workflow:${workflowId}:${step}`);
      await runDurably({ work }, () => this.host.invoke(hook, workflowName, workflowId, data));
    } catch (error) {
      // Returning normally means handled; what it throws makes the workflow try again.
      await this.host.invoke("onError", error);
    }
    this.table.markDelivered(workflowId, step);
    return TAKEN;
  }

  /** One transaction with the mark that it was done, so a retry cannot do it twice. */
  #apply(
    { workflowId, step }: WorkflowReport,
    content: Extract<ReportContent, { do: "set-state" | "merge-state" | "reset-state" | "broadcast" }>
  ): ReportAnswer {
    try {
      this.host.sql.transaction(() => {
        this.table.markRunning(workflowId);
        this.table.markDelivered(workflowId, step);
        if (content.do !== "broadcast") this.host.state.set(this.#nextState(content), "server");
      });
    } catch (error) {
      // Refused by validateStateChange, too large, not JSON: the same state would be refused again.
      return refused(errorMessage(error));
    }
    if (content.do === "broadcast") this.host.connections.broadcast(content.message);
    return TAKEN;
  }

  #nextState(content: Extract<ReportContent, { do: "set-state" | "merge-state" | "reset-state" }>): unknown {
    const { agent, state } = this.host;
    switch (content.do) {
      case "set-state":
        return content.state;
      case "reset-state":
        return agent.initialState;
      case "merge-state": {
        const current = state.value ?? {};
        if (!isObject(current) || !isObject(content.partial)) throw new TypeError("only objects can be merged.");
        return { ...current, ...content.partial };
      }
    }
  }

  /** A record that an earlier life left behind before the platform had answered. */
  #isInterrupted(id: string, bindingName: string): boolean {
    const row = this.table.byId(id);
    return row?.is_created === 0 && row.workflow === bindingName && !this.#starting.has(id);
  }

  async #create({ id, binding, params }: Start): Promise<void> {
    try {
      dispose(await binding.create({ id, params }));
    } catch (error) {
      // A lost answer says nothing about what the platform did: the record stays, for its reports or for another try.
      if (isPlatformTransient(error)) this.table.markUncertain(id, storedError(error));
      else this.table.remove(id);
      throw error;
    }
  }

  #binding(bindingName: string): WorkflowBinding {
    const bindings = isObject(this.host.env) ? this.host.env : {};
    const binding = Object.hasOwn(bindings, bindingName) ? bindings[bindingName] : undefined;
    if (isWorkflowBinding(binding)) return binding;
    throw workflowErrors.WorkflowBindingError(
      bindingName,
      Object.keys(bindings).filter((name) => isWorkflowBinding(bindings[name]))
    );
  }

  #origin(workflowName: string, given: string | undefined): WorkflowOrigin {
    const { identity, env, ctx } = this.host;
    const path = identity.selfPath;
    const agentClass = path[0]?.className ?? identity.className;
    const agentBinding = given ?? bindingOf(agentClass, env) ?? null;
    if (agentBinding === null && !isExported(agentClass, ctx.exports)) {
      throw workflowErrors.AgentBindingError(agentClass, namespaceNames(env));
    }
    return { agentName: identity.name, agentClass, agentBinding, agentId: ctx.id.toString(), path, workflowName };
  }
}

/** Whether the platform already has it, asked only where an earlier life may have created it. */
async function exists({ binding, id }: Start): Promise<boolean> {
  try {
    dispose(await binding.get(id));
    return true;
  } catch (error) {
    if (isPlatformTransient(error)) throw error;
    // The platform has no other way of saying no.
    return false;
  }
}

function isWorkflowBinding(value: unknown): value is WorkflowBinding {
  if (typeof value !== "object" || value === null || !("create" in value) || !("get" in value)) return false;
  // A namespace has `get`, an R2 bucket has `get`; only a workflow also has `create`.
  return typeof value.create === "function" && typeof value.get === "function";
}

/** A handle that came over RPC keeps its object awake until it is let go. */
function dispose(handle: unknown): void {
  if (typeof handle === "object" && handle !== null && Symbol.dispose in handle)
    (handle as Disposable)[Symbol.dispose]();
}
