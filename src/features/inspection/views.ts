// What the inspection API answers, as types: the page of Studio and every other client share them. Types only, and one
// number. A field may be added to a version; one that is removed or means something else makes a new version.
import type { SteeringNote } from "./steering-notes.ts";
import type { ApprovalVotes, Escalation } from "../../feature/approval-contract.ts";
import type { DeferredToolsExplanation } from "../../feature/tool-discovery.ts";
import type { DecidedApproval } from "../approvals/decided-approvals.ts";
import type {
  AttemptEnded,
  AttemptStarted,
  CallExecutor,
  CancelledUse,
  ChangedBy,
  ChangeKind,
  StepUsage
} from "../../journal/records.ts";

/** Part of every address: `…/inspect/v1/<view>`. */
export const INSPECTION_VERSION = 1;

/** Text of any size, as far as it is shown. `call` pages through the rest of an input or output. */
export interface ShownText {
  readonly text: string;
  /** Of the whole. */
  readonly chars: number;
  readonly isCut: boolean;
}

export interface Cost {
  readonly amount: number;
  /** An ISO code. */
  readonly currency: string;
}

/** `GET agent`: cheap, for clients that ask again and again. */
export interface AgentView {
  readonly version: number;
  readonly className: string;
  readonly name: string;
  /** The agent's clock, in milliseconds since 1970, as all times here. */
  readonly now: number;
  /** Grows with each record: as long as it is the same, no turn has changed. */
  readonly head: number;
  readonly openTurns: number;
  readonly waitingApprovals: number;
  /** Names that `try` takes for another model. */
  readonly models: readonly string[];
}

/** `GET conversations`. */
export interface ConversationsView {
  readonly conversations: readonly ConversationSummary[];
}

export interface ConversationSummary {
  /** Empty: the one without a name. */
  readonly id: string;
  /** The one whose turns the other views show. */
  readonly isActive: boolean;
  /** Counts the clears. */
  readonly generation: number;
  readonly openTurns: number;
  /** Of the active one. */
  readonly messages?: number;
  readonly sizeBytes?: number;
}

/** `GET turns?before=&limit=`: newest first, open ones included. */
export interface TurnsView {
  readonly head: number;
  readonly turns: readonly TurnSummary[];
  /** Changes that no turn made, between the turns of this page. */
  readonly changes: readonly ShownChange[];
  /** Pass it as `before` for older ones; absent: there are none. */
  readonly next?: number;
}

export interface ShownChange {
  readonly position: number;
  readonly at: number;
  readonly kind: ChangeKind;
  readonly by: ChangedBy;
  readonly why: string | null;
  readonly count: number;
  readonly messageIds: readonly string[];
}

export type InspectedTurnStatus = "queued" | "running" | "waiting" | "completed" | "failed" | "aborted" | "skipped";

export interface TurnSummary {
  readonly turnId: string;
  /** Of the outcome; of an open turn, of its admission. */
  readonly position: number;
  readonly requestId: string | null;
  readonly trigger: string | null;
  readonly status: InspectedTurnStatus;
  /** Why it ended that way, as a code. */
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly admittedAt: number | null;
  readonly startedAt: number | null;
  readonly settledAt: number | null;
  readonly attempts: number;
  /** Attempts that a death of their process ended. */
  readonly deaths: number;
  readonly steps: number;
  readonly calls: number;
  readonly usage: StepUsage;
  /** Null: the class gave no price for its model, or it used several. */
  readonly cost: Cost | null;
  readonly models: readonly string[];
  /** The beginning of the question and of the answer. */
  readonly question: string | null;
  readonly answer: string | null;
}

