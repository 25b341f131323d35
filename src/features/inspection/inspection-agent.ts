// What a class gets for inspectors: who may look, and which other models a past turn may be tried with. Declarations only;
// what inspectors see is in src/inspect and in inspection-source.ts.
import type { LanguageModel } from "ai";
import type { ModelPrices } from "./cost.ts";
import type { InspectionAccess } from "./inspect-http.ts";
import { ExtensionAgent } from "../extensions/extension-agent.ts";
import { hasInspectionKey } from "./inspection.ts";

export abstract class InspectionAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends ExtensionAgent<Env, State, Props> {
  /**
   * Whether a request may look inside this agent, at `…/inspect/v1/…`. It sees everything: prompts, messages, files,
   * memory. `access` is "read", "decide" (answers approvals) or "try" (calls a model). Default: a request whose bearer token is
   * the variable EVERTHINK_INSPECTION_KEY, of at least 16 characters; without that variable, none.
   *
   * @example
   * async authorizeInspection(request: Request, access: InspectionAccess) {
   *   return access === "read" && (await isAdministrator(request));
   * }
   */
  authorizeInspection(request: Request, _access: InspectionAccess): boolean | Promise<boolean> {
    return hasInspectionKey(request, this.env);
  }

  /** Models that "try again with changes" offers beside `getModel()`, by name. */
  inspectionModels(): Readonly<Record<string, LanguageModel>> {
    return {};
  }

  /**
   * What a million tokens of each model cost, by the model's id as the timeline shows it. Inspectors then see what turns
   * cost. Default: none, and only tokens are shown.
   *
   * @example
   * inspectionPrices() {
   *   return { "gpt-5": { input: 1.25, cachedInput: 0.125, output: 10 } };
   * }
   */
  inspectionPrices(): ModelPrices {
    return {};
  }
}
