// What Teams sends, in the words of the Chat SDK. Pure: it is verified before.
import type { ChatAction, ChatAttachment, ChatAuthor, ChatMessage } from "../chat-adapter.ts";
import { parseFields, readFields, readList, readText, readTime, type Fields } from "../fields.ts";
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
  const id = readText(activity["id"]);
  if (activity["type"] !== "message" || readText(conversation["id"]) === "" || id === "") return { kind: "other" };
  const threadId = teamsThreadId({
    conversation: readText(conversation["id"]),
    serviceUrl: readText(activity["serviceUrl"]),
    type: readText(conversation["conversationType"])
  });
  const value = readFields(activity["value"]);
  if (typeof value["actionId"] !== "string") {
    return { kind: "message", threadId, message: readMessage(activity, userName) };
  }
  return {
    kind: "action",
    action: {
      actionId: value["actionId"],
      value: readText(value["value"]),
      messageId: readText(activity["replyToId"]),
      threadId,
      triggerId: id,
      user: readAuthor(activity)
    }
  };
}

function readMessage(activity: Fields, userName: string): ChatMessage {
  const botId = readText(readFields(activity["recipient"])["id"]);
  const mentioned = readList(activity["entities"])
    .map(readFields)
    .filter(({ type, mentioned: user }) => type === "mention" && botId !== "" && readFields(user)["id"] === botId);
  let text = readText(activity["text"]);
  for (const { text: mark } of mentioned)
    if (readText(mark) !== "") text = text.replaceAll(readText(mark), `@${userName}`);
  return {
    id: readText(activity["id"]),
    text: toPlainText(text),
    author: readAuthor(activity),
    attachments: readList(activity["attachments"]).map(readFields).flatMap(readAttachment),
    metadata: { dateSent: readTime(activity["timestamp"]) },
    isMention: mentioned.length > 0 || undefined
  };
}

function readAuthor(activity: Fields): ChatAuthor {
  const { id, name, role, aadObjectId } = readFields(activity["from"]);
  const userId = readText(aadObjectId) || readText(id);
  const fullName = readText(name) || undefined;
  return {
    userId,
    userName: fullName,
    fullName,
    isBot: role === "bot" || readText(id).startsWith("28:"),
    isMe: readText(id) !== "" && id === readFields(activity["recipient"])["id"]
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
  const url = readText(file["downloadUrl"]) || readText(contentUrl);
  const isImage = readText(contentType).startsWith("image/");
  if (url === "" || !(isImage || contentType === FILE)) return [];
  const mimeType = isImage
    ? readText(contentType).replace("image/*", "image/png")
    : mimeTypeOf(readText(file["fileType"]));
  return [{ name: readText(name) || undefined, mimeType, fetchMetadata: { id: readText(file["uniqueId"]), url } }];
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