/** `GET turns/<id>`. */
export interface TurnTimeline {
  readonly turnId: string;
  readonly requestId: string | null;
  readonly trigger: string | null;
  readonly channel: string | null;
  readonly isContinuation: boolean;
  readonly status: InspectedTurnStatus;
  readonly reason: string | null;
  readonly error: { readonly code: string; readonly message: string | null } | null;
  readonly admittedAt: number | null;
  readonly startedAt: number | null;
  readonly settledAt: number | null;
  readonly inputMessageIds: readonly string[];
  /** Of the answer: the id it has or will have. */
  readonly messageId: string | null;
  /** From its admission to its first attempt; null while it waits. */
  readonly queueMs: number | null;
  readonly attempts: readonly AttemptTimeline[];
  readonly usage: StepUsage;
  /** Of the steps whose tokens are known; null: the class gave no price for one of their models. */
  readonly cost: Cost | null;
  /** What `authorizeTurn` said; null: it was not asked, or its record is gone. */
  readonly grant: {
    readonly allowed: boolean;
    readonly reason: string | null;
    readonly permissions: readonly string[] | null;
  } | null;
  readonly cancel: { readonly at: number; readonly reason: string | null } | null;
  readonly steering: readonly SteeringNote[];
  /** Rows of the journal that hold records of this turn, those records, and their bytes; null: they are gone. */
  readonly written: { readonly rows: number; readonly records: number; readonly bytes: number } | null;
  /**
   * "records": everything. "history": the records are gone (ten minutes after the end); attempts and tokens are what
   * the turn's history row keeps, calls are read from the stored answer and have no times.
   */
  readonly source: "records" | "history";
  readonly messages: readonly ShownMessage[];
  readonly childRuns: readonly ChildRun[];
  /** Compactions and other changes that name this turn. */
  readonly changes: readonly ShownChange[];
}

export interface AttemptTimeline {
  readonly attempt: number;
  readonly kind: AttemptStarted["kind"];
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** "interrupted": the process died. Null: it runs, or this is not known. */
  readonly end: AttemptEnded["reason"] | "settled" | null;
  readonly errorCode: string | null;
  readonly retryAt: number | null;
  /** Why there is this attempt, in a sentence; null for a first one. */
  readonly decision: string | null;
  readonly modelId: string | null;
  /** Of a turn with several models: the name of the one that was chosen, and of the one that was asked next. */
  readonly model: string | null;
  readonly nextModel: string | null;
  readonly prompt: string | null;
  readonly steps: readonly StepTimeline[];
}

export interface StepTimeline {
  readonly step: number;
  readonly startedAt: number;
  /** The first content of the model, at most 0.4 s late: that is how often streamed content is written. */
  readonly firstContentAt: number | null;
  /** Null: it was cut off, or runs. */
  readonly finishedAt: number | null;
  readonly finishReason: string | null;
  /** Of a turn with several models: the name of the one that wrote it. */
  readonly model: string | null;
  readonly usage: StepUsage | null;
  /** Models that were asked for it too, and cancelled. Their tokens are part of the cost. */
  readonly cancelled: readonly CancelledUse[];
  readonly cost: Cost | null;
  readonly chunks: number;
  readonly calls: readonly CallTimeline[];
}

export type CallStatus = "running" | "waiting" | "output" | "error" | "denied" | "unknown";

export interface CallTimeline {
  readonly callId: string;
  readonly toolName: string;
  readonly executor: CallExecutor | null;
  readonly startedAt: number | null;
  readonly settledAt: number | null;
  readonly status: CallStatus;
  readonly input: ShownText;
  readonly output: ShownText | null;
  readonly approval: ApprovalTimeline | null;
}

export interface ApprovalTimeline {
  readonly approvalId: string;
  readonly askedAt: number | null;
  readonly answeredAt: number | null;
  readonly approved: boolean | null;
  readonly reason: string | null;
  /** Who decided: a user of a messenger (`telegram:7`), a name of the application, or `unverified:` and a client's claim. */
  readonly by: string | null;
}

/** A run of a sub-agent. Its own turns are at `…/sub/<class>/<runId>/inspect/v1/turns`. */
export interface ChildRun {
  readonly runId: string;
  readonly agentType: string;
  readonly callId: string | null;
  readonly status: string;
  readonly input: string | null;
  readonly startedAt: number;
  readonly completedAt: number | null;
  /** What follows this agent's own address. */
  readonly path: string;
}

export interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly ShownPart[];
}

