// One attempt at a turn: assemble, call the model, stream, run tools. It writes records and feeds listeners, and ends in a
// plain result; what that result means for the turn is decided by the runner. Each tool call is a record before
// it runs, and its outcome a record before the model sees it.
import type { ToolSet, UIMessage, UIMessageChunk } from "ai";
import { AttemptFencedError, TurnSettledError } from "../journal/errors.ts";
import { addStepUsage, allUsage } from "../journal/folds/turn-fold.ts";
import type { JournalRecord, StepUsage } from "../journal/records.ts";
import {
  callModel,
  isToolPart,
  ModelCallError,
  modelErrors,
  normaliseUsage,
  StepHookError,
  wrapTools,
  type FinishedToolCall,
  type ModelCall,
  type ModelCallHooks,
  type ModelCallOutcome,
  type ModelUsage,
  type StepEnd,
  type ToolWatch
} from "../model/index.ts";
import { ThinkError } from "../util/errors.ts";
import { turnId as asTurnId } from "../util/ids.ts";
import { isObject } from "../util/json.ts";
import { approvalAsked, callSettled, callStarted, clientCallStarted, modelCalled, toolPartOf } from "./tool-calls.ts";
import { AnswerTooLargeError, StreamStalledError, TokenBudgetError, TurnEndError, turnErrors } from "./errors.ts";
import { CallSpending, switchEvents } from "./call-spending.ts";
import type { AssembledTurn } from "./hooks.ts";
import type { ModelChoice } from "./next-model.ts";
import type { TurnStore } from "./store.ts";
import type { Boundary } from "./steering.ts";
import type { TurnStream } from "./stream.ts";
import { SILENCE_NOTICE_MS, Watchdog } from "./watchdog.ts";
import type { TurnView } from "./turn.ts";

export interface AttemptInit {
  /** Its signal is this attempt's own. */
  readonly turn: TurnView;
  /** Read when everything that may shorten it is done. */
  readonly history: () => UIMessage[];
  readonly stream: TurnStream;
  /** Ends the attempt, and not the turn. */
  readonly stop: AbortController;
  /** Whether the `start` of the stream carries the id of the answer. */
  readonly stampsId: boolean;
  /** Text was cut off and is being continued. */
  readonly continuesText: boolean;
  /** What earlier attempts have used, and how many model calls they finished. */
  readonly usage: StepUsage;
  readonly finishedSteps: number;
  /** Calls that were allowed before and have not run: the turn does not end before them. */
  readonly hasCallsToRun: boolean;
  /** At a step boundary: whether the turn ends there. */
  readonly endsHere: (boundary: () => Boundary) => boolean;
  /** How often it has outgrown the context window. */
  readonly overflows: number;
  /** An outcome changed the answer that this turn extends: stores that, and tells the listeners. */
  readonly answerChanged: (changed: { readonly message: UIMessage; readonly stored: UIMessage }) => void;
  /** The outcome of a call of an earlier answer: stores it there, and tells the listeners. */
  readonly earlierSettled: (outcome: UIMessageChunk) => void;
}

export type AttemptResult =
  | { readonly kind: "answered"; readonly output: unknown; readonly lastUsage: ModelUsage }
  | { readonly kind: "aborted"; readonly reason: unknown }
  | { readonly kind: "stalled"; readonly error: StreamStalledError }
  /** The turn ends at a step boundary, before this attempt has asked the model. */
  | { readonly kind: "ended" }
  /** The text so far cannot be continued: structured output is parsed whole. */
  | { readonly kind: "restart" }
  | { readonly kind: "failed"; readonly error: unknown; readonly stage: "turn" | "stream" };

/** One for all, made at the first end: each exception collects a stack, which costs most while the program loads. */
let attemptOver: DOMException | undefined;

