// Telegram: webhooks verified by the secret token, answers posted and edited, approvals as inline buttons.
import { withEscapedTexts } from "./card.ts";
import type { ChatAdapter, ChatPostable } from "./chat-adapter.ts";
import type { Messenger, MessengerPace, ProviderOptions } from "./definition.ts";
import { messengerErrors } from "./errors.ts";
import { LOGGER } from "./chat-adapter.ts";
import { providerMessenger } from "./messenger.ts";
import { betweenCharacters } from "./split.ts";
import { isSameSecret } from "../../util/same-secret.ts";

/** Checked with the Bot API's documentation in November 2026: 4096 characters, about one message a second in a chat. */
export const TELEGRAM_STREAM_SOFT_LIMIT = 3_400;
export const TELEGRAM_FOLLOWUP_CHUNK_LIMIT = 3_500;
const MESSAGE_LIMIT = 4_000;
const PRIVATE_EDIT_MS = 1_100;
const GROUP_EDIT_MS = 3_100;
/** How fast Telegram may be written to: short bursts are allowed in a private chat; a group takes 20 messages a minute. */
const PACE: readonly MessengerPace[] = [
  { calls: 5, perMs: 5_500, in: "direct" },
  { calls: 18, perMs: 60_000, in: "group" }
];
/** Marks that are sent with a backslash in MarkdownV2. */
const ESCAPED = new Set("_*[]()~`>#+-=|{}.!\\");
const SECRET_HEADER = "x-telegram-bot-api-secret-token";

export interface TelegramMessengerOptions extends ProviderOptions {
  /** The bot's token, from BotFather. */
  readonly token: string;
  /** The secret given to `setWebhook`; Telegram sends it with every webhook. */
  readonly secretToken?: string;
  /** The address of the API. Default: Telegram's own. */
  readonly apiUrl?: string;
  /** Another name for `apiUrl`. */
  readonly apiBaseUrl?: string;
  /** How messages are received: only by webhooks, since polling would keep the object awake for ever. */
  readonly mode?: "webhook";
}

/**
 * Makes a messenger for Telegram.
 *
 * @example
 * getMessengers() {
 *   return defineMessengers({
 *     telegram: telegramMessenger({
 *       token: this.env.TELEGRAM_BOT_TOKEN,
 *       userName: "support_bot",
 *       secretToken: this.env.TELEGRAM_WEBHOOK_SECRET_TOKEN
 *     })
 *   });
 * }
 */
export function telegramMessenger(options: TelegramMessengerOptions): Messenger {
  const { token, secretToken, apiBaseUrl, apiUrl = apiBaseUrl, mode = "webhook", ...common } = options;
  if (mode !== "webhook")
    throw messengerErrors.MessengerDefinitionError("telegram", "only the mode webhook is supported");
  if (!token) throw messengerErrors.MessengerDefinitionError("telegram", "it requires token");
  if (!secretToken && common.verifyWebhook === undefined) {
    throw messengerErrors.MessengerDefinitionError("telegram", "it requires secretToken, or an explicit verifyWebhook");
  }
  return providerMessenger(common, {
    provider: "telegram",
    adapter: () => openAdapter({ token, userName: common.userName, secretToken, apiUrl }),
    verifyWebhook: telegramSecretTokenVerifier(secretToken ?? ""),
    shardKey: (threadId) => defaultTelegramThreadShard(threadId, common.adapterName),
    keyShard: (key) => shardTelegramStateKey(key, common.adapterName),
    delivery: {
      visibleSoftLimit: TELEGRAM_STREAM_SOFT_LIMIT,
      followupLimit: TELEGRAM_FOLLOWUP_CHUNK_LIMIT,
      weight: { limit: MESSAGE_LIMIT, of: (character) => (ESCAPED.has(character) ? 2 : 1) },
      editIntervalMs: ({ isDirectMessage }) => (isDirectMessage ? PRIVATE_EDIT_MS : GROUP_EDIT_MS),
      pace: PACE,
      isExpectedDeliveryCompletion: isTelegramIgnorableDeliveryError
    }
  });
}

export { setTelegramWebhook, type TelegramWebhookOptions } from "./telegram-webhook.ts";

