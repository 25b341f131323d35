export { ChatProtocol, type ChatProtocolInit } from "./protocol.ts";
export { parseChatFrame } from "./commands.ts";
export { getMessagesResponse, isGetMessagesRequest } from "./get-messages.ts";
export type { ChatSocket } from "./clients.ts";
export type { MessageConcurrency, Reconciler, RequestPlan } from "./submit.ts";
export { OtherClient } from "./clients.ts";