export class Attempt {
  readonly #store: TurnStore;
  readonly #init: AttemptInit;
  #call: ModelCall | undefined;
  #watchdog: Watchdog | undefined;
  #stalled: StreamStalledError | undefined;
  #tooLarge: AnswerTooLargeError | undefined;
  #usage: StepUsage;
  #assembled: AssembledTurn | undefined;
  #hasStreamed = false;
  readonly #spent = new CallSpending();
  /** Ids of the calls of the history, whatever of it the prompt will show. */
  #takenCallIds: readonly string[] = [];

  constructor(store: TurnStore, init: AttemptInit) {
    this.#store = store;
    this.#init = init;
    this.#usage = init.usage;
  }

  get hasStreamed(): boolean {
    return this.#hasStreamed;
  }

  /** Of the turn's limit. Below zero when more was used; no limit is known before the turn is assembled. */
  get tokensLeft(): number {
    return (this.#assembled?.maxTokens ?? Infinity) - this.#spentTokens;
  }

  /** Those of the turns that this one took over from are included. */
  get #spentTokens(): number {
    return this.usedTokens + (this.#assembled?.otherTokens?.() ?? 0) + (this.#init.turn.steered?.tokens ?? 0);
  }

  /** An answer that is one value is not cut: what waits for it would be given half of one. */
  #endsHere(steps: number): boolean {
    const { isWhole = false, settings } = this.#assembled ?? { settings: {} };
    if (isWhole || settings.output !== undefined) return false;
    const { stream, finishedSteps, endsHere, turn } = this.#init;
    // It ends as what stopped it says.
    if (turn.signal.aborted) return true;
    try {
      return endsHere(() => ({
        step: finishedSteps + steps,
        tokens: this.#spentTokens,
        unwritten: stream.takeUnflushed()
      }));
    } catch (error) {
      // The turn is over, or another attempt has begun: nothing of this one counts any more.
      if (error instanceof TurnSettledError || error instanceof AttemptFencedError) return true;
      throw error;
    }
  }

  /** By the turn's own model calls, those of earlier attempts included. */
  get usedTokens(): number {
    return this.#usage.totalTokens ?? 0;
  }

  /** Which model it asks, of several. */
  get choice(): ModelChoice | undefined {
    return this.#assembled?.choice;
  }

  /** Since when the model has said nothing, once that is worth a notice. */
  get silentSinceMs(): number | undefined {
    return this.#watchdog?.silentSinceMs;
  }

  /** Something that works for the turn is alive: the model's silence does not count. */
  beat(): void {
    this.#watchdog?.beat();
  }

  /** Never throws. */
  async run(): Promise<AttemptResult> {
    const result = await this.#store.init.hooks.runIn(this.#init.turn, () => this.#run());
    // What an attempt left running must not outlive it.
    this.#init.stop.abort((attemptOver ??= new DOMException("The attempt is over.", "AbortError")));
    return result;
  }

  async #run(): Promise<AttemptResult> {
    const { turn } = this.#init;
    let assembled: AssembledTurn;
    try {
      if (turn.signal.aborted) return { kind: "aborted", reason: turn.signal.reason };
      const { history, overflows } = this.#init;
      const { hooks } = this.#store.init;
      await hooks.prepare?.(turn);
      const path = history();
      this.#takenCallIds = path.flatMap(callIdsOf);
      assembled = await hooks.assemble(turn, path, overflows);
      if (assembled.messages.length === 0) throw modelErrors.NoMessagesError();
    } catch (error) {
      if (turn.signal.aborted) return { kind: "aborted", reason: turn.signal.reason };
      return { kind: "failed", error, stage: "turn" };
    }
    this.#assembled = assembled;
    const { continuesText } = this.#init;
    if (continuesText && (assembled.settings.output !== undefined || isOtherModel(turn, assembled.choice))) {
      return { kind: "restart" };
    }
    const isBetweenSteps = turn.attempt > 1 && !this.#init.hasCallsToRun;
    if (isBetweenSteps && this.#endsHere(0)) return { kind: "ended" };
    if (this.tokensLeft <= 0) {
      // As between two steps: the stream of the turn ends, whichever attempt notices it.
      return { kind: "failed", error: new TokenBudgetError(assembled.maxTokens), stage: "stream" };
    }
    try {
      if (assembled.grant && !turn.grant) this.#append({ ...this.#record, type: "turn-granted", ...assembled.grant });
      return this.#toResult(await this.#stream(assembled));
    } catch (error) {
      // No code of the user's runs here, and the model's failures are an outcome: what is left is for the log.
      const failure = error instanceof ThinkError ? error : turnErrors.AttemptFailedError(error);
      return { kind: "failed", error: failure, stage: "stream" };
    }
  }

