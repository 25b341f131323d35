// The agent with a scripted model, so that tests and `npm run chaos` ask no provider and come out the same every time.
import Assistant from "../agents/assistant/agent.ts";
import { plans } from "../agents/assistant/plans.ts";
import { offlineModel } from "../models/offline-model.ts";

export const scriptedModel = () => offlineModel(plans);

export class Scripted extends Assistant {
  override getModel() {
    return scriptedModel();
  }
}
