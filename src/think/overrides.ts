// What the package asks of the user's class: its documented settings and override points, without the class. Modules
// beside `think-core.ts` see this and not the class, so each can be read and tested alone.
import type { MessageConcurrency } from "../wire/index.ts";
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
  TurnConfig,
  TurnContext
} from "../feature/hooks.ts";
import type {
  ContextOverflowOptions,
  CoreSettings,
  HistoryTruncation,
  MediaEvictionOptions
} from "../feature/settings.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

/** The class's part that every conversation has. */
export interface ThinkOverrides extends CoreSettings {
  readonly messageConcurrency: MessageConcurrency;
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
  readonly maxAnswerBytes: number;
  getSystemPrompt(): string;
  getFeatures(): readonly FeatureFactory[];
  beforeTurn(context: TurnContext): MaybePromise<TurnConfig | void>;
  beforeStep(context: PrepareStepContext): MaybePromise<StepConfig | void>;
  onStepFinish(context: StepContext): MaybePromise<void>;
  onChunk(context: ChunkContext): MaybePromise<void>;
  onChatResponse(result: ChatResponseResult): MaybePromise<void>;
  onChatError(error: unknown, context?: ChatErrorContext): unknown;
  onChatRecovery(context: ChatRecoveryContext): MaybePromise<ChatRecoveryOptions | void>;
  classifyChatError(error: unknown, context?: ChatErrorContext): ChatErrorClassification | void;
}
