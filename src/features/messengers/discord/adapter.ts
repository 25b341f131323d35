// Discord as an adapter in the Chat SDK's shape, over `fetch` alone. Webhooks are verified by the messenger before.
import type { ChatAdapter, ChatAttachment, ChatPostable, CollectingChat } from "../chat-adapter.ts";
import { callProvider, checkFileUrl, fetchFile } from "../provider-call.ts";
import { encodeContent } from "./content.ts";
import { discordThread, readDiscordWebhook, readGatewayMessage } from "./payloads.ts";

export type DiscordToken = string | (() => string | Promise<string>);

export interface DiscordAdapterOptions {
  readonly token: DiscordToken;
  readonly applicationId: string;
  /** The address of the API. Default: Discord's own. */
  readonly apiUrl?: string;
}

const DISCORD_API = "https://discord.com/api/v10";
/** The hosts of users' files, whose addresses hold the permission to read them. */
const FILE_HOSTS = /^(cdn|media)\.discordapp\.(com|net)$/;
const MAX_ECHO_CHARS = 300;
/** The kinds of answers to interactions. */
const PONG = 1;
const MESSAGE = 4;
const NOTED = 6;

export class DiscordAdapter implements ChatAdapter {
  readonly name = "discord";
  readonly #options: DiscordAdapterOptions;
  #chat: CollectingChat | undefined;

  constructor(options: DiscordAdapterOptions) {
    this.#options = options;
  }

  /** The id of the bot's user, which is that of its application. */
  get botUserId(): string {
    return this.#options.applicationId;
  }

  async initialize(chat: CollectingChat): Promise<void> {
    this.#chat = chat;
  }

  async handleWebhook(request: Request): Promise<Response> {
    const webhook = readDiscordWebhook(await request.text());
    switch (webhook.kind) {
      case "ping":
        return Response.json({ type: PONG });
      case "command": {
        await this.#chat?.processSlashCommand(webhook.command);
        // The question, where every reader of the channel sees it; the answer is a message of its own.
        const { command, text } = webhook.command;
        const content = `> **${command}** ${text}`.replaceAll(/\s+/g, " ").slice(0, MAX_ECHO_CHARS);
        return Response.json({ type: MESSAGE, data: { content, allowed_mentions: { parse: [] } } });
      }
      case "action":
        await this.#chat?.processAction(webhook.action);
        return Response.json({ type: NOTED });
      case "other":
        return Response.json({ type: MESSAGE, data: { content: "This is not supported.", flags: 64 } });
    }
  }

  /** Takes the Gateway's MESSAGE_CREATE. */
  async receive(data: unknown): Promise<void> {
    const received = readGatewayMessage(data, this.botUserId);
    if (received) await this.#chat?.processMessage(this, received.threadId, received.message);
  }

  async postMessage(threadId: string, message: ChatPostable): Promise<{ id: string }> {
    const { id } = await this.#call("POST", `/channels/${channelOf(threadId)}/messages`, encodeBody(message));
    return { id: String(id) };
  }

  async editMessage(threadId: string, messageId: string, message: ChatPostable): Promise<void> {
    await this.#call("PATCH", `/channels/${channelOf(threadId)}/messages/${messageId}`, encodeContent(message));
  }

  async deleteMessage(threadId: string, messageId: string): Promise<void> {
    await this.#call("DELETE", `/channels/${channelOf(threadId)}/messages/${messageId}`);
  }

  async startTyping(threadId: string): Promise<void> {
    await this.#call("POST", `/channels/${channelOf(threadId)}/typing`);
  }

  isDM(threadId: string): boolean {
    return discordThread(threadId).guild === "@me";
  }

  channelIdFromThreadId(threadId: string): string {
    const { guild, channel } = discordThread(threadId);
    return `discord:${guild}:${channel}`;
  }

  rehydrateAttachment(attachment: ChatAttachment): ChatAttachment {
    const { url = "" } = attachment.fetchMetadata ?? {};
    const fetchData = async () => fetchFile(checkFileUrl(url, FILE_HOSTS, this.#options.apiUrl), {});
    return { ...attachment, fetchData };
  }

  async #call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const { token, apiUrl = DISCORD_API } = this.#options;
    const headers: Record<string, string> = {
      Authorization: `Bot ${typeof token === "function" ? await token() : token}`
    };
    const isForm = body instanceof FormData;
    // A form's own boundary is part of its type.
    if (body && !isForm) headers["Content-Type"] = "application/json";
    return callProvider(`${method} ${path}`, `${apiUrl}${path}`, {
      method,
      headers,
      body: isForm ? body : body && JSON.stringify(body)
    });
  }
}

/** Encodes a message; its files are parts of a form, beside the message. */
function encodeBody(message: ChatPostable): object {
  const files = typeof message === "object" && "markdown" in message ? (message.files ?? []) : [];
  if (files.length === 0) return encodeContent(message);
  const form = new FormData();
  const attachments = files.map(({ filename }, id) => ({ id, filename }));
  form.append("payload_json", JSON.stringify({ ...encodeContent(message), attachments }));
  for (const [index, { data, filename, mimeType }] of files.entries()) {
    form.append(`files[${index}]`, new Blob([data], { type: mimeType }), filename);
  }
  return form;
}

function channelOf(threadId: string): string {
  return encodeURIComponent(discordThread(threadId).channel);
}
