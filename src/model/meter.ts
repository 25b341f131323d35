// Around each call of a provider: a meter is asked before the call is made and learns what it used. It sits at the model
// itself, inside of everything that calls it: each try of the SDK's own retries, each model that stands in for another and
// each step has a call of its own. A call that the meter refuses is not made.
import { ThinkError } from "../util/errors.ts";
import { isObject } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import type { ModelObject } from "./sdk.ts";
import { NO_USAGE, tokenCount, type ModelUsage } from "./usage.ts";

/** What a provider is given, as far as its size is measured. */
export interface MeteredOptions {
  readonly prompt: readonly unknown[];
  readonly tools?: unknown;
  readonly responseFormat?: unknown;
  readonly providerOptions?: unknown;
  readonly maxOutputTokens?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface MeteredCall {
  readonly provider: string;
  readonly modelId: string;
  /** The step of the attempt that makes it, from 0. */
  readonly step: number;
  readonly options: MeteredOptions;
}

/** How a call ended. */
export type CallEnd =
  /** With the counts of the provider, those that it gave. */
  | { readonly kind: "reported"; readonly usage: ModelUsage }
  /** The provider refused the request: nothing was generated. */
  | { readonly kind: "refused" }
  /** It was cut off, or said nothing: whatever was allowed may have been used. */
  | { readonly kind: "unknown" };

/** A call that may be made. */
export interface MeteredRun {
  /** In place of what the call asks for. */
  readonly maxOutputTokens?: number | undefined;
  /** Called once, and answers what the call cost, in billionths of a dollar. A throw is logged: the answer is there. */
  end(end: CallEnd): MaybePromise<number | void>;
}

/** A call of a provider that is over. */
export interface SpentCall {
  readonly provider: string;
  readonly modelId: string;
  /** In billionths of a dollar. */
  readonly cost: number;
}

/** Throws: the call is not made. Undefined: it is not measured. */
export type CallMeter = (call: MeteredCall) => MaybePromise<MeteredRun | undefined>;

/**
 * Of a model that asks others in its place: puts what it is given around each of them, and returns the model. A meter around
 * the whole would see one call, of the first of them.
 */
export const WRAP_EACH = Symbol("everthink.wrap-each");

type WrapEach = (wrap: (model: ModelObject) => ModelObject) => ModelObject;

interface MeteredTurn {
  /** The number of the step whose call it is. */
  readonly step?: () => number;
  readonly onSpent?: ((call: SpentCall) => void) | undefined;
}

/** The same model, each call of which is measured. */
export function meterModel(
  model: ModelObject,
  meter: CallMeter,
  { step = () => 0, onSpent }: MeteredTurn = {}
): ModelObject {
  const { [WRAP_EACH]: wrapEach } = model as { [WRAP_EACH]?: WrapEach };
  if (wrapEach) return wrapEach((one) => meterModel(one, meter, { step, onSpent }));
  const begin = async (options: MeteredOptions) => {
    const { provider, modelId } = model;
    const { abortSignal } = options;
    abortSignal?.throwIfAborted();
    const run = await meter({ provider, modelId, step: step(), options });
    const { maxOutputTokens } = run ?? {};
    const changed = maxOutputTokens === undefined ? options : { ...options, maxOutputTokens };
    const call = new MeteredEnd(run, abortSignal, (cost) => onSpent?.({ provider, modelId, cost }));
    // Stopped while the meter was asked: no request was made.
    if (abortSignal?.aborted) await call.refused();
    abortSignal?.throwIfAborted();
    return { options: changed, call };
  };
  // The specifications differ in types that are passed on unread.
  const stream = model.doStream as unknown as (options: MeteredOptions) => PromiseLike<Streamed>;
  const generate = model.doGenerate as unknown as (options: MeteredOptions) => PromiseLike<Generated>;
  const doStream = async (given: MeteredOptions): Promise<Streamed> => {
    const { options, call } = await begin(given);
    const result = await call.refusing(() => stream.call(model, options));
    return { ...result, stream: meteredStream(result.stream, call) };
  };
  const doGenerate = async (given: MeteredOptions): Promise<Generated> => {
    const { options, call } = await begin(given);
    const result = await call.refusing(() => generate.call(model, options));
    await call.reported(result.usage);
    return result;
  };
  // Not a proxy of the model itself: of a frozen one it would have to return the original methods.
  const shell: ModelObject = Object.create(Object.getPrototypeOf(model));
  return new Proxy(shell, {
    get(_shell, property) {
      if (property === "doStream") return doStream;
      if (property === "doGenerate") return doGenerate;
      const value: unknown = Reflect.get(model, property, model);
      return typeof value === "function" ? value.bind(model) : value;
    },
    has: (_shell, property) => property in model
  });
}

interface Streamed {
  readonly stream: ReadableStream<unknown>;
}

interface Generated {
  readonly usage: unknown;
}

/** The one end of a call, whichever comes first. */
class MeteredEnd {
  readonly #run: MeteredRun | undefined;
  readonly #signal: AbortSignal | undefined;
  #ended: Promise<void> | undefined;
  readonly #aborted = () => void this.unknown();

