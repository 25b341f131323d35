// Workflows that an agent starts, as a capability. What they do is in `workflows.ts` and `workflow-control.ts`.
import { runtimeOf } from "../../agent/runtime.ts";
import type { Feature } from "../../feature/feature.ts";
import { capability } from "../../feature/capability.ts";
import { WorkflowMembers } from "./members.ts";
import type { WorkflowReport } from "./report.ts";
import { WORKFLOW_TABLES } from "./workflow-table.ts";
import { Workflows } from "./workflows.ts";

export interface WorkflowsFeature extends Feature {
  /** Those that this agent has started. */
  readonly started: Workflows;
}

export const workflows = capability({
  name: "workflows",
  members: WorkflowMembers,
  feature: ({ agent }): WorkflowsFeature => {
    const started = new Workflows(runtimeOf(agent));
    return {
      name: "workflows",
      started,
      tables: WORKFLOW_TABLES,
      // Only workflows of this package send reports.
      roles: { workflowReport: (report) => started.receive(report as WorkflowReport) }
    };
  }
});