  async #stream(assembled: AssembledTurn): Promise<ModelCallOutcome> {
    const { turn } = this.#init;
    const { model, system, messages, settings, maxSteps, stopWhen, sendReasoning, messageMetadata } = assembled;
    this.#init.stream.note(modelCalled(this.#writing, assembled));
    if (assembled.choice) this.#watchChoice(assembled, assembled.choice);
    const call = callModel(this.#store.init.sdk, {
      model,
      system,
      messages,
      tools: wrapTools(assembled.tools, this.#watch()),
      offered: assembled.offered,
      settings,
      maxSteps: Math.max(1, maxSteps - (turn.steered?.steps ?? 0)),
      stopWhen: [...[stopWhen ?? []].flat(), ({ steps }) => this.#endsHere(steps.length)],
      // Streams may call from outside the agent's context.
      messageMetadata: messageMetadata && ((event) => this.#store.init.hooks.runIn(turn, () => messageMetadata(event))),
      sendReasoning,
      messageId: this.#init.stampsId ? turn.messageId : undefined,
      takenCallIds: this.#takenCallIds,
      callScope: turn.messageId,
      allowsPrivateNames: this.#store.init.allowsPrivateNames,
      resolveModel: assembled.resolveModel,
      signal: turn.signal,
      meter: assembled.meter,
      onSpent: (call) => this.#spent.add(call),
      spans: {
        events: switchEvents(this.#store.init.journal.folds.get(turn.turnId)?.attempts),
        request: () => this.#spent.attributes()
      },
      hooks: this.#modelHooks(assembled),
      log: (message, error) => console.error(message, error)
    });
    this.#call = call;
    const watchdog = this.#startWatchdog(assembled);
    try {
      for await (const chunk of call.chunks) {
        watchdog.beat();
        const shown = assembled.sendUsage ? withUsage(chunk, this.#usage) : chunk;
        this.#pass(assembled.annotate?.(shown) ?? shown, assembled.tools);
      }
    } finally {
      watchdog.stop();
    }
    return call.outcome;
  }

  /** What is decided before a model is asked must be known to the process that goes on after this one. */
  #watchChoice(assembled: AssembledTurn, choice: ModelChoice): void {
    const { stream } = this.#init;
    if (choice.isDurable) stream.flush();
    this.#spent.model = choice.name;
    choice.watch.onAsked = (beside) =>
      this.#append(modelCalled(this.#writing, { ...assembled, choice: undefined, beside }));
    choice.watch.onChanged = (chosen) => {
      this.#spent.model = chosen;
      stream.note(modelCalled(this.#writing, { ...assembled, choice: { name: chosen } }));
    };
  }

  #startWatchdog({ stall }: AssembledTurn): Watchdog {
    const { clock } = this.#store.init;
    const { stop } = this.#init;
    const onStall = () => {
      this.#stalled = new StreamStalledError(stall.timeoutMs);
      stop.abort(this.#stalled);
    };
    const onSilence = (sinceMs: number) => this.#store.listeners.silent(this.#init.turn, sinceMs);
    const watchdog = new Watchdog({ ...stall, noticeMs: SILENCE_NOTICE_MS, clock, onStall, onSilence });
    this.#watchdog = watchdog;
    watchdog.start();
    return watchdog;
  }

  #pass(given: UIMessageChunk, tools: ToolSet): void {
    const { turn, stream } = this.#init;
    const { listeners } = this.#store;
    const chunk = withExecutor(given, tools);
    if (!this.#hasStreamed) {
      this.#hasStreamed = true;
      listeners.streaming(turn);
    }
    for (const streamed of stream.push(chunk)) {
      if (streamed.kind === "chunk") listeners.chunk(turn, streamed);
      else if (streamed.kind === "answer") this.#init.answerChanged(streamed);
      else this.#init.earlierSettled(streamed.chunk);
    }
    if (stream.isFull) this.#stopAtLimit();
    else this.#recordQuestion(chunk);
  }

  #stopAtLimit(): void {
    this.#tooLarge ??= new AnswerTooLargeError(this.#store.init.hooks.maxAnswerBytes);
    this.#init.stop.abort(this.#tooLarge);
  }

  /** Which side owes an answer must be known after a restart, before user code is asked anything. */
  #recordQuestion(chunk: UIMessageChunk): void {
    const isAsked = chunk.type === "tool-approval-request";
    if (!isAsked && chunk.type !== "tool-input-available") return;
    const part = toolPartOf(this.#init.stream.message, chunk.toolCallId);
    if (!part || part.providerExecuted) return;
    const step = this.#call?.stepNumber ?? 0;
    if (isAsked) this.#append(...approvalAsked(this.#writing, part, step));
    else if (part.state === "input-available" && part.clientExecuted) {
      this.#append(clientCallStarted(this.#writing, part, step));
    }
  }

  #modelHooks({ modelHooks, maxTokens }: AssembledTurn): ModelCallHooks {
    const { rebase } = modelHooks;
    return {
      ...modelHooks,
      rebase: rebase && ((event) => this.#whilePaused(async () => rebase(event))),
      onStepFinish: async (event) => {
        this.#recordStep(event);
        await modelHooks.onStepFinish?.(event);
      },
      ...(Number.isFinite(maxTokens) && {
        prepareStep: async (event) => {
          if (this.tokensLeft <= 0) throw new TokenBudgetError(maxTokens);
          // What was used is durable before more is: else each death would give it back.
          this.#init.stream.flush();
          return modelHooks.prepareStep?.(event);
        }
      })
    };
  }

  /** The model is not silent while the history is shortened for it. */
  async #whilePaused<T>(work: () => Promise<T>): Promise<T> {
    this.#watchdog?.pause();
    try {
      return await work();
    } finally {
      this.#watchdog?.resume();
    }
  }

  /** Written with whatever is written next: a crash may lose the count of one step. */
  #recordStep(event: StepEnd): void {
    const usage = usageOf(event);
    const { model, cancelled = [] } = this.#assembled?.choice?.step(usage) ?? {};
    const cost = this.#spent.takeStep();
    this.#usage = addStepUsage(this.#usage, allUsage(usage, cancelled));
    this.#init.stream.note({
      ...this.#record,
      type: "step-finished",
      step: this.#call?.stepNumber ?? 0,
      // A transform of the user's may have changed what the model boundary had put right.
      finishReason: typeof event.finishReason === "string" ? event.finishReason : "other",
      usage,
      ...(model !== undefined && { model }),
      ...(cost !== undefined && { cost }),
      ...(cancelled.length > 0 && { cancelled })
    });
  }

  #watch(): ToolWatch {
    const { turn } = this.#init;
    const { hooks } = this.#store.init;
    return {
      before: async (call) => {
        this.#watchdog?.toolStarted();
        const decision = await hooks.beforeToolCall(turn, call);
        turn.signal.throwIfAborted();
        if (!decision || decision.action === "allow") {
          this.#append(callStarted(this.#writing, call, decision));
          this.#init.stream.started.add(call.toolCallId);
        }
        return decision;
      },
      after: async (call) => {
        try {
          // The outcome must be durable before the model reads it: a restart in between would run the side effect again.
          if (!this.#recordOutcome(call)) return;
          await hooks.afterToolCall(turn, call);
        } finally {
          this.#watchdog?.toolEnded();
        }
      },
      stepNumber: () => this.#call?.stepNumber ?? 0,
      now: () => this.#store.now(),
      log: (message, error) => console.error(message, error)
    };
  }

  /** False: the turn went on, or ended, without this call. Its outcome is no longer asked for. */
  #recordOutcome(call: FinishedToolCall): boolean {
    try {
      this.#append(callSettled(this.#writing, call));
      return true;
    } catch (error) {
      if (error instanceof TurnSettledError || error instanceof AttemptFencedError) return false;
      throw error;
    }
  }

  #append(...records: JournalRecord[]): void {
    this.#store.init.journal.writer.append([...this.#init.stream.takeUnflushed(), ...records]);
  }

  get #writing() {
    const { turnId, attempt } = this.#init.turn;
    return { turnId, attempt, at: this.#store.now() };
  }

  get #record() {
    return { ...this.#writing, turnId: asTurnId(this.#init.turn.turnId) };
  }

  #toResult(outcome: ModelCallOutcome): AttemptResult {
    switch (outcome.status) {
      case "completed":
        return { kind: "answered", output: outcome.output, lastUsage: outcome.lastUsage };
      case "aborted":
        if (this.#tooLarge && outcome.reason === this.#tooLarge) {
          return { kind: "failed", error: this.#tooLarge, stage: "stream" };
        }
        if (this.#stalled && outcome.reason === this.#stalled) return { kind: "stalled", error: this.#stalled };
        return { kind: "aborted", reason: outcome.reason };
      case "failed":
        return { kind: "failed", error: endIn(outcome.error) ?? outcome.error, stage: "stream" };
    }
  }
}

