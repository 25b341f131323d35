// The inspection API as a capability: who may look, and which other models a past turn may be tried with. What inspectors see
// is in inspection-source.ts.
import type { LanguageModel } from "ai";
import type { InspectionAccess } from "./inspect-http.ts";
import { runtimeOf } from "../../agent/runtime.ts";
import { agentTools } from "../agent-tools/capability.ts";
import { approvals } from "../approvals/capability.ts";
import { budgets } from "../budgets/capability.ts";
import { fibers } from "../fibers/capability.ts";
import { mcp } from "../mcp/capability.ts";
import { queue } from "../queue/capability.ts";
import { steering } from "../steering/capability.ts";
import { submissions } from "../submissions/capability.ts";
import { scheduledTasks } from "../tasks/capability.ts";
import { workspace } from "../workspace/capability.ts";
import { chatCapability } from "../../feature/capability.ts";
import { hasInspectionKey, inspectionFeature } from "./inspection.ts";

export class InspectionMembers {
  /**
   * Whether a request may look inside this agent, at `…/inspect/v1/…`. It sees everything: prompts, messages, files,
   * memory. `access` is "read", "decide" (answers approvals), "try" (calls a model) or "act" (asks the agent, runs its tools). Default: a request whose bearer token is
   * the variable EVERTHINK_INSPECTION_KEY, of at least 16 characters; without that variable, none.
   *
   * @example
   * async authorizeInspection(request: Request, access: InspectionAccess) {
   *   return access === "read" && (await isAdministrator(request));
   * }
   */
  authorizeInspection(request: Request, _access: InspectionAccess): boolean | Promise<boolean> {
    return hasInspectionKey(request, runtimeOf(this).env);
  }

  /**
   * Whether requests that `authorizeInspection` lets in for "act" may take part: ask the agent, stop it, run its tools by hand.
   * "development": under `everthink dev`, from the same machine.
   * @example
   * inspectionActs = "never" as const;
   */
  inspectionActs: "development" | "always" | "never" = "development";

  /**
   * Models that "try again with changes" offers beside `getModel()`, by name.
   * @example
   * inspectionModels() {
   *   return { small: openai("gpt-5-mini"), large: openai("gpt-5") };
   * }
   */
  inspectionModels(): Readonly<Record<string, LanguageModel>> {
    return {};
  }
}

export const inspection = chatCapability({
  name: "inspection",
  requires: [approvals, budgets, submissions, scheduledTasks, queue, fibers, mcp, agentTools, workspace, steering],
  members: InspectionMembers,
  feature: inspectionFeature
});
