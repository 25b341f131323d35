// Teams as an adapter in the Chat SDK's shape, over `fetch` alone. Webhooks are verified by the messenger before.
import { encodeBase64 } from "../../../util/bytes.ts";
import type { ChatAdapter, ChatAttachment, ChatFile, ChatPostable, CollectingChat } from "../chat-adapter.ts";
import { callFailure, callProvider, checkFileUrl, fetchFile } from "../provider-call.ts";
import { readTeamsWebhook, teamsThread } from "./activity.ts";
import { encodeAdaptiveCard } from "./adaptive-card.ts";

/** Gives an access token. `tenantId` is that of a single-tenant app. */
export type TeamsToken = (scope: string, tenantId?: string) => string | Promise<string>;

export interface TeamsAdapterOptions {
  readonly appId: string;
  readonly userName: string;
  /** The app's secret; or `token`, which is asked for an access token with every call. */
  readonly appPassword?: string;
  readonly token?: TeamsToken;
  /** The tenant of a single-tenant app. */
  readonly tenantId?: string;
  /** Addresses that answers may be sent to beside Microsoft's own services. */
  readonly serviceUrls?: readonly string[];
}

const LOGIN = "https://login.microsoftonline.com";
const SCOPE = "https://api.botframework.com/.default";
const CARD = "application/vnd.microsoft.card.adaptive";
/** The hosts that the app's token is sent to. */
const SERVICE_HOSTS = /^(smba\.trafficmanager\.net|(.+\.)?botframework\.(com|us)|(.+\.)?teams\.microsoft\.(com|us))$/;
/** The hosts of users' files, whose addresses hold the permission to read them. */
const FILE_HOSTS = /\.sharepoint(-df)?\.(com|us)$/;
/** Types that bots may put into a message. Other files need the user's consent and a place in OneDrive. */
const INLINE_IMAGES = /^image\/(png|jpeg|gif)$/;
const INLINE_BYTES = 1_000_000;
/** How long before its end a token is renewed. */
const RENEW_BEFORE_MS = 300_000;

export class TeamsAdapter implements ChatAdapter {
  readonly name = "teams";
  readonly #options: TeamsAdapterOptions;
  #chat: CollectingChat | undefined;
  #token: { readonly value: string; readonly until: number } | undefined;

  constructor(options: TeamsAdapterOptions) {
    this.#options = options;
  }

  async initialize(chat: CollectingChat): Promise<void> {
    this.#chat = chat;
  }

  async handleWebhook(request: Request): Promise<Response> {
    const webhook = readTeamsWebhook(await request.text(), this.#options.userName);
    if (webhook.kind === "message") await this.#chat?.processMessage(this, webhook.threadId, webhook.message);
    if (webhook.kind === "action") await this.#chat?.processAction(webhook.action);
    return Response.json({});
  }

  async postMessage(threadId: string, message: ChatPostable): Promise<{ id: string }> {
    const { id } = await this.#call(threadId, { method: "POST", body: encode(message) });
    return { id: String(id) };
  }

  async editMessage(threadId: string, messageId: string, message: ChatPostable): Promise<void> {
    await this.#call(threadId, { method: "PUT", messageId, body: { id: messageId, ...encode(message) } });
  }

  async deleteMessage(threadId: string, messageId: string): Promise<void> {
    await this.#call(threadId, { method: "DELETE", messageId });
  }

  async startTyping(threadId: string): Promise<void> {
    await this.#call(threadId, { method: "POST", body: { type: "typing" } });
  }

  isDM(threadId: string): boolean {
    return teamsThread(threadId).type === "personal";
  }

  channelIdFromThreadId(threadId: string): string {
    return threadId;
  }

  /** Makes the attachment fetchable: images are at the service, for the app's token; files have an address of their own. */
  rehydrateAttachment(attachment: ChatAttachment): ChatAttachment {
    const { url = "" } = attachment.fetchMetadata ?? {};
    const fetchData = async () =>
      this.#isService(url) ? fetchFile(url, await this.#authorize()) : fetchFile(checkFileUrl(url, FILE_HOSTS), {});
    return { ...attachment, fetchData };
  }

  /** Calls the service about an activity of a conversation. */
  async #call(
    threadId: string,
    { method, messageId, body }: { method: string; messageId?: string; body?: object }
  ): Promise<Record<string, unknown>> {
    const { serviceUrl, conversation } = teamsThread(threadId);
    if (!this.#isService(serviceUrl)) {
      throw callFailure("An activity", { status: 403, reason: "the service is not Microsoft's" });
    }
    const path = `v3/conversations/${encodeURIComponent(conversation)}/activities`;
    const place = messageId === undefined ? path : `${path}/${encodeURIComponent(messageId)}`;
    return callProvider(`${method} activities`, `${serviceUrl.replace(/\/?$/, "/")}${place}`, {
      method,
      headers: { ...(await this.#authorize()), "Content-Type": "application/json" },
      body: body && JSON.stringify(body)
    });
  }

  #isService(url: string): boolean {
    if (!URL.canParse(url)) return false;
    const { protocol, hostname, origin } = new URL(url);
    const isGiven = (this.#options.serviceUrls ?? []).some((given) => new URL(given).origin === origin);
    return isGiven || (protocol === "https:" && SERVICE_HOSTS.test(hostname));
  }

  async #authorize(): Promise<Record<string, string>> {
    const { token, tenantId } = this.#options;
    return { Authorization: `Bearer ${token ? await token(SCOPE, tenantId) : await this.#renewToken()}` };
  }

  /** Gives the app's own token, a new one if the last is about to end. */
  async #renewToken(): Promise<string> {
    if (this.#token && this.#token.until > Date.now()) return this.#token.value;
    const { appId, appPassword = "", tenantId = "botframework.com" } = this.#options;
    const answer = await callProvider("token", `${LOGIN}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: appId,
        client_secret: appPassword,
        scope: SCOPE
      })
    });
    const value = String(answer["access_token"]);
    this.#token = { value, until: Date.now() + Number(answer["expires_in"] ?? 0) * 1_000 - RENEW_BEFORE_MS };
    return value;
  }
}

/** Makes the content of a message. It always has attachments: an edit without them would keep a card. */
function encode(message: ChatPostable): object {
  if (typeof message === "string") return { type: "message", textFormat: "plain", text: message, attachments: [] };
  if ("markdown" in message) {
    const attachments = (message.files ?? []).map(encodeImage);
    return { type: "message", textFormat: "markdown", text: message.markdown, attachments };
  }
  const { card } = message;
  return {
    type: "message",
    summary: card.title ?? "",
    attachments: [{ contentType: CARD, content: encodeAdaptiveCard(card) }]
  };
}

function encodeImage({ data, filename, mimeType }: ChatFile): object {
  if (!INLINE_IMAGES.test(mimeType) || data.byteLength > INLINE_BYTES) {
    throw callFailure("A file", { status: 400, reason: "a bot can send only images of up to 1 MB" });
  }
  const contentUrl = `data:${mimeType};base64,${encodeBase64(new Uint8Array(data))}`;
  return { contentType: mimeType, name: filename, contentUrl };
}
