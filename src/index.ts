// The root of the package: the class users extend, and the types of its hooks.
export { Think } from "./think/think.ts";
export type { ApprovalCaller } from "./features/approvals/approver.ts";
export {
  action,
  isAction,
  type Action,
  type ActionApprovalDescriptor,
  type ActionAuthorizationContext,
  type ActionAuthorizationDecision,
  type ActionConfig,
  type ActionContext,
  type ActionGrant,
  type ActionKind,
  type ActionLedgerEntry,
  type ActionLedgerRetention,
  type ActionOutput,
  type ActionRisk,
  type ActionSet,
  type ApprovalAuthorizationContext,
  type ApprovalDecision,
  type ApprovalQuestion,
  type LedgerResolution,
  type LedgerResolutionResult,
  type ListLedgerOptions,
  type PendingApproval,
  type ReplyAttachment
} from "./features/actions/index.ts";
export {
  PRICES,
  tokens,
  usd,
  type Amount,
  type BudgetContext,
  type BudgetKey,
  type BudgetLimit,
  type BudgetPer,
  type CostReport,
  type Costs,
  type ModelPrice,
  type Rate,
  type ReportedAccount
} from "./features/budgets/index.ts";
export {
  agentTool,
  type AgentToolChunk,
  type AgentToolDisplay,
  type AgentToolFailure,
  type AgentToolInterruption,
  type AgentToolOptions,
  type AgentToolRetention,
  type AgentToolRunInfo,
  type AgentToolRunInspection,
  type AgentToolRunStatus,
  type AgentToolValue,
  type BackgroundRun,
  type ClearAgentToolRunsOptions,
  type RunAgentToolOptions,
  type RunAgentToolResult
} from "./features/agent-tools/index.ts";
export type {
  AddedMcpServer,
  McpApproval,
  McpAITool,
  McpClients,
  McpConnectionState,
  McpConnectOutcome,
  McpFilter,
  McpOAuthCallbackOptions,
  McpOAuthProvider,
  McpOAuthResult,
  McpPrompt,
  McpRequestOptions,
  McpResource,
  McpResourceTemplate,
  McpServerInfo,
  McpServerOptions,
  McpServersState,
  McpTool,
  McpToolAnnotations,
  McpToolInfo
} from "./features/mcp/index.ts";
export type { DeferrableTool, ToolDiscovery, ToolDiscoveryOptions } from "./features/discovery/plan.ts";
export type { DeferredToolsExplanation, ToolGroup } from "./feature/tool-discovery.ts";
export { defineChannels, messengerChannel } from "./features/channels/channels.ts";
export type { ChannelCard, ChannelText } from "./feature/channel-text.ts";
export type {
  ChannelCapabilities,
  ChannelContext,
  ChannelDefinition,
  ChannelDeliveryPolicy,
  ChannelDeliverySurface,
  ChannelIngress,
  ChannelKind,
  DeliveryKind,
  DeliveryTag,
  MessengerOrigin,
  MessengerSet,
  NormalizedChannelDefinition,
  ThinkChannels
} from "./features/channels/channels.ts";
export type { DeliverNoticeOptions } from "./features/channels/capability.ts";
export { CAPABILITY_SENTINEL } from "./think/prompt.ts";
export type { ExplainedSection, PromptExplanation } from "./feature/prompt-explanation.ts";
export {
  defaultChatErrorClassifier,
  defaultContextOverflowClassifier,
  retryAfterMs
} from "./model/failure-classifier.ts";
export type { ExtensionConfig } from "./features/extensions/manager.ts";
export { Session } from "./session/session.ts";
export { createCompactFunction } from "./session/compact-function.ts";
export type {
  ChatRecoveryConfig,
  ChatRecoveryContext,
  ChatRecoveryExhaustedContext,
  ChatRecoveryOptions,
  ChatRecoveryProgressContext
} from "./think/chat-recovery.ts";
export type { ClientToolCall, ClientToolExecutor, ClientToolSchema } from "./feature/client-tools.ts";
export type {
  ChatErrorClassification,
  ChatErrorContext,
  ChatResponseResult,
  ChunkContext,
  MessageMetadataCallback,
  PrepareStepContext,
  StepConfig,
  StepContext,
  ToolCallContext,
  ToolCallDecision,
  ToolCallResultContext,
  TurnConfig,
  TurnContext,
  TurnDetails
} from "./feature/hooks.ts";

