// One inbound message or button press, the same for every provider: how it is made from what an adapter parsed, what of
// it can be stored, what identifies it, and the user message that a turn is given. Pure functions.
import type { UIMessage } from "ai";
import { CONVERSATION_PREFIX } from "../channels/channels.ts";
import { hash36 } from "./fingerprint.ts";
import type { ChatAction, ChatAdapter, ChatAttachment, ChatAuthor, ChatMessage } from "./chat-adapter.ts";

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
  /** The same value: the address at the provider. */
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
  /** What the adapter needs to fetch the bytes again, also after a restart. */
  fetchMetadata?: Record<string, string>;
  /** Only on the live event. */
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

/** What a turn can ask for with `getMessengerContext()`. JSON. */
export interface MessengerContext extends Omit<MessengerEvent, "raw"> {
  author?: MessengerAuthor;
}

const MAX_THREAD_CHARS = 80;
const KEPT_THREAD_CHARS = 48;

// ── From an adapter ──

export function toMessengerAuthor(author: ChatAuthor): MessengerAuthor {
  return {
    userId: author.userId,
    ...(author.userName ? { userName: author.userName } : {}),
    ...(author.fullName ? { fullName: author.fullName } : {}),
    isBot: author.isBot,
    isMe: author.isMe
  };
}

export function toMessengerAttachment(attachment: ChatAttachment): MessengerAttachment {
  const { fetchMetadata, fetchData } = attachment;
  const id =
    fetchMetadata?.["id"] ?? fetchMetadata?.["fileId"] ?? fetchMetadata?.["mediaId"] ?? fetchMetadata?.["fileUniqueId"];
  return {
    ...(id !== undefined && { id }),
    ...(attachment.name && { name: attachment.name }),
    ...(attachment.mimeType && { mediaType: attachment.mimeType }),
    ...(attachment.size !== undefined && { size: attachment.size }),
    ...(attachment.url && { url: attachment.url }),
    ...(fetchMetadata && { fetchMetadata }),
    ...(fetchData && { fetch: async () => copied(await fetchData()) })
  };
}

function copied(data: ArrayBuffer | ArrayBufferView | undefined): ArrayBuffer {
  if (data === undefined) return new ArrayBuffer(0);
  const bytes =
    data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array(bytes).buffer;
}

export function toMessengerMessage(message: ChatMessage): MessengerMessage {
  const sentAt = message.metadata?.dateSent;
  return {
    id: message.id,
    providerMessageId: message.id,
    text: message.text,
    author: toMessengerAuthor(message.author),
    attachments: (message.attachments ?? []).map(toMessengerAttachment),
    ...(sentAt instanceof Date && !Number.isNaN(sentAt.getTime()) && { createdAt: sentAt.toISOString() }),
    ...(message.isMention !== undefined && { isMention: message.isMention })
  };
}

export function toMessengerThread(adapter: ChatAdapter, threadId: string): MessengerThread {
  const channelId = adapter.channelIdFromThreadId?.(threadId);
  return {
    id: threadId,
    providerThreadId: threadId,
    ...(channelId !== undefined && { channelId }),
    isDirectMessage: adapter.isDM?.(threadId) ?? false
  };
}

/** What an adapter parsed, and whose it is. */
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
  /** Whether it names the bot, by its mark or in its text. */
  readonly isMention?: boolean;
  readonly action?: ChatAction;
}

/**
 * The event that a messenger makes by itself.
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
  const { kind, messenger, adapter, threadId, message, isMention, action } = input;
  return {
    kind,
    messengerId: messenger.id,
    provider: messenger.provider,
    capabilities: messenger.capabilities,
    thread: toMessengerThread(adapter, threadId),
    ...(message && { message: { ...toMessengerMessage(message), ...(isMention !== undefined && { isMention }) } }),
    ...(action && { action: toMessengerAction(action) })
  };
}

export function toMessengerAction(action: ChatAction): MessengerAction {
  const interactionId = action.triggerId ?? rawId(action.raw);
  return {
    actionId: action.actionId,
    ...(action.messageId !== "" && { messageId: action.messageId }),
    ...(action.value !== undefined && { value: action.value }),
    user: toMessengerAuthor(action.user),
    ...(interactionId !== undefined && { interactionId })
  };
}

function rawId(raw: unknown): string | undefined {
  const id = typeof raw === "object" && raw !== null ? (raw as Record<string, unknown>)["id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

// ── What is stored ──

/** Without `raw` and functions: it survives JSON. */
export function serializableMessengerEvent({ raw: _raw, message, action, ...event }: MessengerEvent): MessengerEvent {
  return structuredClone({
    ...event,
    ...(message && { message: serializableMessage(message) }),
    ...(action && { action: serializableAction(action) })
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
  const author = context.message?.author ?? context.action?.user;
  return { ...context, ...(author && { author }) };
}

// ── What identifies it ──

/** The name of the sub-agent that answers a thread. */
export function defaultConversationName({
  messengerId,
  thread
}: Pick<MessengerEvent, "messengerId" | "thread">): string {
  return `${CONVERSATION_PREFIX}${messengerId}:${threadName(thread.id)}`;
}

function threadName(threadId: string): string {
  const name = sanitized(threadId);
  return name.length <= MAX_THREAD_CHARS ? name : `${name.slice(0, KEPT_THREAD_CHARS)}_${hash36(threadId)}`;
}

function sanitized(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9:_-]/g, "_");
}

