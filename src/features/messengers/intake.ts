// From a webhook to stored events. A webhook is verified first, then read by the adapter, then stored in one transaction with
// what the adapter remembers of it; only then is the provider answered. Webhooks of one messenger are read one after another.
import { runtimeOf } from "../../agent/runtime.ts";
import { happensWithin } from "../../host/deadline.ts";
import type { ChatServices } from "../../feature/services.ts";
import { readText } from "../../util/bytes.ts";

import {
  collectingChat,
  nothingCollected,
  type ChatAdapter,
  type SlashCommand,
  type ChatMessage,
  type Collected
} from "./chat-adapter.ts";
import { APPROVE_ACTION, REJECT_ACTION } from "./approvals.ts";
import type { MessengerConnection, MessengerTrigger, NormalizedMessenger } from "./definition.ts";
import {
  defaultChatSdkEvent,
  idempotencyKeyForEvent,
  serializableMessengerEvent,
  toMessengerThread,
  type ChatSdkEventInput,
  type MessengerEvent,
  type MessengerEventKind
} from "./event.ts";
import { readFields } from "./fields.ts";
import type { Inbox } from "./inbox.ts";
import { Pacer, Pacers } from "./pacer.ts";
import { MessengerState } from "./state.ts";
import { OneByOne } from "../../util/one-by-one.ts";

/** How long work of an adapter beside its answer, such as the acknowledgement of a press, may hold up the webhook. */
const BACKGROUND_LIMIT_MS = 5_000;

