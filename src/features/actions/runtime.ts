// The actions of one agent: everything that outlives a turn (ledger, parked actions, kept results, attachments), and the
// tools of each turn that use it. Wiring only.
import type { ToolSet } from "ai";
import type {
  ActionApprovalDescriptor,
  ActionGrant,
  ActionLedgerEntry,
  ActionOutput,
  ActionSet,
  ApprovalDecision,
  LedgerResolution,
  LedgerResolutionResult,
  ListLedgerOptions,
  PendingApproval,
  ReplyAttachment
} from "../../feature/approval-contract.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { LateOutcomes } from "../../turn/late-outcomes.ts";
import type { ActionMembers } from "./capability.ts";
import type { ResultReader } from "../../feature/read-result.ts";
import type { Json } from "../../util/json.ts";
import { Approvals } from "./approvals.ts";
import { Attachments } from "./attachments.ts";
import { namedActions } from "./descriptor.ts";
import { Effects } from "./effect.ts";
import { hashedInput } from "./json-copy.ts";
import { Ledger, sweepLedger } from "./ledger.ts";
import { Parked } from "./parked.ts";
import { prepareOutput, Results } from "./results.ts";
import { compileActions } from "./run.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

/** What actions use of their agent. */
export interface ActionsHost extends Pick<
  ChatServices,
  | "agent"
  | "env"
  | "sql"
  | "blobs"
  | "clock"
  | "ids"
  | "quarantine"
  | "emit"
  | "validate"
  | "inAgent"
  | "background"
  | "rearm"
  | "actionFailed"
> {
  readonly conversation: Pick<LateOutcomes, keyof LateOutcomes>;
}

/** One attempt of a turn, as actions see it. */
export interface ActionTurn {
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly signal: AbortSignal;
  /** What `authorizeTurn` said; it is asked after `beforeTurn`, so it is looked up when a call needs it. */
  readonly grant: () => MaybePromise<ActionGrant>;
}

export interface CompiledActions {
  /** Of the layer "actions". */
  readonly tools: ToolSet;
  /** Pages through outputs that were too long. */
  readonly readResult: ResultReader;
  /** Of a call whose approval was asked for, and of a parked one; for `approvalDescriptor` on chunk and part. */
  descriptorOf(toolCallId: string): ActionApprovalDescriptor | undefined;
}

/** Sweeps are at most this frequent. */
export const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

export class ActionRuntime {
  readonly #host: ActionsHost;
  readonly #owner: ActionMembers;
  readonly #ledger: Ledger;
  readonly #effects: Effects;
  readonly #parked: Parked;
  readonly #approvals: Approvals;
  readonly #results: Results;
  readonly #attachments: Attachments;
  #sweptAt = -Infinity;

