// Slack's Web API and its webhooks for tests: it checks what it is sent as the real one documents it, keeps what a user
// would see, signs what a user does, and fails on request.
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

const MARKDOWN_CHARS = 12_000;
const SECTION_CHARS = 3_000;
const MAX_BLOCKS = 50;
const VALUE_CHARS = 2_000;
const ACTION_ID_CHARS = 255;
const BLOCK_TYPES = ["markdown", "section", "actions", "image", "divider"];
const MAX_FIELDS = 10;
const FIELD_CHARS = 2_000;
const MAX_ELEMENTS = 25;
/** One post a second in a channel, in short bursts; 50 updates a minute. */
const PACE: readonly FakePace[] = [
  { calls: 4, perMs: 4_000, of: "posts" },
  { calls: 50, perMs: 60_000, of: "edits" }
];

export interface SlackUserOptions {
  readonly url: string;
  /** Default: the direct messages of Ada (`D7`). Ids of other channels begin with C. */
  readonly channel?: string;
  /** Default `U7`, Ada. */
  readonly user?: string;
  /** Answers in this thread. */
  readonly threadTs?: string;
  /** The message is another app's. */
  readonly isBot?: boolean;
  /** The workspace (default `T1`). */
  readonly team?: string;
  readonly files?: readonly FakeFile[];
}

interface Block {
  readonly type?: string;
  readonly text?: string | { readonly text?: string };
  readonly fields?: readonly { readonly text?: string }[];
  readonly image_url?: string;
  readonly alt_text?: string;
  readonly elements?: readonly { action_id?: string; value?: string; text?: { text?: string } }[];
}

interface SlackMessage extends FakeMessage {
  readonly channel: string;
  readonly threadTs: string;
  /** That it was posted with. */
  readonly token: string;
  actions: { label: string; actionId: string; value: string }[];
}

/**
 * @example
 * const slack = new FakeSlack({ token: "xoxb-test", signingSecret: "secret" });
 * vi.stubGlobal("fetch", slack.fetch);
 * await host.fetch(slack.says("Hello", { url: "http://localhost/agents/support/main/messengers/slack/webhook" }));
 * expect(slack.texts()).toEqual(["Hello, Ada!"]);
 */
