// What a class says about its list of models, and what its hook is given. Types only, and the defaults.
import type { ChatErrorClassification } from "../../feature/hooks.ts";

/** The longest pause that a provider may ask for before another model is asked. */
export const DEFAULT_RATE_LIMIT_WAIT_MS = 5_000;
/** How long `onModelFailure` may think. */
export const FAILURE_HOOK_MS = 10_000;

/** How the models of a list stand in for each other. */
export interface ModelFallbackOptions {
  /**
   * What becomes of a step that a model left unfinished. `restart` (default): its text is taken back, and the next model
   * writes the step anew. `continue`: the next model goes on where the text stopped.
   */
  unfinishedStep?: "restart" | "continue";
  /** A provider that asks for a pause up to this long is waited for; default 5,000 ms. Zero: never. */
  rateLimitWaitMs?: number;
  /**
   * How long a provider is passed over after a failure; default 60,000 ms. It doubles with each further failure, up to 15
   * minutes. Zero: nothing is remembered.
   */
  rememberMs?: number;
  /** Whether the next model is asked when a provider withholds an answer (`content-filter`). Default: no. */
  contentFilter?: boolean;
  /** The next model is asked beside the first one when that has not begun after so many milliseconds. Default: never. */
  hedgeAfterMs?: number;
  /** Whether each answer carries the names of the models that wrote it, as `metadata.models`. Default: no. */
  sendModels?: boolean;
}

/** A model of a list has failed. */
export interface ModelFailureContext {
  /** As the provider gave it. */
  readonly error: unknown;
  /** What `classifyChatError` said; `transient` for a model that said nothing for too long. */
  readonly classification: ChatErrorClassification | undefined;
  /** Of the turn, counted from 1. */
  readonly attempt: number;
  /** The name of the model that failed. */
  readonly model: string;
  /** The names of all models of the list, in its order. */
  readonly models: readonly string[];
  /** What happens if the hook says nothing. */
  readonly decision: ModelFailureDecision;
  readonly turnId: string;
  readonly requestId: string;
}

export type ModelFailureDecision =
  /** Another model is asked at once: the one with this name. */
  | { readonly action: "switch"; readonly to: string }
  /** The same as for a class with one model: after a pause, the same model is asked again, if the failure may pass. */
  | { readonly action: "retry" }
  /** All models have failed: this one is asked after a pause. */
  | { readonly action: "wait"; readonly for: string }
  /** The turn fails. */
  | { readonly action: "fail" };