export interface ShownPart {
  readonly type: string;
  readonly text: ShownText;
  readonly toolName?: string;
  readonly callId?: string;
  readonly state?: string;
}

/** `GET turns/<id>/why`. */
export interface TurnWhy {
  readonly prompt: {
    readonly sections: readonly WhySection[];
    readonly sizeBytes: number;
    readonly tokens: number;
    /**
     * The text is the one of now. "same": the turn had the same, by its fingerprint. "changed": it had another, which is
     * not kept. "unknown": there is no fingerprint, or `beforeTurn` may have changed the prompt.
     */
    readonly match: "same" | "changed" | "unknown";
  };
  readonly history: HistoryWindow;
  /** Without those that are deferred and were neither offered nor called. */
  readonly tools: readonly WhyTool[];
  /** Tools that the model is offered only after it has found them, and what that saves; null: all are offered. */
  readonly deferredTools: DeferredToolsExplanation | null;
  readonly policies: readonly PolicyDecision[];
  readonly recovery: readonly { readonly attempt: number; readonly decision: string }[];
}

export interface WhySection {
  readonly name: string;
  readonly label: string | null;
  readonly purpose: string;
  readonly text: ShownText;
  readonly sizeBytes: number;
  readonly tokens: number;
  /** It is not part of the prompt, because of this section. */
  readonly replacedBy: string | null;
}

export interface HistoryWindow {
  /** Messages of the path that ends before the answer. */
  readonly storedMessages: number;
  readonly storedBytes: number;
  /** What `hydrationByteBudget` let through; compacted messages count as one summary. */
  readonly shownMessages: number;
  readonly budgetBytes: number | null;
  /** Newest first, at most 200. */
  readonly entries: readonly WindowEntry[];
  readonly compactions: readonly ShownCompaction[];
}

export interface WindowEntry {
  readonly messageId: string;
  readonly role: string;
  /** "summary": stands for compacted messages. "truncated": old, and parts of it are cut for the model. */
  readonly shown: "whole" | "truncated" | "summary";
  /** As the model is given it, roughly: characters of the message's JSON. */
  readonly chars: number;
  readonly wholeChars: number;
  /** Calls whose output is cut, each readable with the tool `read_result`. */
  readonly cutCalls: readonly string[];
  readonly preview: string;
}

export interface ShownCompaction {
  readonly id: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
  readonly createdAt: string;
  readonly summary: ShownText;
}

export interface WhyTool {
  readonly name: string;
  /** Where it comes from: "tools", "actions", "workspace", "mcp", "client", … Null: the turn had it, and it is gone. */
  readonly layer: string | null;
  readonly description: string | null;
  /** Whether the model was offered it in this turn; null: not known. */
  readonly wasOffered: boolean | null;
  readonly calls: number;
}

export interface PolicyDecision {
  readonly callId: string;
  readonly toolName: string;
  readonly decision: "allowed" | "asked" | "approved" | "denied" | "refused" | "unknown";
  readonly because: string;
}

/** `GET inbox`. */
export interface InboxView {
  readonly approvals: readonly InboxEntry[];
  /** What was decided, newest first, at most 50. */
  readonly decided: readonly DecidedApproval[];
}

export interface InboxEntry {
  /** What `decide` takes. */
  readonly id: string;
  /** "action": parked, runs when it is approved. "workflow": a workflow waits. "tool": a call of a turn. "client": a page owes the result. */
  readonly kind: "action" | "workflow" | "tool" | "client";
  readonly name: string;
  /** What the person is asked, in a sentence. */
  readonly question: string;
  readonly input: ShownText;
  readonly risk: string | null;
  readonly permissions: readonly string[];
  /** Which question it is: `decide` takes hash and number back, and then decides no other. */
  readonly inputHash: string | null;
  /** Of a call inside executed code. */
  readonly seq: number | null;
  /** It was begun before and may have run. */
  readonly mayHaveRun: boolean;
  /** Where several people must approve: how many, and who has. */
  readonly votes?: ApprovalVotes;
  /** Where others may decide after a time: when, whether it has come, and who, if they are listed. */
  readonly escalation?: Escalation;
  /** Null: not known. */
  readonly askedAt: number | null;
  /** Null: it waits for ever. */
  readonly expiresAt: number | null;
  readonly callId: string | null;
  /** Whether `decide` can answer it; a client's result cannot come from here. */
  readonly isDecidable: boolean;
}

