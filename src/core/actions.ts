// `everthink/core/actions`: tools that run once.
export { action, isAction, type Action, type ActionConfig, type ActionContext } from "../features/actions/index.ts";
export { actions, type ActionMembers } from "../features/actions/capability.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
