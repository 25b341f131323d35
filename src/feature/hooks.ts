// What user code is given at each stage of a turn, and what it may answer. Types only. They extend the SDK's own, so
// nothing of the SDK's is dropped and what a new release adds arrives by itself; each also carries the turn's details.
import type {
  LanguageModel,
  ModelMessage,
  PrepareStepFunction,
  StaticToolCall,
  StepResult,
  StreamTextOnChunkCallback,
  TextStreamPart,
  ToolSet,
  TypedToolCall,
  UIMessage
} from "ai";
import type { ModelSettings, StepSettings, StopWhen, SystemPrompt } from "../model/index.ts";
import type { StepUsage } from "../journal/records.ts";
import type { ReplyAttachment } from "./approval-contract.ts";
import type { TurnCost } from "./budget-contract.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import type { FailureStage } from "../turn/hooks.ts";
import type { TurnTrigger } from "../turn/turn.ts";

/** Which turn this is: enough to correlate work with it, and to stop the work when the turn is stopped. */
export interface TurnDetails {
  /** Given by the server when the turn was accepted; the same over every attempt. */
  readonly turnId: string;
  /** What the client calls it. */
  readonly requestId: string;
  /** Counts from 1; above 1 after an interruption. */
  readonly attempt: number;
  /** The request that ended at a step boundary for the words of this turn. */
  readonly steeredFrom?: string;
  /**
   * Fires when the turn is cancelled or cleared, and when the attempt ends. Copies leave it out (spreading, cloning,
   * storing, RPC): a signal cannot be copied.
   */
  readonly signal: AbortSignal;
}

/** The assembled turn, as `beforeTurn` sees it. */
export interface TurnContext extends TurnDetails {
  /** The system prompt with the capability block. */
  readonly system: string;
  /** The same under its name in AI SDK 7. */
  readonly instructions: string;
  /** The history as the model will read it. */
  readonly messages: ModelMessage[];
  /** As the signal, no part of copies. */
  readonly tools: ToolSet;
  /** As the signal, no part of copies. */
  readonly model: LanguageModel;
  /** How the turn was started. */
  readonly trigger: TurnTrigger;
  /** True when the turn builds on the latest answer and brings no new user message. */
  readonly continuation: boolean;
  /** Custom fields of the client's request. */
  readonly body?: Record<string, unknown>;
  /** The model that a workflow asked for, by a name of the class's own: return that `model`, or leave it. */
  readonly modelHint?: string;
}

/** Metadata that an answer is given, of each part of the AI SDK's stream; nothing where a part adds none. */
export type MessageMetadataCallback<Metadata = Record<string, unknown>> = (event: {
  readonly part: TextStreamPart<ToolSet>;
}) => Metadata | undefined;

/** What `beforeTurn` may change. Everything the installed SDK's `streamText` accepts is accepted here. */
export interface TurnConfig extends Omit<ModelSettings, "providerOptions"> {
  /** By provider. The SDK's own type asks for JSON, which values of other types often are without saying so. */
  providerOptions?: Record<string, unknown>;
  model?: LanguageModel;
  /** Used as it is: no capability block is added. */
  system?: SystemPrompt;
  /** The same under its name in AI SDK 7; `system` counts where both are given. */
  instructions?: SystemPrompt;
  messages?: ModelMessage[];
  /** Added on top of the turn's tools. */
  tools?: ToolSet;
  maxSteps?: number;
  /** Further conditions to stop on; `maxSteps` stays in force. */
  stopWhen?: StopWhen;
  /** Whether reasoning is streamed and stored. The model's own settings are not touched. */
  sendReasoning?: boolean;
  /** Metadata of the answer, in place of the class's `messageMetadata`. */
  messageMetadata?: MessageMetadataCallback;
  /** How long the model may be silent in this turn; 0: for ever. */
  chatStreamStallTimeoutMs?: number;
  /** No model call starts once the turn has used so many tokens, over all its attempts. */
  maxTurnTokens?: number;
}

/** What `beforeStep` may change for one step. */
export type StepConfig = StepSettings;

/** What the SDK gives before a step. */
export type PrepareStepContext<TOOLS extends ToolSet = ToolSet> = Parameters<PrepareStepFunction<TOOLS>>[0] & {
  /** The SDK's runtime context, under the name ai 6 gives it. */
  experimental_context?: unknown;
} & TurnDetails;

/** A call of one of the named tools. Without names it may be any call, dynamic ones included. */
type CallOf<TOOLS extends ToolSet> = string extends keyof TOOLS ? TypedToolCall<TOOLS> : StaticToolCall<TOOLS>;

/** The SDK's calls have an error of their own, of those that could not be read. Distributes over the tools. */
type WithoutError<Call> = Call extends unknown ? Omit<Call, "error"> : never;

interface CallExtras {
  /** Index of the step in which the model made the call. */
  readonly stepNumber: number;
  /** What the model had read when it made the call. */
  readonly messages: ReadonlyArray<ModelMessage>;
}

/** A call of a server-side tool that is about to run. Name the tools to get typed inputs. */
export type ToolCallContext<TOOLS extends ToolSet = ToolSet> = CallOf<TOOLS> &
  CallExtras & { readonly abortSignal: AbortSignal | undefined } & TurnDetails;

/** Whether a tool call runs. Nothing means allow. */
export type ToolCallDecision =
  | {
      action: "allow";
      /** Replaces what the model wrote; not checked against the tool's schema again. */
      input?: unknown;
    }
  | {
      action: "block";
      /** What the model reads as the result. */
      reason?: string;
    }
  | { action: "substitute"; output: unknown; input?: unknown };

/** A tool call whose outcome is known. `input` is what the model wrote. */
export type ToolCallResultContext<TOOLS extends ToolSet = ToolSet> = WithoutError<CallOf<TOOLS>> &
  CallExtras & {
    /** Time spent in the tool itself; 0 when it did not run. */
    readonly durationMs: number;
  } & TurnDetails &
  ({ readonly success: true; readonly output: unknown } | { readonly success: false; readonly error: unknown });

/** The SDK's result of a finished step. */
export type StepContext<TOOLS extends ToolSet = ToolSet> = StepResult<TOOLS> & TurnDetails;

/** One chunk of the SDK's stream. */
export type ChunkContext<TOOLS extends ToolSet = ToolSet> = Parameters<StreamTextOnChunkCallback<TOOLS>>[0] &
  TurnDetails;

/** A turn that is over. */
export interface ChatResponseResult extends TurnDetails {
  /** The stored answer; without parts when there was nothing to store. */
  readonly message: UIMessage;
  readonly continuation: boolean;
  readonly status: "completed" | "error" | "aborted";
  /** What clients were shown, when it failed. */
  readonly error?: string;
  /** What actions attached to the reply; empty if nothing. */
  readonly attachments: ReplyAttachment[];
  /** What its model calls have used, as far as the providers say. */
  readonly usage?: StepUsage;
  /** What it has spent, sub-agents and tools included. Of a turn with budgets. */
  readonly cost?: TurnCost;
}

/** A provider-neutral name for what went wrong. */
export type ChatErrorClassification = FailureClass;

/** Where a turn failed. A request that never became a turn has no details of one. */
export interface ChatErrorContext extends Partial<TurnDetails> {
  readonly stage: FailureStage;
  /** Whether the incoming messages were stored already. */
  readonly messagesPersisted?: boolean;
  /** Set to "context_overflow" when `classifyChatError` said so and nothing could be done about it. */
  readonly classification?: ChatErrorClassification;
}
