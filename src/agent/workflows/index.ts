export { AgentWorkflow } from "./agent-workflow.ts";
export type { AgentWorkflowEvent } from "./agent-workflow.ts";
export type { AgentWorkflowStep, ReportOptions } from "./workflow-step.ts";
