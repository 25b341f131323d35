// The one streaming call of a turn. It yields the SDK's UI message chunks and, apart from them, one outcome: completed,
// aborted or failed, whichever way the failure came about. Error and abort chunks are never let out, and no promise of
// the SDK is left to reject unhandled. Nothing runs before the chunks are read, and nothing keeps running after they
// ended, except tools that ignore their abort signal. Storing and sending chunks is left to the caller.
import type { FinishReason, LanguageModel, ModelMessage, SystemModelMessage, ToolSet, UIMessageChunk } from "ai";
import { CallIds, callIdsOfPrompt } from "./call-ids.ts";
import { ModelCallError, ModelFailedError, StepHookError, modelCallErrors } from "./errors.ts";
import { guardModel } from "./guarded-model.ts";
import type { OfferedTools } from "./offered-tools.ts";
import { meterModel, type CallMeter, type SpentCall } from "./meter.ts";
import { withNotedSpans, type SpanNotes } from "./noted-spans.ts";
import type { ChunkReader, ModelObject, Sdk, StepChange, StreamedPart } from "./sdk.ts";
import { isObject } from "../util/json.ts";
import type {
  MessageMetadata,
  ChunkEvent,
  ModelSettings,
  StepEnd,
  StepSettings,
  StepStart,
  StopWhen,
  SystemPrompt
} from "./settings.ts";
import { addUsage, normaliseUsage, NO_USAGE, type ModelUsage } from "./usage.ts";

export const DEFAULT_MAX_STEPS = 10;

/** The kinds of chunks that `onChunk` is given on either major; ai 7 would also send every start and end. */
const CHUNK_TYPES: ReadonlySet<string> = new Set<ChunkEvent["chunk"]["type"]>([
  "text-delta",
  "reasoning-delta",
  "source",
  "tool-call",
  "tool-input-start",
  "tool-input-delta",
  "tool-result",
  "raw"
]);

/** A model of the class's own for an id; undefined: it has none. */
export type ResolveModel = (id: string) => LanguageModel | undefined;

export interface ModelCallHooks {
  /** Asked before `prepareStep`: messages that take the place of those of this step and of every later one. */
  readonly rebase?: (event: StepStart) => PromiseLike<ModelMessage[] | undefined>;
  /** Awaited before each step; what it returns changes that step. A throw fails the call. */
  readonly prepareStep?: (event: StepStart) => StepSettings | void | null | PromiseLike<StepSettings | void | null>;
  /** Awaited; a throw is logged. */
  readonly onChunk?: (event: ChunkEvent) => unknown;
  /** Awaited before the next step begins; a throw is logged. */
  readonly onStepFinish?: (event: StepEnd) => unknown;
}

export interface ModelCallInput {
  readonly model: LanguageModel;
  readonly system?: SystemPrompt;
  readonly messages: ModelMessage[];
  readonly tools?: ToolSet;
  /** Where steps offer only some of the tools. Each step names them as its `activeTools`. */
  readonly offered?: OfferedTools | undefined;
  /** Everything else the SDK accepts; forwarded as it is. */
  readonly settings?: ModelSettings;
  /** The loop never goes beyond this, whatever `stopWhen` says. */
  readonly maxSteps?: number;
  /** Further conditions; the loop stops when any matches. */
  readonly stopWhen?: StopWhen;
  /** Stamped on the `start` chunk. Leave it out for a continuation, whose `start` must not carry an id. */
  readonly messageId?: string;
  /** Ids of calls of the conversation, in `messages` or not: a new call gets an id that none of them has. */
  readonly takenCallIds?: Iterable<string>;
  /** Part of the ids that calls are given here. Unique per answer; default: `messageId`. */
  readonly callScope?: string;
  /** Asked with each part. A throw is logged, and what cannot be written as JSON is left out. */
  readonly messageMetadata?: MessageMetadata | undefined;
  readonly sendReasoning?: boolean;
  readonly sendSources?: boolean;
  readonly sendStart?: boolean;
  readonly sendFinish?: boolean;
  /** Merge bursts of deltas (default true). */
  readonly coalesce?: boolean;
  /** Asked for the id of a model before the SDK is; undefined leaves it to the SDK. */
  readonly resolveModel?: ResolveModel | undefined;
  /** Files may be fetched from names of a private network, too. */
  readonly allowsPrivateNames?: boolean;
  readonly signal: AbortSignal;
  /** Measures each call of a provider, whichever model a step is given. Undefined: said by the caller, as nothing is measured. */
  readonly meter: CallMeter | undefined;
  /** Hears what each call of a provider has cost, where a meter counts it. */
  readonly onSpent?: (call: SpentCall) => void;
  /** What spans of the call say beside what the SDK knows. */
  readonly spans?: SpanNotes;
  readonly hooks?: ModelCallHooks;
  /** Hears of errors that do not fail the call. */
  readonly log?: (message: string, error: unknown) => void;
}

