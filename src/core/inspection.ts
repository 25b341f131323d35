// `everthink/core/inspection`: what Studio and other inspectors read.
export { inspection, type InspectionMembers } from "../features/inspection/capability.ts";
export type { AgentToolsMembers } from "../features/agent-tools/members.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
export type { BudgetMembers } from "../features/budgets/capability.ts";
export type { FiberMembers } from "../features/fibers/members.ts";
export type { McpMembers } from "../features/mcp/members.ts";
export type { QueueMembers } from "../features/queue/members.ts";
export type { ScheduleMembers } from "../features/schedules/members.ts";
export type { SteeringMembers } from "../features/steering/capability.ts";
export type { SubmissionMembers } from "../features/submissions/capability.ts";
export type { ScheduledTaskMembers } from "../features/tasks/capability.ts";
export type { WorkspaceMembers } from "../features/workspace/capability.ts";
