// What the engine asks of the class it runs for. `think/` implements it: it knows the user's overrides, the prompt and
// the tools; the engine knows when to call.
import type { LanguageModel, ModelMessage, ToolSet, UIMessage, UIMessageChunk } from "ai";
import type { CallOutcome } from "../journal/records.ts";
import type {
  MessageMetadata,
  CallMeter,
  FinishedToolCall,
  ModelCallHooks,
  ModelSettings,
  OfferedTools,
  ResolveModel,
  ToolCallToRun,
  StopWhen,
  SystemPrompt,
  ToolDecision,
  ToolPart
} from "../model/index.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import type { Json } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { AnswerOutcome } from "./answers.ts";
import type { ModelChoice, ModelFailure, NextDecision } from "./next-model.ts";
import type { AwaitedRetry, ExhaustionReason } from "./retry-policy.ts";
import type { RecoveryChoice, RecoveryIncident, RecoveryPolicy } from "./recovery.ts";
import type { RecordedGrant, TurnOutcome, TurnView } from "./turn.ts";

/** Where a turn failed. */
export type FailureStage = "parse" | "persist" | "turn" | "stream" | "recovery" | "transcript";

/** Whether a file is to blame. `certain`: the provider says so. `possible`: it refused what was sent and says no reason. */
export type FileRefusal = "certain" | "possible";

/** What is known of a failure when clients are shown its text. */
export interface FailureContext {
  readonly requestId?: string;
  readonly stage: FailureStage;
  readonly messagesPersisted: boolean;
  readonly classification?: FailureClass;
  /** The turn that failed, if it had begun. */
  readonly turn?: TurnView;
  /** What there is of its answer: stored together with the outcome that is being described. */
  readonly partial?: UIMessage;
}

/** A call of the server's whose attempt ended before its outcome was recorded. */
export interface CutOffCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** Everything the model call needs, after all user hooks that shape it have run. */
export interface AssembledTurn {
  readonly model: LanguageModel;
  readonly system: SystemPrompt | undefined;
  readonly messages: ModelMessage[];
  /** Not yet wrapped: the engine records each call before it runs and each outcome before the model sees it. */
  readonly tools: ToolSet;
  /** Where steps offer only some of the tools. */
  readonly offered?: OfferedTools;
  readonly settings: ModelSettings;
  readonly maxSteps: number;
  readonly stopWhen?: StopWhen;
  /** Its answer is one value: no other turn takes over in the middle of it. */
  readonly isWhole?: boolean;
  readonly sendReasoning: boolean;
  readonly messageMetadata?: MessageMetadata;
  /** Whether the answer carries its token counts, as `metadata.usage`. */
  readonly sendUsage: boolean;
  /** How long the model may be silent, and whether time spent in tools counts. Zero: for ever. */
  readonly stall: { readonly timeoutMs: number; readonly includesTools: boolean };
  /** No model call starts once the turn has used so many tokens, over all its attempts. */
  readonly maxTokens: number;
  /** What others have used on its behalf, as sub-agents do. Counts for `maxTokens`. */
  readonly otherTokens?: () => number;
  /** What the turn may do, if `authorizeTurn` was asked: it is recorded, and holds for later attempts. */
  readonly grant?: RecordedGrant;
  /** A last look at each chunk, before it is stored and sent. */
  readonly annotate?: (chunk: UIMessageChunk) => UIMessageChunk;
  /** Is asked before each call of a provider, and learns what it used. */
  readonly meter?: CallMeter | undefined;
  /** The user's step and chunk hooks. */
  readonly modelHooks: ModelCallHooks;
  /** Of a turn with several models: what was chosen. */
  readonly choice?: ModelChoice;
  /** What the class makes of the id of a model. */
  readonly resolveModel?: ResolveModel;
}

/** A completed answer as it is stored. */
export interface FinalAnswer {
  /** Undefined: nothing of it is. */
  readonly message: UIMessage | undefined;
  readonly output?: unknown;
  /** It is not what was asked for: the turn fails with this text. */
  readonly error?: string;
}

/** A decision over a call that was asked about in the chat. */
export interface ChatDecision {
  /** As it is now: it waits, or was decided before. */
  readonly part: ToolPart;
  /** The answer that holds the call. */
  readonly message: UIMessage;
  readonly approved: boolean;
  /** The name that came with the decision. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  /** What the call is to run with in place of the input that was asked about. */
  readonly input?: unknown;
  /** Of the question that is decided about, where the decision says so: no other is decided by it. */
  readonly inputHash?: string | undefined;
  readonly approvalId?: string | undefined;
  /** Through what it came, where the agent cannot know it by itself. */
  readonly surface?: string | undefined;
}

/** What is written with a decision. */
export interface TakenDecision {
  /** The name of who decides, if it is known. */
  readonly by?: string | undefined;
  /** What the call runs with in place of the input that was asked about. */
  readonly input?: Json | undefined;
  /** That input before its schema changed it, where it did. */
  readonly givenInput?: Json | undefined;
  /** Part of the transaction that applies the decision. */
  readonly record?: () => void;
}