  constructor(host: ActionsHost) {
    const { sql, clock, ids, blobs, emit, validate, quarantine } = host;
    // Only agents with these members have actions.
    const owner = host.agent as ActionMembers;
    const leaseMs = () => owner.actionLedgerPendingRetryLeaseMs;
    this.#host = host;
    this.#owner = owner;
    this.#ledger = new Ledger({ sql, clock, leaseMs, isRunning: (key) => this.#effects.isRunning(key) });
    this.#results = new Results({ sql, blobs, clock, ids });
    this.#attachments = new Attachments(sql);
    this.#effects = new Effects({
      sql,
      clock,
      emit,
      validate,
      failed: (error, call) => host.actionFailed(error, call),
      leaseMs,
      ledger: this.#ledger,
      results: this.#results,
      attachments: this.#attachments
    });
    this.#parked = new Parked({
      sql,
      clock,
      ids,
      quarantine,
      emit,
      ttlMs: () => owner.actionPendingApprovalTtlMs,
      changed: () => host.rearm(),
      lost: (call) => this.#approvals.lost(call)
    });
    this.#approvals = new Approvals({ host, parked: this.#parked, ledger: this.#ledger, effects: this.#effects });
  }

  /** The tools of one attempt. Throws when the map of actions is wrong, which fails the turn. */
  compile(turn: ActionTurn, actions: ActionSet): CompiledActions {
    this.#sweep();
    const ports = { host: this.#host, effects: this.#effects, parked: this.#parked };
    const { tools, descriptors } = compileActions(ports, turn, namedActions(actions));
    return {
      tools,
      readResult: (id, from, length) => this.#results.page(id, from, length),
      descriptorOf: (toolCallId) => descriptors.get(toolCallId)
    };
  }

  /** An attempt starts: attachments of other turns are no longer the latest. */
  beginTurn(turnId: string): void {
    this.#attachments.beginTurn(turnId);
  }

  /** The turn's answer is stored: outcomes that waited for it are put in place. */
  turnSettled(turnId: string): void {
    this.#approvals.turnSettled(turnId);
  }

  /** Part of the transaction that empties the conversation. */
  conversationCleared(): void {
    this.#parked.deleteAll();
  }

  attachmentsOf(turnId: string): ReplyAttachment[] {
    return this.#attachments.ofTurn(turnId);
  }

  replyAttachments(requestId?: string): ReplyAttachment[] {
    return requestId === undefined ? this.#attachments.latest() : this.#attachments.ofRequest(requestId);
  }

  pendingApprovals(executionId?: string): PendingApproval[] {
    return this.#approvals.pending(executionId);
  }

  /** Of a parked action whose outcome is not in the transcript yet. */
  descriptorOf(executionId: string): ActionApprovalDescriptor | undefined {
    return this.#parked.find(executionId)?.descriptor;
  }

  /** Whether `getActions()` has an action of that name now. */
  isAction(name: string): boolean {
    return namedActions(this.#owner.getActions()).has(name);
  }

  approveExecution(executionId: string, decision: ApprovalDecision = {}): Promise<ActionOutput> {
    return this.#approvals.approve(executionId, decision);
  }

  rejectExecution(executionId: string, decision: ApprovalDecision & { reason?: string } = {}): Promise<ActionOutput> {
    return this.#approvals.reject(executionId, decision);
  }

  /** The result of a call that its turn lost in a crash, where the ledger has it. */
  settledOutput({ input, ...call }: LostAction): [Json | undefined] | undefined {
    return this.#ledger.settledOutput({ ...call, inputHash: hashedInput(call.action, input).hash });
  }

  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[] {
    return this.#ledger.list(options);
  }

  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult {
    const answer = this.#ledger.resolve(key, "retry" in resolution ? "retry" : settledBy(resolution));
    if (answer !== "resolved") return { ok: false, reason: answer };
    // An approved action may have been waiting for just this.
    this.#approvals.retry();
    return { ok: true };
  }

  /** After the start: sweeps, and goes on with what was decided but not carried out. */
  resume(): void {
    this.#sweep();
    this.#approvals.resume();
  }

  nextWake(nowMs: number): number | null {
    return this.#approvals.nextWake(nowMs);
  }

  async runDue(): Promise<void> {
    this.#sweep();
    this.#approvals.runDue();
  }

  /** What is old leaves while the agent is awake anyway: no wake is spent on it. */
  #sweep(): void {
    const { clock, emit } = this.#host;
    if (clock.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = clock.now();
    const swept = sweepLedger(this.#host, this.#owner.actionLedgerRetention);
    if (swept.settled + swept.pending > 0) emit("action:ledger:swept", { ...swept });
    this.#results.sweep();
    this.#parked.sweepClosed();
  }
}

interface LostAction {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly input: unknown;
}

/** What an operator says is shown to the model like what an action returned. */
function settledBy(resolution: { readonly output: unknown; readonly by?: string }): {
  output: Json | undefined;
  by: string | null;
} {
  return { output: prepareOutput(resolution.output, () => undefined).output, by: resolution.by ?? null };
}
