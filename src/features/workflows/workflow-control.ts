// What an agent does with the workflows it has started, beside starting them: asks how they are, lists and forgets them,
// stops, pauses and restarts them, and decides what they wait for. The platform is asked first and the record follows, so
// that a crash in between leaves a record that says less, and never more, than is so.
import { isObject } from "../../util/json.ts";
import { workflowErrors } from "./errors.ts";
import {
  toInfo,
  type WorkflowInfo,
  type WorkflowRow,
  type WorkflowStatus,
  type WorkflowTable
} from "./workflow-table.ts";
import type { Workflows } from "./workflows.ts";

/** Workflows in one answer. */
const PAGE = { default: 50, max: 100 };
/** The event that `waitForApproval` waits for. */
export const APPROVAL_EVENT = "approval";

/** What the platform says of a workflow. */
export interface WorkflowInstanceStatus {
  status: WorkflowStatus | "waitingForPause" | "unknown";
  output?: unknown;
  error?: unknown;
}

/** A workflow at the platform, as far as it is used here. */
export interface WorkflowInstance {
  status(): Promise<WorkflowInstanceStatus>;
  sendEvent(event: { type: string; payload?: unknown }): Promise<unknown>;
  terminate(): Promise<unknown>;
  pause(): Promise<unknown>;
  resume(): Promise<unknown>;
  restart(): Promise<unknown>;
}

export interface WorkflowCriteria {
  status?: WorkflowStatus | WorkflowStatus[];
  /** The binding they were started with. */
  workflowName?: string;
  /** Fields of the metadata, each with this value. */
  metadata?: Record<string, string | number | boolean | null>;
}

export interface WorkflowQuery extends WorkflowCriteria {
  /** Default 50, at most 100. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string;
  /** By the time they were started. Default "desc": newest first. */
  orderBy?: "asc" | "desc";
}

export interface WorkflowPage {
  workflows: WorkflowInfo[];
  /** How many there are on all pages. */
  total: number;
  nextCursor: string | null;
}

/** What `approveWorkflow` and `rejectWorkflow` hand to a workflow. */
interface WorkflowDecision {
  approved: boolean;
  reason?: string;
  metadata?: unknown;
}

export class WorkflowControl {
  readonly #started: Workflows;
  readonly #table: WorkflowTable;

  constructor(started: Workflows) {
    this.#started = started;
    this.#table = started.table;
  }

  async status(bindingName: string, workflowId: string): Promise<WorkflowInstanceStatus> {
    const { status, output, error } = await (await this.#started.instance(bindingName, workflowId)).status();
    // An end is the workflow's to report: its hook is called by that, and a record that is settled takes no report.
    if (status === "running" || status === "paused" || status === "waiting") this.#table.note(workflowId, status);
    else if (status === "terminated") this.#table.terminated(workflowId);
    return { status, output: output ?? null, error: error ?? null };
  }

  list({ limit = PAGE.default, cursor, orderBy = "desc", ...criteria }: WorkflowQuery = {}): WorkflowPage {
    const matching = this.#matching(criteria);
    const ordered = orderBy === "asc" ? matching : matching.toReversed();
    // By its number: the cursor's record may have been deleted since the page before.
    const isBehind = (seq: number) => (orderBy === "asc" ? seq > Number(cursor) : seq < Number(cursor));
    const rest = cursor === undefined ? ordered : ordered.filter(({ seq }) => isBehind(seq));
    const size = Math.min(Math.max(1, Math.trunc(limit) || PAGE.default), PAGE.max);
    const page = rest.slice(0, size);
    return {
      workflows: page.map(toInfo),
      total: matching.length,
      nextCursor: page.length === rest.length ? null : String(page.at(-1)?.seq)
    };
  }

  /** Deletes the records that match, and returns how many there were. */
  removeAll({ createdBefore, ...criteria }: WorkflowCriteria & { createdBefore?: Date | number } = {}): number {
    const before = createdBefore === undefined ? Infinity : Number(createdBefore);
    const rows = this.#matching(criteria).filter(({ created_at }) => created_at < before);
    return rows.filter(({ id }) => this.#table.remove(id)).length;
  }

  async approve(workflowId: string, decision: { reason?: string; metadata?: unknown } = {}): Promise<void> {
    await this.#decide(workflowId, { approved: true, ...decision });
    this.#started.host.emit("workflow:approved", { workflowId, ...reasonOf(decision) });
  }

  async reject(workflowId: string, decision: { reason?: string } = {}): Promise<void> {
    await this.#decide(workflowId, { approved: false, ...decision });
    this.#started.host.emit("workflow:rejected", { workflowId, ...reasonOf(decision) });
  }

  async terminate(workflowId: string): Promise<void> {
    await this.#ask(workflowId, "terminate");
    this.#table.terminated(workflowId);
    this.#started.host.emit("workflow:terminated", { workflowId });
  }

  async pause(workflowId: string): Promise<void> {
    await this.#ask(workflowId, "pause");
    this.#table.note(workflowId, "paused");
    this.#started.host.emit("workflow:paused", { workflowId });
  }

  async resume(workflowId: string): Promise<void> {
    await this.#ask(workflowId, "resume");
    this.#table.note(workflowId, "running");
    this.#started.host.emit("workflow:resumed", { workflowId });
  }

  async restart(workflowId: string, { resetTracking = true }: { resetTracking?: boolean } = {}): Promise<void> {
    await this.#ask(workflowId, "restart");
    this.#table.restarted(workflowId, resetTracking);
    this.#started.host.emit("workflow:restarted", { workflowId });
  }

  async #ask(workflowId: string, what: "terminate" | "pause" | "resume" | "restart"): Promise<void> {
    const { workflow } = this.#row(workflowId);
    await (await this.#started.instance(workflow, workflowId))[what]();
  }

  async #decide(workflowId: string, decision: WorkflowDecision): Promise<void> {
    await this.#started.sendEvent(this.#row(workflowId).workflow, workflowId, {
      type: APPROVAL_EVENT,
      payload: decision
    });
  }

  /** Throws WorkflowUntrackedError. */
  #row(workflowId: string): WorkflowRow {
    const row = this.#table.byId(workflowId);
    if (!row) throw workflowErrors.WorkflowUntrackedError(workflowId);
    return row;
  }

  /** Oldest first. There are at most WORKFLOW_LIMIT. */
  #matching({ status, workflowName, metadata = {} }: WorkflowCriteria): WorkflowRow[] {
    const states = status === undefined ? undefined : [status].flat();
    const fields = Object.entries(metadata);
    return this.#table.all().filter((row) => {
      if (states && !states.includes(row.status)) return false;
      if (workflowName !== undefined && row.workflow !== workflowName) return false;
      if (fields.length === 0) return true;
      const known = toInfo(row).metadata;
      return isObject(known) && fields.every(([name, value]) => Object.hasOwn(known, name) && known[name] === value);
    });
  }
}

function reasonOf({ reason }: { reason?: string }): { reason?: string } {
  return reason === undefined ? {} : { reason };
}