  readonly #spent: (cost: number) => void;

  constructor(run: MeteredRun | undefined, signal: AbortSignal | undefined, spent: (cost: number) => void) {
    this.#run = run;
    this.#spent = spent;
    this.#signal = signal;
    // A stream that no one reads any more says nothing.
    signal?.addEventListener("abort", this.#aborted, { once: true });
  }

  /** Makes the request. */
  async refusing<T>(request: () => PromiseLike<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      await (isRefusal(error) ? this.refused() : this.unknown());
      throw error;
    }
  }

  refused(): Promise<void> {
    return this.#end({ kind: "refused" });
  }

  reported(usage: unknown): Promise<void> {
    return this.#end({ kind: "reported", usage: providerUsage(usage) });
  }

  unknown(): Promise<void> {
    return this.#end({ kind: "unknown" });
  }

  #end(end: CallEnd): Promise<void> {
    return (this.#ended ??= this.#settle(end));
  }

  async #settle(end: CallEnd): Promise<void> {
    this.#signal?.removeEventListener("abort", this.#aborted);
    try {
      const cost = await this.#run?.end(end);
      if (cost !== undefined) this.#spent(cost);
    } catch (error) {
      console.error("What a model call used could not be stored; its reservation stays.", error);
    }
  }
}

/** Passes a stream on as it is read. The end is stored before the part that reports it is passed on. */
function meteredStream(source: ReadableStream<unknown>, call: MeteredEnd): ReadableStream<unknown> {
  const reader = source.getReader();
  return new ReadableStream<unknown>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (isObject(value) && value["type"] === "finish") await call.reported(value["usage"]);
          if (!done) return controller.enqueue(value);
          await call.unknown();
          controller.close();
        } catch (error) {
          await call.unknown();
          controller.error(error);
        }
      },
      async cancel(reason) {
        await call.unknown();
        await reader.cancel(reason);
      }
    },
    { highWaterMark: 0 }
  );
}

/** Status codes after which the provider may have generated an answer all the same. */
const UNCERTAIN: ReadonlySet<number> = new Set([408, 499, 500, 502, 504]);

/** Whether the provider has answered that it does not do it. An error of ours came before the request. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ThinkError) return true;
  const status: unknown = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof status === "number" && status >= 400 && !UNCERTAIN.has(status);
}

/** Reads the counts of a finish part of any specification version. */
export function providerUsage(usage: unknown): ModelUsage {
  if (!isObject(usage)) return NO_USAGE;
  const input = isObject(usage["inputTokens"]) ? usage["inputTokens"] : undefined;
  const output = isObject(usage["outputTokens"]) ? usage["outputTokens"] : undefined;
  const inputTokens = tokenCount(input ? input["total"] : usage["inputTokens"]);
  const outputTokens = tokenCount(output ? output["total"] : usage["outputTokens"]);
  return {
    inputTokens,
    outputTokens,
    totalTokens: tokenCount(usage["totalTokens"]),
    reasoningTokens: tokenCount(output ? output["reasoning"] : usage["reasoningTokens"]),
    cachedInputTokens: tokenCount(input ? input["cacheRead"] : usage["cachedInputTokens"]),
    cacheWriteTokens: tokenCount(input?.["cacheWrite"])
  };
}