export class FakeSlack extends FakeProvider {
  /** Where its files are. */
  filesUrl = "https://files.slack.com";
  readonly postCall = "chat.postMessage";
  readonly editCall = "chat.update";
  readonly #tokens: readonly string[];
  readonly #signingSecret: string;
  readonly #messages: SlackMessage[] = [];
  readonly #users = new Map([
    ["U7", { id: "U7", name: "ada", real_name: "Ada Lovelace" }],
    ["U9", { id: "U9", name: "grace", real_name: "Grace Hopper" }]
  ]);
  /** Of users, and of the bot while they are not shared. */
  readonly #files: FakeFile[] = [];
  #clock = 1_790_000_000;
  #event = 1;

  /** Several tokens: those of the workspaces it is installed in. */
  constructor(options: { readonly token: string | readonly string[]; readonly signingSecret: string }) {
    super();
    this.#tokens = typeof options.token === "string" ? [options.token] : options.token;
    this.#signingSecret = options.signingSecret;
  }

  // ── What a user sees and does ──

  /** The bot's messages, oldest first. */
  override messages(channel?: string): readonly SlackMessage[] {
    return this.#messages.filter((message) => channel === undefined || message.channel === channel);
  }

  /** The webhook of a message. Sent twice, it is the same message twice. In a channel write `<@UBOT>` to mention the bot. */
  says(text: string, options: SlackUserOptions): Request {
    const { url, channel = "D7", user = "U7", threadTs, isBot = false, files = [] } = options;
    const isDirect = channel.startsWith("D");
    const event = {
      type: !isDirect && text.includes("<@UBOT>") ? "app_mention" : "message",
      ...(isDirect && { channel_type: "im" }),
      ...(isBot ? { bot_id: "B1", app_id: "A2" } : { user }),
      ...(files.length > 0 && { subtype: "file_share", files: files.map((file) => this.#withId(file)) }),
      channel,
      text,
      ts: this.#ts(),
      ...(threadTs !== undefined && { thread_ts: threadTs })
    };
    return this.eventRequest(url, event, options.team);
  }

  #withId(file: FakeFile): object {
    const id = `F${this.#files.push(file)}`;
    const { name, mediaType: mimetype, bytes } = file;
    return { id, name, mimetype, size: bytes.byteLength, url_private: `${this.filesUrl}/files/${id}` };
  }

  /** The webhook of a press on a button of the bot's newest message that has one of this label. */
  presses(label: string, options: SlackUserOptions): Request {
    const { url, channel = "D7", user = "U7" } = options;
    const message = this.#messages.findLast((one) => one.channel === channel && one.buttons.includes(label));
    const pressed = message?.actions.find((action) => action.label === label);
    if (!message || !pressed) throw new Error(`No message with a button "${label}".`);
    return this.pressRequest(url, {
      type: "block_actions",
      team: { id: options.team ?? "T1" },
      user: { ...this.#users.get(user), id: user },
      channel: { id: channel },
      message: { ts: message.id, ...(message.threadTs !== "" && { thread_ts: message.threadTs }) },
      trigger_id: `trigger-${this.#event++}`,
      actions: [{ type: "button", action_id: pressed.actionId, value: pressed.value }]
    });
  }

  pressRequest(url: string, payload: object): Request {
    const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    return this.signed(url, body, { contentType: "application/x-www-form-urlencoded" });
  }

  /** An event as Slack sends it, with its signature. */
  eventRequest(url: string, event: object, team = "T1"): Request {
    const payload = {
      type: "event_callback",
      team_id: team,
      api_app_id: "A1",
      event_id: `Ev${this.#event++}`,
      event_time: this.#clock,
      authorizations: [{ team_id: team, user_id: "UBOT", is_bot: true }],
      event
    };
    return this.signed(url, JSON.stringify(payload));
  }

  /** Any body, signed; `ageSeconds` signs it as one of earlier. */
  signed(
    url: string,
    body: string,
    options: { readonly contentType?: string; readonly ageSeconds?: number } = {}
  ): Request {
    const { contentType = "application/json", ageSeconds = 0 } = options;
    const timestamp = String(Math.floor(Date.now() / 1_000) - ageSeconds);
    const { createHmac } = process.getBuiltinModule("node:crypto");
    const mac = createHmac("sha256", this.#signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
    return new Request(url, {
      method: "POST",
      headers: {
        "Content-Type": contentType,
        "x-slack-request-timestamp": timestamp,
        "x-slack-signature": `v0=${mac}`
      },
      body
    });
  }

  #ts(): string {
    this.#clock += 1;
    return `${this.#clock}.000100`;
  }

  // ── The API ──

  protected override nameOf(request: Request): string {
    return new URL(request.url).pathname.split("/").at(-1) ?? "";
  }

  protected override failed({ status, retryAfterSeconds }: ProviderFailure): Response {
    if (status === 429) {
      return Response.json(
        { ok: false, error: "ratelimited" },
        { status, headers: { "Retry-After": String(retryAfterSeconds ?? 1) } }
      );
    }
    return status >= 500 ? new Response("Internal Server Error", { status }) : refused("cant_update_message");
  }

  protected override writeOf({ name, body }: ProviderCall): FakeWrite | undefined {
    if (name !== "chat.postMessage" && name !== "chat.update") return undefined;
    return { chat: String(body["channel"]), kind: name === "chat.update" ? "edits" : "posts", limits: PACE };
  }

  protected override async answer({ name, body }: ProviderCall, request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    // The address is the permission.
    if (pathname.startsWith("/upload/")) return this.#upload(name, request);
    const [, token = ""] = (request.headers.get("Authorization") ?? "").split("Bearer ");
    const isAllowed = this.#tokens.includes(token);
    // Slack shows its login there.
    if (pathname.startsWith("/files/")) {
      return isAllowed ? fileResponse(this.#file(name)) : Response.redirect("https://slack.com/signin", 302);
    }
    if (!isAllowed) return refused("invalid_auth");
    switch (name) {
      case "files.getUploadURLExternal":
        return this.#uploadUrl(body, request);
      case "files.completeUploadExternal":
        return this.#share(body, token);
      case "chat.postMessage":
        return this.#post(body, token);
      case "chat.update":
        return this.#update(body);
      case "chat.delete":
        return this.#delete(body);
      case "users.info": {
        const user = this.#users.get(String(body["user"]));
        return user ? Response.json({ ok: true, user }) : refused("user_not_found");
      }
      case "auth.test":
        return Response.json({ ok: true, user_id: "UBOT", team_id: "T1" });
      default:
        return refused("unknown_method");
    }
  }

  #file(id: string): FakeFile | undefined {
    return this.#files[Number(id.slice(1)) - 1];
  }

  /** Takes a form, not JSON. */
  #uploadUrl({ filename, length }: Record<string, unknown>, request: Request): Response {
    const isForm = (request.headers.get("Content-Type") ?? "").includes("application/x-www-form-urlencoded");
    if (!isForm || typeof filename !== "string" || !(Number(length) > 0)) return refused("invalid_arguments");
    const id = `F${this.#files.push({ name: filename, mediaType: `length ${String(length)}`, bytes: new Uint8Array() })}`;
    return Response.json({ ok: true, file_id: id, upload_url: `${this.filesUrl}/upload/${id}` });
  }

  async #upload(id: string, request: Request): Promise<Response> {
    const file = this.#file(id);
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (!file || file.mediaType !== `length ${bytes.byteLength}`) return new Response("Bad Request", { status: 400 });
    const mediaType = request.headers.get("Content-Type") ?? "";
    this.#files[Number(id.slice(1)) - 1] = { ...file, bytes, mediaType };
    return new Response(`OK - ${bytes.byteLength}`);
  }

  #share(body: Record<string, unknown>, token: string): Response {
    const given = Array.isArray(body["files"]) ? (body["files"] as { id?: string }[]) : [];
    const files = given.flatMap(({ id = "" }) => this.#file(id) ?? []);
    const channel = body["channel_id"];
    if (typeof channel !== "string" || !/^[CDG]/.test(channel)) return refused("channel_not_found");
    if (given.length === 0 || files.length !== given.length) return refused("file_not_found");
    const message: SlackMessage = {
      id: this.#ts(),
      channel,
      threadTs: typeof body["thread_ts"] === "string" ? body["thread_ts"] : "",
      token,
      text: "",
      files,
      actions: [],
      buttons: [],
      versions: [""]
    };
    this.#messages.push(message);
    return Response.json({ ok: true, files: given });
  }

  #post(body: Record<string, unknown>, token: string): Response {
    const problem = problemOf(body);
    if (problem) return refused(problem);
    const text = shownText(body);
    const message: SlackMessage = {
      id: this.#ts(),
      channel: String(body["channel"]),
      threadTs: typeof body["thread_ts"] === "string" ? body["thread_ts"] : "",
      token,
      text,
      actions: actionsOf(body),
      buttons: actionsOf(body).map(({ label }) => label),
      versions: [text]
    };
    this.#messages.push(message);
    return Response.json({ ok: true, channel: message.channel, ts: message.id });
  }

  #update(body: Record<string, unknown>): Response {
    const problem = problemOf(body);
    if (problem) return refused(problem);
    const message = this.#find(body);
    if (!message) return refused("message_not_found");
    message.text = shownText(body);
    // Blocks that an update leaves out stay as they are.
    if (body["blocks"] !== undefined) message.actions = actionsOf(body);
    message.buttons = message.actions.map(({ label }) => label);
    message.versions.push(message.text);
    return Response.json({ ok: true, channel: message.channel, ts: message.id });
  }

  #delete(body: Record<string, unknown>): Response {
    const message = this.#find(body);
    if (!message) return refused("message_not_found");
    this.#messages.splice(this.#messages.indexOf(message), 1);
    return Response.json({ ok: true });
  }

  #find(body: Record<string, unknown>): SlackMessage | undefined {
    return this.#messages.find(({ id, channel }) => id === body["ts"] && channel === body["channel"]);
  }
}

