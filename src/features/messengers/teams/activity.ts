// What Teams sends, in the words of the Chat SDK. Pure: it is verified before.
import type { ChatAction, ChatAttachment, ChatAuthor, ChatMessage } from "../chat-adapter.ts";
import { parseFields, readFields, readList, readString, readTime, type Fields } from "../fields.ts";
import { fromBase64Url, toBase64Url } from "./token.ts";

export type TeamsWebhook =
  | { readonly kind: "message"; readonly threadId: string; readonly message: ChatMessage }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "other" };

export interface TeamsThread {
  readonly conversation: string;
  readonly serviceUrl: string;
  /** One of personal, groupChat and channel. */
  readonly type: string;
}

const FILE = "application/vnd.microsoft.teams.file.download.info";

export function teamsThreadId({ conversation, serviceUrl, type }: TeamsThread): string {
  return `teams:${toBase64Url(conversation)}:${toBase64Url(serviceUrl)}:${type}`;
}

export function teamsThread(threadId: string): TeamsThread {
  const [, conversation = "", serviceUrl = "", type = ""] = threadId.split(":");
  const text = (part: string) => new TextDecoder().decode(fromBase64Url(part));
  return { conversation: text(conversation), serviceUrl: text(serviceUrl), type };
}

export function readTeamsWebhook(body: string, userName: string): TeamsWebhook {
  const activity = parseFields(body);
  const conversation = readFields(activity["conversation"]);
  const id = readString(activity["id"]);
  if (activity["type"] !== "message" || readString(conversation["id"]) === "" || id === "") return { kind: "other" };
  const threadId = teamsThreadId({
    conversation: readString(conversation["id"]),
    serviceUrl: readString(activity["serviceUrl"]),
    type: readString(conversation["conversationType"])
  });
  const value = readFields(activity["value"]);
  if (typeof value["actionId"] !== "string") {
    return { kind: "message", threadId, message: readMessage(activity, userName) };
  }
  return {
    kind: "action",
    action: {
      actionId: value["actionId"],
      value: readString(value["value"]),
      messageId: readString(activity["replyToId"]),
      threadId,
      triggerId: id,
      user: readAuthor(activity)
    }
  };
}

function readMessage(activity: Fields, userName: string): ChatMessage {
  const botId = readString(readFields(activity["recipient"])["id"]);
  const mentioned = readList(activity["entities"])
    .map(readFields)
    .filter(({ type, mentioned: user }) => type === "mention" && botId !== "" && readFields(user)["id"] === botId);
  let text = readString(activity["text"]);
  for (const { text: mark } of mentioned)
    if (readString(mark) !== "") text = text.replaceAll(readString(mark), `@${userName}`);
  return {
    id: readString(activity["id"]),
    text: toPlainText(text),
    author: readAuthor(activity),
    attachments: readList(activity["attachments"]).map(readFields).flatMap(readAttachment),
    metadata: { dateSent: readTime(activity["timestamp"]) },
    isMention: mentioned.length > 0 || undefined
  };
}

function readAuthor(activity: Fields): ChatAuthor {
  const { id, name, role, aadObjectId } = readFields(activity["from"]);
  const userId = readString(aadObjectId) || readString(id);
  const fullName = readString(name) || undefined;
  return {
    userId,
    userName: fullName,
    fullName,
    isBot: role === "bot" || readString(id).startsWith("28:"),
    isMe: readString(id) !== "" && id === readFields(activity["recipient"])["id"]
  };
}

/** Makes plain text of mentions of others and of the little HTML that Teams puts around a text. */
function toPlainText(text: string): string {
  return text
    .replaceAll(/<at[^>]*>([^<]*)<\/at>/g, "@$1")
    .replaceAll(/<\/?(p|div)>|<br\s*\/?>/g, "\n")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Reads an attachment: files have a short-lived address of their own; images are at the service, for the app's token. */
function readAttachment({ contentType, contentUrl, content, name }: Fields): ChatAttachment[] {
  const file = contentType === FILE ? readFields(content) : {};
  const url = readString(file["downloadUrl"]) || readString(contentUrl);
  const isImage = readString(contentType).startsWith("image/");
  if (url === "" || !(isImage || contentType === FILE)) return [];
  const mimeType = isImage
    ? readString(contentType).replace("image/*", "image/png")
    : mimeTypeOf(readString(file["fileType"]));
  return [{ name: readString(name) || undefined, mimeType, fetchMetadata: { id: readString(file["uniqueId"]), url } }];
}

function mimeTypeOf(fileType: string): string | undefined {
  const known: Record<string, string> = {
    pdf: "application/pdf",
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    txt: "text/plain",
    md: "text/markdown",
    csv: "text/csv",
    json: "application/json"
  };
  return known[fileType.toLowerCase()];
}
