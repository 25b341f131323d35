// What a workflow tells the agent that started it. Every report has the name of the durable step that makes it, which
// is the same on each retry of that step: that is how the agent knows a report it has already taken.

export type ReportContent =
  | { do: "progress"; progress: unknown }
  | { do: "complete"; result: unknown }
  | { do: "error"; error: string }
  | { do: "event"; event: unknown }
  | { do: "set-state"; state: unknown }
  | { do: "merge-state"; partial: unknown }
  | { do: "reset-state" }
  | { do: "broadcast"; message: string };

export interface WorkflowReport {
  workflowId: string;
  workflowName: string;
  /** Unique within the workflow. */
  step: string;
  content: ReportContent;
}

/** A report that is refused would be refused again; one that fails (throws) may succeed on a retry. */
export type ReportAnswer = { taken: true } | { taken: false; reason: string };

export const TAKEN: ReportAnswer = { taken: true };

export function refused(reason: string): ReportAnswer {
  return { taken: false, reason };
}