/** The most bytes of a webhook's body. The sender is not known before it is read: a signature is of all of it. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

const TRIGGERS: Readonly<Record<MessengerEventKind, MessengerTrigger>> = {
  "direct-message": "direct-message",
  mention: "mention",
  "subscribed-message": "subscribed-thread",
  action: "action"
};

export class Intake {
  readonly messenger: NormalizedMessenger;
  readonly #host: ChatServices;
  readonly #inbox: Inbox;
  readonly #state: MessengerState;
  #collected: Collected = nothingCollected();
  #adapter: Promise<ChatAdapter> | undefined;
  readonly #pacers = new Pacers();
  readonly #work = new OneByOne();

  constructor(messenger: NormalizedMessenger, host: ChatServices, inbox: Inbox) {
    this.messenger = messenger;
    this.#host = host;
    this.#inbox = inbox;
    this.#state = new MessengerState(host, messenger.id);
  }

  /** Opens the adapter on first use: none is loaded at the start of a Worker. One that cannot be made is tried again. */
  adapter(): Promise<ChatAdapter> {
    this.#adapter ??= this.#open().catch((error: unknown) => {
      this.#adapter = undefined;
      throw error;
    });
    return this.#adapter;
  }

  async #open(): Promise<ChatAdapter> {
    const { adapter: given, userName } = this.messenger;
    const adapter = typeof given === "function" ? await given() : given;
    const chat = collectingChat(userName, this.#state.forAdapter(), () => this.#collected);
    // The adapter asks for its SDK's `Chat`; this is what it uses of it.
    await adapter.initialize(chat as never);
    return adapter;
  }

  async respond(request: Request): Promise<Response> {
    const { methods } = this.messenger;
    if (!methods.includes(request.method)) {
      return new Response("Method not allowed", { status: 405, headers: { Allow: methods.join(", ") } });
    }
    // How an adapter is handed events by its own Gateway client: no request from outside may claim to be one.
    const isForwarded = request.headers.has("x-discord-gateway-token");
    if (isForwarded) return refuse();
    const body = await readText(request.body, MAX_BODY_BYTES);
    if (body === undefined) {
      console.warn(`A webhook of the messenger "${this.messenger.id}" has more than ${MAX_BODY_BYTES} bytes: refused.`);
      return new Response("Content too large", { status: 413 });
    }
    const { method, headers, url } = request;
    const hasBody = method !== "GET" && method !== "HEAD";
    const webhook = new Request(url, { method, headers, body: hasBody ? body : undefined });
    const refusal = await this.#verify(webhook);
    if (refusal) return refusal;
    return this.#work.run(() => this.#take(webhook));
  }

  /** Makes the connection that this messenger keeps itself, if it has one. */
  connection(): MessengerConnection | undefined {
    const { clock, inAgent, agent } = this.#host;
    return this.messenger.connect?.({
      agentName: runtimeOf(agent).identity.name,
      clock,
      run: inAgent,
      receive: (read, commit) => this.#work.run(() => this.#collect(read, commit)),
      remember: (key, value) => this.#state.remember(key, value),
      recall: (key) => this.#state.recall(key)
    });
  }

  /** Verifies a clone of the request: the adapter reads the body itself. Undefined: the request is the provider's. */
  async #verify(request: Request): Promise<Response | undefined> {
    const { verifyWebhook } = this.messenger;
    if (verifyWebhook === false) return undefined;
    const verdict = await verifyWebhook(request.clone() as Request);
    if (verdict instanceof Response) return verdict;
    return verdict ? undefined : refuse();
  }

  /** Stores what the adapter makes of a webhook, unless `read` answers a failure. */
  async #collect<T extends Response | void>(
    read: (adapter: ChatAdapter) => Promise<T>,
    commit?: () => void
  ): Promise<T> {
    const collected = nothingCollected();
    try {
      const adapter = await this.adapter();
      this.#collected = collected;
      this.#state.stage();
      const response = await read(adapter);
      // Answered with a success, it would not be sent again.
      if (collected.unread > 0) throw new Error("The adapter could not parse a message of it, or not in time.");
      if (response === undefined || response.ok) {
        const events = await this.#readEvents(adapter, collected);
        this.#inbox.transaction(() => {
          for (const event of events) this.#storeEvent(event);
          this.#state.commit();
          commit?.();
        });
      }
      return response;
    } finally {
      this.#state.discard();
    }
  }

  async #take(request: Request): Promise<Response> {
    try {
      return await this.#collect((adapter) => this.#read(adapter, request));
    } catch (error) {
      console.error(
        `A webhook of the messenger "${this.messenger.id}" was not stored; its provider will repeat it.`,
        error
      );
      return new Response("Service unavailable", { status: 503 });
    }
  }

  async #read(adapter: ChatAdapter, request: Request): Promise<Response> {
    const work: Promise<unknown>[] = [];
    const response = await adapter.handleWebhook(request, { waitUntil: (promise) => void work.push(promise) });
    const all = Promise.allSettled(work).then((results) => {
      for (const result of results) if (result.status === "rejected") this.#logBackground(result.reason);
    });
    await happensWithin(BACKGROUND_LIMIT_MS, all, this.#host.clock);
    return response;
  }

  #logBackground(error: unknown): void {
    console.error(`The adapter of the messenger "${this.messenger.id}" failed beside its answer to a webhook.`, error);
  }

  /** Makes the events that are to be answered, in order. */
  async #readEvents(adapter: ChatAdapter, { messages, actions, commands }: Collected): Promise<MessengerEvent[]> {
    const said = [
      ...messages,
      ...commands.map((command) => ({ threadId: command.channelId, message: toMessage(command) }))
    ];
    const events: MessengerEvent[] = [];
    for (const { threadId, message } of said) {
      const known = this.#classify(adapter, threadId, message);
      if (known) events.push(await this.#makeEvent({ adapter, threadId, ...known }));
    }
    for (const action of actions) {
      events.push(await this.#makeEvent({ adapter, threadId: action.threadId, kind: "action", action }));
    }
    return events;
  }

  /** Says why the bot is to answer a message. Undefined: it is not for this bot. A mention subscribes its thread, answered or not. */
  #classify(
    adapter: ChatAdapter,
    threadId: string,
    message: ChatMessage
  ): Pick<ChatSdkEventInput, "kind" | "message" | "isMention"> | undefined {
    const { userName, subscribeOnMention, respondToBots } = this.messenger;
    const { isDirectMessage } = toMessengerThread(adapter, threadId);
    const isMention = message.isMention === true || mentions(message.text, [userName, adapter.botUserId]);
    const isSubscribed = this.#state.isSubscribed(threadId);
    if (isMention && subscribeOnMention && !isDirectMessage && !isSubscribed) {
      this.#state.subscribe(threadId);
      this.#host.background(Promise.resolve(adapter.onThreadSubscribe?.(threadId)));
    }
    const kind = isDirectMessage ? "direct-message" : isMention ? "mention" : "subscribed-message";
    const { isMe, isBot } = message.author;
    if (isMe) return this.#ignore(threadId, "own-message");
    if (isBot === true && kind !== "direct-message" && !respondToBots) return this.#ignore(threadId, "bot");
    if (kind === "subscribed-message" && !isSubscribed) return this.#ignore(threadId, "not-addressed");
    return { kind, message, isMention };
  }

  async #makeEvent(parsed: Omit<ChatSdkEventInput, "messenger">): Promise<MessengerEvent> {
    const { id, provider, capabilities, toEvent } = this.messenger;
    const input = { ...parsed, messenger: { id, provider, capabilities } };
    const event = (await toEvent?.(input)) ?? defaultChatSdkEvent(input);
    // Whose it is decides where it is stored and answered.
    return { ...event, messengerId: id };
  }

  #storeEvent(live: MessengerEvent): void {
    const event = serializableMessengerEvent(live);
    const { id: messengerId, respondTo, debounceMs } = this.messenger;
    const threadId = event.thread.id;
    const key = idempotencyKeyForEvent(event);
    const isPress = event.action?.actionId === APPROVE_ACTION || event.action?.actionId === REJECT_ACTION;
    if (!isPress && !respondTo.includes(TRIGGERS[event.kind])) return this.#ignore(threadId, "not-in-respondTo");
    const dueAt = this.#host.clock.now() + (event.kind === "action" ? 0 : debounceMs);
    const isNew = isPress
      ? this.#inbox.add({ key: `press:${key}`, messengerId, threadId, job: { do: "press", event } })
      : this.#inbox.receive({ key, event, dueAt, steers: event.kind !== "action" && this.#steers });
    if (isNew) this.#host.emit("messenger:received", { messenger: messengerId, kind: event.kind, thread: threadId });
    else this.#host.emit("messenger:duplicate", { messenger: messengerId, thread: threadId });
  }

  /** The class that has the messenger says what an ordinary message does while a turn runs. */
  get #steers(): boolean {
    return (this.#host.agent as { readonly messageConcurrency?: unknown }).messageConcurrency === "steer";
  }

  #ignore(thread: string, reason: string): undefined {
    this.#host.emit("messenger:ignored", { messenger: this.messenger.id, thread, reason });
    return undefined;
  }

  /** The pacer of the chat that the thread is in. */
  pacerOf(adapter: ChatAdapter, threadId: string): Pacer {
    const { isDirectMessage, channelId = threadId } = toMessengerThread(adapter, threadId);
    const place = isDirectMessage ? "direct" : "group";
    const limits = (this.messenger.delivery.pace ?? []).filter((limit) => (limit.in ?? place) === place);
    return this.#pacers.of(channelId, () => new Pacer(limits, this.#host.clock));
  }
}

function refuse(): Response {
  return new Response("Unauthorized", { status: 401 });
}

function mentions(text: string, names: readonly (string | undefined)[]): boolean {
  const said = text.toLowerCase();
  return names.some((name) => name !== undefined && name !== "" && said.includes(`@${name.toLowerCase()}`));
}

/** Makes a message of a slash command, which is one that the provider has parsed. */
function toMessage({ command, text, triggerId, user, attachments = [], raw }: SlashCommand): ChatMessage {
  const fields = readFields(raw);
  const given = fields["message_id"] ?? fields["id"];
  const id = triggerId ?? (typeof given === "number" || typeof given === "string" ? String(given) : command);
  return { id: `command:${id}`, text: `${command} ${text}`.trim(), author: user, attachments, isMention: true };
}