export type {
  RunTurnOptions,
  RunTurnStreamOptions,
  RunTurnSubmitOptions,
  RunTurnWaitOptions,
  SaveMessagesOptions,
  SaveMessagesResult,
  TurnResult
} from "./think/programmatic.ts";
export type { TurnTrigger } from "./turn/turn.ts";
/** Types of the AI SDK that hooks are given or return. */
export type {
  PrepareStepFunction,
  PrepareStepResult,
  StepResult,
  StopCondition,
  TextStreamPart,
  TypedToolCall
} from "ai";
export type { AttemptSummary, CalledTool, TurnHistory } from "./journal/history.ts";
export type { ConversationChange, JournalEntry, ReadJournalOptions, ReadJournalResult } from "./think/read-journal.ts";

export type { MessageConcurrency } from "./wire/index.ts";
export type { SteerContext, SteerDecision, SteerOptions } from "./features/steering/capability.ts";
export type { Receipt } from "./turn/receipts.ts";
export type { StreamCallback } from "./feature/stream-callback.ts";
export {
  FileError,
  Workspace,
  type BashOptions,
  type EntryType,
  type FileErrorCode,
  type FileInfo,
  type FileStat,
  type FileVersion,
  type SqlBackend,
  type SqlParam,
  type SqlSource,
  type WorkspaceAccess,
  type WorkspaceChangeEvent,
  type WorkspaceChangeType,
  type WorkspaceFsLike,
  type WorkspaceInfo,
  type WorkspaceLike,
  type WorkspaceOptions
} from "./features/workspace/index.ts";
export {
  defineScheduledTasks,
  type ThinkIntervalSchedule,
  type ThinkScheduledTask,
  type ThinkScheduledTaskContext,
  type ThinkScheduledTaskInfo,
  type ThinkScheduledTaskRetry,
  type ThinkScheduledTasks,
  type ThinkTime,
  type ThinkWallClockSchedule
} from "./features/tasks/task.ts";

export type {
  CancelSubmissionResult,
  DeleteSubmissionsOptions,
  ListSubmissionsOptions
} from "./features/submissions/submissions.ts";
export type { ChatInput, MessagesInput, SubmissionInput } from "./feature/turn-input.ts";
export * as skills from "./features/skills/index.ts";
export type { ModelFailureContext, ModelFailureDecision, ModelFallbackOptions } from "./features/models/index.ts";
export type { SkillRunContext, SkillScriptRunner, SkillSource } from "./features/skills/index.ts";
export { ThinkError } from "./util/errors.ts";
export type { ThinkErrorCode } from "./error-codes.ts";
export type { PausedDescription, PendingExecution } from "./features/execute/restore-executions.ts";
export type {
  SubmissionValue,
  SubmitMessagesOptions,
  SubmitMessagesResult,
  ThinkSubmissionInspection,
  ThinkSubmissionStatus
} from "./feature/submission-types.ts";
export type { ApprovalVotes, Approver, ApproversRule } from "./feature/approval-contract.ts";
export type {
  ContextOverflowConfig,
  ContextOverflowOptions,
  HistoryTruncation,
  MediaEvictionOptions,
  OnStartDegradation,
  ThinkModel
} from "./feature/settings.ts";
export type { ChatOptions, TurnOptions } from "./feature/stream-callback.ts";
export type { AddMessagesOptions } from "./feature/services.ts";