function blocksOf(body: Record<string, unknown>): Block[] {
  return Array.isArray(body["blocks"]) ? (body["blocks"] as Block[]) : [];
}

function problemOf(body: Record<string, unknown>): string | undefined {
  if (typeof body["channel"] !== "string" || !/^[CDG]/.test(body["channel"])) return "channel_not_found";
  const blocks = blocksOf(body);
  if (shownText(body).trim() === "") return "no_text";
  if (blocks.length > MAX_BLOCKS) return "invalid_blocks";
  const markdown = blocks.filter(({ type }) => type === "markdown").map(({ text }) => String(text));
  if (markdown.join("").length > MARKDOWN_CHARS) return "msg_too_long";
  const isLong = blocks.some(({ type, text }) => type === "section" && blockText(text).length > SECTION_CHARS);
  const isBadButton = blocks.some(({ elements = [] }) =>
    elements.some(({ value = "", action_id = "" }) => value.length > VALUE_CHARS || action_id.length > ACTION_ID_CHARS)
  );
  return isLong || isBadButton || !blocks.every(isValid) ? "invalid_blocks" : undefined;
}

function isValid({ type = "", text, fields = [], elements = [], image_url: url, alt_text: alt = "" }: Block): boolean {
  if (!BLOCK_TYPES.includes(type) || elements.length > MAX_ELEMENTS) return false;
  if (type === "image") return url !== undefined && alt !== "";
  if (type === "actions") return elements.length > 0;
  if (type === "section" && blockText(text) === "" && fields.length === 0) return false;
  return fields.length <= MAX_FIELDS && fields.every((field) => blockText(field).length <= FIELD_CHARS);
}

function blockText(text: Block["text"]): string {
  return typeof text === "string" ? text : (text?.text ?? "");
}

function shownText(body: Record<string, unknown>): string {
  const texts = blocksOf(body)
    .flatMap(({ text, fields = [], image_url: url = "" }) => [blockText(text), ...fields.map(blockText), url])
    .filter((text) => text !== "");
  return texts.length > 0 ? texts.join("\n\n") : String(body["text"] ?? "");
}

function actionsOf(body: Record<string, unknown>): SlackMessage["actions"] {
  return blocksOf(body).flatMap(({ elements = [] }) =>
    elements.map(({ action_id = "", value = "", text }) => ({ label: text?.text ?? "", actionId: action_id, value }))
  );
}

/** Slack answers 200 to what it refuses. */
function refused(error: string): Response {
  return Response.json({ ok: false, error });
}
