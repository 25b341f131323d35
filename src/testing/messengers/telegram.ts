// A Telegram Bot API for tests: it checks what it is sent as the real one documents it, keeps what a user would see, and
// fails on request. Give its `fetch` to the code under test, or let it listen on a port.
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

const TEXT_LIMIT = 4_096;
const RICH_LIMIT = 32_768;
const CALLBACK_LIMIT_BYTES = 64;
const CAPTION_LIMIT = 1_024;
/** Larger files of users cannot be read by bots, larger documents not sent. */
const DOWNLOAD_BYTES = 20 * 1024 * 1024;
const DOCUMENT_BYTES = 50 * 1024 * 1024;
/** Outside code and links these are only allowed behind a backslash in MarkdownV2. */
const UNESCAPED = /(?<!\\)[#+\-=|{}.!]/;
/** About one call a second in a chat, in short bursts; 20 a minute in a group. */
const PRIVATE_PACE: readonly FakePace[] = [{ calls: 5, perMs: 5_000 }];
const GROUP_PACE: readonly FakePace[] = [{ calls: 20, perMs: 60_000 }];

export interface TelegramButton {
  readonly text: string;
  readonly callback_data?: string;
}

/** A message of a user, as the chat shows it. */
export interface TelegramSaid {
  readonly id: number;
  readonly chatId: number;
  readonly name: string;
  readonly text: string;
}

/** What the server knows of its chats: plain data, for one that goes on after a restart. */
export interface TelegramChats {
  readonly said: readonly TelegramSaid[];
  /** Of the bot. */
  readonly messages: readonly TelegramMessage[];
  readonly nextMessage: number;
  readonly nextUpdate: number;
}

export interface FakeTelegramOptions {
  readonly token: string;
  readonly secretToken: string;
  readonly userName?: string;
  /** Goes on with these, which `chats()` of another one gave. */
  readonly chats?: TelegramChats;
}

/** A message of the bot as the chat shows it now. */
export interface TelegramMessage extends FakeMessage {
  readonly id: number;
  readonly chatId: number;
  /** How its text is marked up; undefined: as Markdown. */
  parseMode?: string | undefined;
  keyboard: TelegramButton[];
}

export interface TelegramUserOptions {
  readonly chatId?: number;
  readonly from?: {
    readonly id: number;
    readonly first_name: string;
    readonly username?: string;
    readonly is_bot?: boolean;
  };
  readonly chatType?: "private" | "group";
  /** The message is a photo (`image/jpeg`) or a document with the text as its caption. */
  readonly file?: FakeFile;
}

const NO_CHATS: TelegramChats = { said: [], messages: [], nextMessage: 100, nextUpdate: 1 };

const ADA = { id: 7, first_name: "Ada", last_name: "Lovelace", username: "ada", is_bot: false };

/**
 * @example
 * const telegram = new FakeTelegram({ token: "1:test", secretToken: "s3cret" });
 * vi.stubGlobal("fetch", telegram.fetch);
 * await host.fetch(telegram.says("Hello", { url: "http://localhost/agents/support/main/messengers/telegram/webhook" }));
 * expect(telegram.texts()).toEqual(["Hello, Ada!"]);
 */
export class FakeTelegram extends FakeProvider {
  readonly postCall = "sendRichMessage";
  readonly editCall = "editMessageText";
  readonly #token: string;
  readonly #secretToken: string;
  readonly #userName: string;
  readonly #messages: TelegramMessage[];
  readonly #said: TelegramSaid[];
  readonly #files: FakeFile[] = [];
  readonly chatActions: { chatId: number; action: string }[] = [];
  readonly acknowledged: string[] = [];
  webhook: { url: string; secretToken?: string } | undefined;
  #nextMessage: number;
  #nextUpdate: number;

  constructor(options: FakeTelegramOptions) {
    super();
    const { said, messages, nextMessage, nextUpdate } = structuredClone(options.chats) ?? NO_CHATS;
    this.#said = [...said];
    this.#messages = [...messages];
    this.#nextMessage = nextMessage;
    this.#nextUpdate = nextUpdate;
    this.#token = options.token;
    this.#secretToken = options.secretToken;
    this.#userName = options.userName ?? "support_bot";
  }

  // ── What a user sees and does ──

  /** The bot's messages, oldest first. */
  override messages(chatId?: number): readonly TelegramMessage[] {
    return this.#messages.filter((message) => chatId === undefined || message.chatId === chatId);
  }

  override texts(chatId?: number): string[] {
    return this.messages(chatId).map(({ text }) => text);
  }

  /** Everything that its chats show, and what it needs to go on. */
  chats(): TelegramChats {
    return structuredClone({
      said: this.#said,
      messages: this.#messages,
      nextMessage: this.#nextMessage,
      nextUpdate: this.#nextUpdate
    });
  }

  /** The webhook of a message. Sent twice, it is the same message twice. */
  says(text: string, options: TelegramUserOptions & { readonly url: string }): Request {
    const { chatId = 7, from = ADA, chatType = "private", file } = options;
    const id = this.#nextMessage++;
    this.#said.push({ id, chatId, name: from.first_name, text });
    return this.webhookRequest(options.url, {
      update_id: this.#nextUpdate++,
      message: {
        message_id: id,
        date: 1_790_000_000,
        from: { is_bot: false, ...from },
        chat: {
          id: chatId,
          type: chatType,
          ...(chatType === "private" ? { first_name: from.first_name } : { title: "Group" })
        },
        ...(file ? { caption: text, ...this.#media(file) } : { text }),
        ...(text.startsWith("/") && {
          entities: [{ type: "bot_command", offset: 0, length: text.split(" ")[0]?.length ?? 1 }]
        })
      }
    });
  }

  #media(file: FakeFile): object {
    this.#files.push(file);
    const id = String(this.#files.length);
    const known = { file_id: `file-${id}`, file_unique_id: `unique-${id}`, file_size: file.bytes.byteLength };
    return file.mediaType === "image/jpeg"
      ? { photo: [{ ...known, width: 800, height: 600 }] }
      : { document: { ...known, file_name: file.name, mime_type: file.mediaType } };
  }

  /** The webhook of a press on a button of this label: of the message that is named, or the newest that has one. */
  presses(
    label: string,
    options: TelegramUserOptions & { readonly url: string; readonly messageId?: number }
  ): Request {
    const { chatId = 7, from = ADA, chatType = "private", messageId } = options;
    const message = this.#messages.findLast(
      (one) => one.chatId === chatId && (messageId ?? one.id) === one.id && buttonOf(one, label)
    );
    const data = message && buttonOf(message, label)?.callback_data;
    if (!message || data === undefined) throw new Error(`No message with a button "${label}".`);
    return this.webhookRequest(options.url, {
      update_id: this.#nextUpdate++,
      callback_query: {
        id: crypto.randomUUID(),
        from: { is_bot: false, ...from },
        message: {
          message_id: message.id,
          date: 1_790_000_000,
          chat: { id: chatId, type: chatType },
          text: message.text
        },
        chat_instance: "1",
        data
      }
    });
  }

  /** A webhook as Telegram sends it, with the secret. */
  webhookRequest(url: string, update: object): Request {
    return new Request(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Telegram-Bot-Api-Secret-Token": this.#secretToken },
      body: JSON.stringify(update)
    });
  }

  // ── The API ──

  protected override nameOf(request: Request): string {
    return new URL(request.url).pathname.split("/").at(-1) ?? "";
  }

  protected override failed({ status, retryAfterSeconds }: ProviderFailure): Response {
    return failure(
      status,
      status === 429 ? `Too Many Requests: retry after ${retryAfterSeconds ?? 1}` : "Internal Server Error",
      {
        ...(status === 429 && { parameters: { retry_after: retryAfterSeconds ?? 1 } })
      }
    );
  }

  protected override writeOf({ name, body }: ProviderCall): FakeWrite | undefined {
    const isPost = name === "sendMessage" || name === "sendRichMessage" || name === "sendDocument";
    if (!isPost && name !== "editMessageText") return undefined;
    const chat = String(body["chat_id"]);
    return { chat, kind: isPost ? "posts" : "edits", limits: Number(chat) > 0 ? PRIVATE_PACE : GROUP_PACE };
  }

  protected override async answer({ name, body }: ProviderCall, request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(`/file/bot${this.#token}/`)) return fileResponse(this.#files[Number(name) - 1]);
    if (!pathname.startsWith(`/bot${this.#token}/`)) return failure(401, "Unauthorized");
    switch (name) {
      case "getMe":
        return success({ id: 1, is_bot: true, first_name: "Support", username: this.#userName });
      case "getWebhookInfo":
        return success({ url: this.webhook?.url ?? "", has_custom_certificate: false, pending_update_count: 0 });
      case "setWebhook":
        return this.#setWebhook(body);
      case "getFile":
        return this.#getFile(String(body["file_id"]));
      case "sendDocument":
        return this.#sendDocument(body);
      case "sendMessage":
      case "sendRichMessage":
        return this.#send(body);
      case "editMessageText":
        return this.#edit(body);
      case "deleteMessage":
        return this.#delete(body);
      case "sendChatAction":
        this.chatActions.push({ chatId: Number(body["chat_id"]), action: String(body["action"]) });
        return success(true);
      case "answerCallbackQuery":
        this.acknowledged.push(String(body["callback_query_id"]));
        return success(true);
      default:
        return failure(404, "Not Found");
    }
  }

  #setWebhook(body: Record<string, unknown>): Response {
    const { url, secret_token: secretToken } = body;
    if (typeof url !== "string" || !url.startsWith("https://")) {
      return failure(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook");
    }
    const isSecret = typeof secretToken === "string";
    if (isSecret && !/^[A-Za-z0-9_-]{1,256}$/.test(secretToken))
      return failure(400, "Bad Request: secret token is invalid");
    this.webhook = { url, ...(isSecret && { secretToken }) };
    return success(true);
  }

  #getFile(id: string): Response {
    const number = id.replace(/^file-/, "");
    const file = this.#files[Number(number) - 1];
    if (!file) return failure(400, "Bad Request: invalid file_id");
    if (file.bytes.byteLength > DOWNLOAD_BYTES) return failure(400, "Bad Request: file is too big");
    return success({ file_id: id, file_size: file.bytes.byteLength, file_path: `documents/${number}` });
  }

  #sendDocument(body: Record<string, unknown>): Response {
    const file = body["document"] as FakeFile | undefined;
    const caption = String(body["caption"] ?? "");
    if (!Number.isFinite(Number(body["chat_id"]))) return failure(400, "Bad Request: chat not found");
    if (!file?.bytes?.byteLength) return failure(400, "Bad Request: file must be non-empty");
    if (file.bytes.byteLength > DOCUMENT_BYTES) return failure(413, "Request Entity Too Large");
    if (caption.length > CAPTION_LIMIT) return failure(400, "Bad Request: message caption is too long");
    const message: TelegramMessage = {
      id: this.#nextMessage++,
      chatId: Number(body["chat_id"]),
      text: caption,
      files: [file],
      keyboard: [],
      buttons: [],
      versions: [caption]
    };
    this.#messages.push(message);
    return success(resultOf(message));
  }

  #send(body: Record<string, unknown>): Response {
    const refusal = refusalOf(body);
    if (refusal) return refusal;
    const message: TelegramMessage = {
      id: this.#nextMessage++,
      chatId: Number(body["chat_id"]),
      text: shownText(body),
      parseMode: parseModeOf(body),
      keyboard: buttonsOf(body),
      buttons: labelsOf(buttonsOf(body)),
      versions: [shownText(body)]
    };
    this.#messages.push(message);
    return success(resultOf(message));
  }

  #edit(body: Record<string, unknown>): Response {
    const refusal = refusalOf(body);
    if (refusal) return refusal;
    const message = this.#find(body);
    if (!message) return failure(400, "Bad Request: message to edit not found");
    const text = shownText(body);
    const buttons = buttonsOf(body);
    if (message.text === text && JSON.stringify(message.keyboard) === JSON.stringify(buttons)) {
      return failure(
        400,
        "Bad Request: message is not modified: specified new message content and reply markup are exactly the same"
      );
    }
    message.text = text;
    message.parseMode = parseModeOf(body);
    message.keyboard = buttons;
    message.buttons = labelsOf(buttons);
    message.versions.push(text);
    return success(resultOf(message));
  }

  #delete(body: Record<string, unknown>): Response {
    const message = this.#find(body);
    if (!message) return failure(400, "Bad Request: message to delete not found");
    this.#messages.splice(this.#messages.indexOf(message), 1);
    return success(true);
  }

  #find(body: Record<string, unknown>): TelegramMessage | undefined {
    return this.#messages.find(
      ({ id, chatId }) => id === Number(body["message_id"]) && chatId === Number(body["chat_id"])
    );
  }
}

