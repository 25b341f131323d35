/* oxlint-disable eslint/max-lines -- a third of this file are the doc comments that an editor shows on hover */
// What every conversation has: override points and public names. What they do lives in the modules beside this file.
import type { PromptExplanation } from "../feature/prompt-explanation.ts";
import type { AddMessagesOptions } from "../feature/services.ts";
import type { ChatOptions } from "../feature/stream-callback.ts";
import type {
  ContextOverflowOptions,
  HistoryTruncation,
  MediaEvictionOptions,
  OnStartDegradation
} from "../feature/settings.ts";
import type { SubmitMessagesResult } from "../feature/submission-types.ts";
import type { LanguageModel, ToolSet, UIMessage } from "ai";
import { AgentBase } from "../agent/agent-base.ts";
import type { Callables } from "../feature/callable.ts";
import type { MessageConcurrency } from "../wire/index.ts";
import { DEFAULT_MAX_STEPS } from "../model/index.ts";
import { USER_CODE } from "../session/change-log.ts";
import { HYDRATION_BYTE_BUDGET } from "../session/hydration.ts";
import type { Session } from "../session/session.ts";
import { interruptedPart } from "../session/open-calls.ts";

import { DEFAULT_MAX_ANSWER_BYTES } from "../turn/stream.ts";
import { DEFAULT_MAX_UNSTORED_TEXT_MS } from "../journal/segments.ts";
import type { ChatRecoveryConfig, ChatRecoveryContext, ChatRecoveryOptions } from "./chat-recovery.ts";
import type { ActionAuthorizationDecision } from "../feature/approval-contract.ts";
import { listBranches, selectBranch } from "./branches.ts";
import { readConfig, writeConfig } from "../agent/config.ts";
import { featureErrors } from "../feature/errors.ts";
import { defaultChatErrorClassifier } from "../model/failure-classifier.ts";
import type {
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
  TurnContext
} from "../feature/hooks.ts";
import type { FeatureFactory } from "../feature/feature.ts";

import type {
  RunTurnOptions,
  RunTurnStreamOptions,
  RunTurnSubmitOptions,
  RunTurnWaitOptions,
  SaveMessagesOptions,
  SaveMessagesResult,
  TurnResult
} from "./programmatic.ts";
import { DEFAULT_SYSTEM_PROMPT } from "./prompt.ts";
import { readJournal, type ReadJournalOptions, type ReadJournalResult } from "./read-journal.ts";
import { ThinkRuntime, thinkRuntimeOf, type ThinkAgent } from "./runtime.ts";
import type { StreamCallback } from "../feature/stream-callback.ts";
import { checkMessages, type ChatInput, type MessagesInput } from "../feature/turn-input.ts";
import { runtimeOf } from "../agent/runtime.ts";
import { isOverridden, markAsOwn } from "../feature/members.ts";
import type { BASE } from "../util/base-type.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

/** Methods that ask, stop, change or decide: refused when a readonly client is behind the call. */
const CHANGES = [
  "addMessages",
  "selectBranch",
  "clearMessages",
  "chat",
  "saveMessages",
  "continueLastTurn",
  "runTurn",
  "cancelChat",
  "cancelAllChats",
  "resetTurnState",
  "appendMessageToHistory",
  "updateMessageInHistory"
];

/** What every conversation has: turns, tools, hooks, recovery, its session, and turns that code asks for. */
export abstract class ThinkCore<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends AgentBase<Env, State, Props> {
  /**
   * What clients may call, beside what the package lists. A class that overrides one of these lists it again.
   * @example
   * static callables = ["vote"];
   */
  static callables: Callables = ["listBranches", "selectBranch"];

  /** For the compiler only: the names that are not of a user's class. */
  declare readonly [BASE]?: ThinkCore;

  static {
    markAsOwn(this, CHANGES);
    // For classes in JavaScript, which no compiler asks for a model.
    Object.defineProperty(this.prototype, "getModel", { configurable: true, writable: true, value: noModel });
  }

  // ── Settings ──

  /**
   * Model calls one turn may make.
   * @example
   * maxSteps = 25;
   */
  maxSteps: number = DEFAULT_MAX_STEPS;

  /**
   * Whether reasoning is streamed to clients and stored.
   * @example
   * sendReasoning = false;
   */
  sendReasoning = true;

