// A language model as providers should behave: it is not given anything empty; every part has the fields its type promises,
// and every tool call an id of its own; a stream that breaks, or ends without a finish part, ends with an error part instead, so that every failure
// reaches the SDK the same way; a delta whose block was never opened opens it; and bursts are coalesced. Works for every
// specification version the two SDK majors accept, which agree on these parts.
import type { CallIds, StreamCallIds } from "./call-ids.ts";
import { coalesceParts, type ModelPart, type PartReader } from "./coalesce.ts";
import { withoutEmpty } from "./empty-content.ts";
import { modelCallErrors, modelErrors, noteStreamedError } from "./errors.ts";
import { normalisePart, type SpecificationVersion } from "./normalise-part.ts";
import { CallRedirects, orderedTools, type OfferedTools } from "./offered-tools.ts";
import type { ModelObject } from "./sdk.ts";
import { FastReadableStream } from "./fast-readable.ts";

export interface GuardOptions {
  /** Merge bursts of deltas (default true). */
  readonly coalesce?: boolean;
  /** Gives calls their ids. Absent: they keep those of the provider. */
  readonly callIds?: CallIds;
  /** In which order the model is offered tools, and what becomes of calls of others. */
  readonly offered?: OfferedTools;
}

export interface StreamCallOptions {
  readonly prompt: { readonly role: string; readonly content: string | readonly unknown[] }[];
  readonly abortSignal?: AbortSignal;
  readonly tools?: readonly { readonly name: string }[];
}

export interface Streamed {
  readonly stream: ReadableStream<ModelPart>;
}

/** What a model's `doStream` is given and gives, as far as it is looked at here. */
export type DoStream = (options: StreamCallOptions) => PromiseLike<Streamed>;

/** The SDK reads it, or pipes it on; it meets a native stream as a native one. */
interface Guarded {
  readonly stream: FastReadableStream<ModelPart>;
}

/** The same model with a dependable stream; everything else is passed through to it. */
export function guardModel(model: ModelObject, options: GuardOptions = {}): ModelObject {
  const doStream = async (callOptions: StreamCallOptions): Promise<Guarded> => {
    // Messages of hooks and of earlier steps do not come from the stored history: all of them pass here.
    const prompt = withoutEmpty(callOptions.prompt);
    if (prompt.every(({ role }) => role === "system")) throw modelErrors.NoMessagesError();
    const { offered } = options;
    const { tools } = callOptions;
    const ordered = offered && tools ? { tools: orderedTools(tools, offered.names()) } : {};
    const result = await streamOf(model, { ...callOptions, prompt, ...ordered });
    const reader = new GuardedReader(result.stream, {
      signal: callOptions.abortSignal,
      version: versionOf(model),
      callIds: options.callIds?.openStream(),
      redirects: offered && new CallRedirects(offered)
    });
    return { ...result, stream: options.coalesce === false ? plainStream(reader) : coalesceParts(reader) };
  };
  return withDoStream(model, doStream);
}

/** Streams a model. The specifications differ in types we do not touch; what is used here is the same in all of them. */
export function streamOf(model: ModelObject, options: StreamCallOptions): PromiseLike<Streamed> {
  const original = model.doStream as DoStream;
  return original.call(model, options);
}

/** The same model with another `doStream`. */
export function withDoStream(
  model: ModelObject,
  doStream: (options: StreamCallOptions) => unknown,
  more: object = {}
): ModelObject {
  // Not a proxy of the model itself: of a frozen one it would have to return the original doStream.
  const shell: ModelObject = Object.create(Object.getPrototypeOf(model));
  return new Proxy(shell, {
    get(_shell, property) {
      if (property === "doStream") return doStream;
      if (Object.hasOwn(more, property)) return Reflect.get(more, property);
      // Read and called on the model itself: classes with private fields do not work through a proxy.
      const value: unknown = Reflect.get(model, property, model);
      return typeof value === "function" ? value.bind(model) : value;
    },
    has: (_shell, property) => property in model
  });
}

const BLOCK_PART = /^(text|reasoning)-(start|delta|end)$/;

/** How a provider's stream is read. */
export interface GuardedReaderInit {
  readonly signal: AbortSignal | undefined;
  readonly version: SpecificationVersion;
  readonly callIds: StreamCallIds | undefined;
  readonly redirects?: CallRedirects | undefined;
}

/** Reads a provider's stream and mends it part by part. */
export class GuardedReader implements PartReader<ModelPart> {
  readonly #reader: ReadableStreamDefaultReader<unknown>;
  readonly #init: GuardedReaderInit;
  readonly #open = new Set<string>();
  #isComplete = false;
  #isFinished = false;
  #isOver = false;

  constructor(source: ReadableStream<unknown>, init: GuardedReaderInit) {
    this.#reader = source.getReader();
    this.#init = init;
  }

  /** Rejects only when the call was aborted: the SDK recognises an abort by its error. */
  async read(): Promise<readonly ModelPart[] | undefined> {
    if (this.#isOver) return undefined;
    try {
      const { done, value } = await this.#reader.read();
      return done ? this.#finish() : this.#mend(value);
    } catch (error) {
      if (this.#init.signal?.aborted === true) throw error;
      this.#isOver = true;
      return [errorPart(error)];
    }
  }

  async cancel(reason: unknown): Promise<void> {
    this.#isOver = true;
    await this.#reader.cancel(reason);
  }

  #named(part: ModelPart): ModelPart | undefined {
    const { callIds } = this.#init;
    return callIds === undefined ? part : callIds.apply(part);
  }

  #finish(): readonly ModelPart[] | undefined {
    if (this.#isOver || this.#isComplete) return undefined;
    this.#isOver = true;
    return [errorPart(modelCallErrors.ModelInterruptedError())];
  }

  #mend(value: unknown): readonly ModelPart[] {
    const normalised = normalisePart(value, this.#init.version);
    const part = normalised && this.#named(normalised);
    // A second end would be a second step.
    if (part === undefined || (part.type === "finish" && this.#isFinished)) return [];
    if (part.type === "finish" || part.type === "error") this.#isComplete = true;
    if (part.type === "error" && "error" in part) noteStreamedError(part.error);
    if (part.type === "finish") this.#isFinished = true;
    const [, kind, phase] = BLOCK_PART.exec(part.type) ?? [];
    if (kind === undefined || !("id" in part)) return this.#init.redirects?.apply(part) ?? [part];
    const block = `${kind} ${String(part.id)}`;
    if (phase === "start") this.#open.add(block);
    if (phase === "end") return this.#open.delete(block) ? [part] : [];
    if (phase !== "delta" || this.#open.has(block)) return [part];
    this.#open.add(block);
    return [{ type: `${kind}-start`, id: part.id } as ModelPart, part];
  }
}

/** What the SDK will take it for. */
function versionOf({ specificationVersion }: { readonly specificationVersion: string }): SpecificationVersion {
  return specificationVersion === "v2" || specificationVersion === "v3" ? specificationVersion : "v4";
}

function errorPart(error: unknown): ModelPart & { readonly error: unknown } {
  return { type: "error", error };
}

function plainStream(reader: PartReader<ModelPart>): FastReadableStream<ModelPart> {
  return new FastReadableStream<ModelPart>(
    {
      async pull(controller) {
        let parts = await reader.read();
        // A pull that adds nothing is not repeated by the stream, and its reader would wait for ever.
        while (parts?.length === 0) parts = await reader.read();
        if (parts === undefined) return controller.close();
        for (const part of parts) controller.enqueue(part);
      },
      cancel: (reason) => reader.cancel(reason)
    },
    { highWaterMark: 0 }
  );
}
