// The Bot Framework's service for Teams, for tests: it checks what it is sent as the real one documents it, keeps what a
// user would see, signs what a user does, and fails on request.
import type { KeyObject } from "node:crypto";
import {
  FakeProvider,
  fileResponse,
  type FakeFile,
  type FakeMessage,
  type FakePace,
  type FakeWrite,
  type ProviderCall,
  type ProviderFailure
} from "./provider.ts";

const MAX_BYTES = 80 * 1024;
/** Of an image in a message: it does not count as text. */
const IMAGE_BYTES = 1024 * 1024;
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif"];
const FILE_INFO = "application/vnd.microsoft.teams.file.download.info";
const FILES_URL = "https://contoso-my.sharepoint.com/download.aspx";
const CARD = "application/vnd.microsoft.card.adaptive";
const BOT = { id: "28:bot", name: "Support" };
/** Of one conversation. */
const PACE: readonly FakePace[] = [
  { calls: 7, perMs: 1_000 },
  { calls: 8, perMs: 2_000 },
  { calls: 60, perMs: 30_000 }
];

export interface TeamsUserOptions {
  readonly url: string;
  /** Default: the personal chat with Ada. Another is a channel's. */
  readonly conversation?: string;
  /** Default `7`, Ada. `9` is Grace. */
  readonly user?: string;
  /** Begins the message with a mention of the bot. */
  readonly mention?: boolean;
  readonly isBot?: boolean;
  /** Images are at the service; other files in the user's OneDrive. */
  readonly files?: readonly FakeFile[];
}

interface CardAction {
  readonly type?: string;
  readonly title?: string;
  readonly data?: { readonly actionId?: string; readonly value?: string };
}

interface TeamsMessage extends FakeMessage {
  readonly id: string;
  readonly conversation: string;
  actions: readonly CardAction[];
}

const NAMES: Record<string, string> = { "7": "Ada Lovelace", "9": "Grace Hopper" };

/**
 * @example
 * const teams = new FakeTeams({ appId: "app", appPassword: "secret" });
 * vi.stubGlobal("fetch", teams.fetch);
 * await host.fetch(teams.says("Hello", { url: "http://localhost/agents/support/main/messengers/teams/webhook" }));
 * expect(teams.texts()).toEqual(["Hello, Ada!"]);
 */
export class FakeTeams extends FakeProvider {
  /** Where answers are sent, and images are. */
  serviceUrl = "https://smba.trafficmanager.net/emea/";
  /** Where its keys are. */
  keysUrl = "https://login.botframework.com/v1/.well-known/keys";
  readonly postCall = "POST activities";
  readonly editCall = "PUT activities";
  readonly #appId: string;
  readonly #appPassword: string;
  #publicKey: KeyObject;
  #privateKey: KeyObject;
  #keyId = 1;
  readonly #messages: TeamsMessage[] = [];
  readonly #files: FakeFile[] = [];
  #next = 1;

