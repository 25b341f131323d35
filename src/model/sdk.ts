// The only file that knows which major of the AI SDK it talks to. Everything else in this folder takes an `Sdk`; users
// get the `ai` they installed, tests open either major. Both majors share most of their shapes, so the differences fit
// into two small functions. The casts below all have one reason: the two majors' types are not assignable to each
// other although the objects are alike, and both are exercised by the same tests.
import * as ai from "ai";
import type { LanguageModel, ModelMessage, ToolSet, UIMessage, UIMessageChunk } from "ai";
import { err, ok, type Result } from "../util/result.ts";
import { isObject } from "../util/json.ts";
import { downloadsWith } from "./download.ts";
import { modelErrors, toolErrorText } from "./errors.ts";
import { withSpans } from "./telemetry-spans.ts";
import type {
  ChunkEvent,
  ModelSettings,
  StepEnd,
  StepSettings,
  StepStart,
  StopWhen,
  SystemPrompt
} from "./settings.ts";

/** A model object, as opposed to the id of one. */
export type ModelObject = Exclude<LanguageModel, string>;

/** A part of the SDK's own stream, as far as this folder looks into it. */
export interface StreamedPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What is different about a step. */
export interface StepChange {
  readonly settings: StepSettings | undefined;
  /** Messages for this step, unless its settings have their own, and for all later ones. */
  readonly rebased: ModelMessage[] | undefined;
}

/** One streaming call in terms both majors understand. */
export interface StreamRequest {
  readonly model: ModelObject;
  readonly system: SystemPrompt | undefined;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly settings: ModelSettings;
  readonly stopWhen: StopWhen;
  /** Where files may be fetched from that the provider does not fetch itself. */
  readonly allowsPrivateNames: boolean;
  readonly signal: AbortSignal;
  readonly prepareStep: (event: StepStart) => Promise<StepChange>;
  readonly onChunk: ((event: ChunkEvent) => Promise<void>) | undefined;
  readonly onStepEnd: (event: StepEnd) => Promise<void>;
  /** Sees each part right before it becomes a chunk; what it returns is metadata of the message. */
  readonly onPart: (part: StreamedPart) => object | undefined;
  readonly ui: UiOptions;
}

export interface UiOptions {
  /** Stamped on `start`; undefined leaves `start` without an id. */
  readonly messageId: string | undefined;
  readonly sendReasoning: boolean;
  readonly sendSources: boolean;
  readonly sendStart: boolean;
  readonly sendFinish: boolean;
}

/** Chunks one by one; undefined is the end. Cancelling ends a pending read. */
export interface ChunkReader {
  read(): Promise<UIMessageChunk | undefined>;
  cancel(reason: unknown): Promise<void>;
}

export interface Sdk {
  readonly major: 6 | 7;
  /** Starts a call. Its chunks are read once; nothing else of the call is kept. */
  stream(request: StreamRequest): ChunkReader;
  /** The SDK's own conversion, which applies each tool's `toModelOutput`. */
  toModelMessages(messages: UIMessage[], tools: ToolSet): Promise<ModelMessage[]>;
  /** A model id becomes the default provider's model, as the SDK would do it. */
  resolveModel(model: LanguageModel): ModelObject;
  /** Checks a value against a tool's input schema and returns what the schema made of it. */
  validateInput(schema: unknown, value: unknown): Promise<Result<unknown, unknown>>;
  /** A tool's input schema as the JSON schema that a provider is given. */
  inputJsonSchema(schema: unknown): Promise<unknown>;
}

/** What is used of the `ai` package. Parameters are `never` so that either major's functions fit. */
export interface SdkModule {
  readonly streamText: (options: never) => object;
  readonly convertToModelMessages: (messages: never, options: never) => unknown;
  readonly asSchema: (schema: never) => object;
  readonly gateway: { languageModel(id: string): object };
  /** Streams without keeping a second copy of everything for late readers; newer releases of ai 7. */
  readonly experimental_streamTextLowMemory?: (options: never) => object;
  /** Converts part by part, which spares a call several streams; newer releases of ai 7. */
  readonly toUIMessageChunk?: (part: never, options: never) => unknown;
  /** Exported by ai 7 and not by ai 6. */
  readonly isStepCount?: unknown;
}

/** The `ai` package this program is installed with. */
export function installedSdk(): Sdk {
  // Named one by one, so that a bundler still drops the rest of the package.
  installed ??= openSdk({
    streamText: ai.streamText,
    convertToModelMessages: ai.convertToModelMessages,
    asSchema: ai.asSchema,
    gateway: ai.gateway,
    experimental_streamTextLowMemory: ai.experimental_streamTextLowMemory,
    toUIMessageChunk: ai.toUIMessageChunk,
    isStepCount: ai.isStepCount
  });
  return installed;
}
let installed: Sdk | undefined;

