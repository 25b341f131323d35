// `everthink/core/workflows`: workflows, and their prompts and questions to the agent (`workflowPrompts`).
export { workflows } from "../features/workflows/capability.ts";
export { workflowPrompts, type WorkflowPromptMembers } from "../features/workflows/prompts.ts";
export type { WorkflowMembers } from "../features/workflows/members.ts";
export type { SubmissionMembers } from "../features/submissions/capability.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
