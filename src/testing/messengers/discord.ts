// Discord's REST API and its interactions for tests: it checks what it is sent as the real one documents it, keeps what a
// user would see, signs what a user does, and fails on request.
import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { FakeProvider, type FakeMessage, type ProviderCall, type ProviderFailure } from "./provider.ts";

const CONTENT_CHARS = 2_000;
const CUSTOM_ID_CHARS = 100;
const BUTTONS_PER_ROW = 5;

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
}

interface Button {
  readonly label?: string;
  readonly custom_id?: string;
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
  #next = 1_000;

  constructor(options: { readonly token: string; readonly applicationId: string }) {
    super();
    this.#token = options.token;
    this.#applicationId = options.applicationId;
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
    return this.interaction(options, {
      type: 2,
      data: { name: options.command ?? "ask", options: [{ name: "question", type: 3, value: text }] }
    });
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

  protected override async answer({ name, body }: ProviderCall, request: Request): Promise<Response> {
    if (request.headers.get("Authorization") !== `Bot ${this.#token}`) return refused(401, "401: Unauthorized");
    const [, channel = "", , id] = /\/channels\/(\d+)\/(\w+)(?:\/(\d+))?/.exec(new URL(request.url).pathname) ?? [];
    if (name === "POST typing") return new Response(null, { status: 204 });
    if (name === "POST messages") return this.#post(channel, body);
    const message = this.#messages.find((one) => one.id === id && one.channel === channel);
    if (!message) return refused(404, "Unknown Message");
    if (name === "PATCH messages") return this.#edit(message, body);
    this.#messages.splice(this.#messages.indexOf(message), 1);
    return new Response(null, { status: 204 });
  }

  #post(channel: string, body: Record<string, unknown>): Response {
    const problem = problemOf(body);
    if (problem) return refused(400, problem);
    const message: DiscordMessage = {
      id: String(this.#next++),
      channel,
      text: "",
      row: [],
      buttons: [],
      versions: []
    };
    this.#messages.push(message);
    return this.#edit(message, body);
  }

  #edit(message: DiscordMessage, body: Record<string, unknown>): Response {
    const problem = problemOf(body);
    if (problem) return refused(400, problem);
    // What an edit leaves out stays as it is.
    if (body["content"] !== undefined) message.text = String(body["content"]);
    if (body["components"] !== undefined) message.row = buttonsOf(body);
    message.buttons = message.row.map(({ label = "" }) => label);
    message.versions.push(message.text);
    return Response.json({ id: message.id, channel_id: message.channel, content: message.text });
  }
}

function buttonsOf(body: Record<string, unknown>): Button[] {
  const rows = Array.isArray(body["components"]) ? (body["components"] as { components?: Button[] }[]) : [];
  return rows.flatMap(({ components = [] }) => components);
}

function problemOf(body: Record<string, unknown>): string | undefined {
  const content = typeof body["content"] === "string" ? body["content"] : "";
  if (content.trim() === "") return "Cannot send an empty message";
  if (content.length > CONTENT_CHARS) return "Invalid Form Body";
  const buttons = buttonsOf(body);
  const isBad = buttons.some(({ custom_id = "" }) => custom_id === "" || custom_id.length > CUSTOM_ID_CHARS);
  return isBad || buttons.length > BUTTONS_PER_ROW ? "Invalid Form Body" : undefined;
}

function refused(status: number, message: string): Response {
  return Response.json({ message, code: 0 }, { status });
}
