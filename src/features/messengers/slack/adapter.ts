// Slack as an adapter in the Chat SDK's shape, over `fetch` alone. Webhooks are verified by the messenger before.
import type {
  ChatAdapter,
  ChatAttachment,
  ChatCard,
  ChatFile,
  ChatMessage,
  ChatPostable,
  CollectingChat
} from "../chat-adapter.ts";
import { callFailure, callProvider, checkFileUrl, fetchFile } from "../provider-call.ts";
import { printCard, markdownBlock, slackBlocks, withoutBroadcast } from "./blocks.ts";
import { isSlackDirect, readSlackWebhook, slackThread, type SlackWorkspace } from "./webhook.ts";

/** The token of the bot. A function is called for every request with the workspace it is about: an app may be in several. */
export type SlackToken = string | ((workspace: SlackWorkspace) => string | Promise<string>);

export interface SlackAdapterOptions {
  readonly token: SlackToken;
  readonly botUserId?: string;
  /** Default: Slack's own. */
  readonly apiUrl?: string;
}

/** Characters of the text that notifications show. */
const MAX_FALLBACK_CHARS = 3_000;
const NAME_TTL_MS = 24 * 3_600_000;
/** How long a name may take: Slack waits three seconds for the answer to its webhook, and a name is not needed. */
const NAME_TIMEOUT_MS = 1_000;
const SLACK_API = "https://slack.com/api";
/** The hosts that the token, and files, are sent to. */
const SLACK_HOSTS = /^(.+\.)?slack(-gov)?\.com$/;
/** Errors that say that Slack failed, not that the message cannot be sent. */
const FAILED_THERE = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "team_added_to_org"
]);

export class SlackAdapter implements ChatAdapter {
  readonly name = "slack";
  readonly #options: SlackAdapterOptions;
  #chat: CollectingChat | undefined;

  constructor(options: SlackAdapterOptions) {
    this.#options = options;
  }

  get botUserId(): string | undefined {
    return this.#options.botUserId;
  }

  async initialize(chat: CollectingChat): Promise<void> {
    this.#chat = chat;
  }

  async handleWebhook(request: Request): Promise<Response> {
    const webhook = readSlackWebhook(await request.text(), request.headers.get("Content-Type") ?? "");
    const chat = this.#chat;
    switch (webhook.kind) {
      case "challenge":
        return Response.json({ challenge: webhook.challenge });
      case "message":
        await this.#remember(webhook.threadId, webhook.workspace);
        await chat?.processMessage(
          this,
          webhook.threadId,
          await this.#withNames(this.#withBotName(webhook), webhook.threadId)
        );
        break;
      case "action":
        await this.#remember(webhook.action.threadId, webhook.workspace);
        await chat?.processAction(webhook.action);
        break;
      case "command":
        await this.#remember(webhook.command.channelId, webhook.workspace);
        await chat?.processSlashCommand(webhook.command);
        break;
      case "other":
        break;
    }
    return new Response(null, { status: 200 });
  }

