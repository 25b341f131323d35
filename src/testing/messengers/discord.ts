// Discord's REST API and its interactions for tests: it checks what it is sent as the real one documents it, keeps what a
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

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { FakeDiscordGateway } from "./discord-gateway.ts";

const CONTENT_CHARS = 2_000;
const CUSTOM_ID_CHARS = 100;
const BUTTONS_PER_ROW = 5;
const ROWS = 5;
const FILES_BYTES = 10 * 1024 * 1024;
/** Of one embed. */
const TITLE_CHARS = 256;
const DESCRIPTION_CHARS = 4_096;
const MAX_FIELDS = 25;
const FIELD_NAME_CHARS = 256;
const FIELD_VALUE_CHARS = 1_024;
/** Of all embeds of a message. */
const EMBED_CHARS = 6_000;
const PACE: readonly FakePace[] = [{ calls: 5, perMs: 5_000 }];

export interface DiscordUserOptions {
  readonly url: string;
  /** Default: direct messages. */
  readonly guild?: string;
  /** Default `700`. */
  readonly channel?: string;
  /** Default `7`, Ada. `9` is Grace. */
  readonly user?: string;
  /** Of the slash command (default `ask`). */
  readonly command?: string;
  readonly files?: readonly FakeFile[];
}

interface Button {
  readonly label?: string;
  readonly custom_id?: string;
  readonly url?: string;
}

interface Embed {
  readonly title?: string;
  readonly description?: string;
  readonly image?: { readonly url?: string };
  readonly fields?: readonly { readonly name?: string; readonly value?: string }[];
}

interface DiscordMessage extends FakeMessage {
  readonly id: string;
  readonly channel: string;
  row: readonly Button[];
}

const USERS: Record<string, object> = {
  "7": { id: "7", username: "ada", global_name: "Ada Lovelace" },
  "9": { id: "9", username: "grace", global_name: "Grace Hopper" }
};

/**
 * @example
 * const discord = new FakeDiscord({ token: "bot-token", applicationId: "1" });
 * vi.stubGlobal("fetch", discord.fetch);
 * // Give `discord.publicKey` to the messenger.
 * await host.fetch(discord.says("Hello", { url: "http://localhost/agents/support/main/messengers/discord/webhook" }));
 * expect(discord.texts()).toEqual(["Hello, Ada!"]);
 */
export class FakeDiscord extends FakeProvider {
  readonly postCall = "POST messages";
  readonly editCall = "PATCH messages";
  /** What its webhooks are signed with. */
  readonly publicKey: string;
  readonly #privateKey: KeyObject;
  readonly #token: string;
  readonly #applicationId: string;
  readonly #messages: DiscordMessage[] = [];
  readonly #files: FakeFile[] = [];
  /** Where users' files are. */
  filesUrl = "https://cdn.discordapp.com";
  /** Its Gateway: give `gateway.WebSocket` to the code under test, or `gateway.url` after `listen()`. */
  readonly gateway: FakeDiscordGateway;
  #next = 1_000;

  constructor(options: { readonly token: string; readonly applicationId: string }) {
    super();
    this.#token = options.token;
    this.#applicationId = options.applicationId;
    this.gateway = new FakeDiscordGateway(options.token);
    const { generateKeyPairSync } = process.getBuiltinModule("node:crypto");
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    this.#privateKey = privateKey;
    this.publicKey = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("hex");
  }

  // ── What a user sees and does ──

  /** The bot's messages, oldest first. */
  override messages(channel?: string): readonly DiscordMessage[] {
    return this.#messages.filter((message) => channel === undefined || message.channel === channel);
  }

