import { Assistant } from "./assistant.ts";
import type { ModelFailureContext, ModelFallbackOptions } from "everthink";

export class Careful extends Assistant {
  override modelFallback: ModelFallbackOptions = { hedgeAfterMs: 4_000, sendModels: true };

  override onModelFailure({ classification, decision }: ModelFailureContext) {
    // Better no answer than one of a model with a small window.
    return classification === "context_overflow" ? ({ action: "fail" } as const) : decision;
  }
}
