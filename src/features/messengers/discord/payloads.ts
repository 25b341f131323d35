// What Discord sends, by webhook and by its Gateway, in the words of the Chat SDK. Pure: it is verified before.
import { isObject, parseJson } from "../../../util/json.ts";
import type { ChatAction, ChatAttachment, ChatAuthor, ChatMessage, SlashCommand } from "../chat-adapter.ts";

type Fields = Record<string, unknown>;

export type DiscordWebhook =
  | { readonly kind: "ping" }
  | { readonly kind: "command"; readonly command: SlashCommand }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "other" };

/** Kinds of interactions. */
const PING = 1;
const COMMAND = 2;
const COMPONENT = 3;
/** The kind of an option that is a file. */
const ATTACHMENT_OPTION = 11;

/** Separates a button's id from its value. */
export const VALUE_MARK = ":";

export function readDiscordWebhook(body: string): DiscordWebhook {
  const parsed = parseJson(body);
  const interaction = parsed.ok ? fieldsOf(parsed.value) : {};
  switch (interaction["type"]) {
    case PING:
      return { kind: "ping" };
    case COMMAND:
      return commandOf(interaction);
    case COMPONENT:
      return actionOf(interaction);
    default:
      return { kind: "other" };
  }
}

/** `discord:<guild or @me>:<channel>`; a thread is a channel of its own there. */
export function discordThreadId(guild: string, channel: string): string {
  return `discord:${guild === "" ? "@me" : guild}:${channel}`;
}

export function discordThread(threadId: string): { readonly guild: string; readonly channel: string } {
  const [, guild = "", channel = "", thread] = threadId.split(":");
  return { guild, channel: thread ?? channel };
}

function commandOf(interaction: Fields): DiscordWebhook {
  const data = fieldsOf(interaction["data"]);
  const id = textOf(interaction["id"]);
  const channel = textOf(interaction["channel_id"]);
  if (id === "" || channel === "" || textOf(data["name"]) === "") return { kind: "other" };
  return {
    kind: "command",
    command: {
      command: `/${textOf(data["name"])}`,
      text: optionsText(data["options"]),
      attachments: Object.values(fieldsOf(fieldsOf(data["resolved"])["attachments"])).map(attachmentOf),
      channelId: discordThreadId(textOf(interaction["guild_id"]), channel),
      triggerId: id,
      user: authorOf(userOf(interaction), fieldsOf(interaction["member"]))
    }
  };
}

/** The values a user gave, in order, those of sub-commands included. */
function optionsText(options: unknown): string {
  const texts = (Array.isArray(options) ? options : []).map((option) => {
    const { name, type, value, options: nested } = fieldsOf(option);
    // Its value is an id of what is in `resolved`.
    if (type === ATTACHMENT_OPTION) return "";
    return nested === undefined ? String(value ?? "") : `${textOf(name)} ${optionsText(nested)}`;
  });
  return texts.filter((text) => text.trim() !== "").join(" ");
}

function actionOf(interaction: Fields): DiscordWebhook {
  const [actionId = "", ...value] = textOf(fieldsOf(interaction["data"])["custom_id"]).split(VALUE_MARK);
  const message = fieldsOf(interaction["message"]);
  const channel = textOf(interaction["channel_id"]);
  if (actionId === "" || channel === "") return { kind: "other" };
  return {
    kind: "action",
    action: {
      actionId,
      value: value.join(VALUE_MARK),
      messageId: textOf(message["id"]),
      threadId: discordThreadId(textOf(interaction["guild_id"]), channel),
      triggerId: textOf(interaction["id"]),
      user: authorOf(userOf(interaction), fieldsOf(interaction["member"]))
    }
  };
}

function attachmentOf(value: unknown): ChatAttachment {
  const { id, filename, content_type: mimeType, size, url } = fieldsOf(value);
  return {
    ...(textOf(filename) && { name: textOf(filename) }),
    ...(textOf(mimeType) && { mimeType: textOf(mimeType) }),
    ...(typeof size === "number" && { size }),
    fetchMetadata: { id: textOf(id), url: textOf(url) }
  };
}

/** In a server the user is part of the member, in direct messages not. */
function userOf(interaction: Fields): Fields {
  return fieldsOf(fieldsOf(interaction["member"])["user"] ?? interaction["user"]);
}

function authorOf(user: Fields, member: Fields, botUserId?: string): ChatAuthor {
  const userName = textOf(user["username"]);
  const fullName = textOf(member["nick"]) || textOf(user["global_name"]);
  const userId = textOf(user["id"]);
  return {
    userId,
    ...(userName && { userName }),
    ...(fullName && { fullName }),
    isBot: user["bot"] === true,
    isMe: userId === botUserId
  };
}

/** Of the Gateway's MESSAGE_CREATE; undefined: nothing a user wrote. */
export function gatewayMessage(
  data: unknown,
  botUserId: string
): { readonly threadId: string; readonly message: ChatMessage } | undefined {
  const fields = fieldsOf(data);
  const id = textOf(fields["id"]);
  const channel = textOf(fields["channel_id"]);
  // 0: a message, 19: a reply to one. Others say that a user joined, and the like.
  const isWritten = fields["type"] === undefined || fields["type"] === 0 || fields["type"] === 19;
  if (id === "" || channel === "" || !isWritten) return undefined;
  const mentions = Array.isArray(fields["mentions"]) ? fields["mentions"] : [];
  const isMention = mentions.some((user) => fieldsOf(user)["id"] === botUserId);
  const sentAt = new Date(textOf(fields["timestamp"]));
  const guild = textOf(fields["guild_id"]);
  const author = authorOf(fieldsOf(fields["author"]), fieldsOf(fields["member"]), botUserId);
  // Bots cannot write to each other there. The id of an old bot is not that of its application.
  const isOwn = author.isBot === true && guild === "";
  return {
    threadId: discordThreadId(guild, channel),
    message: {
      id,
      text: textOf(fields["content"]),
      author: isOwn ? { ...author, isMe: true } : author,
      attachments: (Array.isArray(fields["attachments"]) ? fields["attachments"] : []).map(attachmentOf),
      ...(!Number.isNaN(sentAt.getTime()) && { metadata: { dateSent: sentAt } }),
      ...(isMention && { isMention })
    }
  };
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
