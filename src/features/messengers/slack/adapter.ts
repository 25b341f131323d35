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
import { callProvider, checkFileUrl, fetchFile, ProviderCallError } from "../provider-call.ts";
import { cardText, markdownBlock, slackBlocks, withoutBroadcast } from "./blocks.ts";
import { isSlackDirect, readSlackWebhook, slackThread, type SlackWorkspace } from "./webhook.ts";

/** A function is asked with every call: of an app in several workspaces, for the token of the one it is about. */
export type SlackToken = string | ((workspace: SlackWorkspace) => string | Promise<string>);

export interface SlackAdapterOptions {
  readonly token: SlackToken;
  readonly botUserId?: string;
  /** Default: Slack's own. */
  readonly apiUrl?: string;
}

/** Shown in notifications. */
const MAX_FALLBACK_CHARS = 3_000;
const NAME_TTL_MS = 24 * 3_600_000;
/** Names are a courtesy: Slack waits three seconds for the answer to its webhook. */
const NAME_TIMEOUT_MS = 1_000;
const SLACK_API = "https://slack.com/api";
/** The token, and files, are sent to these hosts only. */
const SLACK_HOSTS = /^(.+\.)?slack(-gov)?\.com$/;
/** Answers that say that Slack failed, not that the message cannot be sent. */
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
          await this.#named(this.#withBotName(webhook), webhook.threadId)
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

  /** The bot has another id in each workspace; its name is the same. */
  #withBotName({ message, botUserId }: { readonly message: ChatMessage; readonly botUserId?: string }): ChatMessage {
    const name = this.#chat?.getUserName();
    if (botUserId === undefined || name === undefined) return message;
    return { ...message, text: message.text.replaceAll(`<@${botUserId}>`, `@${name}`) };
  }

  /** Which workspace a channel belongs to, for what is posted there later. One token needs none of it. */
  async #remember(threadId: string, workspace: SlackWorkspace): Promise<void> {
    if (typeof this.#options.token !== "function") return;
    const state = this.#chat?.getState();
    const key = workspaceKey(threadId);
    const known = await state?.get(key);
    if (JSON.stringify(known) !== JSON.stringify(workspace)) await state?.set(key, workspace);
  }

  async #workspaceOf(threadId: string): Promise<SlackWorkspace> {
    if (typeof this.#options.token !== "function") return {};
    // Written by `#remember` only.
    return ((await this.#chat?.getState().get(workspaceKey(threadId))) as SlackWorkspace | null | undefined) ?? {};
  }

  /** Events hold ids only; a group's messages are shown to the model with names. */
  async #named(message: ChatMessage, threadId: string): Promise<ChatMessage> {
    const { userId, isBot } = message.author;
    if (this.isDM(threadId) || isBot || userId === "") return message;
    const names = await this.#namesOf(userId, threadId).catch(() => undefined);
    return names ? { ...message, author: { ...message.author, ...names } } : message;
  }

  async #namesOf(userId: string, threadId: string): Promise<{ userName?: string; fullName?: string }> {
    const state = this.#chat?.getState();
    const key = `slack:user:${userId}`;
    const known = (await state?.get(key)) as { userName?: string; fullName?: string } | null | undefined;
    if (known) return known;
    const signal = AbortSignal.timeout(NAME_TIMEOUT_MS);
    const { user } = (await this.#call("users.info", { user: userId }, { threadId, signal })) as {
      user?: { name?: string; real_name?: string };
    };
    const names = {
      ...(user?.name && { userName: user.name }),
      ...(user?.real_name && { fullName: user.real_name })
    };
    await state?.set(key, names, NAME_TTL_MS);
    return names;
  }

  async postMessage(threadId: string, message: ChatPostable): Promise<{ id: string }> {
    const { channel, threadTs } = slackThread(threadId);
    const files = typeof message === "object" && "markdown" in message ? (message.files ?? []) : [];
    if (files.length > 0) return { id: await this.#share(threadId, files) };
    const content = {
      channel,
      ...(threadTs !== "" && { thread_ts: threadTs }),
      unfurl_links: false,
      ...contentOf(message)
    };
    const { ts } = await this.#call("chat.postMessage", content, { threadId });
    return { id: String(ts) };
  }

  /** Only the last of its calls shows the files: what fails before leaves no trace in the chat. */
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
    const place = { channel_id: channel, ...(threadTs !== "" && { thread_ts: threadTs }) };
    await this.#call("files.completeUploadExternal", { files: shared, ...place }, { threadId });
    return shared.map(({ id }) => id).join(",");
  }

  async editMessage(threadId: string, messageId: string, message: ChatPostable): Promise<void> {
    const { channel } = slackThread(threadId);
    await this.#call("chat.update", { channel, ts: messageId, ...contentOf(message) }, { threadId });
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
    const workspace = { ...(teamId !== undefined && { teamId }), ...(enterpriseId !== undefined && { enterpriseId }) };
    const fetchData = async () =>
      fetchFile(checkFileUrl(url, SLACK_HOSTS, this.#options.apiUrl), await this.#authorization(workspace));
    return { ...attachment, fetchData };
  }

  async #authorization(workspace: SlackWorkspace): Promise<{ Authorization: string }> {
    const { token } = this.#options;
    return { Authorization: `Bearer ${typeof token === "function" ? await token(workspace) : token}` };
  }

  async #call(
    method: string,
    body: object,
    { threadId, signal }: { readonly threadId: string; readonly signal?: AbortSignal }
  ): Promise<Record<string, unknown>> {
    const isForm = body instanceof URLSearchParams;
    const answer = await callProvider(method, `${this.#options.apiUrl ?? SLACK_API}/${method}`, {
      method: "POST",
      headers: {
        ...(await this.#authorization(await this.#workspaceOf(threadId))),
        ...(!isForm && { "Content-Type": "application/json; charset=utf-8" })
      },
      body: isForm ? body : JSON.stringify(body),
      ...(signal && { signal })
    });
    if (answer["ok"] === true) return answer;
    const reason = String(answer["error"] ?? "unknown");
    throw new ProviderCallError(method, { status: FAILED_THERE.has(reason) ? 503 : 400, reason });
  }
}

function workspaceKey(threadId: string): string {
  return `slack:workspace:${slackThread(threadId).channel}`;
}

/** Blocks in every case: an update without them would keep those that are there. */
function contentOf(message: ChatPostable): { text: string; blocks: object[] } {
  if (typeof message === "object" && "card" in message) return cardOf(message.card);
  const text = typeof message === "string" ? message : message.markdown;
  return { text: withoutBroadcast(text.slice(0, MAX_FALLBACK_CHARS)), blocks: [markdownBlock(text)] };
}

function cardOf(card: ChatCard): { text: string; blocks: object[] } {
  return { text: cardText(card).slice(0, MAX_FALLBACK_CHARS), blocks: slackBlocks(card) };
}