// oxlint-disable-next-line import/no-default-export -- the documented import of a provider is its default
export default telegramMessenger;

interface AdapterOptions {
  readonly token: string;
  readonly userName: string;
  readonly secretToken: string | undefined;
  readonly apiUrl: string | undefined;
}

async function openAdapter({ token, userName, secretToken, apiUrl }: AdapterOptions): Promise<ChatAdapter> {
  const { createTelegramAdapter } = await import("@chat-adapter/telegram").catch((error: unknown) => {
    throw messengerErrors.AdapterMissingError("@chat-adapter/telegram", error);
  });
  const adapter = createTelegramAdapter({
    botToken: token,
    userName,
    mode: "webhook",
    logger: LOGGER,
    // The definition's own check has run before.
    ...(secretToken ? { secretToken } : { allowUnverifiedWebhooks: true }),
    apiUrl
  });
  // As far as this package uses an adapter.
  return withPlainTexts(adapter as object as ChatAdapter);
}

/** Escapes plain texts of cards: the adapter reads Markdown in every text of a card, also in what a model wrote. */
function withPlainTexts(adapter: ChatAdapter): ChatAdapter {
  const post = adapter.postMessage.bind(adapter);
  const edit = adapter.editMessage.bind(adapter);
  const escaped = (message: ChatPostable): never => {
    const isCard = typeof message === "object" && "card" in message;
    return (isCard ? { ...message, card: withEscapedTexts(message.card) } : message) as never;
  };
  adapter.postMessage = (threadId, message) => post(threadId, escaped(message));
  adapter.editMessage = (threadId, messageId, message) => edit(threadId, messageId, escaped(message));
  return adapter;
}

/** Makes the check of a webhook. */
export function telegramSecretTokenVerifier(secretToken: string): (request: Request) => boolean {
  return (request) => isSameSecret(request.headers.get(SECRET_HEADER), secretToken);
}

/** Whether the final edit changed nothing because the visible limit was reached before. For `deliverMessengerReply`. */
export function isExpectedTelegramFinalEditNoop(error: unknown, callback: { visibleLimitReached(): boolean }): boolean {
  return isTelegramIgnorableDeliveryError(error) && callback.visibleLimitReached();
}

/** Names the shard `telegram:<chat>`, which has all topics of a chat; with a name of the adapter, `<name>:telegram:<chat>`. */
export function defaultTelegramThreadShard(threadId: string, adapterName = "telegram"): string {
  const segments = threadId.split(":");
  // A business account's threads have its connection before the chat.
  const shard = segments.slice(0, segments[1] === "biz" ? 3 : 2).join(":");
  return adapterName === "telegram" ? shard : `${adapterName}:${shard}`;
}

/** Names the shard of a key of the Chat SDK's state. Undefined: the key belongs to no chat. */
export function shardTelegramStateKey(key: string, adapterName = "telegram"): string | undefined {
  const [, threadId] = /^dedupe:(telegram:[^:]+(?::[^:]+)?)/.exec(key) ?? [];
  return threadId === undefined ? undefined : defaultTelegramThreadShard(threadId, adapterName);
}

/** Whether an error says that an edit was to the text that is there already. */
export function isTelegramIgnorableDeliveryError(error: unknown): boolean {
  return error instanceof Error && /message is not modified/i.test(error.message);
}

/** Cuts a text at a blank line, a line or a word in the second half of the limit, else at the limit. Joined, the chunks are the text. */
export function splitTelegramMessageText(text: string, limit: number = TELEGRAM_FOLLOWUP_CHUNK_LIMIT): string[] {
  const chunks: string[] = [];
  if (text.trim() === "") return chunks;
  let rest = text;
  while (rest.length > limit) {
    const cut = findCut(rest, limit);
    chunks.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  chunks.push(rest);
  return chunks;
}

function findCut(text: string, limit: number): number {
  const head = text.slice(0, limit);
  for (const boundary of ["\n\n", "\n", " "]) {
    const at = head.lastIndexOf(boundary);
    if (at > limit / 2) return at + boundary.length;
  }
  return betweenCharacters(text, limit);
}
