// The model of the assistant and of its colleagues: the one that the environment names, or the offline one.
import { paceMs, type Env } from "./env.ts";
import { withFallback } from "./fallback.ts";
import type { Model } from "./language-model.ts";
import { chooseModel, type ModelProblem } from "./models.ts";
import { offlineModel } from "./offline/offline-model.ts";
import { pause } from "./pause.ts";
import { remoteModel } from "./provider-models.ts";
import { problemIn } from "./unusable.ts";

/** `report`: the chosen model cannot be used, and the offline one answers in its place. */
export function assistantModel(env: Env, report: (problem: ModelProblem | undefined) => void = () => undefined): Model {
  const choice = chooseModel(env);
  const offline = offlineModel({ pause: (signal) => pause(paceMs(env), signal) });
  if (!("modelId" in choice)) return offline;
  return withFallback({
    model: remoteModel(choice),
    standIn: offline,
    problemIn: (error) => problemIn(error, choice),
    report
  });
}