/** The same for every delivery of one event. */
export function idempotencyKeyForEvent(event: MessengerEvent): string {
  return `messenger:${event.messengerId}:message:${threadName(event.thread.id)}:${eventPart(event)}`;
}

function eventPart({ kind, message, action }: MessengerEvent): string {
  if (message) return sanitized(message.id);
  if (!action) return kind;
  const parts = [
    action.messageId ?? "unknown-message",
    action.actionId,
    action.user?.userId ?? "unknown-user",
    action.value ?? "no-value",
    ...(action.interactionId === undefined ? [] : [action.interactionId])
  ];
  return `action:${parts.map(sanitized).join(":")}`;
}

// ── The user message of a turn ──

export interface UserMessageOptions {
  /** What names the speaker outside direct messages; null or empty: no name. */
  readonly speakerLabel?: (author: MessengerAuthor) => string | null;
  readonly bot?: { readonly userId: string; readonly userName: string };
}

/** One text part per event, in order. The message is that of the last event. One event may be given alone. */
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
    parts: events.map((event) => ({ type: "text" as const, text: textOf(event, options) })),
    metadata: { messenger: messengerContextFromEvent(last) }
  };
}

function messageId({ messengerId, thread, message, action }: MessengerEvent): string {
  if (message) return `${messengerId}:${message.id}`;
  if (!action) throw new TypeError("An event has a message or an action.");
  const parts = [action.messageId, action.actionId, action.user?.userId, action.value, action.interactionId];
  return [messengerId, "action", thread.id, ...parts.filter((part) => part !== undefined)].join(":");
}

function textOf({ thread, message, action }: MessengerEvent, options: UserMessageOptions): string {
  const author = message?.author ?? action?.user;
  const label = thread.isDirectMessage || !author ? null : (options.speakerLabel ?? displayName)(author);
  const text = message ? messageText(message, options) : actionText(action);
  return label ? `${label}: ${text}` : text;
}

function displayName({ fullName, userName, userId }: MessengerAuthor): string {
  return fullName ?? userName ?? userId;
}

function messageText({ text, attachments }: MessengerMessage, { bot }: UserMessageOptions): string {
  const spoken = bot ? withBotName(text, bot) : text;
  const lines = attachments.map(attachmentLine);
  const list = lines.length === 0 ? [] : [`Attachments:\n${lines.join("\n")}`];
  return [spoken.trim(), ...list].filter((part) => part !== "").join("\n\n");
}

/** `<@U1>`, `<@!U1>` and `@U1` are ids that mislead a model. */
function withBotName(text: string, { userId, userName }: { userId: string; userName: string }): string {
  const id = userId.replaceAll(/[^A-Za-z0-9_-]/g, "");
  if (id === "") return text;
  return text.replaceAll(new RegExp(`<@!?${id}>|@${id}\\b`, "g"), `@${userName}`);
}

function attachmentLine(attachment: MessengerAttachment, index: number): string {
  const { name, id, mediaType, size, url } = attachment;
  const details = [mediaType, size === undefined ? undefined : `${size} bytes`, url].filter(
    (part) => part !== undefined
  );
  const label = name ?? id ?? `attachment ${index + 1}`;
  return details.length === 0 ? `- ${label}` : `- ${label} (${details.join(", ")})`;
}

function actionText(action: MessengerAction | undefined): string {
  if (!action) throw new TypeError("An event has a message or an action.");
  return [
    `Action selected: ${action.actionId}`,
    ...(action.value === undefined ? [] : [`Value: ${action.value}`]),
    ...(action.messageId === undefined ? [] : [`Source message: ${action.messageId}`])
  ].join("\n");
}