interface OutcomeBase {
  /** Steps that ended. */
  readonly steps: readonly StepEnd[];
  readonly totalUsage: ModelUsage;
  /** Of the last step that ended: the size of the context as the provider counts it. */
  readonly lastUsage: ModelUsage;
}

export type ModelCallOutcome =
  | (OutcomeBase & {
      readonly status: "completed";
      readonly finishReason: FinishReason;
      readonly rawFinishReason: string | undefined;
      /** The parsed value when `settings.output` was given and the answer is not a tool call. */
      readonly output: unknown;
    })
  | (OutcomeBase & { readonly status: "aborted"; readonly reason: unknown })
  | (OutcomeBase & { readonly status: "failed"; readonly error: ModelCallError });

export interface ModelCall {
  /** Read once. Never throws; ends early when the call fails or is aborted. Stopping to read aborts the call. */
  readonly chunks: AsyncIterable<UIMessageChunk>;
  /** Never rejects. Settles when `chunks` has ended or was abandoned. */
  readonly outcome: Promise<ModelCallOutcome>;
  /** The step running now, from 0. Tools executed before the first model call belong to step 0. */
  readonly stepNumber: number;
}

/**
 * Calls the model, and again after its tool calls, until it is done.
 *
 * @example
 * const call = callModel(installedSdk(), { model, messages, signal, messageId: "m1" });
 * for await (const chunk of call.chunks) send(chunk);
 * const outcome = await call.outcome;
 */
export function callModel(sdk: Sdk, input: ModelCallInput): ModelCall {
  return new RunningCall(sdk, input);
}

class RunningCall implements ModelCall, AsyncIterator<UIMessageChunk, undefined> {
  readonly outcome: Promise<ModelCallOutcome>;
  readonly chunks: AsyncIterable<UIMessageChunk> = { [Symbol.asyncIterator]: () => this };
  stepNumber = 0;
  readonly #sdk: Sdk;
  readonly #input: ModelCallInput;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #steps: StepEnd[] = [];
  readonly #callIds: CallIds;
  readonly #settle: (outcome: ModelCallOutcome | Promise<ModelCallOutcome>) => void;
  #isOver = false;
  #isDrained = false;
  #reader: ChunkReader | undefined;
  #failure: { readonly error: unknown } | undefined;
  #timeout: { readonly reason: unknown } | undefined;
  #finish: StreamedPart | undefined;
  #system: SystemPrompt | undefined;