  /** Puts the bot's name in the place of its id: it has another id in each workspace. */
  #withBotName({ message, botUserId }: { readonly message: ChatMessage; readonly botUserId?: string }): ChatMessage {
    const name = this.#chat?.getUserName();
    if (botUserId === undefined || name === undefined) return message;
    return { ...message, text: message.text.replaceAll(`<@${botUserId}>`, `@${name}`) };
  }

  /** Stores which workspace a channel belongs to, for what is posted there later. One token needs none of it. */
  async #remember(threadId: string, workspace: SlackWorkspace): Promise<void> {
    if (typeof this.#options.token !== "function") return;
    const state = this.#chat?.getState();
    const key = workspaceKey(threadId);
    const known = await state?.get(key);
    if (JSON.stringify(known) !== JSON.stringify(workspace)) await state?.set(key, workspace);
  }

  async #recallWorkspace(threadId: string): Promise<SlackWorkspace> {
    if (typeof this.#options.token !== "function") return {};
    // Written by `#remember` only.
    return ((await this.#chat?.getState().get(workspaceKey(threadId))) as SlackWorkspace | null | undefined) ?? {};
  }

  /** Adds the author's name: events hold ids only, and the model is shown a group's messages with names. */
  async #withNames(message: ChatMessage, threadId: string): Promise<ChatMessage> {
    const { userId, isBot } = message.author;
    if (this.isDM(threadId) || isBot || userId === "") return message;
    const names = await this.#findNames(userId, threadId).catch(() => undefined);
    return names ? { ...message, author: { ...message.author, ...names } } : message;
  }

  async #findNames(userId: string, threadId: string): Promise<{ userName?: string; fullName?: string }> {
    const state = this.#chat?.getState();
    const key = `slack:user:${userId}`;
    const known = (await state?.get(key)) as { userName?: string; fullName?: string } | null | undefined;
    if (known) return known;
    const signal = AbortSignal.timeout(NAME_TIMEOUT_MS);
    const { user } = (await this.#call("users.info", { user: userId }, { threadId, signal })) as {
      user?: { name?: string; real_name?: string };
    };
    const names = { userName: user?.name || undefined, fullName: user?.real_name || undefined };
    await state?.set(key, names, NAME_TTL_MS);
    return names;
  }

  async postMessage(threadId: string, message: ChatPostable): Promise<{ id: string }> {
    const { channel, threadTs } = slackThread(threadId);
    const files = typeof message === "object" && "markdown" in message ? (message.files ?? []) : [];
    if (files.length > 0) return { id: await this.#share(threadId, files) };
    const content = { channel, thread_ts: threadTs || undefined, unfurl_links: false, ...encode(message) };
    const { ts } = await this.#call("chat.postMessage", content, { threadId });
    return { id: String(ts) };
  }

  /** Uploads files. Only the last of its calls shows them: what fails before leaves no trace in the chat. */
  async #share(threadId: string, files: readonly ChatFile[]): Promise<string> {
    const { channel, threadTs } = slackThread(threadId);
    const shared: { id: string; title: string }[] = [];
    for (const { data, filename, mimeType } of files) {
      const place = await this.#call(
        "files.getUploadURLExternal",
        new URLSearchParams({ filename, length: String(data.byteLength) }),
        { threadId }
      );
      const url = checkFileUrl(String(place["upload_url"]), SLACK_HOSTS, this.#options.apiUrl);
      await callProvider("upload", url, { method: "POST", headers: { "Content-Type": mimeType }, body: data });
      shared.push({ id: String(place["file_id"]), title: filename });
    }
    const place = { channel_id: channel, thread_ts: threadTs || undefined };
    await this.#call("files.completeUploadExternal", { files: shared, ...place }, { threadId });
    return shared.map(({ id }) => id).join(",");
  }

  async editMessage(threadId: string, messageId: string, message: ChatPostable): Promise<void> {
    const { channel } = slackThread(threadId);
    await this.#call("chat.update", { channel, ts: messageId, ...encode(message) }, { threadId });
  }

  async deleteMessage(threadId: string, messageId: string): Promise<void> {
    const { channel } = slackThread(threadId);
    await this.#call("chat.delete", { channel, ts: messageId }, { threadId });
  }

  isDM(threadId: string): boolean {
    return isSlackDirect(slackThread(threadId).channel);
  }

  channelIdFromThreadId(threadId: string): string {
    return `slack:${slackThread(threadId).channel}`;
  }

  rehydrateAttachment(attachment: ChatAttachment): ChatAttachment {
    const { url = "", teamId, enterpriseId } = attachment.fetchMetadata ?? {};
    const fetchData = async () =>
      fetchFile(checkFileUrl(url, SLACK_HOSTS, this.#options.apiUrl), await this.#authorize({ teamId, enterpriseId }));
    return { ...attachment, fetchData };
  }

  async #authorize(workspace: SlackWorkspace): Promise<{ Authorization: string }> {
    const { token } = this.#options;
    return { Authorization: `Bearer ${typeof token === "function" ? await token(workspace) : token}` };
  }

  async #call(
    method: string,
    body: object,
    { threadId, signal }: { readonly threadId: string; readonly signal?: AbortSignal }
  ): Promise<Record<string, unknown>> {
    const authorization = await this.#authorize(await this.#recallWorkspace(threadId));
    const isForm = body instanceof URLSearchParams;
    const answer = await callProvider(method, `${this.#options.apiUrl ?? SLACK_API}/${method}`, {
      method: "POST",
      // A form says its type itself.
      headers: isForm ? authorization : { ...authorization, "Content-Type": "application/json; charset=utf-8" },
      body: isForm ? body : JSON.stringify(body),
      signal
    });
    if (answer["ok"] === true) return answer;
    const reason = String(answer["error"] ?? "unknown");
    throw callFailure(method, { status: FAILED_THERE.has(reason) ? 503 : 400, reason });
  }
}

function workspaceKey(threadId: string): string {
  return `slack:workspace:${slackThread(threadId).channel}`;
}

/** Makes the content of a message. It always has blocks: an update without them would keep those that are there. */
function encode(message: ChatPostable): { text: string; blocks: object[] } {
  if (typeof message === "object" && "card" in message) return encodeCard(message.card);
  const text = typeof message === "string" ? message : message.markdown;
  return { text: withoutBroadcast(text.slice(0, MAX_FALLBACK_CHARS)), blocks: [markdownBlock(text)] };
}

function encodeCard(card: ChatCard): { text: string; blocks: object[] } {
  return { text: printCard(card).slice(0, MAX_FALLBACK_CHARS), blocks: slackBlocks(card) };
}
