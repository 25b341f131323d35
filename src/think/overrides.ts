// What the turn asks of the user's class: the documented override points, without the class. The rooms beside `think.ts`
// see this and not the class, so each can be read and tested alone.
import type { LanguageModel, ToolSet } from "ai";
import type { TruncateOptions } from "../model/index.ts";
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
} from "./hooks.ts";

type MaybePromise<T> = T | Promise<T>;

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
  /** Ask `classifyChatError` about every failed turn. */
  readonly reactive?: boolean;
}

export interface ThinkOverrides {
  readonly maxSteps: number;
  readonly sendReasoning: boolean;
  readonly waitForMcpConnections: boolean | { readonly timeout?: number };
  readonly allowClientToolOverrides: boolean;
  readonly historyTruncation: HistoryTruncation;
  readonly contextOverflow: ContextOverflowOptions | undefined;
  getModel(): LanguageModel;
  getSystemPrompt(): string;
  getTools(): ToolSet;
  beforeTurn(context: TurnContext): MaybePromise<TurnConfig | void>;
  beforeStep(context: PrepareStepContext): MaybePromise<StepConfig | void>;
  beforeToolCall(context: ToolCallContext): MaybePromise<ToolCallDecision | void>;
  afterToolCall(context: ToolCallResultContext): MaybePromise<void>;
  onStepFinish(context: StepContext): MaybePromise<void>;
  onChunk(context: ChunkContext): MaybePromise<void>;
  onChatResponse(result: ChatResponseResult): MaybePromise<void>;
  onChatError(error: unknown, context?: ChatErrorContext): unknown;
  classifyChatError(error: unknown, context?: ChatErrorContext): ChatErrorClassification | void;
}

/** Hooks that cost something even when they do nothing; they are wired only if the class has its own. */
export type OptionalHook = "beforeStep" | "onStepFinish" | "onChunk" | "onChatResponse";
