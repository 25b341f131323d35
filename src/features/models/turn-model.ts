// The model of one attempt, out of a list: to the SDK it is the chosen model. Each call is given a prompt without what other
// providers wrote for themselves, and what it streams is labelled. With `hedgeAfterMs` a second model is asked when the
// first has not begun by then; the one that begins first goes on, and the other is cancelled. It decides nothing that
// outlives the attempt: what has to be recorded is handed to the listeners first.
import type { Clock } from "../../host/ports.ts";
import type { CancelledUse, StepUsage } from "../../journal/records.ts";
import {
  streamOf,
  withDoStream,
  withoutEmpty,
  WRAP_EACH,
  type ModelObject,
  type ModelPart,
  type StreamCallOptions,
  type Streamed
} from "../../model/index.ts";
import type { ChoiceWatch, ModelChoice } from "../../turn/next-model.ts";
import { isObject } from "../../util/json.ts";
import { modelListErrors } from "./errors.ts";
import { labelled, modelLabelOf, withoutForeignParts } from "./foreign-parts.ts";
import { begin, race, type Begun } from "./hedge.ts";
import type { ListedModel } from "./model-names.ts";

export interface TurnModelInit {
  readonly models: readonly ListedModel[];
  readonly chosen: ListedModel;
  /** Who is asked beside the chosen one; undefined: the list has no other that may be asked now. */
  readonly beside: ListedModel | undefined;
  readonly hedgeAfterMs: number;
  readonly standsInForFiltered: boolean;
  readonly clock: Pick<Clock, "sleep">;
  /** A model has finished an answer. */
  readonly answered: (model: ListedModel) => void;
}

type Wrap = (model: ModelObject) => ModelObject;

export class TurnModel implements Pick<ModelChoice, "step">, ChoiceWatch {
  /** For the SDK. */
  readonly model: ModelObject;
  onAsked: ((beside: string) => void) | undefined;
  onChanged: ((chosen: string) => void) | undefined;
  readonly #init: TurnModelInit;
  /** What is called in place of a listed model. */
  #wrapped: ReadonlyMap<ListedModel, ModelObject> = new Map();
  #chosen: ListedModel;
  /** The one that was asked last: of a step whose model the class has chosen itself, that one. */
  #asked: ListedModel;
  #cancelled: ListedModel[] = [];

  constructor(init: TurnModelInit) {
    this.#init = init;
    this.#chosen = init.chosen;
    this.#asked = init.chosen;
    this.model = withDoStream(init.chosen.model, (options) => this.#stream(options), {
      [WRAP_EACH]: (wrap: Wrap) => {
        this.#wrapped = new Map(init.models.map((one) => [one, wrap(one.model)]));
        return this.model;
      }
    });
  }

  /** A cancelled call has read the prompt that the other one has read; what it wrote was not waited for. */
  step(usage: StepUsage): { model: string; cancelled: readonly CancelledUse[] } {
    const { inputTokens, cachedInputTokens } = usage;
    const read = {
      inputTokens,
      outputTokens: null,
      totalTokens: inputTokens,
      reasoningTokens: null,
      cachedInputTokens
    };
    const cancelled = this.#cancelled.splice(0).map(({ name }) => ({ model: name, usage: read }));
    return { model: this.#asked.name, cancelled };
  }

  /** A model that is asked for one step in place of the chosen one. */
  forStep(listed: ListedModel): ModelObject {
    return withDoStream(listed.model, (options) => {
      this.#isAsked(listed);
      // What is put around it, such as a meter, is put around what is returned here.
      return this.#ask(listed, options, listed.model);
    });
  }

  /** Whose failure it is must be known when it fails. */
  #isAsked(listed: ListedModel): void {
    if (this.#asked !== listed) this.onChanged?.(listed.name);
    this.#asked = listed;
  }

  async #stream(options: StreamCallOptions): Promise<Streamed> {
    const { chosen: first, beside, hedgeAfterMs } = this.#init;
    this.#isAsked(this.#chosen);
    const second = this.#chosen === first ? beside : undefined;
    if (hedgeAfterMs <= 0 || !second || !mayStandBeside(first, second, options))
      return this.#ask(this.#chosen, options);
    return this.#hedged(options, [first, second]);
  }

  async #ask(
    listed: ListedModel,
    options: StreamCallOptions,
    model = this.#wrapped.get(listed) ?? listed.model
  ): Promise<Streamed> {
    const [first] = this.#init.models;
    const label = modelLabelOf(listed.name);
    const reader = { label, providerId: listed.providerId, ownsUnlabelled: listed === first };
    const prompt = withoutEmpty(withoutForeignParts(options.prompt, reader));
    const streamed = await streamOf(model, { ...options, prompt });
    const stream = streamed.stream.pipeThrough(
      new TransformStream<ModelPart, ModelPart>({
        transform: (part, controller) => controller.enqueue(this.#seen(listed, labelled(part, label)))
      })
    );
    return { ...streamed, stream };
  }

  #seen(listed: ListedModel, part: ModelPart): ModelPart {
    if (part.type !== "finish") return part;
    const reason = finishReasonOf(part);
    if (reason === "content-filter" && this.#init.standsInForFiltered) {
      return { type: "error", error: modelListErrors.ContentFilteredError() } as ModelPart;
    }
    if (reason !== "error") this.#init.answered(listed);
    return part;
  }

  async #hedged(options: StreamCallOptions, [first, second]: readonly [ListedModel, ListedModel]): Promise<Streamed> {
    const { clock, hedgeAfterMs } = this.#init;
    const ask = (listed: ListedModel) =>
      begin((abortSignal) => this.#ask(listed, { ...options, abortSignal }), options.abortSignal);
    const winner = await race<Begun>({
      first: ask(first),
      second: () => {
        // On disk before it is asked: a call without a record would be paid for and not counted.
        this.onAsked?.(second.name);
        return ask(second);
      },
      waitMs: hedgeAfterMs,
      clock,
      signal: options.abortSignal
    });
    if (winner.isHedged) this.#cancelled.push(winner.isSecond ? first : second);
    if (winner.isSecond) {
      this.#chosen = second;
      this.#isAsked(second);
    }
    return winner.value.streamed;
  }
}

/** Of either specification: text, or an object with what the provider said beside it. */
function finishReasonOf(part: ModelPart): unknown {
  const reason: unknown = "finishReason" in part ? part.finishReason : undefined;
  return isObject(reason) ? reason["unified"] : reason;
}

/** The SDK has made the prompt, and reads the stream, for the first one. */
function mayStandBeside(first: ListedModel, second: ListedModel, { prompt }: StreamCallOptions): boolean {
  if (first.model.specificationVersion !== second.model.specificationVersion) return false;
  return !prompt.some(({ content }) => typeof content !== "string" && content.some(isAddress));
}

/** A file that the provider is to fetch itself: not every one can. */
function isAddress(part: unknown): boolean {
  const data = isObject(part) ? part["data"] : undefined;
  return data instanceof URL || (isObject(data) && data["type"] === "url");
}
