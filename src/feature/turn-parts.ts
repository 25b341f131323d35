// What all features do in one attempt of a turn, as one. Parts are asked in the order of the features; a turn without
// any is assembled as if features did not exist.
import type { LanguageModel, UIMessageChunk } from "ai";
import type { ModelCallHooks, StepSettings, StepStart, StopWhen } from "../model/index.ts";
import type { AssembledTurn } from "../turn/hooks.ts";
import type { BegunTurn, FeatureLayer, TurnPart } from "./feature.ts";
import type { TurnConfig, TurnContext } from "./hooks.ts";
import type { ResultReader } from "./read-result.ts";
import type { ModelOrList } from "./settings.ts";
import type { ToolLayer } from "./tool-layers.ts";

type Assembled = Omit<AssembledTurn, "model">;

export class TurnParts {
  readonly #parts: readonly TurnPart[];

  constructor(parts: readonly TurnPart[]) {
    this.#parts = parts;
  }

  get toolLayers(): ToolLayer[] {
    return this.#parts.flatMap(({ tools = {} }) =>
      // The keys of a TurnPart's tools are layers.
      Object.entries(tools).map(([name, set]) => ({ name: name as FeatureLayer, tools: set }))
    );
  }

  get prompt(): { readonly label: string; readonly text: string }[] {
    return this.#parts.flatMap(({ prompt = [] }) => prompt);
  }

  /** What was asked for with the turn itself: of the first that says so. */
  get asked(): Pick<TurnPart, "maxSteps" | "modelHint"> {
    const maxSteps = this.#parts.find((part) => part.maxSteps !== undefined)?.maxSteps;
    const modelHint = this.#parts.find((part) => part.modelHint !== undefined)?.modelHint;
    return { maxSteps, modelHint };
  }

  /** The model of the attempt. */
  model(own: () => ModelOrList): LanguageModel {
    const choosing = this.#parts.find(({ chooseModel }) => chooseModel !== undefined);
    const model = choosing?.chooseModel ? choosing.chooseModel(own) : own();
    // A list in a class that cannot choose, like anything else that is no model, is refused by the call.
    return model as LanguageModel;
  }

  get resultReaders(): ResultReader[] {
    return this.#parts.flatMap(({ readResult }) => readResult ?? []);
  }

  /** What the class's `beforeTurn` said, as features change it. */
  async configured(context: TurnContext, config: TurnConfig, maxSteps: number): Promise<TurnConfig> {
    let changed = config;
    for (const part of this.#parts) changed = (await part.configure?.(context, changed, maxSteps)) ?? changed;
    return changed;
  }

  /** The turn as features want it. Throws what their `begin` throws. */
  async join(assembled: Assembled, context: () => TurnContext): Promise<Assembled> {
    const parts = this.#parts;
    if (parts.length === 0) return assembled;
    const { grant, choice } = await this.#begin(context, assembled);
    const annotators = parts.filter((part) => part.annotate !== undefined);
    const conditions = parts.flatMap(({ stopWhen }) => stopWhen ?? []);
    const counters = parts.flatMap(({ tokens }) => tokens ?? []);
    return {
      ...assembled,
      ...(counters.length > 0 && {
        maxTokens: Math.min(assembled.maxTokens, ...counters.map(({ limit = Infinity }) => limit)),
        otherTokens: () => counters.reduce((sum, { used }) => sum + used(), 0)
      }),
      ...(grant && { grant }),
      ...(choice && { choice }),
      ...(annotators.length > 0 && {
        annotate: (chunk: UIMessageChunk) => annotators.reduce((shown, part) => part.annotate?.(shown) ?? shown, chunk)
      }),
      ...(parts.some(({ isWhole }) => isWhole) && { isWhole: true }),
      meter: parts.find(({ meter }) => meter !== undefined)?.meter,
      ...(conditions.length > 0 && { stopWhen: [...listOf(assembled.stopWhen), ...conditions] }),
      modelHooks: this.#withSteps(assembled.modelHooks)
    };
  }

  async #begin(context: () => TurnContext, assembled: Assembled): Promise<BegunTurn> {
    let begun: BegunTurn = {};
    for (const part of this.#parts) begun = { ...begun, ...(part.begin && (await part.begin(context(), assembled))) };
    return begun;
  }

  #withSteps(hooks: ModelCallHooks): ModelCallHooks {
    const parts = this.#parts.filter((part) => part.beforeStep !== undefined);
    const { stepModel } = this.#parts.find((part) => part.stepModel !== undefined) ?? {};
    if (parts.length === 0 && (!stepModel || !hooks.prepareStep)) return hooks;
    return {
      ...hooks,
      prepareStep: async (event: StepStart): Promise<StepSettings> => {
        let settings: StepSettings = { ...(await hooks.prepareStep?.(event)) };
        if (settings.model !== undefined && stepModel) settings.model = stepModel(settings.model);
        for (const part of parts) settings = { ...settings, ...(await part.beforeStep?.(event)) };
        return settings;
      }
    };
  }
}

function listOf(stopWhen: StopWhen = []): Exclude<StopWhen, Function> {
  return typeof stopWhen === "function" ? [stopWhen] : stopWhen;
}
