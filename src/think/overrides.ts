// What the package asks of the user's class: its documented settings and override points, without the class. Modules
// beside `think.ts` see this and not the class, so each can be read and tested alone.
import type { LanguageModel, ToolSet } from "ai";
import type { AgentPathStep } from "../agent/tree/path.ts";
import type { ModelPrices } from "../features/inspection/cost.ts";
import type { InspectionAccess } from "../features/inspection/inspect-http.ts";
import type { MessageConcurrency } from "../wire/index.ts";
import type { TruncateOptions } from "../model/index.ts";
import type { ThinkScheduledTasks } from "../features/tasks/task.ts";
import type {
  ActionAuthorizationContext,
  ActionAuthorizationDecision,
  ActionLedgerRetention,
  ActionSet,
  ApprovalAuthorizationContext,
  ReplyAttachment
} from "../features/actions/contract.ts";
import type { ApprovalCaller } from "../features/approvals/approver.ts";
import type { ChannelText, MessengerSet, ThinkChannels } from "../features/channels/channels.ts";
import type { ExecutionOverrides } from "../features/execute/restore-executions.ts";
import type { FeatureFactory } from "../feature/feature.ts";
import type { ChatRecoveryConfig, ChatRecoveryContext, ChatRecoveryOptions } from "./chat-recovery.ts";
import type {
  ChatErrorClassification,
  ChatErrorContext,
  ChatResponseResult,
  ChunkContext,
  PrepareStepContext,
  StepConfig,
  StepContext,
  ToolCallContext,
  ToolCallDecision,
  ToolCallResultContext,
  TurnConfig,
  TurnContext
} from "../feature/hooks.ts";
import type { ExtensionAgent } from "../features/extensions/extension-agent.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

/** How much of old messages the model is shown. Stored messages are never touched. */
export interface HistoryTruncation extends Pick<
  TruncateOptions,
  "keepRecent" | "step" | "maxOutputChars" | "maxTextChars"
> {
  /** Tools whose outputs stay whole; of several outputs for the same input, the newest. */
  readonly wholeOutputs?: readonly string[];
}

/** How turns that outgrow the model's context window are handled. */
export interface ContextOverflowOptions {
  /** Compact and run again a turn that outgrew the context window, as `classifyChatError` sees it. */
  readonly reactive?: boolean;
  /** How often one turn is compacted and run again (default 1). */
  readonly maxRetries?: number;
  /** Compact between two steps, before the next one would not fit. */
  readonly proactive?: {
    /** The model's context window. */
    readonly maxInputTokens: number;
    /** The part of it that may be used (default 0.9). */
    readonly headroom?: number;
    /** Compactions per run of the model (default 1). */
    readonly maxCompactions?: number;
  };
}

/** A step of the last start that failed. The agent is up and says what it lacks. */
export interface OnStartDegradation {
  readonly step: "transcript-hydration" | "scheduled-task-reconcile" | "durable-work-recovery" | `feature:${string}`;
  readonly error: string;
}

/** How large media of old messages are moved out of the conversation's rows. */
export interface MediaEvictionOptions {
  /** Newest messages that are left alone. Default 8, at least 4. */
  readonly keepRecentMessages?: number;
  /** Smaller values stay where they are. Default 32,768. */
  readonly minPartBytes?: number;
  /** False: they are dropped. Default true: each becomes a file below `/attachments/evicted/`, which its message names. */
  readonly externalizeToWorkspace?: boolean;
  /** Messages rewritten in one go. Default 64. */
  readonly maxRowsPerPass?: number;
}

