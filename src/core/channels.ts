// `everthink/core/channels`: channels, and the chat apps an agent answers in (`messengers`).
export { channels, messengers, type ChannelMembers } from "../features/channels/capability.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
export type { WorkspaceMembers } from "../features/workspace/capability.ts";