export interface TurnHooks {
  /** Before the history is read; it may be shortened here. Never throws. */
  prepare?(turn: TurnView): Promise<unknown> | undefined;
  /**
   * `history` is the path the answer hangs below, already repaired. Runs the user's hooks up to and including
   * `beforeTurn`. A throw fails the turn with stage "turn". `overflows`: how often it did not fit the context window.
   */
  assemble(turn: TurnView, history: UIMessage[], overflows: number): Promise<AssembledTurn>;
  beforeToolCall(turn: TurnView, call: ToolCallToRun): Promise<ToolDecision | void>;
  afterToolCall(turn: TurnView, call: FinishedToolCall): Promise<void>;
  /** What of a completed answer is stored, and what the turn's output is; undefined: all of it, and what the model gave. */
  finalAnswer?(turn: TurnView, message: UIMessage | undefined): FinalAnswer | undefined;
  /** Turns any failure into the text that clients, callbacks and results carry. Never throws. */
  describeFailure(error: unknown, context: FailureContext): string;
  /** Tells the operator of a failure that `describeFailure` is not asked about. Never throws. */
  logFailure?(error: unknown, context: FailureContext): void;
  /** Tells the operator of a failure after which the model is asked again. Never throws. */
  logRetry?(error: unknown, context: FailureContext, retry: AwaitedRetry): void;
  /** What kind of failure the user takes this for. Never throws. */
  classifyFailure(error: unknown, context: FailureContext): FailureClass | undefined;
  /** Whether a file of the prompt is what the model failed on. Never throws. */
  fileRefusal?(error: unknown): FileRefusal | undefined;
  /** Which model is asked after a failure of the one that was chosen; undefined: the same one, if any. Never throws. */
  nextModel?(turn: TurnView, failure: ModelFailure): Promise<NextDecision | undefined> | undefined;
  /** How long the provider asked to be left alone. */
  retryAfterMs(error: unknown): number | undefined;

  /** How many bytes of text and tool inputs an answer may have. Read for each attempt. */
  readonly maxAnswerBytes: number;
  /** How long text that clients have shown may be unstored. Read for each attempt. */
  readonly maxUnstoredTextMs?: number;
  /** Read anew for each decision. */
  readonly recovery: RecoveryPolicy;
  /** Asked before an interrupted turn is tried again. A throw ends the attempt. */
  recover(turn: TurnView, incident: RecoveryIncident): Promise<RecoveryChoice>;
  /** Asked from the second interruption on. Never throws. */
  keepsRecovering(turn: TurnView, incident: RecoveryIncident): Promise<boolean>;
  /** The turn is given up. Never throws. */
  exhausted(turn: TurnView, incident: RecoveryIncident & { readonly reason: ExhaustionReason }): Promise<void>;
  /** What stands for a tool call that was cut off, in the turn of that request if it is known. */
  repairPart(part: UIMessage["parts"][number], requestId?: string): UIMessage["parts"][number];
  /** The work behind a call goes on, or is kept, outside its attempt: `lateOutcome` waits for what came of it. */
  keepsOutcome?(turn: TurnView, call: Omit<CutOffCall, "input">): boolean;
  /** What came of such a call; undefined: that cannot be known. Waits no longer than the turn's signal. Never throws. */
  lateOutcome?(turn: TurnView, call: CutOffCall): Promise<CallOutcome | undefined>;
  /**
   * Whether a tool of the class runs on the server or is only declared; undefined for a name the class does not have. For
   * calls in stored messages that no turn wrote. Never throws.
   */
  toolKind(toolName: string): "server" | "client" | undefined;
  /**
   * Says whether a decision over a call that waits for approval is taken, and calls `take`, at most once. Undefined: every
   * caller may decide, without a name. Never throws.
   */
  readonly decideCall?:
    | ((decision: ChatDecision, take: (taken: TakenDecision) => AnswerOutcome) => MaybePromise<AnswerOutcome>)
    | undefined;
  /** As `AssembledTurn.annotate`, for chunks that an earlier attempt did not get to write. Never throws. */
  annotateRepair?(chunk: UIMessageChunk): UIMessageChunk;
  /** How often a turn that outgrew the context window is compacted and begun anew; 0: never. */
  readonly overflowRetries: number;
  /** Makes the history shorter; false when it could not. Never throws. */
  compact(turn: TurnView, attempt: number): Promise<boolean>;

  /** The user wants to hear of finished turns: their hook is then called at least once per turn, even over a crash. */
  readonly wantsResponse: boolean;
  /** Runs after the turn is over, outside it: turns may be started and awaited here. A throw is logged. */
  respond(turn: TurnView, outcome: TurnOutcome): Promise<void>;
  /** Runs `work` in the agent's context, with the connection that started the turn. */
  runIn<T>(turn: TurnView, work: () => T): T;
}
