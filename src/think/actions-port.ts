// The seam between Think and the actions room, which lies above it. An action descriptor carries, under a symbol, the
// factory of the "desk": one object per agent that owns ledger, parked approvals and attachments and turns descriptors
// into tools. Think finds the factory on the first descriptor of `getActions()`, so a class without actions loads none
// of that code. Types, and the one symbol both sides must agree on.
import type { ModelMessage, ToolSet } from "ai";
import type { Blobs } from "../host/blobs.ts";
import type { Clock, Ids, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { EventPayloads, EventType } from "../observe/events.ts";
import type { Json } from "../util/json.ts";
import type { Result } from "../util/result.ts";
import type { ResultReader } from "./read-result.ts";

type MaybePromise<T> = T | Promise<T>;

/** Under which a descriptor carries its factory. Registered, so that two copies of the package still meet. */
export const OPEN_ACTIONS: unique symbol = Symbol.for("everthink.actions.open") as typeof OPEN_ACTIONS;

/** What `getActions()` returns the values of, as far as this room knows them. */
export interface CarriesActions {
  readonly [OPEN_ACTIONS]: OpenActions;
}

/** Undefined: left out. */
export type ActionSet = Record<string, CarriesActions | undefined>;

export type OpenActions = (host: ActionsHost) => ActionsDesk;

// ── What the desk needs ──

export interface ActionsHost {
  readonly sql: Sql;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly quarantine: Quarantine;
  readonly emit: <Type extends EventType>(type: Type, payload: EventPayloads[Type]) => void;
  /** `ctx.agent` and `ctx.env` of every callback. */
  readonly agent: object;
  readonly env: unknown;
  /** The class's settings; read whenever they are needed. */
  readonly settings: ActionSettings;
  /** Called for every turn and for every approval, so that a deployed change counts. */
  getActions(): ActionSet;
  /** The class's own; absent unless it overrides the method. */
  readonly authorizeAction?: (context: ActionAuthorizationContext) => MaybePromise<ActionAuthorizationDecision>;
  /** Whether the caller of approveExecution or rejectExecution may; absent: everyone who can call it. */
  readonly authorizeApproval?: (context: ApprovalAuthorizationContext) => MaybePromise<ActionAuthorizationDecision>;
  /** `Sdk.validateInput`: what the schema makes of a value. */
  readonly validate: (schema: unknown, value: unknown) => Promise<Result<unknown, unknown>>;
  readonly conversation: ConversationSide;
  /** Runs work in the agent's context, kept alive until it ends. */
  readonly inAgent: <T>(work: () => Promise<T>) => Promise<T>;
  /** Work nobody waits for. */
  readonly background: (work: Promise<unknown>) => void;
  /** `nextWake` may answer otherwise now. Never called inside a transaction. */
  readonly rearm: () => void;
}

export interface ActionSettings {
  /** After this long without a sign of life, an unsettled call with an explicit key may run again; false: never. */
  readonly actionLedgerPendingRetryLeaseMs: number | false;
  readonly actionLedgerRetention: ActionLedgerRetention;
  /** How long a parked action waits for a human; false: for ever. */
  readonly actionPendingApprovalTtlMs: number | false;
}

export interface ActionLedgerRetention {
  readonly settledMs?: number | false;
  readonly pendingMs?: number | false;
  readonly maxSweepRows?: number;
}

/**
 * The transcript, as far as approvals change it. Every method is synchronous and only writes within `atomically`, so
 * that a decision, its place in the transcript and the turn that goes on are one state change.
 */
export interface ConversationSide {
  /** One transaction; what readers must be told is told after it. */
  atomically<T>(work: () => T): T;
  /**
   * What became of a call. "open": its outcome is not recorded yet. "paused": the recorded outcome is the paused output.
   * "resolved": it has another outcome, an interruption included. "gone": nobody knows the call any more.
   */
  outputState(call: ParkedCall): "open" | "paused" | "resolved" | "gone";
  /**
   * Puts `output` in the place of the paused output with this execution id. "not-yet": the message is still being
   * written; `turnSettled` will ask again. "gone": nobody sees that place any more.
   */
  replaceOutput(call: ParkedCall, output: Json | undefined): "replaced" | "gone" | "already-resolved" | "not-yet";
  /** Admits a continuation that survives a restart. `origin` is the approving client's connection, if there is one. */
  continueTurn(call: ParkedCall, origin: unknown): void;
  /** Appends a message that tells an outcome whose part is gone. */
  note(text: string): void;
}

/** Where a parked action belongs. */
export interface ParkedCall {
  readonly executionId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
}

// ── What Think calls ──

export interface ActionsDesk {
  /** The tools of one attempt. Throws when the map of actions is wrong, which fails the turn. */
  compile(turn: ActionTurn, actions: ActionSet): CompiledActions;
  /** A turn's first or later attempt starts: attachments of other turns are no longer the latest. */
  beginTurn(turn: Pick<ActionTurn, "turnId" | "requestId">): void;
  /** The turn's answer is stored: outcomes that waited for it are put in place. */
  turnSettled(turnId: string): void;
  /** The conversation was emptied: nothing waits for a human any more. Part of the caller's transaction. */
  conversationCleared(): void;
  /** What `onChatResponse` is given. */
  attachmentsOf(turnId: string): ReplyAttachment[];
  /** Of the latest turn; `[]` when `requestId` names another. */
  replyAttachments(requestId?: string): ReplyAttachment[];
  pendingApprovals(executionId?: string): PendingApproval[];
  /** Of a parked action whose outcome is not in the transcript yet. */
  descriptorOf(executionId: string): ActionApprovalDescriptor | undefined;
  /** Whether `getActions()` has an action of that name now. */
  isAction(name: string): boolean;
  /** True for ids this desk gave out; others are a code execution's. */
  isExecutionId(executionId: string): boolean;
  /** Never throws for what a caller can do wrong: answers `{ status: "error" }`. */
  approveExecution(executionId: string, decision?: ApprovalDecision): Promise<ActionOutput>;
  rejectExecution(
    executionId: string,
    decision?: ApprovalDecision & { readonly reason?: string }
  ): Promise<ActionOutput>;
  /** The rule of a class that does not override `authorizeAction`; what `super.authorizeAction(ctx)` answers. */
  authorizeByGrant(context: ActionAuthorizationContext): ActionAuthorizationDecision;
  /** The result of a call that its turn lost in a crash, where the ledger has it. */
  settledOutput(call: CutOffCall): [Json | undefined] | undefined;
  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[];
  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult;
  /** An output that says "parked": after its step, one more step without tools, then the turn ends. */
  isPausedOutput(output: unknown): output is PausedOutput;
  /** Called once per start, after the schema is open: sweeps, and goes on with what was decided but not done. */
  resume(): void;
  nextWake(nowMs: number): number | null;
  runDue(): Promise<void>;
}

/** A call whose turn died before it recorded the outcome. */
export interface CutOffCall {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly input: unknown;
}

/** One attempt of a turn, as actions see it. */
export interface ActionTurn {
  readonly turnId: string;
  readonly requestId: string;
  readonly messageId: string;
  readonly signal: AbortSignal;
  /** What `authorizeTurn` said; it is asked after `beforeTurn`, so it is looked up when a call needs it. */
  readonly grant: () => MaybePromise<ActionGrant>;
  /** A human's answer about this call, where the records have one. Without it the prompt's messages are searched. */
  readonly approvalOf?: (toolCallId: string) => CallApproval | undefined;
}

export interface CallApproval {
  readonly approved: boolean;
  /** What the human was shown. */
  readonly input: unknown;
  readonly by: string | null;
}

export interface CompiledActions {
  /** Of the layer "actions". */
  readonly tools: ToolSet;
  /** Pages through outputs that were too long. */
  readonly readResult: ResultReader;
  /** Of a call whose approval was asked for, and of a parked one; for `approvalDescriptor` on chunk and part. */
  descriptorOf(toolCallId: string): ActionApprovalDescriptor | undefined;
}

// ── Plain data both sides speak of ──

export type ActionKind = "server" | "approval-gated" | "durable-pause";
export type ActionRisk = "low" | "medium" | "high";

/** JSON, in a type that stubs can carry: `unknown` is `never` over RPC. */
export type ActionOutput = string | number | boolean | object | null | undefined;

/** Everything a prompt to a human needs. */
export interface ActionApprovalDescriptor {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly summary: string;
  readonly input: object;
  readonly permissions: string[];
  readonly risk?: ActionRisk;
  readonly kind: ActionKind;
}

export interface PendingApproval {
  readonly executionId: string;
  readonly source: "action" | "codemode";
  readonly descriptor: ActionApprovalDescriptor;
  /** Of the descriptor's input. Given back with the decision, nothing else is approved by it. */
  readonly inputHash?: string;
}

/** What the model reads of a parked action. */
export interface PausedOutput {
  readonly status: "paused";
  readonly executionId: string;
  readonly action: string;
  readonly message: string;
}

export interface ApprovalDecision {
  /** Who decides; recorded. */
  readonly by?: string;
  /** Of the input the human saw; another input is not approved by this. */
  readonly inputHash?: string;
  /** The client's connection, which the continuation answers to. */
  readonly origin?: unknown;
}

/** `true`: everything. `false`: nothing. */
export type ActionAuthorizationDecision =
  boolean | { readonly allowed: boolean; readonly reason?: string; readonly grantedPermissions?: readonly string[] };

/** A turn's decision as data: it is kept with what outlives the turn. */
export interface ActionGrant {
  readonly allowed: boolean;
  readonly reason?: string;
  /** Absent: every permission. */
  readonly grantedPermissions?: readonly string[];
}

export interface ActionAuthorizationContext {
  readonly requestId: string;
  readonly toolCallId: string;
  readonly action: string;
  readonly kind: ActionKind;
  readonly input: unknown;
  readonly requiredPermissions: readonly string[];
  readonly grantedPermissions?: readonly string[];
  /** The turn's whole decision. */
  readonly grant: ActionGrant;
  readonly messages: ReadonlyArray<ModelMessage>;
  readonly agent: object;
  readonly env: unknown;
}

export interface ApprovalAuthorizationContext extends PendingApproval {
  readonly decision: "approve" | "reject";
  readonly by: string | null;
  /** Of the turn that parked it. */
  readonly grant: ActionGrant;
}

/** Advisory delivery data recorded by `ctx.attachReply`. */
export type ReplyAttachment =
  | { type: "email_draft"; to?: string[]; cc?: string[]; subject?: string; body?: string; [field: string]: unknown }
  | { type: "card"; [field: string]: unknown }
  | { type: "voice_note"; [field: string]: unknown }
  | { type: string; [field: string]: unknown };

export interface ListLedgerOptions {
  readonly status?: ActionLedgerEntry["status"];
  /** Newest first; at most 500. */
  readonly limit?: number;
  /** Rows before this `id`: the next page. */
  readonly before?: number;
}

export interface ActionLedgerEntry {
  readonly id: number;
  readonly key: string;
  readonly action: string;
  readonly status: "pending" | "settled" | "refused";
  /** What is known of the effect. "running": in this process, now. */
  readonly effect: "ran" | "running" | "unknown" | "refused";
  readonly keyIsExplicit: boolean;
  readonly inputHash: string;
  /** Counts executions that were begun under this key. */
  readonly attempt: number;
  /** Who approved or refused it; null when nobody was asked or nobody was named. */
  readonly approver: string | null;
  readonly requestId: string;
  readonly toolCallId: string;
  readonly startedAt: number;
  readonly settledAt: number | null;
  /** What the model was shown; undefined while it is not settled. */
  readonly output: ActionOutput;
}

/** The operator's word about a call nobody knows the outcome of. */
export type LedgerResolution = { readonly output: unknown; readonly by?: string } | { readonly retry: true };

export type LedgerResolutionResult =
  { readonly ok: true } | { readonly ok: false; readonly reason: "not-found" | "not-pending" | "running" };