/** Adapts one major of the SDK. Throws UnsupportedSdkError when it is neither 6 nor 7. */
export function openSdk(module: SdkModule): Sdk {
  for (const name of ["streamText", "convertToModelMessages", "asSchema"] as const) {
    if (typeof module[name] !== "function") throw modelErrors.UnsupportedSdkError(name);
  }
  const major = module.isStepCount === undefined ? 6 : 7;
  const streamText = (module.experimental_streamTextLowMemory ?? module.streamText) as StreamText;
  const convert = module.convertToModelMessages as Convert;
  const asSchema = module.asSchema as AsSchema;
  const toChunk = module.toUIMessageChunk as ToChunk | undefined;
  return {
    major,
    stream(request) {
      const result = streamText(major === 7 ? optionsOf7(request) : optionsOf6(request));
      return toChunk === undefined
        ? chunksOfStream(result.toUIMessageStream(uiOptions(request)))
        : new ConvertingReader(result.fullStream.getReader(), request, toChunk);
    },
    toModelMessages: async (messages, tools) =>
      (await convert(messages, { tools, ignoreIncompleteToolCalls: true })).map(withPlainAddresses),
    resolveModel(model) {
      if (typeof model !== "string") return model;
      return (globalThis.AI_SDK_DEFAULT_PROVIDER ?? module.gateway).languageModel(model) as ModelObject;
    },
    validateInput: (schema, value) => validate(asSchema(schema), value),
    inputJsonSchema: async (schema) => asSchema(schema).jsonSchema
  };
}

/** ai 7 makes objects of the addresses of files, which cannot be copied; either major takes them as text. */
function withPlainAddresses(message: ModelMessage): ModelMessage {
  if (message.role === "system" || message.role === "tool" || typeof message.content === "string") return message;
  if (!message.content.some((part) => "data" in part)) return message;
  const content = message.content.map((part) => {
    const data: unknown = "data" in part ? part.data : undefined;
    return isObject(data) && data["url"] instanceof URL ? { ...part, data: data["url"].href } : part;
  });
  // The same parts, in the same order.
  return { ...message, content } as ModelMessage;
}

/** What the two majors' functions look like from here. */
type StreamText = (options: Record<string, unknown>) => {
  toUIMessageStream(options: Record<string, unknown>): ReadableStream<UIMessageChunk>;
  readonly fullStream: ReadableStream<StreamedPart>;
};
type ToChunk = (part: StreamedPart, options: Record<string, unknown>) => UIMessageChunk | undefined;
type Convert = (
  messages: UIMessage[],
  options: { tools: ToolSet; ignoreIncompleteToolCalls: boolean }
) => Promise<ModelMessage[]>;
type AsSchema = (schema: unknown) => Schema;
interface Schema {
  readonly jsonSchema?: unknown;
  readonly validate?: (value: unknown) => Validation | PromiseLike<Validation>;
}
type Validation = { success: true; value: unknown } | { success: false; error: unknown };

function sharedOptions(request: StreamRequest): Record<string, unknown> {
  const { model, messages, tools, settings, stopWhen, signal } = request;
  return {
    // Settings first: what the call owns cannot be overridden, not even by a caller who casts.
    ...settings,
    // The class may have a function of its own. The SDK's lets some private addresses through.
    experimental_download: settings.experimental_download ?? downloadsWith(request),
    model,
    messages,
    // Without tools the SDK must not get an empty set: some providers refuse one.
    tools: Object.keys(tools).length === 0 ? undefined : tools,
    stopWhen,
    abortSignal: signal,
    onChunk: request.onChunk,
    // The call learns of errors from the stream; without a handler the SDK would print them.
    onError: () => {},
    // System messages were lifted out already. Should a transform of ours miss one, the provider may judge it.
    allowSystemInMessages: true
  };
}

function optionsOf7(request: StreamRequest): Record<string, unknown> {
  const { experimental_context: context, ...rest } = looseSettings(request.settings);
  const { experimental_telemetry: given, telemetry = given } = rest;
  return {
    ...sharedOptions(request),
    ...(telemetry === undefined ? {} : { experimental_telemetry: undefined, telemetry: withSpans(telemetry) }),
    ...(isObject(context) && rest["runtimeContext"] === undefined ? { runtimeContext: context } : {}),
    instructions: request.system,
    onStepEnd: request.onStepEnd,
    prepareStep: async (event: StepStart) => {
      // What a step's messages are replaced with stays for the later ones: ai 7 sees to that itself.
      const change = await request.prepareStep({ ...event, experimental_context: event.runtimeContext });
      const { system, experimental_context: next, messages = change.rebased, ...others } = change.settings ?? {};
      return {
        ...others,
        messages,
        instructions: system,
        runtimeContext: isObject(next) ? next : undefined
      };
    }
  };
}

