export { AgentWorkflow } from "./agent-workflow.ts";
export type { AgentWorkflowEvent, ApprovalWait } from "./agent-workflow.ts";
export type { AgentWorkflowStep, ReportOptions } from "./workflow-step.ts";
export { WorkflowRejectedError } from "./workflow-errors.ts";
