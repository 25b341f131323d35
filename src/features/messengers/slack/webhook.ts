// What a webhook of Slack says, in the words of the Chat SDK. Pure: it is verified before.
import type { ChatAction, ChatAttachment, ChatMessage, SlashCommand } from "../chat-adapter.ts";
import { parseFields, readFields, readList, readString, type Fields } from "../fields.ts";

export type SlackWebhook =
  | { readonly kind: "challenge"; readonly challenge: string }
  | (SlackEvent & { readonly workspace: SlackWorkspace })
  | { readonly kind: "other" };

type SlackEvent =
  | { readonly kind: "message"; readonly threadId: string; readonly message: ChatMessage; readonly botUserId?: string }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "command"; readonly command: SlashCommand };

/** The place where an app is installed. */
export interface SlackWorkspace {
  readonly teamId?: string;
  /** The organisation, for an app that is installed for all of it. */
  readonly enterpriseId?: string;
}

/** Subtypes of message events that a user wrote. */
const WRITTEN = new Set<unknown>([undefined, "file_share", "thread_broadcast", "me_message", "bot_message"]);

export function readSlackWebhook(body: string, contentType: string): SlackWebhook {
  if (!contentType.includes("application/x-www-form-urlencoded")) return readEvent(parseFields(body));
  const form = Object.fromEntries(new URLSearchParams(body));
  const { payload } = form;
  return payload === undefined ? readCommand(form) : readInteraction(parseFields(payload));
}

export function slackThreadId(channel: string, threadTs: string): string {
  return `slack:${channel}:${threadTs}`;
}

export function slackThread(threadId: string): { readonly channel: string; readonly threadTs: string } {
  const [, channel = "", threadTs = ""] = threadId.split(":");
  return { channel, threadTs };
}

/** Whether a channel is one for direct messages: those begin with D. */
export function isSlackDirect(channel: string): boolean {
  return channel.startsWith("D");
}

function readEvent(payload: Fields): SlackWebhook {
  if (payload["type"] === "url_verification") return { kind: "challenge", challenge: readString(payload["challenge"]) };
  const event = readFields(payload["event"]);
  const isMessage = event["type"] === "message" && WRITTEN.has(event["subtype"]);
  if (payload["type"] !== "event_callback" || !(isMessage || event["type"] === "app_mention")) return { kind: "other" };
  const channel = readString(event["channel"]);
  const ts = readString(event["ts"]);
  if (channel === "" || ts === "") return { kind: "other" };
  const [authorization] = readList(payload["authorizations"]);
  const botUserId = readString(readFields(authorization)["user_id"]);
  const threadTs = readString(event["thread_ts"]);
  // A direct message is one conversation; in a channel each message begins a thread.
  const threadId = slackThreadId(channel, threadTs === "" && !isSlackDirect(channel) ? ts : threadTs);
  const { team_id: installedIn = payload["team_id"], enterprise_id: enterprise } = readFields(authorization);
  const workspace = readWorkspace(installedIn, enterprise);
  return {
    kind: "message",
    workspace,
    threadId,
    message: readMessage(event, { botUserId, appId: payload["api_app_id"], workspace }),
    botUserId: botUserId || undefined
  };
}

function readWorkspace(team: unknown, enterprise: unknown): SlackWorkspace {
  return { teamId: readString(team) || undefined, enterpriseId: readString(enterprise) || undefined };
}

function readMessage(
  event: Fields,
  { botUserId, appId, workspace }: { botUserId: string; appId: unknown; workspace: SlackWorkspace }
): ChatMessage {
  const userId = readString(event["user"]) || readString(event["bot_id"]);
  const isOwnApp = event["app_id"] !== undefined && event["app_id"] === appId;
  const ts = readString(event["ts"]);
  return {
    id: ts,
    text: toMarkdown(readString(event["text"])),
    author: {
      userId,
      isBot: event["bot_id"] !== undefined,
      isMe: (botUserId !== "" && userId === botUserId) || (event["bot_id"] !== undefined && isOwnApp)
    },
    attachments: readList(event["files"]).map((file) => readAttachment(readFields(file), workspace)),
    metadata: { dateSent: new Date(Number(ts) * 1_000) },
    isMention: event["type"] === "app_mention" || undefined
  };
}

function readAttachment(file: Fields, workspace: SlackWorkspace): ChatAttachment {
  const { id, name, mimetype, size, url_private: url } = file;
  return {
    name: typeof name === "string" ? name : undefined,
    mimeType: typeof mimetype === "string" ? mimetype : undefined,
    size: typeof size === "number" ? size : undefined,
    fetchMetadata: { id: readString(id), url: readString(url), ...workspace }
  };
}

function readInteraction(payload: Fields): SlackWebhook {
  const [first] = readList(payload["actions"]);
  const pressed = readFields(first);
  if (payload["type"] !== "block_actions" || typeof pressed["action_id"] !== "string") return { kind: "other" };
  const message = readFields(payload["message"]);
  const user = readFields(payload["user"]);
  const channel = readString(readFields(payload["channel"])["id"]);
  const ts = readString(message["ts"]);
  // A message of the bot that begins a thread was posted in the channel itself, such as the answer of a slash command.
  const threadTs = message["thread_ts"] === ts ? "" : readString(message["thread_ts"]);
  const name = readString(user["name"]) || readString(user["username"]);
  return {
    kind: "action",
    workspace: readWorkspace(readFields(payload["team"])["id"], readFields(payload["enterprise"])["id"]),
    action: {
      actionId: pressed["action_id"],
      messageId: ts,
      threadId: slackThreadId(channel, threadTs),
      value: readString(pressed["value"]),
      triggerId: readString(payload["trigger_id"]),
      user: { userId: readString(user["id"]), userName: name || undefined, isBot: false, isMe: false }
    }
  };
}

function readCommand(form: Record<string, string>): SlackWebhook {
  const { command, text = "", channel_id: channel, trigger_id: triggerId, user_id: userId, user_name: userName } = form;
  if (!command || !channel || !userId) return { kind: "other" };
  return {
    kind: "command",
    workspace: readWorkspace(form["team_id"], form["enterprise_id"]),
    command: {
      command,
      text,
      channelId: slackThreadId(channel, ""),
      triggerId: triggerId || undefined,
      user: { userId, userName: userName || undefined, isBot: false, isMe: false }
    }
  };
}

/** Makes Markdown of Slack's own marks for links and channels. Mentions of users stay: the bot's own is named later. */
export function toMarkdown(text: string): string {
  return text
    .replaceAll(/<(https?:[^|>]+|mailto:[^|>]+)\|([^>]*)>/g, "[$2]($1)")
    .replaceAll(/<(https?:[^>]+)>/g, "$1")
    .replaceAll(/<#[A-Z0-9]+\|([^>]*)>/g, "#$1")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
