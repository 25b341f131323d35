// What a webhook of Slack says, in the words of the Chat SDK. Pure: it is verified before.
import { isObject, parseJson } from "../../../util/json.ts";
import type { ChatAction, ChatAttachment, ChatMessage, SlashCommand } from "../chat-adapter.ts";

export type SlackWebhook =
  | { readonly kind: "challenge"; readonly challenge: string }
  | (SlackEvent & { readonly workspace: SlackWorkspace })
  | { readonly kind: "other" };

type SlackEvent =
  | { readonly kind: "message"; readonly threadId: string; readonly message: ChatMessage; readonly botUserId?: string }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "command"; readonly command: SlashCommand };

/** Where an app is installed. */
export interface SlackWorkspace {
  readonly teamId?: string;
  /** Of an app that is installed for a whole organisation. */
  readonly enterpriseId?: string;
}

type Fields = Record<string, unknown>;

/** Message events that are something a user wrote. */
const WRITTEN = new Set<unknown>([undefined, "file_share", "thread_broadcast", "me_message", "bot_message"]);

export function readSlackWebhook(body: string, contentType: string): SlackWebhook {
  if (!contentType.includes("application/x-www-form-urlencoded")) return eventOf(objectOf(body));
  const form = Object.fromEntries(new URLSearchParams(body));
  const { payload } = form;
  return payload === undefined ? commandOf(form) : interactionOf(objectOf(payload));
}

export function slackThreadId(channel: string, threadTs: string): string {
  return `slack:${channel}:${threadTs}`;
}

export function slackThread(threadId: string): { readonly channel: string; readonly threadTs: string } {
  const [, channel = "", threadTs = ""] = threadId.split(":");
  return { channel, threadTs };
}

/** Only for direct messages: their channels begin with D. */
export function isSlackDirect(channel: string): boolean {
  return channel.startsWith("D");
}

function eventOf(payload: Fields): SlackWebhook {
  if (payload["type"] === "url_verification") return { kind: "challenge", challenge: stringOf(payload["challenge"]) };
  const event = fieldsOf(payload["event"]);
  const isMessage = event["type"] === "message" && WRITTEN.has(event["subtype"]);
  if (payload["type"] !== "event_callback" || !(isMessage || event["type"] === "app_mention")) return { kind: "other" };
  const channel = stringOf(event["channel"]);
  const ts = stringOf(event["ts"]);
  if (channel === "" || ts === "") return { kind: "other" };
  const [authorization] = listOf(payload["authorizations"]);
  const botUserId = stringOf(fieldsOf(authorization)["user_id"]);
  const threadTs = stringOf(event["thread_ts"]);
  // A direct message is one conversation; in a channel each message begins a thread.
  const threadId = slackThreadId(channel, threadTs === "" && !isSlackDirect(channel) ? ts : threadTs);
  const { team_id: installedIn = payload["team_id"], enterprise_id: enterprise } = fieldsOf(authorization);
  const workspace = workspaceOf(installedIn, enterprise);
  return {
    kind: "message",
    workspace,
    threadId,
    message: messageOf(event, { botUserId, appId: payload["api_app_id"], workspace }),
    ...(botUserId !== "" && { botUserId })
  };
}

function workspaceOf(team: unknown, enterprise: unknown): SlackWorkspace {
  return {
    ...(stringOf(team) && { teamId: stringOf(team) }),
    ...(stringOf(enterprise) && { enterpriseId: stringOf(enterprise) })
  };
}

function messageOf(
  event: Fields,
  { botUserId, appId, workspace }: { botUserId: string; appId: unknown; workspace: SlackWorkspace }
): ChatMessage {
  const userId = stringOf(event["user"]) || stringOf(event["bot_id"]);
  const isOwnApp = event["app_id"] !== undefined && event["app_id"] === appId;
  const ts = stringOf(event["ts"]);
  return {
    id: ts,
    text: slackText(stringOf(event["text"])),
    author: {
      userId,
      isBot: event["bot_id"] !== undefined,
      isMe: (botUserId !== "" && userId === botUserId) || (event["bot_id"] !== undefined && isOwnApp)
    },
    attachments: listOf(event["files"]).map((file) => attachmentOf(fieldsOf(file), workspace)),
    metadata: { dateSent: new Date(Number(ts) * 1_000) },
    ...(event["type"] === "app_mention" && { isMention: true })
  };
}

function attachmentOf(file: Fields, workspace: SlackWorkspace): ChatAttachment {
  const { id, name, mimetype, size, url_private: url } = file;
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof mimetype === "string" && { mimeType: mimetype }),
    ...(typeof size === "number" && { size }),
    fetchMetadata: { id: stringOf(id), url: stringOf(url), ...workspace }
  };
}

function interactionOf(payload: Fields): SlackWebhook {
  const [first] = listOf(payload["actions"]);
  const pressed = fieldsOf(first);
  if (payload["type"] !== "block_actions" || typeof pressed["action_id"] !== "string") return { kind: "other" };
  const message = fieldsOf(payload["message"]);
  const user = fieldsOf(payload["user"]);
  const channel = stringOf(fieldsOf(payload["channel"])["id"]);
  const ts = stringOf(message["ts"]);
  // A message of the bot that begins a thread was posted in the channel itself, such as the answer of a slash command.
  const threadTs = message["thread_ts"] === ts ? "" : stringOf(message["thread_ts"]);
  const name = stringOf(user["name"]) || stringOf(user["username"]);
  return {
    kind: "action",
    workspace: workspaceOf(fieldsOf(payload["team"])["id"], fieldsOf(payload["enterprise"])["id"]),
    action: {
      actionId: pressed["action_id"],
      messageId: ts,
      threadId: slackThreadId(channel, threadTs),
      value: stringOf(pressed["value"]),
      triggerId: stringOf(payload["trigger_id"]),
      user: { userId: stringOf(user["id"]), ...(name && { userName: name }), isBot: false, isMe: false }
    }
  };
}

function commandOf(form: Record<string, string>): SlackWebhook {
  const { command, text = "", channel_id: channel, trigger_id: triggerId, user_id: userId, user_name: userName } = form;
  if (!command || !channel || !userId) return { kind: "other" };
  return {
    kind: "command",
    workspace: workspaceOf(form["team_id"], form["enterprise_id"]),
    command: {
      command,
      text,
      channelId: slackThreadId(channel, ""),
      ...(triggerId && { triggerId }),
      user: { userId, ...(userName && { userName }), isBot: false, isMe: false }
    }
  };
}

/** Slack's own marks for links and channels as Markdown. Mentions of users stay: the bot's own is named later. */
export function slackText(text: string): string {
  return text
    .replaceAll(/<(https?:[^|>]+|mailto:[^|>]+)\|([^>]*)>/g, "[$2]($1)")
    .replaceAll(/<(https?:[^>]+)>/g, "$1")
    .replaceAll(/<#[A-Z0-9]+\|([^>]*)>/g, "#$1")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function objectOf(text: string): Fields {
  const parsed = parseJson(text);
  return parsed.ok ? fieldsOf(parsed.value) : {};
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
