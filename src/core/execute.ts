// `everthink/core/execute`: programs of the model that wait over a restart.
export { executions, type ExecutionMembers } from "../features/execute/capability.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
