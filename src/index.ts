// The root of the package: the class users extend, and the types of its hooks.
export { Think } from "./think/think.ts";
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
  type LedgerResolution,
  type LedgerResolutionResult,
  type ListLedgerOptions,
  type PendingApproval,
  type ReplyAttachment
} from "./actions/index.ts";
export { defineChannels, messengerChannel } from "./think/channels.ts";
export type {
  ChannelCapabilities,
  ChannelContext,
  ChannelDefinition,
  ChannelDeliverySurface,
  ChannelIngress,
  ChannelKind,
  ChannelText,
  DeliveryKind,
  MessengerOrigin,
  MessengerSet,
  ThinkChannels
} from "./think/channels.ts";
export type { DeliverNoticeOptions } from "./think/channel-agent.ts";
export { CAPABILITY_SENTINEL, type ExplainedSection, type PromptExplanation } from "./think/prompt.ts";
export {
  defaultChatErrorClassifier,
  defaultContextOverflowClassifier,
  retryAfterMs
} from "./think/failure-classifier.ts";
export { Session } from "./session/session.ts";
export { createCompactFunction } from "./session/compact-function.ts";
export type {
  ChatRecoveryConfig,
  ChatRecoveryContext,
  ChatRecoveryExhaustedContext,
  ChatRecoveryOptions,
  ChatRecoveryProgressContext
} from "./think/chat-recovery.ts";
export type { ClientToolCall, ClientToolExecutor, ClientToolSchema } from "./think/client-tools.ts";
export type {
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
  TurnContext,
  TurnDetails
} from "./think/hooks.ts";
export type {
  ContextOverflowOptions,
  HistoryTruncation,
  MediaEvictionOptions,
  OnStartDegradation
} from "./think/overrides.ts";
export type {
  ChatOptions,
  RunTurnOptions,
  RunTurnStreamOptions,
  RunTurnWaitOptions,
  SaveMessagesOptions,
  SaveMessagesResult,
  TurnOptions,
  TurnResult
} from "./think/programmatic.ts";
export type { AttemptSummary, CalledTool, TurnHistory } from "./journal/history.ts";
export type { ConversationChange, JournalEntry, ReadJournalOptions, ReadJournalResult } from "./think/read-journal.ts";
export type { AddMessagesOptions } from "./think/runtime.ts";
export type { MessageConcurrency } from "./chat/index.ts";
export type { StreamCallback } from "./think/stream-callback.ts";
export type { ChatInput, MessagesInput } from "./think/turn-input.ts";
export { ThinkError } from "./util/errors.ts";
export type { ThinkErrorCode } from "./error-codes.ts";
