// A Chat SDK adapter (`@chat-adapter/*`) as far as it is used, and the object that it is given in the place of the SDK's
// `Chat`: that one debounces, queues and answers from memory, which a crash loses. This one only collects what the adapter
// parsed, so that it is stored before the webhook is answered.
import type { ChannelCard } from "../../feature/channel-text.ts";

export interface ChatAuthor {
  readonly userId: string;
  readonly userName?: string;
  readonly fullName?: string;
  readonly isBot: boolean | "unknown";
  readonly isMe: boolean;
}

export interface ChatAttachment {
  readonly type?: string;
  readonly name?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly url?: string;
  readonly fetchMetadata?: Record<string, string>;
  readonly fetchData?: () => Promise<ArrayBuffer | ArrayBufferView>;
}

export interface ChatMessage {
  readonly id: string;
  readonly text: string;
  readonly author: ChatAuthor;
  readonly attachments?: readonly ChatAttachment[];
  readonly metadata?: { readonly dateSent?: Date };
  readonly isMention?: boolean;
}

export interface ChatAction {
  readonly actionId: string;
  readonly messageId: string;
  readonly threadId: string;
  readonly value?: string | undefined;
  readonly triggerId?: string | undefined;
  readonly user: ChatAuthor;
  readonly raw?: unknown;
}

export interface SlashCommand {
  readonly command: string;
  readonly text: string;
  readonly channelId: string;
  readonly triggerId?: string | undefined;
  readonly user: ChatAuthor;
  readonly attachments?: readonly ChatAttachment[];
  readonly raw?: unknown;
}

/** A message: plain text, Markdown with or without files, or a card; `fallbackText` is shown where the card is refused. */
export type ChatPostable =
  | string
  | { readonly markdown: string; readonly files?: readonly ChatFile[] }
  | { readonly card: ChatCard; readonly fallbackText?: string };

export interface ChatFile {
  readonly data: ArrayBuffer;
  readonly filename: string;
  readonly mimeType: string;
}

export type ChatCard = ChannelCard;

export interface ChatAdapter {
  readonly name: string;
  readonly botUserId?: string | undefined;
  initialize(chat: never): Promise<void>;
  handleWebhook(request: Request, options?: { waitUntil?: (work: Promise<unknown>) => void }): Promise<Response>;
  postMessage(threadId: string, message: never): Promise<{ readonly id: string }>;
  editMessage(threadId: string, messageId: string, message: never): Promise<unknown>;
  deleteMessage?(threadId: string, messageId: string): Promise<void>;
  startTyping?(threadId: string, status?: string): Promise<void>;
  isDM?(threadId: string): boolean;
  channelIdFromThreadId?(threadId: string): string;
  onThreadSubscribe?(threadId: string): Promise<void>;
  /** Adds `fetchData` to what was stored of an attachment. It reads from the provider's own hosts only. */
  rehydrateAttachment?(attachment: never): ChatAttachment;
}

/** Gives the bytes that `fetchData` has read. */
export function viewBytes(data: ArrayBuffer | ArrayBufferView): Uint8Array {
  return data instanceof ArrayBuffer
    ? new Uint8Array(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** The content of one webhook, as the adapter parsed it. */
export interface Collected {
  readonly messages: { readonly threadId: string; readonly message: ChatMessage }[];
  readonly actions: ChatAction[];
  readonly commands: SlashCommand[];
  /** The number of messages that the adapter is still parsing, or could not parse. */
  unread: number;
}

export function nothingCollected(): Collected {
  return { messages: [], actions: [], commands: [], unread: 0 };
}

type ProcessMessageArguments = [
  adapter: unknown,
  threadId: string,
  message: ChatMessage | (() => Promise<ChatMessage>),
  options?: { waitUntil?: (work: Promise<unknown>) => void }
];

/** The `Chat` of an adapter, as far as the adapters of this package use it. */
export interface CollectingChat {
  getUserName(): string;
  getState(): { get(key: string): Promise<unknown>; set(key: string, value: unknown, ttlMs?: number): Promise<void> };
  processMessage(adapter: unknown, threadId: string, message: ChatMessage): Promise<void>;
  processAction(action: ChatAction): Promise<void>;
  processSlashCommand(command: SlashCommand): Promise<void>;
}

/**
 * Makes the `Chat` of an adapter. What arrives is added to what `collected` gives at that time. Events that this package does
 * not act on have no member here.
 */
export function collectingChat(userName: string, state: object, collected: () => Collected): object {
  const ignored = async () => undefined;
  const wait = (work: Promise<void>, options?: { waitUntil?: (work: Promise<unknown>) => void }) => {
    options?.waitUntil?.(work);
    return work;
  };
  return {
    getState: () => state,
    getUserName: () => userName,
    getLogger: () => LOGGER,
    processMessage: (...[, threadId, message, options]: ProcessMessageArguments) => {
      const into = collected();
      into.unread += 1;
      return wait(
        (async () => {
          const parsed = typeof message === "function" ? await message() : message;
          into.messages.push({ threadId, message: parsed });
          into.unread -= 1;
        })(),
        options
      );
    },
    handleIncomingMessage: async (_adapter: unknown, threadId: string, message: ChatMessage) => {
      collected().messages.push({ threadId, message });
    },
    processAction: async (action: ChatAction) => void collected().actions.push(action),
    processSlashCommand: async (command: SlashCommand) => void collected().commands.push(command),
    processReaction: ignored,
    processMessageUpdated: ignored,
    processMessageDeleted: ignored,
    processModalSubmit: ignored,
    processModalClose: ignored,
    processOptionsLoad: ignored,
    processAppHomeOpened: ignored,
    processAppContextChanged: ignored,
    processAssistantContextChanged: ignored,
    processAssistantThreadStarted: ignored,
    processMemberJoinedChannel: ignored,
    processAgentSessionStopped: ignored,
    processAgentSessionTitleChanged: ignored,
    processInstalled: ignored,
    processUninstalled: ignored,
    abortTurn: ignored,
    history: {}
  };
}

/** The logger of adapters, which log each step: only what the operator must know is passed on. */
export const LOGGER = {
  debug: () => undefined,
  info: () => undefined,
  warn: (message: string, details?: unknown) => console.warn(message, details ?? ""),
  error: (message: string, details?: unknown) => console.error(message, details ?? ""),
  child: () => LOGGER
};
