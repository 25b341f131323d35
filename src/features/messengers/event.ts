// One inbound message or button press, the same for every provider: how it is made of what an adapter parsed, which part of
// it can be stored, what identifies it, and the user message that a turn is given. Pure functions.
import type { UIMessage } from "ai";
import { CONVERSATION_PREFIX } from "../../agent/tree/closed-conversations.ts";
import { viewBytes, type ChatAction, type ChatAdapter, type ChatAttachment } from "./chat-adapter.ts";
import type { ChatAuthor, ChatMessage } from "./chat-adapter.ts";
import { readFields } from "./fields.ts";
import { hash36 } from "./fingerprint.ts";

export type MessengerEventKind = "direct-message" | "mention" | "subscribed-message" | "action";

export interface MessengerCapabilities {
  canEditMessages?: boolean;
  canStream?: boolean;
  maxMessageLength?: number;
  supportsActions?: boolean;
  supportsAttachments?: boolean;
  supportsEphemeral?: boolean;
}

export interface MessengerThread {
  id: string;
  /** The address at the provider: the same value. */
  providerThreadId: string;
  channelId?: string;
  isDirectMessage: boolean;
}

export interface MessengerAuthor {
  userId: string;
  userName?: string;
  fullName?: string;
  isBot?: boolean | "unknown";
  isMe?: boolean;
}

export interface MessengerAttachment {
  id?: string;
  name?: string;
  mediaType?: string;
  size?: number;
  url?: string;
  /** The fields by which the adapter fetches the bytes again, also after a restart. */
  fetchMetadata?: Record<string, string>;
  /** Fetches the bytes; only on the live event. */
  fetch?: () => Promise<ArrayBuffer>;
  raw?: unknown;
}

export interface MessengerMessage {
  id: string;
  providerMessageId: string;
  text: string;
  author: MessengerAuthor;
  attachments: MessengerAttachment[];
  createdAt?: string;
  isMention?: boolean;
  raw?: unknown;
}

export interface MessengerAction {
  actionId: string;
  messageId?: string;
  value?: string;
  user?: MessengerAuthor;
  /** The provider's own id of this press, where it has one: pressing twice is two presses. */
  interactionId?: string;
  raw?: unknown;
}

export interface MessengerEvent {
  kind: MessengerEventKind;
  messengerId: string;
  provider: string;
  capabilities: MessengerCapabilities;
  thread: MessengerThread;
  message?: MessengerMessage;
  action?: MessengerAction;
  raw?: unknown;
}

/** The event as `getMessengerContext()` gives it to a turn. It is JSON. */
export interface MessengerContext extends Omit<MessengerEvent, "raw"> {
  author?: MessengerAuthor;
}

const MAX_THREAD_CHARS = 80;
const KEPT_THREAD_CHARS = 48;

// ── From an adapter ──

export function toMessengerAuthor(author: ChatAuthor): MessengerAuthor {
  const { userId, userName, fullName, isBot, isMe } = author;
  return { userId, userName: userName || undefined, fullName: fullName || undefined, isBot, isMe };
}

export function toMessengerAttachment(attachment: ChatAttachment): MessengerAttachment {
  const { name, mimeType, size, url, fetchMetadata, fetchData } = attachment;
  const { id, fileId, mediaId, fileUniqueId } = fetchMetadata ?? {};
  return {
    id: id ?? fileId ?? mediaId ?? fileUniqueId,
    name: name || undefined,
    mediaType: mimeType || undefined,
    size,
    url: url || undefined,
    fetchMetadata,
    fetch: fetchData && (async () => copy(await fetchData()))
  };
}

function copy(data: ArrayBuffer | ArrayBufferView | undefined): ArrayBuffer {
  return data === undefined ? new ArrayBuffer(0) : viewBytes(data).slice().buffer;
}

