// The actions of one agent: everything that outlives a turn (ledger, parked actions, kept results, attachments), and the
// tools of each turn that use it. Opened by Think through the first descriptor it sees; wiring only.
import type {
  ActionOutput,
  ActionSet,
  ActionsDesk,
  ActionsHost,
  ActionTurn,
  ApprovalDecision,
  CompiledActions,
  CutOffCall,
  LedgerResolution,
  LedgerResolutionResult,
  ListLedgerOptions,
  PausedOutput
} from "../think/actions-port.ts";
import type { Json } from "../util/json.ts";
import { Approvals } from "./approvals.ts";
import { Attachments } from "./attachments.ts";
import { authorizeByGrant } from "./authorization.ts";
import { compileActions } from "./compile.ts";
import { namedActions } from "./descriptor.ts";
import { Effects } from "./effect.ts";
import { hashedInput } from "./input-hash.ts";
import { sweepLedger } from "./ledger-sweep.ts";
import { Ledger } from "./ledger.ts";
import { prepareOutput } from "./output.ts";
import { isExecutionId, isPausedOutput, Parked } from "./parked.ts";
import { Results } from "./results.ts";

/** Sweeps are at most this frequent. */
export const SWEEP_INTERVAL_MS = 60 * 60 * 1000;

export function openDesk(host: ActionsHost): ActionsDesk {
  return new Desk(host);
}

class Desk implements ActionsDesk {
  readonly #host: ActionsHost;
  readonly #ledger: Ledger;
  readonly #effects: Effects;
  readonly #parked: Parked;
  readonly #approvals: Approvals;
  readonly #results: Results;
  readonly #attachments: Attachments;
  #sweptAt = -Infinity;

  constructor(host: ActionsHost) {
    const { sql, clock, ids, blobs, emit, validate, quarantine, settings } = host;
    const leaseMs = () => settings.actionLedgerPendingRetryLeaseMs;
    this.#host = host;
    this.#ledger = new Ledger({ sql, clock, leaseMs, isRunning: (key) => this.#effects.isRunning(key) });
    this.#results = new Results({ sql, blobs, clock, ids });
    this.#attachments = new Attachments(sql);
    this.#effects = new Effects({
      sql,
      clock,
      emit,
      validate,
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
      ttlMs: () => settings.actionPendingApprovalTtlMs,
      changed: () => host.rearm(),
      lost: (call) => this.#approvals.lost(call)
    });
    this.#approvals = new Approvals({ host, parked: this.#parked, ledger: this.#ledger, effects: this.#effects });
  }

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

  beginTurn(turn: Pick<ActionTurn, "turnId">): void {
    this.#attachments.beginTurn(turn.turnId);
  }

  turnSettled(turnId: string): void {
    this.#approvals.turnSettled(turnId);
  }

  conversationCleared(): void {
    this.#parked.deleteAll();
  }

  attachmentsOf(turnId: string): ReturnType<ActionsDesk["attachmentsOf"]> {
    return this.#attachments.ofTurn(turnId);
  }

  replyAttachments(requestId?: string): ReturnType<ActionsDesk["replyAttachments"]> {
    return this.#attachments.latest(requestId);
  }

  pendingApprovals(executionId?: string): ReturnType<ActionsDesk["pendingApprovals"]> {
    return this.#approvals.pending(executionId);
  }

  descriptorOf(executionId: string): ReturnType<ActionsDesk["descriptorOf"]> {
    return this.#parked.find(executionId)?.descriptor;
  }

  isAction(name: string): boolean {
    return namedActions(this.#host.getActions()).has(name);
  }

  isExecutionId(executionId: string): boolean {
    return isExecutionId(executionId);
  }

  approveExecution(executionId: string, decision: ApprovalDecision = {}): Promise<ActionOutput> {
    return this.#approvals.approve(executionId, decision);
  }

  rejectExecution(executionId: string, decision: ApprovalDecision & { reason?: string } = {}): Promise<ActionOutput> {
    return this.#approvals.reject(executionId, decision);
  }

  authorizeByGrant(context: Parameters<ActionsDesk["authorizeByGrant"]>[0]): ReturnType<typeof authorizeByGrant> {
    return authorizeByGrant(context);
  }

  settledOutput({ input, ...call }: CutOffCall): [Json | undefined] | undefined {
    return this.#ledger.settledOutput({ ...call, inputHash: hashedInput(call.action, input).hash });
  }

  listActionLedger(options?: ListLedgerOptions): ReturnType<ActionsDesk["listActionLedger"]> {
    return this.#ledger.list(options);
  }

  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult {
    const answer = this.#ledger.resolve(key, "retry" in resolution ? "retry" : settledBy(resolution));
    if (answer !== "resolved") return { ok: false, reason: answer };
    // An approved action may have been waiting for just this.
    this.#approvals.retry();
    return { ok: true };
  }

  isPausedOutput(output: unknown): output is PausedOutput {
    return isPausedOutput(output);
  }

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
    const { clock, emit, settings } = this.#host;
    if (clock.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = clock.now();
    const swept = sweepLedger(this.#host, settings.actionLedgerRetention);
    if (swept.settled + swept.pending > 0) emit("action:ledger:swept", { ...swept });
    this.#results.sweep();
  }
}

/** What an operator says is shown to the model like what an action returned. */
function settledBy(resolution: { readonly output: unknown; readonly by?: string }): {
  output: Json | undefined;
  by: string | null;
} {
  return { output: prepareOutput(resolution.output, () => undefined).output, by: resolution.by ?? null };
}