  /**
   * Whether each answer carries what it took as `metadata.usage`, for every client and in storage: `inputTokens`,
   * `outputTokens`, `totalTokens`, `reasoningTokens`, `cachedInputTokens`, as far as the provider reports them.
   * @example
   * sendUsage = true;
   */
  sendUsage = false;

  /**
   * Metadata of each answer, for every client and in storage. It is asked with every part of the model's stream, and what
   * it returns is merged into `metadata`, key by key. `messageMetadata` of what `beforeTurn` returns takes its place.
   * @example
   * messageMetadata: MessageMetadataCallback = ({ part }) =>
   *   part.type === "start" ? { createdAt: Date.now() } : undefined;
   */
  messageMetadata: MessageMetadataCallback | undefined = undefined;

  /**
   * What happens to chat requests of clients that arrive while a turn is running or waiting.
   * @example
   * messageConcurrency = "latest" as const;
   */
  messageConcurrency: MessageConcurrency = "queue";

  /**
   * Bytes of stored messages that the model and clients are shown; zero or less: all of them.
   * @example
   * hydrationByteBudget = 2_000_000;
   */
  hydrationByteBudget: number = HYDRATION_BYTE_BUDGET;

  /**
   * Whether large media of old messages are moved into files of the workspace.
   * @example
   * mediaEviction = false;
   */
  mediaEviction: boolean | MediaEvictionOptions = true;

  /**
   * True: a tool that a client describes takes the place of a server tool of the same name, so that the page answers for
   * the server. An action is never replaced. Default false: the client's tool is ignored, with a warning.
   * @example
   * allowClientToolOverrides = true;
   */
  allowClientToolOverrides = false;

  /**
   * How much the model is shown of messages that are not recent.
   * @example
   * historyTruncation = { keepRecent: 20 };
   */
  historyTruncation: HistoryTruncation = {};

  /**
   * How turns that outgrow the model's context window are handled; needs a session with a compaction function.
   * @example
   * contextOverflow = { reactive: true };
   */
  contextOverflow: ContextOverflowOptions | undefined = undefined;

  /**
   * What becomes of a turn whose process died, or whose model went silent. False: it ends where it was.
   * @example
   * chatRecovery = { maxAttempts: 3 };
   */
  chatRecovery: boolean | ChatRecoveryConfig = true;

  /**
   * How long the model may be silent before the turn is recovered; 0: for ever. Left alone it is 10 minutes, and time
   * spent in tools does not count.
   * @example
   * chatStreamStallTimeoutMs = 120_000;
   */
  chatStreamStallTimeoutMs: number | undefined = undefined;

  /**
   * Whether time spent in tools counts for `chatStreamStallTimeoutMs`. Default: yes, if that is set.
   * @example
   * chatStreamStallIncludesTools = true;
   */
  chatStreamStallIncludesTools: boolean | undefined = undefined;

  /**
   * No model call starts once a turn has used so many tokens, over all its steps and attempts.
   * @example
   * maxTurnTokens = 200_000;
   */
  maxTurnTokens: number = Infinity;

  /**
   * Bytes of text and tool inputs that an answer may have; zero or less: no limit. A turn whose model writes more ends
   * there, keeps what it has, and fails with "answer-too-large". An answer is held in memory while it is written.
   * @example
   * maxAnswerBytes = 200_000;
   */
  maxAnswerBytes: number = DEFAULT_MAX_ANSWER_BYTES;

