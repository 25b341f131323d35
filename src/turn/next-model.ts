// A turn with several models: which one an attempt asks, and how an attempt ends whose model failed. Who is asked next is
// decided by a capability; a turn with one model passes nothing of this.
import type { AttemptView } from "../journal/folds/turn-fold.ts";
import type { AttemptEnded, CancelledUse, StepUsage } from "../journal/records.ts";
import type { FailureClass } from "../model/failure-classifier.ts";
import type { Tried } from "./start-attempt.ts";
import type { TurnStore } from "./store.ts";
import type { Turn } from "./turn.ts";

export interface ModelChoice {
  /** In the list that it was chosen from. */
  readonly name: string;
  readonly names: readonly string[];
  /** The choice is on disk before the model is asked: a restart would not find it again by itself. */
  readonly isDurable: boolean;
  /** Text that another model did not finish may be continued. */
  readonly keepsText: boolean;
  /** At the end of a step, with its usage: which model has written it, and which ones were asked for it in vain. */
  readonly step: (usage: StepUsage) => { readonly model: string; readonly cancelled: readonly CancelledUse[] };
  /** Set by the attempt: */
  readonly watch: ChoiceWatch;
}

export interface ChoiceWatch {
  /** A second model is about to be asked beside the chosen one. */
  onAsked: ((beside: string) => void) | undefined;
  /** It has begun first, and goes on. */
  onChanged: ((chosen: string) => void) | undefined;
}

export interface ModelFailure {
  readonly error: unknown;
  readonly classification: FailureClass | undefined;
  /** It has said nothing for too long. */
  readonly isSilence: boolean;
  readonly choice: ModelChoice;
  /** Of the turn; the last one is the one that failed. */
  readonly attempts: readonly AttemptView[];
}

export type NextDecision =
  /** Another model is asked at once. */
  | { readonly do: "switch"; readonly model: string; readonly keepsText: boolean; readonly code: string }
  /** All have failed: this one is asked after the pause that one model would be given. */
  | { readonly do: "again"; readonly model: string; readonly keepsText: boolean }
  | { readonly do: "fail" };

/** What a capability says about a failed attempt. Undefined: what is done for one model is done. */
export async function decideNext(
  { init }: TurnStore,
  turn: Turn,
  { choice, stream, ...failure }: Omit<ModelFailure, "attempts" | "choice"> & Pick<Tried, "choice" | "stream">
): Promise<NextDecision | undefined> {
  if (!choice || !init.hooks.nextModel || turn.signal.aborted) return undefined;
  // Which model has failed is on disk before anything is concluded from it.
  stream.flush();
  return init.hooks.nextModel(turn.view(), { ...failure, choice, attempts: turn.fold.attempts });
}

/** The end of an attempt after which another model is asked at once. */
export function switchEnd({
  model,
  keepsText,
  code
}: Extract<NextDecision, { do: "switch" }>): Pick<AttemptEnded, "reason" | "error" | "retryAt" | "next"> {
  const error = { code, message: "The model could not answer; another one is asked." };
  return { reason: "failed", error, retryAt: null, next: { model, keepsText } };
}

/** What the end of an attempt says about the model of the next one, after a pause. */
export function nextOf(next: NextDecision | undefined): Pick<AttemptEnded, "next"> {
  return next?.do === "again" ? { next: { model: next.model, keepsText: next.keepsText } } : {};
}