function refusalOf(body: Record<string, unknown>): Response | undefined {
  const { chat_id: chatId, text, parse_mode: parseMode, rich_message: rich } = body;
  if (chatId === undefined || !Number.isFinite(Number(chatId))) return failure(400, "Bad Request: chat not found");
  const shown = shownText(body);
  if (shown.trim() === "") return failure(400, "Bad Request: message text is empty");
  if (shown.length > (rich === undefined ? TEXT_LIMIT : RICH_LIMIT))
    return failure(400, "Bad Request: message is too long");
  if (parseMode === "MarkdownV2" && UNESCAPED.test(withoutCode(String(text)))) {
    return failure(400, "Bad Request: can't parse entities: a character is reserved and must be escaped with '\\'");
  }
  const tooLong = buttonsOf(body).some(
    ({ callback_data: data = "" }) => new TextEncoder().encode(data).length > CALLBACK_LIMIT_BYTES
  );
  return tooLong ? failure(400, "Bad Request: BUTTON_DATA_INVALID") : undefined;
}

function withoutCode(text: string): string {
  return text.replaceAll(/```[\s\S]*?```|`[^`]*`|\]\([^)]*\)/g, "");
}

/** What the chat shows: without the marks of MarkdownV2's escapes. */
function shownText({ text, parse_mode: parseMode, rich_message: rich }: Record<string, unknown>): string {
  if (typeof rich === "object" && rich !== null) return String((rich as { markdown?: unknown }).markdown ?? "");
  const sent = typeof text === "string" ? text : "";
  return parseMode === "MarkdownV2" ? sent.replaceAll(/\\([_*[\]()~`>#+\-=|{}.!\\])/g, "$1") : sent;
}

function parseModeOf({ parse_mode: parseMode }: Record<string, unknown>): string | undefined {
  return typeof parseMode === "string" ? parseMode : undefined;
}

function buttonsOf(body: Record<string, unknown>): TelegramButton[] {
  const markup = body["reply_markup"] as { inline_keyboard?: TelegramButton[][] } | undefined;
  return (markup?.inline_keyboard ?? []).flat();
}

function labelsOf(buttons: readonly TelegramButton[]): string[] {
  return buttons.map(({ text }) => text);
}

function buttonOf(message: TelegramMessage, label: string): TelegramButton | undefined {
  return message.keyboard.find(({ text }) => text === label);
}

function resultOf({ id, chatId, text }: TelegramMessage): object {
  return { message_id: id, date: 1_790_000_000, chat: { id: chatId, type: chatId > 0 ? "private" : "group" }, text };
}

function success(result: unknown): Response {
  return Response.json({ ok: true, result });
}

function failure(status: number, description: string, extra: object = {}): Response {
  return Response.json({ ok: false, error_code: status, description, ...extra }, { status });
}