  constructor(sdk: Sdk, input: ModelCallInput) {
    this.#sdk = sdk;
    this.#input = input;
    this.#signal = AbortSignal.any([input.signal, this.#stop.signal]);
    this.#callIds = new CallIds({
      taken: [...(input.takenCallIds ?? []), ...callIdsOfPrompt(input.messages)],
      scope: input.callScope ?? input.messageId ?? ""
    });
    const { promise, resolve } = Promise.withResolvers<ModelCallOutcome>();
    this.outcome = promise;
    this.#settle = resolve;
  }

  async next(): Promise<IteratorResult<UIMessageChunk, undefined>> {
    try {
      this.#reader ??= this.#start();
      while (!this.#isOver && !this.#signal.aborted) {
        const value = await this.#reader.read();
        if (value === undefined) {
          this.#isDrained = !this.#signal.aborted;
          break;
        }
        // Not `#failure`: parts are observed before they arrive here, and what came before the error must get out.
        if (this.#signal.aborted || value.type === "error" || value.type === "abort") break;
        return { done: false, value };
      }
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#end();
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<UIMessageChunk, undefined>> {
    if (!this.#isOver) this.#stop.abort(new DOMException("The answer is no longer read.", "AbortError"));
    this.#end();
    return { done: true, value: undefined };
  }

  #start(): ChunkReader {
    this.#signal.throwIfAborted();
    const reader = this.#stream();
    const cancel = () => {
      // Ends a pending read at once, even if model or tool never react. Its failure is dropped: the call has its outcome.
      reader.cancel(this.#signal.reason).catch(() => {});
    };
    this.#signal.addEventListener("abort", cancel, { once: true });
    return reader;
  }

  #stream(): ChunkReader {
    const input = this.#input;
    const { system, messages } = liftSystemMessages(input.system, input.messages);
    this.#system = system;
    return this.#sdk.stream({
      model: this.#guarded(input.model),
      system,
      messages,
      tools: input.tools ?? {},
      settings: withNotedSpans(input.settings ?? {}, input.spans),
      stopWhen: stopConditions(input),
      allowsPrivateNames: input.allowsPrivateNames ?? false,
      signal: this.#signal,
      prepareStep: (event) => this.#prepareStep(event),
      onChunk: input.hooks?.onChunk === undefined ? undefined : (event) => this.#tellChunk(event),
      onStepEnd: (event) => this.#stepEnded(event),
      onPart: (part) => this.#observe(part),
      ui: {
        messageId: input.messageId,
        sendReasoning: input.sendReasoning ?? true,
        sendSources: input.sendSources ?? true,
        sendStart: input.sendStart ?? true,
        sendFinish: input.sendFinish ?? true
      }
    });
  }

  #guarded(model: LanguageModel): ModelObject {
    const own = typeof model === "string" ? (this.#input.resolveModel?.(model) ?? model) : model;
    if (!isModel(own)) throw modelCallErrors.NotAModelError(own);
    const { meter, onSpent, coalesce, offered } = this.#input;
    const resolved = this.#sdk.resolveModel(own);
    const metered = meter ? meterModel(resolved, meter, { step: () => this.stepNumber, onSpent }) : resolved;
    return guardModel(metered, { callIds: this.#callIds, coalesce, offered });
  }

  #observe(part: StreamedPart): object | undefined {
    if (part.type === "error") this.#failure ??= { error: part["error"] };
    else if (part.type === "abort") this.#timeout ??= { reason: part["reason"] };
    else if (part.type === "finish") this.#finish = part;
    return this.#input.messageMetadata && this.#metadataOf(part, this.#input.messageMetadata);
  }

  /** As it will be stored, which is as JSON. */
  #metadataOf(part: StreamedPart, ask: MessageMetadata): object | undefined {
    try {
      // It is a part of the installed SDK's, whichever major.
      const metadata = ask({ part: part as object as Parameters<MessageMetadata>[0]["part"] });
      return isObject(metadata) ? (JSON.parse(JSON.stringify(metadata)) as object) : undefined;
    } catch (error) {
      (this.#input.log ?? console.error)("messageMetadata failed; the turn goes on.", error);
      return undefined;
    }
  }

  async #prepareStep(event: StepStart): Promise<StepChange> {
    this.#signal.throwIfAborted();
    this.stepNumber = event.stepNumber;
    const { model, hooks } = this.#input;
    let change: StepSettings | void | null;
    let rebased: ModelMessage[] | undefined;
    try {
      rebased = await hooks?.rebase?.({ ...event, model });
      this.#signal.throwIfAborted();
      change = await hooks?.prepareStep?.({ ...event, messages: rebased ?? event.messages, model });
    } catch (error) {
      throw new StepHookError(error);
    }
    this.#signal.throwIfAborted();
    return { rebased, settings: change ? this.#stepSettings(change) : undefined };
  }

  #stepSettings(change: StepSettings): StepSettings {
    const { model, instructions, system = instructions, messages, ...others } = change;
    const lifted = messages === undefined ? undefined : liftSystemMessages(system ?? this.#system, messages);
    const hasOwnSystem = lifted !== undefined && lifted.messages !== messages;
    return {
      ...others,
      model: model === undefined ? undefined : this.#guarded(model),
      messages: lifted?.messages,
      system: hasOwnSystem ? lifted.system : system
    };
  }

  async #stepEnded(event: StepEnd): Promise<void> {
    if (this.#isOver) return;
    this.#steps.push(event);
    await this.#tell("onStepFinish", event);
  }

  async #tellChunk(event: ChunkEvent): Promise<void> {
    if (CHUNK_TYPES.has(event.chunk.type)) await this.#tell("onChunk", event);
  }

  async #tell<Name extends "onChunk" | "onStepFinish">(
    name: Name,
    event: Parameters<NonNullable<ModelCallHooks[Name]>>[0]
  ): Promise<void> {
    if (this.#isOver) return;
    const hook: ((event: never) => unknown) | undefined = this.#input.hooks?.[name];
    try {
      // The event's type belongs to the hook of that name; TypeScript does not correlate the two.
      await hook?.(event as never);
    } catch (error) {
      (this.#input.log ?? console.error)(`${name} failed; the turn goes on.`, error);
    }
  }

  /** Decides the outcome and stops whatever still runs. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settle(this.#decide());
    if (!this.#isDrained) this.#stop.abort(new DOMException("The call is over.", "AbortError"));
  }

  #decide(): ModelCallOutcome | Promise<ModelCallOutcome> {
    if (this.#signal.aborted) return { ...this.#base(), status: "aborted", reason: this.#signal.reason };
    if (this.#failure !== undefined) return this.#failed(asModelCallError(this.#failure.error));
    if (this.#timeout !== undefined) return this.#failed(modelCallErrors.ModelTimeoutError(this.#timeout.reason));
    if (this.#finish === undefined) return this.#failed(modelCallErrors.ModelInterruptedError());
    return this.#finished(this.#finish);
  }

  #finished(part: StreamedPart): ModelCallOutcome | Promise<ModelCallOutcome> {
    // A finish part of the SDK always carries one of its finish reasons.
    const finishReason = part["finishReason"] as FinishReason;
    const raw = part["rawFinishReason"];
    const rawFinishReason = typeof raw === "string" ? raw : undefined;
    if (finishReason === "error") return this.#failed(new ModelFailedError({ finishReason, rawFinishReason }));
    if (finishReason === "interrupted") return this.#failed(modelCallErrors.ModelInterruptedError());
    const completed = { ...this.#base(), status: "completed", finishReason, rawFinishReason } as const;
    const last = this.#steps.at(-1);
    const specification = this.#input.settings?.output;
    // A turn that stopped at a tool call has no final answer to parse yet.
    if (specification === undefined || last === undefined || finishReason === "tool-calls") {
      return { ...completed, output: undefined };
    }
    const { response, usage } = last;
    return specification.parseCompleteOutput({ text: last.text }, { response, usage, finishReason }).then(
      (output: unknown) => ({ ...completed, output }),
      (error: unknown) => this.#failed(modelCallErrors.ModelOutputError(error))
    );
  }

  #failed(error: ModelCallError): ModelCallOutcome {
    return { ...this.#base(), status: "failed", error };
  }

  #base(): OutcomeBase {
    const usages = this.#steps.map((step) => normaliseUsage(step.usage));
    return {
      steps: [...this.#steps],
      totalUsage: usages.reduce(addUsage, NO_USAGE),
      lastUsage: usages.at(-1) ?? NO_USAGE
    };
  }
}

/** User code without types may give anything, most often nothing. */
function isModel(model: unknown): boolean {
  if (typeof model !== "object" || model === null) return typeof model === "string" || typeof model === "function";
  return "doStream" in model && typeof model.doStream === "function";
}

function asModelCallError(error: unknown): ModelCallError {
  try {
    if (error instanceof ModelCallError) return error;
  } catch {
    // A proxy that does not even say what it is.
  }
  return new ModelFailedError(error);
}

function stopConditions(input: ModelCallInput): StopWhen {
  const { maxSteps = DEFAULT_MAX_STEPS, stopWhen = [] } = input;
  const cap = Number.isFinite(maxSteps) ? Math.max(1, Math.floor(maxSteps)) : DEFAULT_MAX_STEPS;
  const others = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
  return [({ steps }) => steps.length >= cap, ...others];
}

interface SystemAndMessages {
  /** Undefined: there is no system text at all. */
  readonly system: SystemPrompt | undefined;
  readonly messages: ModelMessage[];
}

/**
 * Moves every system-role message into the system prompt, in order and with its provider options: providers take system
 * text in front only, and ai 7 refuses it among the messages. Returns its arguments when there is none to move.
 */
function liftSystemMessages(system: SystemPrompt | undefined, messages: ModelMessage[]): SystemAndMessages {
  const lifted = messages.filter((message) => message.role === "system");
  if (lifted.length === 0) return { system: system === "" ? undefined : system, messages };
  return {
    system: [...asSystemMessages(system), ...lifted],
    messages: messages.filter((message) => message.role !== "system")
  };
}

function asSystemMessages(system: SystemPrompt | undefined): SystemModelMessage[] {
  if (system === undefined || system === "") return [];
  if (typeof system === "string") return [{ role: "system", content: system }];
  return Array.isArray(system) ? system : [system];
}
