// What Teams sends, in the words of the Chat SDK. Pure: it is verified before.
import { isObject, parseJson } from "../../../util/json.ts";
import type { ChatAction, ChatAttachment, ChatAuthor, ChatMessage } from "../chat-adapter.ts";
import { fromBase64Url, toBase64Url } from "./token.ts";

type Fields = Record<string, unknown>;

export type TeamsWebhook =
  | { readonly kind: "message"; readonly threadId: string; readonly message: ChatMessage }
  | { readonly kind: "action"; readonly action: ChatAction }
  | { readonly kind: "other" };

export interface TeamsThread {
  readonly conversation: string;
  readonly serviceUrl: string;
  /** personal, groupChat or channel. */
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
  const parsed = parseJson(body);
  const activity = parsed.ok ? fieldsOf(parsed.value) : {};
  const conversation = fieldsOf(activity["conversation"]);
  const id = textOf(activity["id"]);
  if (activity["type"] !== "message" || textOf(conversation["id"]) === "" || id === "") return { kind: "other" };
  const threadId = teamsThreadId({
    conversation: textOf(conversation["id"]),
    serviceUrl: textOf(activity["serviceUrl"]),
    type: textOf(conversation["conversationType"])
  });
  const value = fieldsOf(activity["value"]);
  if (typeof value["actionId"] !== "string") {
    return { kind: "message", threadId, message: messageOf(activity, userName) };
  }
  return {
    kind: "action",
    action: {
      actionId: value["actionId"],
      value: textOf(value["value"]),
      messageId: textOf(activity["replyToId"]),
      threadId,
      triggerId: id,
      user: authorOf(activity)
    }
  };
}

function messageOf(activity: Fields, userName: string): ChatMessage {
  const botId = textOf(fieldsOf(activity["recipient"])["id"]);
  const mentioned = listOf(activity["entities"])
    .map(fieldsOf)
    .filter(({ type, mentioned: user }) => type === "mention" && botId !== "" && fieldsOf(user)["id"] === botId);
  let text = textOf(activity["text"]);
  for (const { text: mark } of mentioned) if (textOf(mark) !== "") text = text.replaceAll(textOf(mark), `@${userName}`);
  const sentAt = new Date(textOf(activity["timestamp"]));
  return {
    id: textOf(activity["id"]),
    text: plainText(text),
    author: authorOf(activity),
    attachments: listOf(activity["attachments"]).map(fieldsOf).flatMap(attachmentOf),
    ...(!Number.isNaN(sentAt.getTime()) && { metadata: { dateSent: sentAt } }),
    ...(mentioned.length > 0 && { isMention: true })
  };
}

function authorOf(activity: Fields): ChatAuthor {
  const { id, name, role, aadObjectId } = fieldsOf(activity["from"]);
  const userId = textOf(aadObjectId) || textOf(id);
  return {
    userId,
    ...(textOf(name) && { userName: textOf(name), fullName: textOf(name) }),
    isBot: role === "bot" || textOf(id).startsWith("28:"),
    isMe: textOf(id) !== "" && id === fieldsOf(activity["recipient"])["id"]
  };
}

/** Mentions of others and the little HTML that Teams puts around a text. */
function plainText(text: string): string {
  return text
    .replaceAll(/<at[^>]*>([^<]*)<\/at>/g, "@$1")
    .replaceAll(/<\/?(p|div)>|<br\s*\/?>/g, "\n")
    .replaceAll("&nbsp;", " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Files have a short-lived address of their own; images are at the service, for the app's token. */
function attachmentOf({ contentType, contentUrl, content, name }: Fields): ChatAttachment[] {
  const file = contentType === FILE ? fieldsOf(content) : {};
  const url = textOf(file["downloadUrl"]) || textOf(contentUrl);
  const isImage = textOf(contentType).startsWith("image/");
  if (url === "" || !(isImage || contentType === FILE)) return [];
  const mimeType = isImage ? textOf(contentType).replace("image/*", "image/png") : mimeTypeOf(textOf(file["fileType"]));
  return [
    {
      ...(textOf(name) && { name: textOf(name) }),
      ...(mimeType !== undefined && { mimeType }),
      fetchMetadata: { id: textOf(file["uniqueId"]), url }
    }
  ];
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

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
