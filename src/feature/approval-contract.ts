// What the class says and is given about actions: its settings, the values of its methods, what they decide as data, and
// the feature as far as the class itself asks it. The feature lives in `actions/`; a class without actions loads none of
// it. Types and pure functions.
import type { ModelMessage } from "ai";
import type { RecordedGrant } from "../turn/turn.ts";
import { isObject } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { Result } from "../util/result.ts";
import type { CarriesFeature, Feature } from "./feature.ts";

/** What `getActions()` returns; undefined: left out. */
export type ActionSet = Record<string, CarriesFeature<ActionsFeature> | undefined>;

/** On a tool whose calls are approved as they are, or not at all. */
export const FIXED_INPUT: unique symbol = Symbol.for("everthink.fixed-input") as typeof FIXED_INPUT;

/** A question to a human as its source keeps it: what is shown of it, and what only the agent uses. */
export interface Question extends PendingApproval {
  readonly inputHash: string;
  /** Of the answer that holds the call; "": it is in none. */
  readonly messageId: string;
  /** Of the turn that parked it; everything for what was not parked. */
  readonly grant: ActionGrant;
  /** When it is escalated, if the class says then still to whom. */
  readonly escalatesAt?: number;
}

/** Which question a decision is about. */
export type FoundQuestion =
  | { readonly is: "waiting" | "decided"; readonly question: Question }
  | { readonly is: "unknown" }
  /** `question`: `error` and `more` are told only to a caller who may decide over it. */
  | { readonly is: "refused"; readonly error: string; readonly question?: Question; readonly more?: object };

/**
 * What asks humans: parked actions, executed code, workflows. Who may decide, which decision is the first one and what is
 * recorded of it is the same for all of them; a source stores its questions, and does what was decided.
 */
export interface ApprovalSource {
  /** Whether anything has waited, or can. */
  readonly isInUse: boolean;
  /** Listed behind the others. */
  readonly isLast?: true;
  /** Whether an id is one of its own, of whatever state. */
  owns(executionId: string): boolean;
  /** Lists those that wait. */
  questions(executionId?: string): Question[];
  /** Finds the question that a decision is about. */
  find(executionId: string, decision: Decision): MaybePromise<FoundQuestion>;
  /** Says what becomes of a changed input, by the schema of what would run with it. Absent: it cannot be changed. */
  checkInput?(question: Question, input: unknown): MaybePromise<Result<unknown, unknown>>;
  /** Who must approve; undefined: one person. */
  ruleOf?(question: Question): ApproversRule | undefined;
  /** Whether it waits still. Of sources with rules. */
  isWaiting?(question: Question): boolean;
  /** Resolves when nothing is at work that may decide the question in between. */
  idle?(executionId: string): Promise<void>;
  /** Writes the decision and what it changes, with `record` in the same transaction. False: another decision was first. */
  take(question: Question, decision: Decision, record: () => void): boolean;
  /** Does what was decided. Never throws for what a caller can do wrong: answers `{ status: "error" }`. */
  carryOut(question: Question, decision: Decision): Promise<ActionOutput>;
  /** What the decision before came to, for one who sends it again. */
  outcomeOf(question: Question): MaybePromise<ActionOutput>;
}

/** What the class asks of the feature that `getActions()` brings. */
export interface ActionsFeature extends Feature {
  readonly approvals: ApprovalSource;
  /** Of the latest turn; `[]` when `requestId` names another. */
  replyAttachments(requestId?: string): ReplyAttachment[];
  listActionLedger(options?: ListLedgerOptions): ActionLedgerEntry[];
  resolveActionLedger(key: string, resolution: LedgerResolution): LedgerResolutionResult;
}

export interface ActionLedgerRetention {
  readonly settledMs?: number | false;
  readonly pendingMs?: number | false;
  readonly maxSweepRows?: number;
}

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

/** Which question it is. Given back with the decision, no other question is decided by it, however often it is sent. */
export interface ApprovalQuestion {
  /** A hash of the question and its input. */
  readonly inputHash?: string;
  /** The number of the call, where the question is about a call inside executed code. */
  readonly seq?: number;
  /** It was begun before and may have run: the process died in it. A decision must name this question. */
  readonly mayHaveRun?: true;
}

/** Names as in `by` of `authorizeApproval`, or a function of them. */
export type People = readonly string[] | ((by: string, approver: Approver) => boolean);

/** Who must approve a parked action, where it is not just one person. */
export interface ApproversRule {
  /** How many different people must approve, at most 20; one rejection rejects. Default: 1. */
  readonly required?: number;
  /** Who may decide. Default: everyone whom `authorizeApproval` lets decide. */
  readonly from?: People;
  /** What changes when the question has waited for a time without a decision. */
  readonly escalate?: EscalationRule;
}

export interface EscalationRule {
  /** From the moment in which the call was parked: "30 minutes", "4 hours", "2 days"; at most 366 days. */
  readonly after: string;
  /** Who may decide from then on, beside those of `from`. */
  readonly to: People;
  /** How many people must approve from then on. Default: as many as before. */
  readonly required?: number;
}

/** When a question is escalated that is not decided by then. */
export interface Escalation {
  readonly at: number;
  /** Whether that time has come. */
  readonly isReached: boolean;
  /** Who may decide then, beside those who may anyway. Absent: a function of the class says it. */
  readonly to?: readonly string[];
}

