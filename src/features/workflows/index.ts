// Workflows that belong to an agent: `everthink/workflows`.
export { AgentWorkflow, type AgentWorkflowEvent, type ApprovalWait } from "./agent-workflow.ts";
export type { AgentWorkflowStep, ReportOptions } from "./workflow-step.ts";
export { WorkflowRejectedError } from "./errors.ts";
export { ThinkWorkflow, type ThinkWorkflowStep } from "./think-workflow.ts";
export type { ApprovalOptions, ApprovalResult, PromptOptions, PromptSchema, PromptStep } from "./prompt-step.ts";
export {
  ThinkApprovalTimeoutError,
  ThinkPromptAbortedError,
  ThinkPromptError,
  ThinkPromptFailedError,
  ThinkPromptReusedError,
  ThinkPromptSkippedError,
  ThinkPromptTimeoutError,
  ThinkPromptValidationError
} from "./prompt-errors.ts";
