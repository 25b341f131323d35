// `everthink/messengers`: chat apps as surfaces of an agent. Providers are on their own subpaths.
export { chatSdkMessenger, defineMessengers } from "./messenger.ts";
export {
  normalizeMessengers,
  type Messenger,
  type MessengerDefinition,
  type MessengerDeliveryPolicy,
  type Messengers,
  type MessengerTarget,
  type MessengerTrigger,
  type NormalizedMessenger
} from "./definition.ts";
export type { ChatAdapter, ChatCard, ChatPostable } from "./chat-adapter.ts";
export {
  EMPTY_MESSENGER_RESPONSE,
  ERROR_MESSENGER_RESPONSE,
  INTERRUPTED_MESSENGER_RESPONSE
} from "./delivery-policy.ts";
export {
  defaultConversationName,
  idempotencyKeyForEvent,
  messengerContextFromEvent,
  serializableMessengerEvent,
  toMessengerUserMessage,
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
