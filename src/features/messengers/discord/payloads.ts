// What Discord sends, by webhook and by its Gateway, in the words of the Chat SDK. Pure: it is verified before.
import type { ChatAction, ChatAttachment, ChatAuthor, ChatMessage, SlashCommand } from "../chat-adapter.ts";
import { parseFields, readFields, readList, readString, readTime, type Fields } from "../fields.ts";

export type DiscordWebhook =
  | { readonly kind: "ping" }
  | { readonly kind: "command"; readonly command: SlashCommand }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "other" };

/** The kinds of interactions. */
const PING = 1;
const COMMAND = 2;
const COMPONENT = 3;
/** The kind of an option that is a file. */
const ATTACHMENT_OPTION = 11;

/** The mark between a button's id and its value. */
export const VALUE_MARK = ":";

export function readDiscordWebhook(body: string): DiscordWebhook {
  const interaction = parseFields(body);
  switch (interaction["type"]) {
    case PING:
      return { kind: "ping" };
    case COMMAND:
      return readCommand(interaction);
    case COMPONENT:
      return readAction(interaction);
    default:
      return { kind: "other" };
  }
}

/** Makes `discord:<guild or @me>:<channel>`; a thread is a channel of its own there. */
export function discordThreadId(guild: string, channel: string): string {
  return `discord:${guild === "" ? "@me" : guild}:${channel}`;
}

export function discordThread(threadId: string): { readonly guild: string; readonly channel: string } {
  const [, guild = "", channel = "", thread] = threadId.split(":");
  return { guild, channel: thread ?? channel };
}

function readCommand(interaction: Fields): DiscordWebhook {
  const data = readFields(interaction["data"]);
  const id = readString(interaction["id"]);
  const channel = readString(interaction["channel_id"]);
  if (id === "" || channel === "" || readString(data["name"]) === "") return { kind: "other" };
  return {
    kind: "command",
    command: {
      command: `/${readString(data["name"])}`,
      text: joinOptions(data["options"]),
      attachments: Object.values(readFields(readFields(data["resolved"])["attachments"])).map(readAttachment),
      channelId: discordThreadId(readString(interaction["guild_id"]), channel),
      triggerId: id,
      user: readAuthor(userOf(interaction), readFields(interaction["member"]))
    }
  };
}

/** Joins the values that a user gave, in order, those of sub-commands included. */
function joinOptions(options: unknown): string {
  const texts = readList(options).map((option) => {
    const { name, type, value, options: nested } = readFields(option);
    // Its value is an id of what is in `resolved`.
    if (type === ATTACHMENT_OPTION) return "";
    return nested === undefined ? String(value ?? "") : `${readString(name)} ${joinOptions(nested)}`;
  });
  return texts.filter((text) => text.trim() !== "").join(" ");
}

function readAction(interaction: Fields): DiscordWebhook {
  const [actionId = "", ...value] = readString(readFields(interaction["data"])["custom_id"]).split(VALUE_MARK);
  const message = readFields(interaction["message"]);
  const channel = readString(interaction["channel_id"]);
  if (actionId === "" || channel === "") return { kind: "other" };
  return {
    kind: "action",
    action: {
      actionId,
      value: value.join(VALUE_MARK),
      messageId: readString(message["id"]),
      threadId: discordThreadId(readString(interaction["guild_id"]), channel),
      triggerId: readString(interaction["id"]),
      user: readAuthor(userOf(interaction), readFields(interaction["member"]))
    }
  };
}

function readAttachment(value: unknown): ChatAttachment {
  const { id, filename, content_type: mimeType, size, url } = readFields(value);
  return {
    name: readString(filename) || undefined,
    mimeType: readString(mimeType) || undefined,
    size: typeof size === "number" ? size : undefined,
    fetchMetadata: { id: readString(id), url: readString(url) }
  };
}

/** The user of an interaction: in a server it is part of the member, in direct messages not. */
function userOf(interaction: Fields): Fields {
  return readFields(readFields(interaction["member"])["user"] ?? interaction["user"]);
}

function readAuthor(user: Fields, member: Fields, botUserId?: string): ChatAuthor {
  const userId = readString(user["id"]);
  return {
    userId,
    userName: readString(user["username"]) || undefined,
    fullName: readString(member["nick"]) || readString(user["global_name"]) || undefined,
    isBot: user["bot"] === true,
    isMe: userId === botUserId
  };
}

/** Reads the Gateway's MESSAGE_CREATE. Undefined: no user wrote it. */
export function readGatewayMessage(
  data: unknown,
  botUserId: string
): { readonly threadId: string; readonly message: ChatMessage } | undefined {
  const fields = readFields(data);
  const id = readString(fields["id"]);
  const channel = readString(fields["channel_id"]);
  // 0: a message, 19: a reply to one. Others say that a user joined, and the like.
  const isWritten = fields["type"] === undefined || fields["type"] === 0 || fields["type"] === 19;
  if (id === "" || channel === "" || !isWritten) return undefined;
  const isMention = readList(fields["mentions"]).some((user) => readFields(user)["id"] === botUserId);
  const guild = readString(fields["guild_id"]);
  const author = readAuthor(readFields(fields["author"]), readFields(fields["member"]), botUserId);
  // Bots cannot write to each other there. The id of an old bot is not that of its application.
  const isOwn = author.isBot === true && guild === "";
  return {
    threadId: discordThreadId(guild, channel),
    message: {
      id,
      text: readString(fields["content"]),
      author: isOwn ? { ...author, isMe: true } : author,
      attachments: readList(fields["attachments"]).map(readAttachment),
      metadata: { dateSent: readTime(fields["timestamp"]) },
      isMention: isMention || undefined
    }
  };
}