  /** The webhook of a slash command. Sent twice, it is the same command twice. */
  says(text: string, options: DiscordUserOptions): Request {
    const attachments = (options.files ?? []).map((file) => this.#attachment(file));
    return this.interaction(options, {
      type: 2,
      data: {
        name: options.command ?? "ask",
        options: [
          { name: "question", type: 3, value: text },
          ...attachments.map(({ id }, index) => ({ name: `file${index}`, type: 11, value: id }))
        ],
        ...(attachments.length > 0 && {
          resolved: { attachments: Object.fromEntries(attachments.map((one) => [one.id, one])) }
        })
      }
    });
  }

  #attachment(file: FakeFile): { id: string } {
    const id = String(this.#files.push(file));
    const { name: filename, mediaType, bytes } = file;
    const url = `${this.filesUrl}/attachments/700/${id}?ex=1&is=1&hm=signed`;
    return { id, ...{ filename, content_type: mediaType, size: bytes.byteLength, url } };
  }

  /** The webhook of a press on a button of the bot's newest message that has one of this label. */
  presses(label: string, options: DiscordUserOptions): Request {
    const { channel = "700" } = options;
    const message = this.#messages.findLast((one) => one.channel === channel && one.buttons.includes(label));
    const button = message?.row.find((one) => one.label === label);
    if (!message || !button) throw new Error(`No message with a button "${label}".`);
    return this.interaction(options, {
      type: 3,
      data: { component_type: 2, custom_id: button.custom_id },
      message: { id: message.id, content: message.text }
    });
  }

  /** A message that a user writes in a channel, by the Gateway. `mention` begins it with a mention of the bot. */
  writes(
    text: string,
    options: Omit<DiscordUserOptions, "url" | "command"> & { readonly mention?: boolean } = {}
  ): void {
    const { guild, channel = "700", user = "7", mention = false, files = [] } = options;
    this.gateway.dispatch("MESSAGE_CREATE", {
      id: String(this.#next++),
      type: 0,
      channel_id: channel,
      ...(guild !== undefined && { guild_id: guild, member: {} }),
      content: mention ? `<@${this.#applicationId}> ${text}` : text,
      mentions: mention ? [{ id: this.#applicationId, username: "support", bot: true }] : [],
      author: USERS[user] ?? { id: user },
      attachments: files.map((file) => this.#attachment(file)),
      timestamp: "2026-11-16T12:00:00.000000+00:00"
    });
  }

  /** Any interaction, signed. */
  interaction({ url, guild, channel = "700", user = "7" }: DiscordUserOptions, content: object): Request {
    const person = USERS[user] ?? { id: user };
    const interaction = {
      id: String(this.#next++),
      application_id: this.#applicationId,
      token: "interaction-token",
      version: 1,
      channel_id: channel,
      ...(guild === undefined ? { user: person } : { guild_id: guild, member: { user: person } }),
      ...content
    };
    return this.signed(url, JSON.stringify(interaction));
  }

  /** Any body, signed; `ageSeconds` signs it as one of earlier. */
  signed(url: string, body: string, { ageSeconds = 0 }: { readonly ageSeconds?: number } = {}): Request {
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
    const { sign } = process.getBuiltinModule("node:crypto");
    const signature = Buffer.from(sign(null, Buffer.from(timestamp + body), this.#privateKey)).toString("hex");
    return new Request(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Signature-Ed25519": signature,
        "X-Signature-Timestamp": timestamp
      },
      body
    });
  }

  // ── The API ──

  override async listen(): Promise<string> {
    const url = await super.listen();
    this.gateway.url = url.replace("http", "ws");
    return url;
  }

  protected override upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    this.gateway.accept(request, stream, head);
  }

  protected override nameOf(request: Request): string {
    const [, , place] = /\/channels\/(\d+)\/(\w+)/.exec(new URL(request.url).pathname) ?? [];
    return `${request.method} ${place ?? "unknown"}`;
  }

  protected override failed({ status, retryAfterSeconds = 1 }: ProviderFailure): Response {
    if (status !== 429) return Response.json({ message: "It failed.", code: 0 }, { status });
    return Response.json(
      { message: "You are being rate limited.", retry_after: retryAfterSeconds, global: false },
      { status, headers: { "Retry-After": String(retryAfterSeconds) } }
    );
  }

  protected override writeOf({ name }: ProviderCall, request: Request): FakeWrite | undefined {
    const [, chat = ""] = /\/channels\/(\d+)\//.exec(new URL(request.url).pathname) ?? [];
    if (name === this.postCall) return { chat, kind: "posts", limits: PACE };
    return name === this.editCall ? { chat, kind: "edits", limits: PACE } : undefined;
  }

  protected override async answer({ name, body }: ProviderCall, request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.startsWith("/attachments/")) {
      // A token has no place here: the address is the permission.
      const isAllowed = searchParams.get("hm") === "signed" && !request.headers.has("Authorization");
      return fileResponse(isAllowed ? this.#files[Number(pathname.split("/").at(-1)) - 1] : undefined);
    }
    if (request.headers.get("Authorization") !== `Bot ${this.#token}`) return refused(401, "401: Unauthorized");
    const [, channel = "", , id] = /\/channels\/(\d+)\/(\w+)(?:\/(\d+))?/.exec(pathname) ?? [];
    if (name === "POST typing") return new Response(null, { status: 204 });
    if (name === "POST messages") return this.#post(channel, body);
    const message = this.#messages.find((one) => one.id === id && one.channel === channel);
    if (!message) return refused(404, "Unknown Message");
    if (name === "PATCH messages") return this.#edit(message, body);
    this.#messages.splice(this.#messages.indexOf(message), 1);
    return new Response(null, { status: 204 });
  }

  #post(channel: string, sent: Record<string, unknown>): Response {
    const files = Object.keys(sent)
      .filter((name) => /^files\[\d+\]$/.test(name))
      .map((name) => sent[name] as FakeFile);
    const body =
      typeof sent["payload_json"] === "string" ? (JSON.parse(sent["payload_json"]) as Record<string, unknown>) : sent;
    if (files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) > FILES_BYTES) {
      return refused(413, "Request entity too large");
    }
    const problem = problemOf(body, files.length);
    if (problem) return refused(400, problem);
    const message: DiscordMessage = {
      id: String(this.#next++),
      channel,
      text: "",
      files,
      row: [],
      buttons: [],
      versions: []
    };
    this.#messages.push(message);
    return this.#edit(message, body);
  }

  #edit(message: DiscordMessage, body: Record<string, unknown>): Response {
    const problem = problemOf(body, message.files?.length ?? 0);
    if (problem) return refused(400, problem);
    // What an edit leaves out stays as it is.
    if (body["content"] !== undefined || body["embeds"] !== undefined) message.text = shownText(body);
    if (body["components"] !== undefined) message.row = buttonsOf(body);
    message.buttons = message.row.map(({ label = "" }) => label);
    message.versions.push(message.text);
    return Response.json({ id: message.id, channel_id: message.channel, content: message.text });
  }
}

function rowsOf(body: Record<string, unknown>): Button[][] {
  const rows = Array.isArray(body["components"]) ? (body["components"] as { components?: Button[] }[]) : [];
  return rows.map(({ components = [] }) => components);
}

function buttonsOf(body: Record<string, unknown>): Button[] {
  return rowsOf(body).flat();
}

function embedsOf(body: Record<string, unknown>): Embed[] {
  return Array.isArray(body["embeds"]) ? (body["embeds"] as Embed[]) : [];
}

function contentOf(body: Record<string, unknown>): string {
  return typeof body["content"] === "string" ? body["content"] : "";
}

function shownText(body: Record<string, unknown>): string {
  const embeds = embedsOf(body).flatMap(({ title = "", description = "", image, fields = [] }) => [
    title,
    description,
    ...fields.map(({ name = "", value = "" }) => `${name}: ${value}`),
    image?.url ?? ""
  ]);
  return [contentOf(body), ...embeds].filter((text) => text !== "").join("\n");
}

function problemOf(body: Record<string, unknown>, fileCount: number): string | undefined {
  if (shownText(body).trim() === "" && fileCount === 0) return "Cannot send an empty message";
  if (contentOf(body).length > CONTENT_CHARS) return "Invalid Form Body";
  const rows = rowsOf(body);
  const isBadButton = rows.flat().some(({ custom_id: id = "", url }) => url === undefined && !isCustomId(id));
  const isBadRow = rows.length > ROWS || rows.some(({ length }) => length === 0 || length > BUTTONS_PER_ROW);
  const isBadEmbed = embedsOf(body).some((embed) => !isEmbed(embed));
  return isBadButton || isBadRow || isBadEmbed ? "Invalid Form Body" : undefined;
}

function isCustomId(id: string): boolean {
  return id !== "" && id.length <= CUSTOM_ID_CHARS;
}

function isEmbed({ title = "", description = "", image, fields = [] }: Embed): boolean {
  const areFields = fields.every(
    ({ name = "", value = "" }) =>
      name !== "" && value !== "" && name.length <= FIELD_NAME_CHARS && value.length <= FIELD_VALUE_CHARS
  );
  const chars = fields.reduce((sum, { name = "", value = "" }) => sum + name.length + value.length, 0);
  const isImage = image === undefined || /^https?:/.test(image.url ?? "");
  const isShort = title.length <= TITLE_CHARS && description.length <= DESCRIPTION_CHARS;
  return (
    areFields &&
    isImage &&
    isShort &&
    fields.length <= MAX_FIELDS &&
    chars + title.length + description.length <= EMBED_CHARS
  );
}

function refused(status: number, message: string): Response {
  return Response.json({ message, code: 0 }, { status });
}