  /**
   * How long text that clients show may be unstored, in ms, from 100 to 5,000: a crash takes back no more. Of a slow stream,
   * 100 writes 12 rows a second in place of 2.5, and three times the bytes.
   * @example
   * maxUnstoredTextMs = 100;
   */
  maxUnstoredTextMs: number = DEFAULT_MAX_UNSTORED_TEXT_MS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const repairPart = (part: UIMessage["parts"][number]) => this.repairInterruptedToolPart(part);
    new ThinkRuntime(this as ThinkCore as ThinkAgent, { isOverridden: (hook) => isOverridden(this, hook), repairPart });
  }

  // ── Override points ──

  /**
   * The model that answers: one of the AI SDK's providers, made for each attempt. A class that is exported must have it.
   * Of a list, each stands in for those before it when they fail.
   *
   * @example
   * getModel() {
   *   return createAnthropic({ apiKey: this.env.ANTHROPIC_API_KEY })("claude-sonnet-4-5");
   * }
   */
  abstract getModel(): LanguageModel | readonly LanguageModel[];

  /**
   * The model for an id that stands where a model is expected, such as "openai/gpt-5". Undefined leaves the id to the AI
   * SDK, which asks its gateway.
   *
   * @example
   * resolveModel(id: string) {
   *   return id === "house" ? this.houseModel() : undefined;
   * }
   */
  resolveModel(_id: string): LanguageModel | undefined {
    return undefined;
  }

  /**
   * Used unless `configureSession` declared context blocks in its place.
   * @example
   * getSystemPrompt() {
   *   return "You help with cooking.";
   * }
   */
  getSystemPrompt(): string {
    return DEFAULT_SYSTEM_PROMPT;
  }

  /**
   * Tools of the server: the model may call them.
   * @example
   * getTools(): ToolSet {
   *   return { roll: tool({ inputSchema: z.object({}), execute: () => 4 }) };
   * }
   */
  getTools(): ToolSet {
    return {};
  }

  /**
   * Capabilities of the package that this class uses, in order; others join by themselves, such as actions with the first
   * action of `getActions()`. Asked once per start.
   */
  getFeatures(): readonly FeatureFactory[] {
    return [];
  }

  /**
   * What a turn may do: everything (true), nothing (false), or a list of permissions. Asked once per turn.
   * @example
   * authorizeTurn() {
   *   const user = getCurrentAgent().connection?.state as { role?: string } | null | undefined;
   *   return user?.role === "admin" || { allowed: true, grantedPermissions: ["orders:read"] };
   * }
   */
  authorizeTurn(_context: TurnContext): MaybePromise<ActionAuthorizationDecision> {
    return true;
  }

  /**
   * Called once per start. What it returns becomes the agent's session.
   * @example
   * configureSession(session: Session) {
   *   return session.withContext("memory", { maxTokens: 1_000 });
   * }
   */
  configureSession(session: Session): MaybePromise<Session> {
    return session;
  }

  /**
   * Sees the assembled turn and may change any part of it. A throw fails the turn.
   * @example
   * beforeTurn({ continuation }: TurnContext) {
   *   return continuation ? { activeTools: ["search"] } : {};
   * }
   */
  beforeTurn(_context: TurnContext): MaybePromise<TurnConfig | void> {}

  /**
   * Called before each step of the loop; may change that step. A throw fails the turn.
   * @example
   * beforeStep({ stepNumber }: PrepareStepContext) {
   *   return stepNumber > 3 ? { toolChoice: "none" as const } : {};
   * }
   */
  beforeStep(_context: PrepareStepContext): MaybePromise<StepConfig | void> {}

  /**
   * Decides over a call of a server-side tool. A throw is that call's error.
   * @example
   * beforeToolCall({ toolName }: ToolCallContext) {
   *   if (toolName === "pay") return { action: "block", reason: "Not today." } as const;
   * }
   */
  beforeToolCall(_context: ToolCallContext): MaybePromise<ToolCallDecision | void> {}

  /**
   * Called with every outcome of a tool call. A throw is logged.
   * @example
   * afterToolCall({ toolName, durationMs }: ToolCallResultContext) {
   *   console.log(toolName, durationMs);
   * }
   */
  afterToolCall(_context: ToolCallResultContext): MaybePromise<void> {}

  /**
   * Called with each finished step. A throw is logged.
   * @example
   * onStepFinish({ usage }: StepContext) {
   *   this.spent += usage.totalTokens ?? 0;
   * }
   */
  onStepFinish(_context: StepContext): MaybePromise<void> {}

  /**
   * `onStepFinish` under the name that AI SDK 7 has for it. A class that overrides both has this one called; call
   * `super.onStepEnd` to have the other called, too.
   * @example
   * onStepEnd({ usage }: StepContext) {
   *   this.spent += usage.totalTokens ?? 0;
   * }
   */
  onStepEnd(context: StepContext): MaybePromise<void> {
    return this.onStepFinish(context);
  }

  /**
   * Called with each chunk, which is often. A throw is logged.
   * @example
   * onChunk({ chunk }: Parameters<Think["onChunk"]>[0]) {
   *   if (chunk.type === "text-delta") console.log(chunk.text);
   * }
   */
  onChunk(_context: ChunkContext): MaybePromise<void> {}

  /**
   * Called for each turn that began to stream, after its answer is stored. The turn is over: further turns may be started
   * and awaited here. Called at least once per turn, even over a crash. A throw is logged.
   * @example
   * onChatResponse({ status }: ChatResponseResult) {
   *   if (status === "completed") this.answered += 1;
   * }
   */
  onChatResponse(_result: ChatResponseResult): MaybePromise<void> {}

  /**
   * Called for each failed turn, once. The message of what it returns is what clients, callbacks and results are given. For
   * a failure of the model the error's own message is safe to show, and what the provider said is its `cause`. An error
   * that your own code threw is given as it is, and its message is shown: throw what users may read.
   * @example
   * onChatError() {
   *   return new Error("I am busy. Please try again in a minute.");
   * }
   */
  onChatError(error: unknown, _context?: ChatErrorContext): unknown {
    return error;
  }

  /**
   * Asked before an interrupted turn is tried again, within 10 seconds. A throw postpones it. Not asked for turns that
   * are given up.
   * @example
   * onChatRecovery({ attempt }: ChatRecoveryContext) {
   *   return { continue: attempt <= 3 };
   * }
   */
  onChatRecovery(_context: ChatRecoveryContext): MaybePromise<ChatRecoveryOptions | void> {}

  /**
   * What stands for a tool call that was interrupted: a settled tool part, or any other part.
   * @example
   * repairInterruptedToolPart() {
   *   return { type: "text" as const, text: "This call was interrupted." };
   * }
   */
  protected repairInterruptedToolPart(part: UIMessage["parts"][number]): UIMessage["parts"][number] {
    return interruptedPart(part);
  }

  /**
   * Names what went wrong, from what the provider said. A "context_overflow" is handled as `contextOverflow` says;
   * "rate_limit" and "transient" failures are tried again after a pause; others end the turn. Without an override it is
   * `defaultChatErrorClassifier`. An override that returns nothing leaves the error unnamed: the turn ends.
   * @example
   * classifyChatError(error: unknown) {
   *   return defaultChatErrorClassifier(error) ?? "transient";
   * }
   */
  classifyChatError(error: unknown, _context?: ChatErrorContext): ChatErrorClassification | void {
    return defaultChatErrorClassifier(error);
  }

  // ── Messages ──

  /** The stored conversation. */
  get session(): Session {
    return thinkRuntimeOf(this).session;
  }

  /** The active branch of the conversation, newest last. */
  get messages(): UIMessage[] {
    const { parts, hooks } = thinkRuntimeOf(this);
    return hooks.withPartial(parts.transcript.messages());
  }

  /** A copy of `messages`. */
  getMessages(): UIMessage[] {
    return structuredClone(this.messages);
  }

  /** Adds to the transcript without starting a turn; also from inside one. */
  async addMessages(messages: MessagesInput, options: AddMessagesOptions = {}): Promise<void> {
    await thinkRuntimeOf(this).addMessages(messages, options);
  }

  /**
   * The messages shown that have other versions, left by edits and regenerations: the ids of all versions of each,
   * oldest first, the one shown among them. At most the 100 newest of a message.
   */
  listBranches(): Record<string, string[]> {
    return listBranches(thinkRuntimeOf(this).parts);
  }

  /**
   * Shows every client the branch through this message, down to what was said last below it; the conversation goes on from
   * there. Refused while a turn is running or waiting.
   */
  async selectBranch(messageId: string): Promise<void> {
    selectBranch(thinkRuntimeOf(this).parts, messageId);
  }

  /** Empties the conversation and gives up its turns. */
  async clearMessages(): Promise<void> {
    thinkRuntimeOf(this).parts.turns.clear();
  }

  // ── Turns ──

  /** Runs a turn and streams it to a callback. Resolves when the turn is over, however it ended. */
  async chat(input: ChatInput, callback: StreamCallback, options?: ChatOptions): Promise<void> {
    return thinkRuntimeOf(this).startTurn((turns) => turns.chat(input, callback, options));
  }

  /** Adds messages, runs a turn and waits for its end. A function is given the transcript when the turn's time comes. */
  async saveMessages(messages: MessagesInput, options?: SaveMessagesOptions): Promise<SaveMessagesResult> {
    return thinkRuntimeOf(this).startTurn((turns) => turns.saveMessages(messages, options));
  }

  /** Goes on from the latest answer in a message of its own. Skipped when the last word is not the assistant's. */
  protected async continueLastTurn(
    body?: Record<string, unknown>,
    options: Pick<SaveMessagesOptions, "signal" | "idempotencyKey"> = {}
  ): Promise<SaveMessagesResult> {
    const given = { ...options, body };
    return thinkRuntimeOf(this).startTurn((turns) => turns.continueLastTurn(given));
  }

  /** Runs a turn: waits for its result (the default), streams it to a callback, or only submits it. */
  runTurn(options: RunTurnStreamOptions): Promise<void>;
  runTurn(options: RunTurnSubmitOptions): Promise<SubmitMessagesResult>;
  runTurn(options: RunTurnWaitOptions): Promise<TurnResult>;
  async runTurn(options: RunTurnOptions): Promise<TurnResult | SubmitMessagesResult | void> {
    return thinkRuntimeOf(this).startTurn((turns) => turns.runTurn(options));
  }

  /** Keeps data of the running turn: `onChatRecovery` gets the newest as `recoveryData`. A fiber's own goes to the fiber. */
  stash(data: unknown): void {
    thinkRuntimeOf(this).stash(data);
  }

  /** Stops a running or waiting turn; an unknown id is nothing. */
  cancelChat(requestId: string, reason?: string): void {
    thinkRuntimeOf(this).programmatic.cancel(requestId, reason);
  }

  cancelAllChats(reason?: string): void {
    thinkRuntimeOf(this).programmatic.cancelAll(reason);
  }

  protected abortRequest(requestId: string, reason?: string): void {
    this.cancelChat(requestId, reason);
  }

  protected abortAllRequests(): void {
    this.cancelAllChats();
  }

  /** Gives up every turn that is running or waiting. Messages stay. */
  protected resetTurnState(): void {
    thinkRuntimeOf(this).parts.turns.reset();
  }

  /** Whether a tool call waits for an approval, or for a client's result. */
  protected hasPendingInteraction(): boolean {
    return thinkRuntimeOf(this).hasPendingInteraction();
  }

  /** Resolves true once no turn is running or waiting and no call waits for an answer; false after `timeout` ms. */
  protected waitUntilStable(options: { timeout?: number } = {}): Promise<boolean> {
    return thinkRuntimeOf(this).untilStable(options.timeout);
  }

  /** The system prompt a turn would have now, piece by piece, each with its size; also what was replaced. */
  explainPrompt(options: { channel?: string } = {}): Promise<PromptExplanation> {
    return thinkRuntimeOf(this).explainPrompt(options.channel);
  }

  /**
   * What was written down about the conversation, without contents, for inspectors: records, of finished turns what stays
   * known of them, and changes that no turn made. Clients may call it only if the class lists it among its `callables`.
   *
   * @example
   * const newest = this.readJournal({ after: -50 });
   * const since = this.readJournal({ after: newest.cursor });
   */
  readJournal(options?: ReadJournalOptions): ReadJournalResult {
    return readJournal(thinkRuntimeOf(this).parts, options);
  }

  // ── Storage ──

  /** Stores private settings as JSON; clients never see them. */
  configure<Config = unknown>(config: Config): void {
    writeConfig(thinkRuntimeOf(this).agent, config);
  }

  /** A copy of what `configure` stored last; null if nothing was. */
  getConfig<Config = unknown>(): Config | null {
    // What is stored is what the caller stored; its shape is the caller's word.
    return readConfig(thinkRuntimeOf(this).agent) as Config | null;
  }

  /** Steps of the last start that failed without failing it. */
  getOnStartDegradations(): OnStartDegradation[] {
    // Steps are named where they are reported.
    return structuredClone(runtimeOf(this).degradations) as OnStartDegradation[];
  }

  /** Stores a message below the latest one, or below `parentId`. Starts no turn and notifies no client. */
  protected async appendMessageToHistory(message: UIMessage, parentId?: string | null): Promise<void> {
    checkMessages([message]);
    thinkRuntimeOf(this).parts.transcript.append(message, USER_CODE, parentId);
  }

  protected async updateMessageInHistory(message: UIMessage): Promise<void> {
    checkMessages([message]);
    thinkRuntimeOf(this).parts.transcript.update(message, USER_CODE);
  }

  /** Reads the messages from storage again. */
  protected async syncMessagesFromStorage(): Promise<void> {
    thinkRuntimeOf(this).parts.transcript.invalidate();
  }
}

function noModel(this: ThinkCore): never {
  throw featureErrors.NoModelError(this.constructor.name);
}