export function toMessengerMessage(message: ChatMessage): MessengerMessage {
  const sentAt = message.metadata?.dateSent;
  return {
    id: message.id,
    providerMessageId: message.id,
    text: message.text,
    author: toMessengerAuthor(message.author),
    attachments: (message.attachments ?? []).map(toMessengerAttachment),
    createdAt: sentAt instanceof Date && !Number.isNaN(sentAt.getTime()) ? sentAt.toISOString() : undefined,
    isMention: message.isMention
  };
}

export function toMessengerThread(adapter: ChatAdapter, threadId: string): MessengerThread {
  return {
    id: threadId,
    providerThreadId: threadId,
    channelId: adapter.channelIdFromThreadId?.(threadId),
    isDirectMessage: adapter.isDM?.(threadId) ?? false
  };
}

/** A message or press as an adapter parsed it, with its messenger. */
export interface ChatSdkEventInput {
  readonly kind: MessengerEventKind;
  readonly messenger: {
    readonly id: string;
    readonly provider: string;
    readonly capabilities: MessengerCapabilities;
  };
  readonly adapter: ChatAdapter;
  readonly threadId: string;
  readonly message?: ChatMessage;
  /** Whether the message names the bot, by its mark or in its text. */
  readonly isMention?: boolean;
  readonly action?: ChatAction;
}

/**
 * Makes the event that a messenger without `toEvent` has.
 *
 * @example
 * chatSdkMessenger({
 *   ...definition,
 *   toEvent: (input) => {
 *     const event = defaultChatSdkEvent(input);
 *     return { ...event, thread: { ...event.thread, isDirectMessage: true } };
 *   }
 * });
 */
export function defaultChatSdkEvent(input: ChatSdkEventInput): MessengerEvent {
  const { kind, messenger, adapter, threadId, message, isMention = message?.isMention, action } = input;
  return {
    kind,
    messengerId: messenger.id,
    provider: messenger.provider,
    capabilities: messenger.capabilities,
    thread: toMessengerThread(adapter, threadId),
    message: message && { ...toMessengerMessage(message), isMention },
    action: action && toMessengerAction(action)
  };
}

export function toMessengerAction(action: ChatAction): MessengerAction {
  const { actionId, messageId, value, user, triggerId, raw } = action;
  const { id } = readFields(raw);
  return {
    actionId,
    messageId: messageId === "" ? undefined : messageId,
    value,
    user: toMessengerAuthor(user),
    interactionId: triggerId ?? (typeof id === "string" ? id : undefined)
  };
}

// ── What is stored ──

/** Leaves out `raw` and functions, so that the event survives JSON. */
export function serializableMessengerEvent({ raw: _raw, message, action, ...event }: MessengerEvent): MessengerEvent {
  return structuredClone({
    ...event,
    message: message && serializableMessage(message),
    action: action && serializableAction(action)
  });
}

function serializableMessage({ raw: _raw, attachments, ...message }: MessengerMessage): MessengerMessage {
  return { ...message, attachments: attachments.map(({ raw: _bytes, fetch: _fetch, ...attachment }) => attachment) };
}

function serializableAction({ raw: _raw, ...action }: MessengerAction): MessengerAction {
  return action;
}

export function messengerContextFromEvent(event: MessengerEvent): MessengerContext {
  const { raw: _raw, ...context } = serializableMessengerEvent(event);
  return { ...context, author: context.message?.author ?? context.action?.user };
}

// ── What identifies it ──

/** Names the sub-agent that answers a thread. */
export function defaultConversationName({
  messengerId,
  thread
}: Pick<MessengerEvent, "messengerId" | "thread">): string {
  return `${CONVERSATION_PREFIX}${messengerId}:${threadName(thread.id)}`;
}

function threadName(threadId: string): string {
  const name = sanitize(threadId);
  return name.length <= MAX_THREAD_CHARS ? name : `${name.slice(0, KEPT_THREAD_CHARS)}_${hash36(threadId)}`;
}

function sanitize(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9:_-]/g, "_");
}

/** Makes the key of an event: the same for every delivery of it. */
export function idempotencyKeyForEvent(event: MessengerEvent): string {
  return `messenger:${event.messengerId}:message:${threadName(event.thread.id)}:${identify(event)}`;
}