/** `GET state`. Lists have at most 200 entries. */
export interface StateView {
  readonly memory: readonly MemoryBlock[];
  readonly files: { readonly files: readonly ShownFile[]; readonly isCut: boolean };
  readonly schedules: readonly ShownSchedule[];
  readonly submissions: readonly ShownSubmission[];
  readonly queue: { readonly waiting: readonly ShownJob[]; readonly dead: readonly ShownJob[] };
  readonly fibers: readonly ShownFiber[];
  readonly mcpServers: readonly ShownServer[];
  /** `configure()`'s value, with what looks like a secret masked. */
  readonly config: ShownText | null;
  readonly agentState: ShownText | null;
  readonly disk: { readonly bytes: number; readonly tables: readonly ShownTable[] };
  readonly degradations: readonly { readonly step: string; readonly error: string }[];
}

export interface MemoryBlock {
  readonly label: string;
  readonly description: string | null;
  readonly content: ShownText;
  readonly tokens: number;
  readonly maxTokens: number | null;
  readonly isWritable: boolean;
}

export interface ShownFile {
  readonly path: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly updatedAt: number;
}

/** `GET file?path=`. */
export interface FileView {
  readonly path: string;
  readonly content: ShownText | null;
  readonly isBinary: boolean;
  readonly history: readonly {
    readonly version: number;
    readonly sizeBytes: number;
    readonly modifiedAt: number;
    readonly change: string;
    readonly replacedAt: number;
    readonly turnId: string | null;
    readonly replacedByTurnId: string | null;
  }[];
}

export interface ShownSchedule {
  readonly id: string;
  readonly kind: "schedule" | "task";
  readonly what: string;
  readonly when: string;
  readonly nextRunAt: number | null;
  readonly lastRunAt: number | null;
  readonly lastOutcome: string | null;
}

export interface ShownSubmission {
  readonly submissionId: string;
  readonly status: string;
  readonly createdAt: number | null;
  readonly completedAt: number | null;
}

export interface ShownJob {
  readonly id: string;
  readonly callback: string;
  readonly createdAt: number;
  readonly error: string | null;
}

export interface ShownFiber {
  readonly fiberId: string;
  readonly name: string;
  readonly status: string;
  readonly createdAt: number;
  readonly settledAt: number | null;
  readonly error: string | null;
}

export interface ShownServer {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly address: string | null;
  readonly tools: number;
}

export interface ShownTable {
  readonly name: string;
  readonly rows: number;
}

/** `POST try`: a past turn again, with changes, beside the original. Nothing is stored and no tool runs. */
export interface TryRequest {
  readonly turnId: string;
  /** In place of the system prompt. */
  readonly system?: string;
  /** One of `AgentView.models`. */
  readonly model?: string;
  /** In place of the question: the text of the last user message. */
  readonly question?: string;
  /** Ids of messages that are left out of the history. */
  readonly without?: readonly string[];
  /** By call id of the original turn: what the tool answers instead. */
  readonly toolResults?: Readonly<Record<string, unknown>>;
}

export interface TryView {
  readonly original: TriedRun;
  readonly changed: TriedRun;
}

export interface TriedRun {
  readonly status: string;
  readonly modelId: string | null;
  readonly text: ShownText;
  readonly usage: StepUsage;
  readonly cost: Cost | null;
  readonly steps: number;
  readonly durationMs: number | null;
  readonly calls: readonly TriedCall[];
  readonly error: string | null;
}

export interface TriedCall {
  readonly toolName: string;
  readonly input: ShownText;
  readonly output: ShownText | null;
  /** "recorded": the original's result. "changed": the one given. "not-run": there is none, and the run ended here. */
  readonly source: "ran" | "recorded" | "changed" | "not-run";
}
