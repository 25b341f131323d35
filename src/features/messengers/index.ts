// `everthink/messengers`: chat apps as surfaces of an agent. Providers are on their own subpaths.
export { chatSdkMessenger, defineMessengers } from "./messenger.ts";
export {
  normalizeMessengers,
  type Messenger,
  type MessengerDefinition,
  type MessengerDeliveryPolicy,
  type MessengerPace,
  type Messengers,
  type MessengerTarget,
  type MessengerTrigger,
  type NormalizedMessenger
} from "./definition.ts";
export type { MessengerAttachmentPolicy } from "./attachments.ts";
export type { ChatAdapter, ChatCard, ChatFile, ChatPostable } from "./chat-adapter.ts";
export {
  deliverMessengerReply,
  type DeliverReplyOptions,
  type MessengerReplySurface,
  type MessengerReplyTarget
} from "./deliver-reply.ts";
export {
  defaultDeliveryTag,
  MESSENGER_REPLY_FIBER_NAME,
  messengerReplyFailureMode,
  messengerReplyRecoveryMode,
  messengerReplySnapshot,
  parseMessengerReplySnapshot,
  type MessengerReplySnapshot,
  type MessengerReplyStage
} from "./reply-snapshot.ts";
export { TextStreamCallback, type TextStreamOptions } from "./text-stream.ts";
export {
  EMPTY_MESSENGER_RESPONSE,
  ERROR_MESSENGER_RESPONSE,
  INTERRUPTED_MESSENGER_RESPONSE
} from "./delivery-policy.ts";
export {
  defaultChatSdkEvent,
  defaultConversationName,
  idempotencyKeyForEvent,
  messengerContextFromEvent,
  serializableMessengerEvent,
  toMessengerAttachment,
  toMessengerAuthor,
  toMessengerMessage,
  toMessengerThread,
  toMessengerUserMessage,
  type ChatSdkEventInput,
  type MessengerAction,
  type MessengerAttachment,
  type MessengerAuthor,
  type MessengerCapabilities,
  type MessengerContext,
  type MessengerEvent,
  type MessengerEventKind,
  type MessengerMessage,
  type MessengerThread
} from "./event.ts";
export { textDeltaFromStreamChunk } from "./reply-text.ts";
export { ThinkMessengerStateAgent } from "./state-agent.ts";
