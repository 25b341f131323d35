// `everthink/core/channels`: channels, and the chat apps an agent answers in (`messengers`).
export { channels, messengers, type ChannelMembers } from "../features/channels/capability.ts";
