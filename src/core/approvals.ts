// `everthink/core/approvals`: what waits for a person: its list and its decisions.
export { approvals, type ApprovalMembers } from "../features/approvals/capability.ts";