function optionsOf6(request: StreamRequest): Record<string, unknown> {
  const { repairToolCall, telemetry, include, ...rest } = looseSettings(request.settings);
  return {
    ...sharedOptions(request),
    // The names these options had before ai 7.
    experimental_repairToolCall: rest["experimental_repairToolCall"] ?? repairToolCall,
    experimental_telemetry: rest["experimental_telemetry"] ?? telemetry,
    experimental_include: rest["experimental_include"] ?? include,
    system: request.system,
    onStepFinish: request.onStepEnd,
    prepareStep: carryingStep6(request)
  };
}

/** ai 6 begins each step with the messages of the call; those that took their place are put there again. */
function carryingStep6(request: StreamRequest): (event: StepStart) => Promise<Record<string, unknown>> {
  const { messages: initialMessages } = request;
  let carried: { readonly messages: ModelMessage[]; readonly answers: number } | undefined;
  return async (event) => {
    // What the model and its tools have said in this call; ai 7 passes it under this name.
    const responseMessages = event.messages.slice(initialMessages.length) as StepStart["responseMessages"];
    const held = carried && [...carried.messages, ...responseMessages.slice(carried.answers)];
    const start = { ...event, messages: held ?? event.messages, initialMessages, responseMessages };
    const { rebased, settings } = await request.prepareStep(start);
    if (rebased) carried = { messages: rebased, answers: responseMessages.length };
    const { instructions, messages = rebased ?? held, ...others } = settings ?? {};
    return { ...others, system: others.system ?? instructions, messages };
  };
}

/** Settings by name: one major's options are unknown to the other's types. */
function looseSettings(settings: ModelSettings): Record<string, unknown> {
  return { ...settings };
}

function uiOptions(request: StreamRequest): Record<string, unknown> {
  const { messageId, ...send } = request.ui;
  return {
    ...send,
    generateMessageId: messageId === undefined ? undefined : () => messageId,
    // Errors of tools: the model must read the same text after a reload as it did in this call. Errors of the model
    // itself also pass through here, but their chunks are never let out.
    onError: toolErrorText,
    // Called with every part. This way the call needs no second reader.
    messageMetadata: ({ part }: { part: StreamedPart }) => request.onPart(part)
  };
}

function chunksOfStream(stream: ReadableStream<UIMessageChunk>): ChunkReader {
  const reader = stream.getReader();
  return { read: async () => (await reader.read()).value, cancel: (reason) => reader.cancel(reason) };
}

/** Does what `toUIMessageStream` does, without its four further streams per call. */
class ConvertingReader implements ChunkReader {
  readonly #reader: ReadableStreamDefaultReader<StreamedPart>;
  readonly #onPart: StreamRequest["onPart"];
  readonly #toChunk: ToChunk;
  readonly #options: Record<string, unknown>;
  readonly #invalidCalls = new Set<unknown>();
  /** Metadata of the part whose chunk was read last. */
  #next: UIMessageChunk | undefined;

  constructor(reader: ReadableStreamDefaultReader<StreamedPart>, request: StreamRequest, toChunk: ToChunk) {
    const { messageId: responseMessageId, ...send } = request.ui;
    this.#reader = reader;
    this.#onPart = request.onPart;
    this.#toChunk = toChunk;
    this.#options = { ...send, responseMessageId, tools: request.tools, onError: toolErrorText };
  }

  async read(): Promise<UIMessageChunk | undefined> {
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) return next;
    for (;;) {
      const { done, value: part } = await this.#reader.read();
      if (done) return undefined;
      const metadata = this.#onPart(part);
      const chunk = this.#isKnownFailure(part) ? undefined : this.#toChunk(part, this.#options);
      if (metadata === undefined) {
        if (chunk !== undefined) return chunk;
        continue;
      }
      // Those of a call's ends carry it themselves; where such a chunk is not sent, its metadata is not either.
      if (part.type === "start" || part.type === "finish") {
        if (chunk !== undefined) return { ...chunk, messageMetadata: metadata } as UIMessageChunk;
        continue;
      }
      const added = { type: "message-metadata", messageMetadata: metadata } as const;
      if (chunk === undefined) return added;
      this.#next = added;
      return chunk;
    }
  }

  cancel(reason: unknown): Promise<void> {
    return this.#reader.cancel(reason);
  }

  /** A call that could not be parsed has reported its error already; the part for the model repeats it. */
  #isKnownFailure(part: StreamedPart): boolean {
    if (part.type === "tool-call" && part["invalid"] === true) this.#invalidCalls.add(part["toolCallId"]);
    const isToolError = part.type === "tool-error" && part["providerExecuted"] !== true;
    return isToolError && this.#invalidCalls.delete(part["toolCallId"]);
  }
}

async function validate(schema: Schema, value: unknown): Promise<Result<unknown, unknown>> {
  if (schema.validate === undefined) return ok(value);
  const result = await schema.validate(value);
  return result.success ? ok(result.value) : err(result.error);
}