  constructor(options: { readonly appId: string; readonly appPassword: string }) {
    super();
    this.#appId = options.appId;
    this.#appPassword = options.appPassword;
    ({ publicKey: this.#publicKey, privateKey: this.#privateKey } = newKeys());
  }

  /** From now on it signs with another key, and publishes only that one. */
  rotateKey(): void {
    ({ publicKey: this.#publicKey, privateKey: this.#privateKey } = newKeys());
    this.#keyId += 1;
  }

  // ── What a user sees and does ──

  /** The bot's messages, oldest first. */
  override messages(conversation?: string): readonly TeamsMessage[] {
    return this.#messages.filter((message) => conversation === undefined || message.conversation === conversation);
  }

  /** The webhook of a message. Sent twice, it is the same message twice. */
  says(text: string, options: TeamsUserOptions): Request {
    const { mention = false, files = [] } = options;
    return this.activityRequest(options.url, {
      ...this.#activity(options),
      text: mention ? `<at>Support</at> ${text}` : text,
      ...(mention && { entities: [{ type: "mention", mentioned: BOT, text: "<at>Support</at>" }] }),
      attachments: files.map((file) => this.#attachment(file))
    });
  }

  #attachment(file: FakeFile): object {
    const id = this.#files.push(file);
    if (file.mediaType.startsWith("image/")) {
      return { contentType: file.mediaType, contentUrl: `${this.serviceUrl}v3/attachments/${id}/views/original` };
    }
    const fileType = file.name.split(".").at(-1);
    const downloadUrl = `${FILES_URL}?UniqueId=${id}&tempauth=signed`;
    return { contentType: FILE_INFO, name: file.name, content: { downloadUrl, uniqueId: String(id), fileType } };
  }

  /** The webhook of a press on a button of the bot's newest message that has one of this label. */
  presses(label: string, options: TeamsUserOptions): Request {
    const { conversation = "a:personal" } = options;
    const message = this.#messages.findLast((one) => one.conversation === conversation && one.buttons.includes(label));
    const action = message?.actions.find(({ title }) => title === label);
    if (!message || !action) throw new Error(`No message with a button "${label}".`);
    return this.activityRequest(options.url, {
      ...this.#activity(options),
      replyToId: message.id,
      value: action.data
    });
  }

  /** The tenant that all users of the fake belong to. */
  readonly tenantId = "tenant-1";
  /** The channels that the published key signs for; undefined: the key names none. */
  endorsements: readonly string[] | undefined = ["msteams"];

  #activity({ conversation = "a:personal", user = "7", isBot = false }: TeamsUserOptions): object {
    return {
      type: "message",
      id: `activity-${this.#next++}`,
      timestamp: "2026-11-16T12:00:00.000Z",
      channelId: "msteams",
      serviceUrl: this.serviceUrl,
      from: isBot
        ? { id: "28:other", name: "Other bot" }
        : { id: `29:${user}`, aadObjectId: user, name: NAMES[user] ?? user },
      recipient: BOT,
      conversation: {
        id: conversation,
        tenantId: this.tenantId,
        conversationType: conversation.startsWith("a:") ? "personal" : "channel"
      },
      channelData: { tenant: { id: this.tenantId } }
    };
  }

  /** An activity as the Bot Framework sends it. `claims` replace those of its token. */
  activityRequest(url: string, activity: object, claims: object = {}): Request {
    const now = Math.floor(Date.now() / 1_000);
    const token = this.token({
      iss: "https://api.botframework.com",
      aud: this.#appId,
      nbf: now,
      exp: now + 3_600,
      serviceurl: this.serviceUrl,
      ...claims
    });
    return new Request(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify(activity)
    });
  }

  /** Signed with the key that it publishes. */
  token(claims: object): string {
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const content = `${encoded({ alg: "RS256", typ: "JWT", kid: `k${this.#keyId}` })}.${encoded(claims)}`;
    const { sign } = process.getBuiltinModule("node:crypto");
    return `${content}.${Buffer.from(sign("sha256", Buffer.from(content), this.#privateKey)).toString("base64url")}`;
  }

  // ── The API ──

  protected override nameOf(request: Request, { type }: Record<string, unknown>): string {
    const { pathname } = new URL(request.url);
    if (pathname.includes("/activities")) return type === "typing" ? "typing" : `${request.method} activities`;
    return pathname.split("/").at(-1) ?? "";
  }

  protected override failed({ status, retryAfterSeconds = 1 }: ProviderFailure): Response {
    return Response.json(
      { error: { code: status === 429 ? "Throttled" : "ServiceError", message: "It failed." } },
      { status, ...(status === 429 && { headers: { "Retry-After": String(retryAfterSeconds) } }) }
    );
  }

  protected override writeOf({ name }: ProviderCall, request: Request): FakeWrite | undefined {
    const [, chat = ""] = /\/conversations\/([^/]+)\//.exec(new URL(request.url).pathname) ?? [];
    if (name === this.postCall) return { chat, kind: "posts", limits: PACE };
    return name === this.editCall ? { chat, kind: "edits", limits: PACE } : undefined;
  }

  protected override async answer({ name, body }: ProviderCall, request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    if (name === "openidconfiguration") {
      return Response.json({ jwks_uri: this.keysUrl });
    }
    if (name === "keys") {
      const { endorsements } = this;
      const key = { ...this.#publicKey.export({ format: "jwk" }), kid: `k${this.#keyId}`, endorsements };
      return Response.json({ keys: [key] });
    }
    if (name === "token") return this.#grant(body);
    if (hostname === new URL(FILES_URL).hostname) return this.#download(request);
    if (hostname !== new URL(this.serviceUrl).hostname) return refused(404, "Not found");
    if (request.headers.get("Authorization") !== "Bearer access-token") return refused(401, "Unauthorized");
    const [, image] = /\/v3\/attachments\/(\d+)\/views\/original$/.exec(pathname) ?? [];
    if (image !== undefined) return fileResponse(this.#files[Number(image) - 1]);
    const [, conversation = "", id] = /\/conversations\/([^/]+)\/activities(?:\/([^/]+))?/.exec(pathname) ?? [];
    if (name === "typing") return Response.json({ id: `typing-${this.#next++}` });
    if (name === "POST activities") return this.#post(decodeURIComponent(conversation), body);
    const message = this.#messages.find((one) => one.id === decodeURIComponent(id ?? ""));
    if (!message) return refused(404, "Activity not found");
    if (name === "PUT activities") return this.#show(message, body);
    this.#messages.splice(this.#messages.indexOf(message), 1);
    return new Response(null, { status: 200 });
  }

  #grant(body: Record<string, unknown>): Response {
    const isKnown = body["client_id"] === this.#appId && body["client_secret"] === this.#appPassword;
    return isKnown
      ? Response.json({ access_token: "access-token", expires_in: 3_600, token_type: "Bearer" })
      : Response.json({ error: "invalid_client" }, { status: 401 });
  }

  /** The app's token has no place here: the address is the permission. */
  #download(request: Request): Response {
    const { searchParams } = new URL(request.url);
    const isAllowed = searchParams.get("tempauth") === "signed" && !request.headers.has("Authorization");
    return fileResponse(isAllowed ? this.#files[Number(searchParams.get("UniqueId")) - 1] : undefined);
  }

  #post(conversation: string, body: Record<string, unknown>): Response {
    const files = imagesOf(body);
    const message: TeamsMessage = {
      id: `message-${this.#next++}`,
      conversation,
      text: "",
      files,
      actions: [],
      buttons: [],
      versions: []
    };
    const answer = this.#show(message, body);
    if (answer.ok) this.#messages.push(message);
    return answer;
  }

  #show(message: TeamsMessage, body: Record<string, unknown>): Response {
    const images = imagesOf(body);
    const isBadImage = images.some(
      ({ mediaType, bytes }) => !IMAGE_TYPES.includes(mediaType) || bytes.byteLength > IMAGE_BYTES
    );
    if (isBadImage) return refused(400, "BadArgument");
    const size = JSON.stringify(body, (key, value: unknown) => (key === "contentUrl" ? "" : value)).length * 2;
    if (size > MAX_BYTES) return refused(413, "RequestEntityTooLarge");
    if (!cardsOf(body).every(isAdaptiveCard)) return refused(400, "BadArgument");
    const text = shownText(body);
    if (body["type"] !== "message" || (text.trim() === "" && images.length === 0)) return refused(400, "BadSyntax");
    message.text = text;
    // What an edit leaves out stays as it is.
    if (body["attachments"] !== undefined) message.actions = cardsOf(body).flatMap(({ actions = [] }) => actions);
    message.buttons = message.actions.map(({ title = "" }) => title);
    message.versions.push(text);
    return Response.json({ id: message.id });
  }
}

function newKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  const { generateKeyPairSync } = process.getBuiltinModule("node:crypto");
  return generateKeyPairSync("rsa", { modulusLength: 2_048 });
}

interface CardElement {
  readonly type?: string;
  readonly text?: string;
  /** Of a RichTextBlock: shown without Markdown. */
  readonly inlines?: readonly { readonly text?: string }[];
  readonly url?: string;
  readonly facts?: readonly { readonly title?: string; readonly value?: string }[];
}

interface Card {
  readonly body?: readonly CardElement[];
  readonly actions?: readonly CardAction[];
}

function cardsOf(body: Record<string, unknown>): Card[] {
  const attachments = Array.isArray(body["attachments"]) ? body["attachments"] : [];
  return (attachments as { contentType?: string; content?: Card }[]).flatMap(({ contentType, content }) =>
    contentType === CARD && content ? [content] : []
  );
}

/** What Teams has a form for; an element of another type would cost the whole card. */
function isAdaptiveCard({ body = [], actions = [] }: Card): boolean {
  const elements = body.every(({ type = "" }) => ["TextBlock", "RichTextBlock", "Image", "FactSet"].includes(type));
  return elements && actions.every(({ type = "" }) => ["Action.Submit", "Action.OpenUrl"].includes(type));
}

function imagesOf(body: Record<string, unknown>): FakeFile[] {
  const attachments = Array.isArray(body["attachments"]) ? body["attachments"] : [];
  return (attachments as { contentType?: string; contentUrl?: string; name?: string }[]).flatMap((one) => {
    const [, base64] = /^data:[^,]*;base64,(.*)$/s.exec(one.contentUrl ?? "") ?? [];
    if (base64 === undefined) return [];
    const bytes = new Uint8Array(Buffer.from(base64, "base64"));
    return [{ name: one.name ?? "", mediaType: one.contentType ?? "", bytes }];
  });
}

function shownText(body: Record<string, unknown>): string {
  const texts = cardsOf(body).flatMap((card) =>
    (card.body ?? []).flatMap(({ text, inlines = [], url, facts = [] }) => [
      ...(text === undefined ? [] : [text]),
      ...inlines.map(({ text: run = "" }) => run),
      ...facts.map(({ title = "", value = "" }) => `${title}: ${value}`),
      ...(url === undefined ? [] : [url])
    ])
  );
  return [...(typeof body["text"] === "string" ? [body["text"]] : []), ...texts].join("\n\n");
}

function refused(status: number, message: string): Response {
  return Response.json({ error: { code: message, message } }, { status });
}
