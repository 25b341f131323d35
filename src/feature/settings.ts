// Settings and override points of the class that every conversation has, as far as features read them.
import type { LanguageModel, ToolSet } from "ai";
import type { TruncateOptions } from "../model/index.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { ActionAuthorizationDecision } from "./approval-contract.ts";
import type { ToolCallContext, ToolCallDecision, ToolCallResultContext, TurnContext } from "./hooks.ts";

/** What a model of a class may be: one of a provider of the AI SDK, or an id. */
export type ThinkModel = LanguageModel;

/** One model, or several in the order in which they are asked. */
export type ModelOrList = LanguageModel | readonly LanguageModel[];

/** The model of a class as far as one is enough: the first of a list. */
export function firstModel(given: ModelOrList): LanguageModel {
  // An empty list is refused where a model is looked for, as anything else that is none.
  return isModelList(given) ? (given[0] as LanguageModel) : given;
}

export function isModelList(given: ModelOrList): given is readonly LanguageModel[] {
  return Array.isArray(given);
}

export interface CoreSettings {
  readonly maxTurnTokens: number;
  readonly hydrationByteBudget: number;
  readonly contextOverflow: ContextOverflowOptions | undefined;
  getTools(): ToolSet;
  getModel(): ModelOrList;
  resolveModel(id: string): LanguageModel | undefined;
  beforeToolCall(context: ToolCallContext): MaybePromise<ToolCallDecision | void>;
  afterToolCall(context: ToolCallResultContext): MaybePromise<void>;
  authorizeTurn(context: TurnContext): MaybePromise<ActionAuthorizationDecision>;
}

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

/** The same under the name that the original has for it. */
export type ContextOverflowConfig = ContextOverflowOptions;

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