/** Approvals of a question that needs several, so far. */
export interface ApprovalVotes {
  readonly required: number;
  /** Who has approved, the first one first. */
  readonly by: readonly string[];
}

export interface PendingApproval extends ApprovalQuestion {
  readonly executionId: string;
  readonly source: "action" | "codemode" | "workflow" | "tool" | "budget";
  readonly descriptor: ActionApprovalDescriptor;
  /** Where several people must approve. */
  readonly votes?: ApprovalVotes;
  /** Where others may decide after a time. */
  readonly escalation?: Escalation;
  /** When it is not waited for any more, in epoch milliseconds. Absent: it waits as long as it takes. */
  readonly expiresAt?: number;
}

/** What the model reads of a parked action. */
export interface PausedOutput {
  readonly status: "paused";
  readonly executionId: string;
  readonly action: string;
  readonly message: string;
}

export interface ApprovalDecision {
  /** Who decides; recorded. From a client it is recorded as its claim: `unverified:` and the name. */
  readonly by?: string;
  /** Of the question the human saw; no other is decided by this. Needed where the call may have run. */
  readonly inputHash?: string;
  /** The client's connection, which the continuation answers to. */
  readonly origin?: unknown;
  /** Of code that waits with several calls: which one; the first by default. */
  readonly seq?: number;
  /** What the call runs with in place of the input that was asked about. Recorded, and shown to the model as a change. */
  readonly input?: unknown;
  /** The same, by its earlier name. */
  readonly args?: unknown;
}

/** A decision as every source of questions is given it. */
export interface Decision extends Omit<ApprovalDecision, "args"> {
  readonly isApproved: boolean;
  /** Through what it came: a messenger's id, "socket", "http", or "code" of the server. */
  readonly surface?: string;
  readonly reason?: string | undefined;
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
  /**
   * Who decides, as far as the server knows: `telegram:7` for a user of a messenger, or what `identifyApprover` or code of the
   * server says. Null for a name that only the client claims, which is in `approver`.
   */
  readonly by: string | null;
  readonly approver: Approver | null;
  /** Of the turn that parked it; everything for what was not parked. */
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
  /** Who approved or refused it, `unverified:` in front of what a client claimed; null: no approval was needed, or no name given. */
  readonly approver: string | null;
  readonly requestId: string;
  readonly toolCallId: string;
  readonly startedAt: number;
  readonly settledAt: number | null;
  /** What the model was shown; undefined while it is not settled. */
  readonly output: ActionOutput;
}

/** The operator's word about a call whose outcome is not known. */
export type LedgerResolution = { readonly output: unknown; readonly by?: string } | { readonly retry: true };

export type LedgerResolutionResult =
  { readonly ok: true } | { readonly ok: false; readonly reason: "not-found" | "not-pending" | "running" };

/** What a decision is answered in a class without actions. */
export function noActions(executionId: string): ActionOutput {
  return { status: "error", executionId, error: "This execution is no longer pending." };
}

// ── Decisions as data: what is kept with a turn must mean the same after a restart ──

const NOT_A_DECISION: ActionGrant = {
  allowed: false,
  reason: "Nothing is allowed: the authorization answered neither a boolean nor { allowed }."
};

/** What was decided, as data. Anything that is not a decision allows nothing. */
export function grantOf(decision: unknown): ActionGrant {
  if (typeof decision === "boolean") return { allowed: decision };
  if (!isObject(decision) || typeof decision["allowed"] !== "boolean") return NOT_A_DECISION;
  const { allowed, reason, grantedPermissions: granted } = decision;
  if (granted !== undefined && !Array.isArray(granted)) return NOT_A_DECISION;
  return {
    allowed,
    ...(typeof reason === "string" && { reason }),
    ...(granted !== undefined && { grantedPermissions: granted.filter((item) => typeof item === "string") })
  };
}

export function recordOfGrant({ allowed, reason, grantedPermissions }: ActionGrant): RecordedGrant {
  return { allowed, reason: reason ?? null, permissions: grantedPermissions ? [...grantedPermissions] : null };
}

export function grantOfRecord({ allowed, reason, permissions }: RecordedGrant): ActionGrant {
  return { allowed, ...(reason !== null && { reason }), ...(permissions && { grantedPermissions: permissions }) };
}

/** A denied turn denies; a turn without a list allows; otherwise everything required must be in the list. */
export function authorizeByGrant(
  context: Pick<ActionAuthorizationContext, "action" | "grant" | "requiredPermissions">
): ActionAuthorizationDecision {
  const { grant, requiredPermissions: required } = context;
  if (!grant.allowed) return { allowed: false, ...(grant.reason !== undefined && { reason: grant.reason }) };
  const missing = missingPermissions(grant, required);
  if (missing.length === 0) return true;
  return {
    allowed: false,
    reason: `The action "${context.action}" needs permissions this turn was not given: ${missing.join(", ")}.`
  };
}

function missingPermissions(grant: ActionGrant, required: readonly string[]): string[] {
  const { grantedPermissions: granted } = grant;
  return granted === undefined ? [] : required.filter((permission) => !granted.includes(permission));
}

/** Who decided. */
export interface Approver {
  /** A messenger's id; "app": the application says who it is; "web": only the client does. */
  readonly surface: string;
  readonly id: string;
  /** Whether the server knows that it is so: never by what a client sent. */
  readonly verified: boolean;
}
