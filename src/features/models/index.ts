export type { ModelFailureContext, ModelFailureDecision, ModelFallbackOptions } from "./settings.ts";
