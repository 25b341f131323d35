// The scripted model: a language model of the AI SDK that plays a script. Everything it hands out passes two checks
// first, in this order: the boundary (a crash point of the test host, which never resolves once the host is dead, so
// that a dead agent receives nothing more, not even an abort) and the abort signal (whose reason becomes the error).
import { abortable, untilAborted } from "./abortable.ts";
import { collect } from "./collect.ts";
import {
  encodingV3,
  encodingV4,
  type ContentV3,
  type ContentV4,
  type Encoding,
  type StreamPartV3,
  type StreamPartV4
} from "./encode.ts";
import { play, responseHeaders, type PlayContext } from "./play.ts";
import type { ModelCallOptions, RecordedCall } from "./recorded-call.ts";
import type { ScriptClock } from "./script-part.ts";
import { createScript, Script, type ScriptOptions, type Steps } from "./script.ts";
import type { Answer, Reply, Step } from "./step.ts";
import { partStream } from "./part-stream.ts";
import type { FinishReason, FinishReasonV3, GenerateResult, Specification, StreamResult } from "./stream-part.ts";

export interface ScriptedModelOptions {
  /** Which provider specification to speak: `v4` (default) for ai 7, `v3` for ai 6. */
  specification?: Specification;
  /** Default `scripted`. */
  provider?: string;
  /** Default `scripted-model`. */
  modelId?: string;
  /** Awaited before every answer and every streamed part. Given by the test host, which counts it as a crash point. */
  boundary?: () => Promise<void>;
  /** The time `after()` waits on, and the time stamp of responses. */
  clock?: ScriptClock;
  /** By default every URL, so that the SDK downloads nothing during a test. */
  supportedUrls?: Record<string, RegExp[]>;
}

interface ModelOf<Version extends Specification, Part, Content, Reason> {
  readonly specificationVersion: Version;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doStream(options: ModelCallOptions): Promise<StreamResult<Part>>;
  doGenerate(options: ModelCallOptions): Promise<GenerateResult<Content, Reason>>;
  /** The script this model plays. */
  readonly script: Script;
  /** Every call in order: prompt, tools, settings; frozen. Shared by all models that play the same script. */
  readonly calls: readonly RecordedCall[];
  readonly callCount: number;
}

export type ScriptedModelV3 = ModelOf<"v3", StreamPartV3, ContentV3, FinishReasonV3>;
export type ScriptedModelV4 = ModelOf<"v4", StreamPartV4, ContentV4, FinishReason>;

type V3Options = { specification: "v3" };
type V4Options = { specification?: "v4" };

/**
 * A language model that answers from a script, one step per call.
 *
 * @example
 * const model = scriptedModel([
 *   reply(toolCall("getWeather", { city: "Paris" })),
 *   reply(text("It is "), text("sunny."), usage({ input: 40, output: 4 }))
 * ]);
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions & V3Options): ScriptedModelV3;
export function scriptedModel(script: Script, options?: ScriptedModelOptions & V4Options): ScriptedModelV4;
export function scriptedModel(steps: Steps, options: ScriptedModelOptions & ScriptOptions & V3Options): ScriptedModelV3;
export function scriptedModel(
  steps: Steps,
  options?: ScriptedModelOptions & ScriptOptions & V4Options
): ScriptedModelV4;
export function scriptedModel(
  source: Script | Steps,
  options: ScriptedModelOptions & ScriptOptions = {}
): ScriptedModelV3 | ScriptedModelV4 {
  const script = source instanceof Script ? source : createScript(source, options);
  return options.specification === "v3"
    ? new ScriptedModel({ version: "v3", encoding: encodingV3, script }, options)
    : new ScriptedModel({ version: "v4", encoding: encodingV4, script }, options);
}

interface ModelBase<Version, Part, Content, Reason> {
  readonly version: Version;
  readonly encoding: Encoding<Part, Content, Reason>;
  readonly script: Script;
}

class ScriptedModel<Version extends Specification, Part, Content, Reason> implements ModelOf<
  Version,
  Part,
  Content,
  Reason
> {
  readonly specificationVersion: Version;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  readonly script: Script;
  readonly #encoding: Encoding<Part, Content, Reason>;
  readonly #boundary: () => Promise<void>;
  readonly #clock: ScriptClock | undefined;

  constructor(base: ModelBase<Version, Part, Content, Reason>, options: ScriptedModelOptions) {
    this.specificationVersion = base.version;
    this.script = base.script;
    this.#encoding = base.encoding;
    this.provider = options.provider ?? "scripted";
    this.modelId = options.modelId ?? "scripted-model";
    this.supportedUrls = options.supportedUrls ?? { "*/*": [/^/] };
    this.#boundary = options.boundary ?? (async () => {});
    this.#clock = options.clock;
  }

  get calls(): readonly RecordedCall[] {
    return this.script.calls;
  }

  get callCount(): number {
    return this.script.callCount;
  }

  async doStream(options: ModelCallOptions): Promise<StreamResult<Part>> {
    const call = this.#begin("stream", options);
    const reply = await this.#deliver(call, this.#resolve(call));
    const stream = partStream({
      play: (signal) => play(reply, this.#playContext(call, signal)),
      signal: call.signal,
      boundary: this.#boundary,
      encode: this.#encoding.part,
      onEnd: call.end
    });
    return { stream, response: responseHeaders(reply) };
  }

  async doGenerate(options: ModelCallOptions): Promise<GenerateResult<Content, Reason>> {
    const call = this.#begin("generate", options);
    const work = this.#resolve(call).then((reply) => collect(reply, play(reply, this.#playContext(call, call.signal))));
    const result = await this.#deliver(call, work);
    call.end();
    const { unified, raw } = result.finishReason;
    return {
      ...result,
      content: result.content.map(this.#encoding.content),
      finishReason: { unified: this.#encoding.reason(unified), raw }
    };
  }

  #begin(kind: RecordedCall["kind"], options: ModelCallOptions): OpenCall {
    const signal = options.abortSignal ?? new AbortController().signal;
    return { record: this.script.record(kind, options), signal, end: () => {} };
  }

  /** The reply to a call; rejects if the step is a failure or the call is aborted. */
  async #resolve(call: OpenCall): Promise<Reply> {
    // A call that is aborted already never reached a provider: it costs no step.
    call.signal.throwIfAborted();
    const { step, end } = this.script.take(call.record);
    call.end = end;
    const answer = await this.#answer(step, call);
    if (answer.kind === "failure") throw answer.error;
    return answer.kind === "stall" ? untilAborted(call.signal) : answer;
  }

  async #answer(step: Step, call: OpenCall): Promise<Answer> {
    if (typeof step !== "function") return step;
    const work = (async () => step(call.record))().catch((error: unknown) => {
      throw this.script.problem(error);
    });
    return abortable(work, call.signal);
  }

  /** Lets an outcome out to the agent, success or not. */
  async #deliver<T>(call: OpenCall, work: Promise<T>): Promise<T> {
    const [outcome] = await Promise.allSettled([work]);
    await this.#boundary();
    try {
      call.signal.throwIfAborted();
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    } catch (error) {
      call.end();
      throw error;
    }
  }

  #playContext(call: OpenCall, signal: AbortSignal): PlayContext {
    return { callNumber: call.record.number, modelId: this.modelId, signal, clock: this.#clock };
  }
}

interface OpenCall {
  readonly record: RecordedCall;
  readonly signal: AbortSignal;
  /** Marks the call's step as played. */
  end: () => void;
}
