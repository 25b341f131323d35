// What the channel members of the class do: notices, the turn of a messenger's question, and calls between a root and its
// sub-agents. The root owns every messenger: a sub-agent posts through it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../agent/runtime.ts";
import { parentStub } from "../agent/tree/parent.ts";
import { idempotencyId } from "../turn/idempotency.ts";
import type { TurnListener } from "../turn/listener.ts";
import type { ChannelAgent, DeliverNoticeOptions, MessengerAnswer, MessengerQuestion } from "./channel-agent.ts";
import { messengerOriginOf } from "./channel-origin.ts";
import type { ChannelContext, ChannelText, MessengerCall, MessengerOrigin } from "./channels.ts";
import { NoSurfaceError } from "./errors.ts";
import { thinkRuntimeOf, type ThinkRuntime } from "./runtime.ts";
import { turnInput } from "./turn-input.ts";

/** In front of a notice that the model is to know of. */
export const OUT_OF_BAND = "[Delivered out of band] ";

const runtimes = new WeakMap<object, ChannelRuntime>();

export function channelRuntimeOf(agent: object): ChannelRuntime {
  const known = runtimes.get(agent) ?? new ChannelRuntime(agent, thinkRuntimeOf(agent));
  runtimes.set(agent, known);
  return known;
}

export class ChannelRuntime {
  readonly #agent: object;
  readonly #think: ThinkRuntime;

  constructor(agent: object, think: ThinkRuntime) {
    this.#agent = agent;
    this.#think = think;
  }

  active(): ChannelContext | undefined {
    const channel = this.#think.parts.turns.current()?.channel;
    return channel === undefined ? undefined : this.#think.channels.contextOf(channel);
  }

  messengerOrigin(): MessengerOrigin | undefined {
    return messengerOriginOf(this.#think.parts);
  }

  // ── Notices ──

  async deliver(text: ChannelText, options: DeliverNoticeOptions): Promise<void> {
    const { kind = "notice", informModel = false } = options;
    const channel = options.channel ?? this.active()?.channelId ?? "web";
    const { agent } = this.#think;
    try {
      if (channel === "web") await this.#append(informModel ? prefixed(text) : plain(text), kind);
      else await this.#send(channel, text, { ...options, kind });
      if (channel !== "web" && informModel) await this.#append(prefixed(text), kind);
    } catch (error) {
      agent.emit("notice:failed", { channel, error: error instanceof Error ? error.message : String(error) });
      throw error;
    }
    agent.emit("notice:delivered", { channel, kind, informModel });
  }

  #append(text: string, deliveryKind: string): Promise<void> {
    const message: UIMessage = {
      id: this.#think.agent.ids.next(),
      role: "assistant",
      parts: [{ type: "text", text }],
      metadata: { deliveryKind }
    };
    return this.#think.addMessages([message], {});
  }

  async #send(
    channel: string,
    text: ChannelText,
    { thread, kind }: DeliverNoticeOptions & { readonly kind: NonNullable<DeliverNoticeOptions["kind"]> }
  ): Promise<void> {
    const definition = this.#think.channels.get(channel);
    if (!definition) throw new NoSurfaceError(channel, "it is not registered");
    const origin = this.messengerOrigin();
    const threadId = thread ?? (origin?.messengerId === channel ? origin.thread.id : undefined);
    if (definition.kind === "messenger") {
      if (threadId === undefined) throw new NoSurfaceError(channel, "a messenger needs a thread to post to");
      const key = `notice:${this.#think.agent.ids.next()}`;
      return this.receive({ do: "post", notice: { messengerId: channel, threadId, message: text, key } });
    }
    if (!definition.surface)
      throw new NoSurfaceError(channel, `the kind "${definition.kind}" has no surface outside a turn`);
    const surface = definition.surface({ channelId: channel, ...(threadId !== undefined && { thread: threadId }) });
    await surface.post(text, { kind, turnEnded: this.active() === undefined });
  }

  // ── The root ──

  /** Done here in the root; otherwise passed to it. */
  async receive(call: MessengerCall): Promise<void> {
    const { identity } = this.#think.agent;
    const [root] = identity.parentPath;
    if (root) {
      const stub = parentStub<ChannelAgent>(runtimeOf(this.#agent), root.className, identity.parentPath.length);
      return stub.messengerCall(call);
    }
    const messengers = this.#think.features.broughtBy("getMessengers");
    const channel = call.do === "post" ? call.notice.messengerId : call.turn.messengerId;
    if (!messengers) throw new NoSurfaceError(channel, "the root agent has no messengers");
    await messengers.receive(call);
  }

  // ── A messenger's question ──

  /**
   * One turn under the key, however often it is asked for. Only a caller that starts the turn is given its text as it grows, and
   * only while its first attempt runs; the answer has all of it.
   */
  async answer(
    { message, channel, key, requestId }: MessengerQuestion,
    onText: (delta: string) => unknown
  ): Promise<MessengerAnswer> {
    const { turns } = this.#think.parts;
    const { ids } = this.#think.agent;
    let isStreaming = true;
    const listener: TurnListener = {
      chunk: (turn, { body }) => {
        if (isStreaming && turn.requestId === requestId)
          void Promise.resolve(onText(body)).catch(() => (isStreaming = false));
      },
      interrupted: (turn) => void (isStreaming &&= turn.requestId !== requestId)
    };
    const stop = turns.listen(listener);
    try {
      const ticket = turns.admit({
        requestId,
        idempotencyId: idempotencyId("turn", key),
        trigger: "rpc",
        channel,
        input: turnInput(message, { newId: () => ids.next(), channel }),
        origin: undefined
      });
      const { status, message: answer } = await ticket.settled;
      return { requestId: ticket.requestId, status, text: textOf(answer) };
    } finally {
      stop();
    }
  }
}

function plain(text: ChannelText): string {
  return typeof text === "string" ? text : text.markdown;
}

function prefixed(text: ChannelText): string {
  return `${OUT_OF_BAND}${plain(text)}`;
}

/** Parts around a tool call are paragraphs of their own. */
function textOf(message: UIMessage | undefined): string {
  let text = "";
  for (const part of message?.parts ?? []) {
    if (part.type !== "text" || part.text === "") continue;
    const needsBreak = text !== "" && !/\s$/.test(text) && !/^\s/.test(part.text);
    text += needsBreak ? `\n\n${part.text}` : part.text;
  }
  return text;
}
