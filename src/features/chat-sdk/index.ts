// `everthink/chat-sdk`: the state of the Chat SDK on Durable Objects, for code that runs its own `Chat`.
export {
  ChatSdkStateAdapter,
  createChatSdkState,
  defaultKeyShard,
  defaultThreadShard,
  type ChatSdkStateOptions
} from "./state-adapter.ts";
export { ChatSdkStateAgent } from "./state-agent.ts";
export type { ChatLock, QueueEntry } from "./state-store.ts";
