// A model for tests that kill the agent: it has no memory, so it cannot be out of step with what survived.
import { planReply, type AnswerPlans } from "./plan.ts";
import { createScript } from "./script.ts";
import {
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedModelV3,
  type ScriptedModelV4
} from "./scripted-model.ts";

/** Long enough for a few pieces per sentence, short enough that a kill falls between them. */
const DEFAULT_PIECE_LENGTH = 12;
/** A crash matrix asks the same model object more often than a single test would. */
const DEFAULT_MAX_CALLS = 100_000;

export interface PlanModelOptions extends ScriptedModelOptions {
  /** About how many characters one streamed piece has (default 12). */
  pieceLength?: number;
  /** Calls over this number fail (default 100,000). */
  maxCalls?: number;
}

/**
 * A language model that answers each question by a plan and picks the plan up wherever the prompt says the answer
 * stands: after a crash it sends only the words and calls that are not there yet. Call ids are fresh for every model
 * call, as a provider's are. The keys are the exact texts of the questions.
 *
 * @example
 * const model = planModel({
 *   "What is the weather?": [
 *     { text: "Let me look. ", calls: [{ tool: "getWeather", input: { city: "Paris" } }] },
 *     { reasoning: "21 degrees is warm.", text: "It is warm in Paris." }
 *   ]
 * });
 */
export function planModel(plans: AnswerPlans, options: PlanModelOptions & { specification: "v3" }): ScriptedModelV3;
export function planModel(plans: AnswerPlans, options?: PlanModelOptions & { specification?: "v4" }): ScriptedModelV4;
export function planModel(plans: AnswerPlans, options: PlanModelOptions = {}): ScriptedModelV3 | ScriptedModelV4 {
  const { pieceLength = DEFAULT_PIECE_LENGTH, maxCalls = DEFAULT_MAX_CALLS, ...settings } = options;
  const script = createScript(({ prompt }) => planReply(plans, prompt, pieceLength), { maxCalls });
  return settings.specification === "v3"
    ? scriptedModel(script, { ...settings, specification: "v3" })
    : scriptedModel(script, { ...settings, specification: "v4" });
}
