// Several models as a capability: the list, the setting and the hook.
import type { LanguageModel } from "ai";
import { chatCapability } from "../../feature/capability.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { ModelsFeature } from "./feature.ts";
import type { ModelFailureContext, ModelFailureDecision, ModelFallbackOptions } from "./settings.ts";

export class ModelsMembers {
  /**
   * How the models of a list stand in for each other.
   * @example
   * modelFallback = { hedgeAfterMs: 4_000, sendModels: true };
   */
  modelFallback: ModelFallbackOptions = {};

  /**
   * The models that may answer, in the order in which they are asked: each stands in for those before it. At most 8. Called
   * for each attempt of a turn, in place of `getModel()`, which may return such a list itself. What has one model only, such as
   * a preview, asks `getModel()`.
   *
   * @example
   * getModels(): LanguageModel[] {
   *   return [this.getModel(), "openai/gpt-5"];
   * }
   */
  getModels(): readonly LanguageModel[] {
    return [];
  }

  /**
   * Called when a model of a list has failed, within 10 seconds: what it returns takes the place of `decision`.
   * @example
   * onModelFailure({ classification, decision }: ModelFailureContext) {
   *   return classification === "context_overflow" ? { action: "fail" as const } : decision;
   * }
   */
  onModelFailure(_context: ModelFailureContext): MaybePromise<ModelFailureDecision | void> {}
}

/** Whether `getModel()` returns a list is known when a turn asks it. A class with one model has no row of this. */
export const models = chatCapability({
  name: "models",
  members: ModelsMembers,
  feature: (services) => new ModelsFeature(services)
});
