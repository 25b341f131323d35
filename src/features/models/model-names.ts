// What the models of a list are called: in records, in hooks and in the memory of failures. Pure.
import type { LanguageModel } from "ai";
import type { ModelObject } from "../../model/index.ts";
import { MAX_MODELS, type Candidate } from "./choose.ts";
import { modelListErrors } from "./errors.ts";

/** One model of the list. */
export interface ListedModel extends Candidate {
  readonly model: ModelObject;
  /** The provider as the SDK knows it: it says under which keys it looks for its options. */
  readonly providerId: string;
}

/** The list with its names. Throws ModelListError for one that is empty, too long, or holds something else. */
export function namedModels(
  models: readonly LanguageModel[],
  resolve: (model: LanguageModel) => ModelObject
): ListedModel[] {
  if (!Array.isArray(models) || models.length === 0 || models.length > MAX_MODELS) {
    throw modelListErrors.ModelListError(`It must be a list of 1 to ${MAX_MODELS} models.`);
  }
  const taken = new Set<string>();
  return models.map((given, index) => {
    const model = typeof given === "string" || isModel(given) ? resolve(given) : undefined;
    if (!isModel(model)) throw modelListErrors.ModelListError(`Entry ${index} is not a language model of the AI SDK.`);
    const name = freeName(typeof given === "string" ? given : `${model.provider}/${model.modelId}`, taken);
    return { name, provider: providerOf(model, given), model, providerId: model.provider };
  });
}

/** Two entries may be the same model with different keys or regions. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name}#${number}`;
  taken.add(free);
  return free;
}

/** Who answers for a model: what fails there fails for all of its models. Behind a gateway it is the first word of the id. */
function providerOf({ provider }: ModelObject, given: LanguageModel): string {
  const slash = typeof given === "string" && provider === "gateway" ? given.indexOf("/") : -1;
  if (slash > 0) return String(given).slice(0, slash);
  // "openai.chat" and "openai.responses" are two interfaces of one provider.
  const dot = provider.lastIndexOf(".");
  return dot > 0 ? provider.slice(0, dot) : provider;
}

function isModel(value: unknown): value is ModelObject {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return "doStream" in value && typeof value.doStream === "function";
}