function identify({ kind, message, action }: MessengerEvent): string {
  if (message) return sanitize(message.id);
  if (!action) return kind;
  const parts = [
    action.messageId ?? "unknown-message",
    action.actionId,
    action.user?.userId ?? "unknown-user",
    action.value ?? "no-value",
    ...(action.interactionId === undefined ? [] : [action.interactionId])
  ];
  return `action:${parts.map(sanitize).join(":")}`;
}

// ── The user message of a turn ──

export interface UserMessageOptions {
  /** Names the speaker outside direct messages; null or empty: no name. */
  readonly speakerLabel?: (author: MessengerAuthor) => string | null;
  readonly bot?: { readonly userId: string; readonly userName: string };
}

/** Makes a message with one text part for each event, in order. Its id is that of the last. One event may be given alone. */
export function toMessengerUserMessage(
  given: MessengerEvent | readonly MessengerEvent[],
  options: UserMessageOptions = {}
): UIMessage {
  const events = Array.isArray(given) ? (given as readonly MessengerEvent[]) : [given as MessengerEvent];
  const last = events.at(-1);
  if (!last) throw new TypeError("A turn needs an event.");
  return {
    id: messageId(last),
    role: "user",
    parts: events.map((event) => ({ type: "text" as const, text: printEvent(event, options) })),
    metadata: { messenger: messengerContextFromEvent(last) }
  };
}

function messageId({ messengerId, thread, message, action }: MessengerEvent): string {
  if (message) return `${messengerId}:${message.id}`;
  if (!action) throw new TypeError("An event has a message or an action.");
  const parts = [action.messageId, action.actionId, action.user?.userId, action.value, action.interactionId];
  return [messengerId, "action", thread.id, ...parts.filter((part) => part !== undefined)].join(":");
}

function printEvent({ thread, message, action }: MessengerEvent, options: UserMessageOptions): string {
  const author = message?.author ?? action?.user;
  const label = thread.isDirectMessage || !author ? null : (options.speakerLabel ?? displayName)(author);
  const text = message ? printMessage(message, options) : printAction(action);
  return label ? `${label}: ${text}` : text;
}

function displayName({ fullName, userName, userId }: MessengerAuthor): string {
  return fullName ?? userName ?? userId;
}

function printMessage({ text, attachments }: MessengerMessage, { bot }: UserMessageOptions): string {
  const spoken = bot ? withBotName(text, bot) : text;
  const lines = attachments.map(printAttachment);
  const list = lines.length === 0 ? [] : [`Attachments:\n${lines.join("\n")}`];
  return [spoken.trim(), ...list].filter((part) => part !== "").join("\n\n");
}

/** Puts the bot's name in the place of `<@U1>`, `<@!U1>` and `@U1`: ids would mislead a model. */
function withBotName(text: string, { userId, userName }: { userId: string; userName: string }): string {
  const id = userId.replaceAll(/[^A-Za-z0-9_-]/g, "");
  if (id === "") return text;
  return text.replaceAll(new RegExp(`<@!?${id}>|@${id}\\b`, "g"), `@${userName}`);
}

function printAttachment(attachment: MessengerAttachment, index: number): string {
  const { name, id, mediaType, size, url } = attachment;
  const details = [mediaType, size === undefined ? undefined : `${size} bytes`, url].filter(
    (part) => part !== undefined
  );
  const label = name ?? id ?? `attachment ${index + 1}`;
  return details.length === 0 ? `- ${label}` : `- ${label} (${details.join(", ")})`;
}

function printAction(action: MessengerAction | undefined): string {
  if (!action) throw new TypeError("An event has a message or an action.");
  return [
    `Action selected: ${action.actionId}`,
    ...(action.value === undefined ? [] : [`Value: ${action.value}`]),
    ...(action.messageId === undefined ? [] : [`Source message: ${action.messageId}`])
  ].join("\n");
}
