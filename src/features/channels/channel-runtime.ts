// What the channel members of the class do: notices, the turn of a messenger's question, and calls between a root and its
// sub-agents. The root owns every messenger: a sub-agent posts through it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../../agent/runtime.ts";
import { parentStub } from "../../agent/tree/parent.ts";
import { idempotencyId } from "../../turn/idempotency.ts";
import type { TurnListener } from "../../turn/listener.ts";
import type {
  ApprovalOutcome,
  ChannelAgent,
  DeliverNoticeOptions,
  FetchableAttachment,
  MessengerAnswer,
  MessengerQuestion,
  ReplyFile
} from "./channel-agent.ts";
import type { PendingApproval } from "../actions/contract.ts";
import { pendingApprovals } from "../approvals/approvals.ts";
import { replyFilesOf, withFiles } from "./channel-files.ts";
import { messengerOriginOf } from "./channel-origin.ts";
import type {
  ChannelContext,
  ChannelDefinition,
  ChannelText,
  MessengerCall,
  MessengerOrigin,
  MessengersFeature
} from "./channels.ts";
import { NoSurfaceError } from "../../think/errors.ts";
import { executionsRestored } from "../execute/restore-executions.ts";
import { decidedApprovals } from "../inspection/inspection-approvals.ts";
import { thinkRuntimeOf, type ThinkRuntime } from "../../think/runtime.ts";
import { turnInput } from "../../think/turn-input.ts";

/** In front of a notice that the model is to know of. */
export const OUT_OF_BAND = "[Delivered out of band] ";

const runtimes = new WeakMap<object, ChannelRuntime>();

export function channelRuntimeOf(agent: ChannelAgent): ChannelRuntime {
  const known = runtimes.get(agent) ?? new ChannelRuntime(agent, thinkRuntimeOf(agent));
  runtimes.set(agent, known);
  return known;
}

export class ChannelRuntime {
  readonly #agent: ChannelAgent;
  readonly #think: ThinkRuntime;

  constructor(agent: ChannelAgent, think: ThinkRuntime) {
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
    const origin = this.messengerOrigin();
    const threadId = thread ?? (origin?.messengerId === channel ? origin.thread.id : undefined);
    // Messengers are the root's: a sub-agent of another class need not declare them.
    const isOfRoot = !definition && this.#root() !== undefined && threadId !== undefined;
    if (!definition && !isOfRoot) throw new NoSurfaceError(channel, "it is not registered");
    if (!definition || definition.kind === "messenger") {
      if (threadId === undefined) throw new NoSurfaceError(channel, "a messenger needs a thread to post to");
      const key = `notice:${this.#think.agent.ids.next()}`;
      return this.receive({ do: "post", notice: { messengerId: channel, threadId, message: text, key } });
    }
    if (!definition.surface)
      throw new NoSurfaceError(channel, `the kind "${definition.kind}" has no surface outside a turn`);
    const surface = definition.surface({ channelId: channel, ...(threadId !== undefined && { thread: threadId }) });
    for (const piece of splitBy(definition, text)) {
      await surface.post(piece, { kind, turnEnded: this.active() === undefined });
    }
  }

  // ── The root ──

  /** Done here in the root; otherwise passed to it. */
  async receive(call: MessengerCall): Promise<void> {
    const root = this.#root();
    if (root) return root.messengerCall(call);
    await this.#messengers(call.do === "post" ? call.notice.messengerId : call.turn.messengerId).receive(call);
  }

  async fetchAttachment(attachment: FetchableAttachment, messengerId: string | undefined): Promise<ArrayBuffer> {
    const id = messengerId ?? this.messengerOrigin()?.messengerId;
    if (id === undefined) throw new NoSurfaceError("", "no messenger is behind this conversation; name one");
    // Functions and what the provider sent do not cross to another object.
    const { name, mediaType, size, url, fetchMetadata } = attachment;
    const plainAttachment = JSON.parse(
      JSON.stringify({ name, mediaType, size, url, fetchMetadata })
    ) as FetchableAttachment;
    const root = this.#root();
    return root
      ? root.fetchMessengerAttachment(plainAttachment, id)
      : this.#messengers(id).fetchAttachment(id, plainAttachment);
  }

  #root() {
    const { identity } = this.#think.agent;
    const [root] = identity.parentPath;
    return root && parentStub<ChannelAgent>(runtimeOf(this.#agent), root.className, identity.parentPath.length);
  }

  #messengers(channel: string): MessengersFeature {
    const messengers = this.#think.features.broughtBy("getMessengers");
    if (!messengers) throw new NoSurfaceError(channel, "the root agent has no messengers");
    return messengers;
  }

  async replyFiles(requestId: string): Promise<ReplyFile[]> {
    const { workspace } = this.#agent;
    const chunks = this.#think.parts.turns.replay(requestId)?.chunks ?? [];
    return replyFilesOf({ chunks, attachments: this.#agent.replyAttachments(requestId), workspace });
  }

  async waitingApprovals(executionId: string | undefined): Promise<PendingApproval[]> {
    await executionsRestored(this.#agent);
    return pendingApprovals(this.#agent, executionId);
  }

  approvalOutcome(toolCallId: string): ApprovalOutcome | undefined {
    const [decided] = decidedApprovals(this.#think, { callIds: new Set([toolCallId]) });
    if (!decided) return undefined;
    const { approved, expired, by } = decided;
    return { how: expired ? "expired" : approved ? "approved" : "rejected", by };
  }

  // ── A messenger's question ──

  /**
   * One turn under the key, however often it is asked for. Only a caller that starts the turn is given its text as it grows, and
   * only while its first attempt runs; the answer has all of it.
   */
  async answer(
    { message, channel, key, requestId, files = [] }: MessengerQuestion,
    onText: (delta: string) => unknown
  ): Promise<MessengerAnswer> {
    const { turns } = this.#think.parts;
    const { ids } = this.#think.agent;
    const id = idempotencyId("turn", key);
    const isKnown = files.length === 0 || turns.requestOf(id) !== undefined;
    const question = isKnown ? message : await withFiles(message, files, this.#agent.workspace);
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
        idempotencyId: id,
        trigger: "rpc",
        channel,
        input: turnInput(question, { newId: () => ids.next(), channel }),
        origin: undefined
      });
      const { status, message: answer } = await ticket.settled;
      return { requestId: ticket.requestId, status, text: textOf(answer) };
    } finally {
      stop();
    }
  }
}

/** A card is one message, whatever its text. */
function splitBy({ delivery }: ChannelDefinition, text: ChannelText): ChannelText[] {
  if (!delivery?.splitText || (typeof text === "object" && text.card)) return [text];
  return delivery.splitText(plain(text)).map((piece) => (typeof text === "string" ? piece : { markdown: piece }));
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