export interface ThinkOverrides
  extends
    ExecutionOverrides,
    Pick<
      ExtensionAgent,
      | "extensionLoader"
      | "extensionManager"
      | "hookTimeout"
      | "getExtensions"
      | "waitForMcpConnections"
      | "maxMcpTools"
      | "mcpApproval"
      | "createMcpOAuthProvider"
      | "mcpFetch"
      | "workspace"
      | "workspaceTools"
      | "workspaceBash"
      | "authorizeWorkspace"
      | "getSkills"
      | "getSkillScriptRunner"
    > {
  readonly messageConcurrency: MessageConcurrency;
  readonly plainChat: boolean | undefined;
  readonly openAIEndpoint: boolean;
  readonly hydrationByteBudget: number;
  readonly mediaEviction: boolean | MediaEvictionOptions;
  readonly maxSteps: number;
  readonly sendReasoning: boolean;
  readonly sendUsage: boolean;
  readonly allowClientToolOverrides: boolean;
  readonly historyTruncation: HistoryTruncation;
  readonly contextOverflow: ContextOverflowOptions | undefined;
  readonly chatRecovery: boolean | ChatRecoveryConfig;
  readonly chatStreamStallTimeoutMs: number | undefined;
  readonly chatStreamStallIncludesTools: boolean | undefined;
  readonly maxTurnTokens: number;
  readonly maxAnswerBytes: number;
  getModel(): LanguageModel;
  getSystemPrompt(): string;
  getTools(): ToolSet;
  getFeatures(): readonly FeatureFactory[];
  authorizeSubmission(request: Request): MaybePromise<boolean>;
  authorizeInspection(request: Request, access: InspectionAccess): MaybePromise<boolean>;
  inspectionModels(): Readonly<Record<string, LanguageModel>>;
  inspectionPrices(): ModelPrices;
  getScheduledTasks(): MaybePromise<ThinkScheduledTasks>;
  getDefaultTimezone(): MaybePromise<string | undefined>;
  beforeTurn(context: TurnContext): MaybePromise<TurnConfig | void>;
  beforeStep(context: PrepareStepContext): MaybePromise<StepConfig | void>;
  beforeToolCall(context: ToolCallContext): MaybePromise<ToolCallDecision | void>;
  afterToolCall(context: ToolCallResultContext): MaybePromise<void>;
  onStepFinish(context: StepContext): MaybePromise<void>;
  onChunk(context: ChunkContext): MaybePromise<void>;
  onChatResponse(result: ChatResponseResult): MaybePromise<void>;
  onChatError(error: unknown, context?: ChatErrorContext): unknown;
  onChatRecovery(context: ChatRecoveryContext): MaybePromise<ChatRecoveryOptions | void>;
  /** Read by the actions, when they need them. */
  readonly actionLedgerPendingRetryLeaseMs: number | false;
  readonly actionLedgerRetention: ActionLedgerRetention;
  readonly actionPendingApprovalTtlMs: number | false;
  getActions(): ActionSet;
  renderAttachment(attachment: ReplyAttachment): MaybePromise<ChannelText | undefined>;
  getMessengers(): MessengerSet;
  configureChannels(): MaybePromise<ThinkChannels>;
  authorizeMessengerConversation(request: Request, conversation: AgentPathStep): MaybePromise<boolean>;
  authorizeTurn(context: TurnContext): MaybePromise<ActionAuthorizationDecision>;
  authorizeAction(context: ActionAuthorizationContext): MaybePromise<ActionAuthorizationDecision>;
  authorizeApproval(context: ApprovalAuthorizationContext): MaybePromise<ActionAuthorizationDecision>;
  identifyApprover(caller: ApprovalCaller): string | undefined;
  classifyChatError(error: unknown, context?: ChatErrorContext): ChatErrorClassification | void;
}

/** What costs something, or means something else, when the class does not have its own. */
export type OptionalHook =
  | "beforeStep"
  | "onStepFinish"
  | "onChunk"
  | "onChatResponse"
  | "classifyChatError"
  | "getActions"
  | "authorizeTurn"
  | "authorizeWorkspace"
  | "authorizeMessengerConversation"
  | "onConnect"
  | "onSubmissionStatus"
  | "authorizeSubmission"
  | "getScheduledTasks"
  | "getSkills"
  | "getExtensions"
  | "getMessengers"
  | "configureChannels";
