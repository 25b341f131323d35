// Several models as a capability: the list, the setting and the hook.
import type { LanguageModel } from "ai";
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { ModelsFeature } from "./feature.ts";
import type { ModelFailureContext, ModelFailureDecision, ModelFallbackOptions } from "./settings.ts";

export class ModelsMembers {
  /** How the models of `getModels()` stand in for each other. */
  modelFallback: ModelFallbackOptions = {};

  /**
   * The models that may answer, in the order in which they are asked: each stands in for those before it. At most 8. Called
   * for each attempt of a turn. What has one model only, such as a preview, asks `getModel()`.
   *
   * @example
   * getModels(): LanguageModel[] {
   *   return [this.getModel(), "openai/gpt-5"];
   * }
   */
  getModels(): readonly LanguageModel[] {
    return [];
  }

  /** Called when a model of `getModels()` has failed, within 10 seconds: what it returns takes the place of `decision`. */
  onModelFailure(_context: ModelFailureContext): MaybePromise<ModelFailureDecision | void> {}
}

/** Used only by classes with `getModels`: others pay nothing. */
export const models = chatCapability({
  name: "models",
  members: ModelsMembers,
  isUsed: (agent) => isOverridden(agent, "getModels"),
  feature: (services) => new ModelsFeature(services)
});