/** Whether a client may answer a call is decided by the tools that the turn has, and sent with the call. */
function withExecutor(chunk: UIMessageChunk, tools: ToolSet): UIMessageChunk {
  if (chunk.type !== "tool-input-available" || chunk.providerExecuted === true) return chunk;
  const clientExecuted = tools[chunk.toolName]?.execute === undefined;
  return clientExecuted ? { ...chunk, ...{ clientExecuted } } : chunk;
}

/** Thrown before a step, it comes back as the failure of a hook or of the model; clients are shown the limit itself. */
function endIn(error: unknown): TokenBudgetError | TurnEndError | undefined {
  const cause = error instanceof StepHookError || error instanceof ModelCallError ? error.cause : error;
  try {
    if (cause instanceof TokenBudgetError || cause instanceof TurnEndError) return cause;
  } catch {
    // A provider may fail with a value that cannot be looked at, such as a revoked proxy: it is none of ours.
    return undefined;
  }
  return error instanceof StepHookError && cause !== error ? endIn(cause) : undefined;
}

/** The text that it would go on with is another model's. */
function isOtherModel({ chosenModel }: TurnView, choice: ModelChoice | undefined): boolean {
  return choice !== undefined && chosenModel !== undefined && choice.name !== chosenModel && !choice.keepsText;
}

function callIdsOf({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => (isToolPart(part) ? [part.toolCallId] : []));
}

/** The end of an answer with what it took. Counts that no provider reported are left out. */
function withUsage(chunk: UIMessageChunk, { totalTokens, ...usage }: StepUsage): UIMessageChunk {
  if (chunk.type !== "finish" || totalTokens === null) return chunk;
  const counts = Object.entries({ ...usage, totalTokens }).filter(([, count]) => count !== null);
  const metadata = isObject(chunk.messageMetadata) ? chunk.messageMetadata : {};
  return { ...chunk, messageMetadata: { ...metadata, usage: Object.fromEntries(counts) } };
}

function usageOf(event: StepEnd): StepUsage {
  const usage = normaliseUsage(event.usage);
  const sum = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
  return {
    inputTokens: usage.inputTokens ?? null,
    outputTokens: usage.outputTokens ?? null,
    totalTokens: usage.totalTokens ?? (sum > 0 ? sum : null),
    reasoningTokens: usage.reasoningTokens ?? null,
    cachedInputTokens: usage.cachedInputTokens ?? null
  };
}
