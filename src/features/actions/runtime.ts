// Actions as a feature of an agent: what outlives a turn (ledger, parked actions, kept results, attachments), and the tools
// of each turn that use it. The turn's grant is decided once and kept with the turn, and a parked call ends its turn. Wiring
// only.
import type { ToolSet, UIMessageChunk } from "ai";
import type {
  ActionApprovalDescriptor,
  ActionGrant,
  ActionLedgerEntry,
  ActionsFeature,
  ActionSet,
  LedgerResolution,
  LedgerResolutionResult,
  ListLedgerOptions,
  ReplyAttachment
} from "../../feature/approval-contract.ts";
import { grantOf, grantOfRecord, recordOfGrant } from "../../feature/approval-contract.ts";
import { featureErrors } from "../../feature/errors.ts";
import type { CallOwner, LostCall, Roles, TurnPart } from "../../feature/feature.ts";
import { endingInPause } from "../../feature/paused-turn.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { TurnView } from "../../turn/turn.ts";
import type { LateOutcomes } from "../../turn/late-outcomes.ts";
import type { ActionMembers } from "./capability.ts";
import type { ResultReader } from "../../feature/read-result.ts";
import { isObject, type Json } from "../../util/json.ts";
import { ActionApprovals } from "./approvals.ts";
import { Attachments } from "./attachments.ts";
import { namedActions } from "./descriptor.ts";
import { Effects } from "./effect.ts";
import { hashedInput } from "./json-copy.ts";
import { Ledger } from "./ledger.ts";
import { isPausedOutput, Parked } from "./parked.ts";
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
  | "isOverridden"
> {
  readonly features: Pick<ChatServices["features"], "role">;
  readonly overrides: Pick<ChatServices["overrides"], "authorizeTurn">;
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

export class ActionRuntime implements ActionsFeature, CallOwner {
  readonly name = "actions";
  readonly tables = ["ledger", "results", "attachments"].map((name) => ({ name: `cf_action_${name}` }));
  readonly approvals: ActionApprovals;
  readonly calls: CallOwner = this;
  readonly roles: Partial<Roles> = {
    attachmentsOf: (turnId) => this.attachmentsOf(turnId),
    actionLedger: (options) => this.listActionLedger(options)
  };
  readonly #host: ActionsHost;
  readonly #owner: ActionMembers;
  readonly #ledger: Ledger;
  readonly #effects: Effects;
  readonly #parked: Parked;
  readonly #results: Results;
  readonly #attachments: Attachments;
  #sweptAt = -Infinity;

  constructor(host: ActionsHost) {
    this.#host = host;
    // Only agents with these members have actions.
    this.#owner = host.agent as ActionMembers;
    this.#ledger = new Ledger(host, (key) => this.#effects.isRunning(key));
    this.#results = new Results(host);
    this.#attachments = new Attachments(host.sql);
    const stores = { ledger: this.#ledger, results: this.#results, attachments: this.#attachments };
    this.#effects = new Effects(host, stores);
    this.#parked = new Parked(host, {
      run: (row) => this.approvals.run(row),
      lost: (call) => this.approvals.lost(call)
    });
    this.approvals = new ActionApprovals(host, { parked: this.#parked, ledger: this.#ledger, effects: this.#effects });
  }

  // ── Turns ──

  inTurn(turn: TurnView): TurnPart {
    let grant: ActionGrant = { allowed: true };
    const { turnId, requestId, messageId, signal } = turn;
    const map: ActionSet = this.#owner.getActions();
    if (!isObject(map)) throw featureErrors.ActionMapError();
    const isEmpty = Object.values(map).every((one) => one === undefined);
    const described = { turnId, requestId, messageId, signal, grant: () => grant };
    const compiled = isEmpty ? undefined : this.compile(described, map);
    return {
      tools: compiled && { actions: compiled.tools },
      readResult: compiled?.readResult,
      begin: async (context) => {
        this.beginTurn(turnId);
        const { overrides, isOverridden } = this.#host;
        if (!isOverridden("authorizeTurn")) return {};
        // Asked once per turn: what an earlier attempt was given holds.
        const recorded = turn.grant ?? recordOfGrant(grantOf(await overrides.authorizeTurn(context)));
        grant = grantOfRecord(recorded);
        return { grant: recorded };
      },
      ...endingInPause(isPausedOutput),
      annotate: (chunk) => annotated(chunk, compiled)
    };
  }

  /** Makes the tools of one attempt. Throws when the map of actions is wrong, which fails the turn. */
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
  settled({ turnId }: Pick<TurnView, "turnId">): void {
    this.approvals.turnSettled(turnId);
  }

  cleared(): void {
    this.approvals.cleared();
  }

  runsTool(toolName: string): boolean {
    return namedActions(this.#owner.getActions()).has(toolName);
  }

  /** Reads the result of a call that its turn lost in a crash, where the ledger has it. */
  lostOutcome({ toolName: action, input, ...call }: LostCall): [Json | undefined] | undefined {
    return this.#ledger.settledOutput({ ...call, action, inputHash: hashedInput(action, input).hash });
  }

  annotateRecovered(chunk: UIMessageChunk): UIMessageChunk {
    if (chunk.type !== "tool-output-available" || !isPausedOutput(chunk.output)) return chunk;
    return withDescriptor(chunk, this.#parked.find(chunk.output.executionId)?.descriptor);
  }

  // ── Life of the agent ──

  /** After the start: sweeps, and goes on with what was decided but not carried out. */
  ready(): void {
    this.#sweep();
    this.approvals.resume();
  }

  stop(): void {
    this.approvals.stop();
  }

  nextWake(): number | null {
    return this.#parked.work.nextWake();
  }

  runDue(): Promise<void> {
    this.#sweep();
    return this.#parked.work.runDue();
  }

  // ── What the class is asked ──

  attachmentsOf(turnId: string): ReplyAttachment[] {
    return this.#attachments.ofTurn(turnId);
  }

  replyAttachments(requestId?: string): ReplyAttachment[] {
    return requestId === undefined ? this.#attachments.latest() : this.#attachments.ofRequest(requestId);
  }

  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[] {
    return this.#ledger.list(options);
  }

  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult {
    const answer = this.#ledger.resolve(key, "retry" in resolution ? "retry" : settledBy(resolution));
    if (answer !== "resolved") return { ok: false, reason: answer };
    // An approved action may have been waiting for just this.
    this.approvals.retry();
    return { ok: true };
  }

  /** Deletes what is old while the agent is awake anyway: no wake is spent on it. */
  #sweep(): void {
    const { clock, emit } = this.#host;
    if (clock.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = clock.now();
    const swept = this.#ledger.sweep();
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

/** The question carries what is asked, so that a client need not look it up. */
function annotated(chunk: UIMessageChunk, compiled: CompiledActions | undefined): UIMessageChunk {
  const isQuestion = chunk.type === "tool-approval-request";
  const isParked = chunk.type === "tool-output-available" && isPausedOutput(chunk.output);
  return isQuestion || isParked ? withDescriptor(chunk, compiled?.descriptorOf(chunk.toolCallId)) : chunk;
}

function withDescriptor(chunk: UIMessageChunk, approvalDescriptor: object | undefined): UIMessageChunk {
  return approvalDescriptor ? { ...chunk, ...{ approvalDescriptor } } : chunk;
}
