// What the channel members of the class do: notices, the turn of a messenger's question, and calls between a root and its
// sub-agents. The root owns every messenger: a sub-agent posts through it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../../agent/runtime.ts";
import { parentStub } from "../../agent/tree/parent.ts";
import { idempotencyId } from "../../turn/idempotency.ts";
import type { TurnListener } from "../../turn/listener.ts";
import type {
  ApprovalOutcome,
  DeliverNoticeOptions,
  FetchableAttachment,
  MessengerAnswer,
  MessengerQuestion,
  ReplyFile
} from "./capability.ts";
import type { PendingApproval } from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import { replyFilesOf, withFiles } from "./channel-files.ts";
import { messengerOriginOf } from "./channel-origin.ts";
import type {
  ChannelContext,
  ChannelDefinition,
  Channels,
  ChannelText,
  MessengerCall,
  MessengerOrigin,
  MessengersFeature
} from "./channels.ts";
import { channelErrors } from "./errors.ts";
import { decidedApprovals } from "../inspection/inspection-approvals.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { ActionMembers } from "../actions/capability.ts";
import type { WorkspaceMembers } from "../workspace/capability.ts";
import { messengerAccess, messengers, type ChannelMembers } from "./capability.ts";
import type { AgentBase } from "../../agent/agent-base.ts";
import { turnInput } from "../../feature/turn-input.ts";

/** The root has the messengers, whatever else it is. */
type RootAgent = AgentBase & ChannelMembers;

/** In front of a notice that the model is to know of. */
export const OUT_OF_BAND = "[Delivered out of band] ";

/** What is used of the agent beside its channels. */
type Owner = WorkspaceMembers & Partial<Pick<ActionMembers, "replyAttachments">>;

export class ChannelRuntime {
  readonly #services: ChatServices;
  readonly #agent: Owner;
  readonly #declared: Channels;

  constructor(services: ChatServices, declared: Channels) {
    this.#services = services;
    // Only agents with these members open it.
    this.#agent = services.agent as Owner;
    this.#declared = declared;
  }

  active(): ChannelContext | undefined {
    const channel = this.#services.turns.current()?.channel;
    return channel === undefined ? undefined : this.#declared.contextOf(channel);
  }

  messengerOrigin(): MessengerOrigin | undefined {
    return messengerOriginOf(this.#services);
  }

  // ── Notices ──

  async deliver(text: ChannelText, options: DeliverNoticeOptions): Promise<void> {
    const { kind = "notice", informModel = false } = options;
    const channel = options.channel ?? this.active()?.channelId ?? "web";
    try {
      if (channel === "web") await this.#append(informModel ? prefixed(text) : plain(text), kind);
      else await this.#send(channel, text, { ...options, kind });
      if (channel !== "web" && informModel) await this.#append(prefixed(text), kind);
    } catch (error) {
      this.#services.emit("notice:failed", { channel, error: error instanceof Error ? error.message : String(error) });
      throw error;
    }
    this.#services.emit("notice:delivered", { channel, kind, informModel });
  }

  #append(text: string, deliveryKind: string): Promise<void> {
    const message: UIMessage = {
      id: this.#services.ids.next(),
      role: "assistant",
      parts: [{ type: "text", text }],
      metadata: { deliveryKind }
    };
    return this.#services.addMessages([message], {});
  }

  async #send(
    channel: string,
    text: ChannelText,
    { thread, kind }: DeliverNoticeOptions & { readonly kind: NonNullable<DeliverNoticeOptions["kind"]> }
  ): Promise<void> {
    const definition = this.#declared.get(channel);
    const origin = this.messengerOrigin();
    const threadId = thread ?? (origin?.messengerId === channel ? origin.thread.id : undefined);
    // Messengers are the root's: a sub-agent of another class need not declare them.
    const isOfRoot = !definition && this.#root() !== undefined && threadId !== undefined;
    if (!definition && !isOfRoot) throw channelErrors.NoSurfaceError(channel, "it is not registered");
    if (!definition || definition.kind === "messenger") {
      if (threadId === undefined) throw channelErrors.NoSurfaceError(channel, "a messenger needs a thread to post to");
      const key = `notice:${this.#services.ids.next()}`;
      return this.receive({ do: "post", notice: { messengerId: channel, threadId, message: text, key } });
    }
    if (!definition.surface)
      throw channelErrors.NoSurfaceError(channel, `the kind "${definition.kind}" has no surface outside a turn`);
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
    await this.#messengers(call.do === "post" ? call.notice.messengerId : call.turn.messengerId).take(call);
  }

  async fetchAttachment(attachment: FetchableAttachment, messengerId: string | undefined): Promise<ArrayBuffer> {
    const id = messengerId ?? this.messengerOrigin()?.messengerId;
    if (id === undefined) throw channelErrors.NoSurfaceError("", "no messenger is behind this conversation; name one");
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
    const { identity } = runtimeOf(this.#agent);
    const [root] = identity.parentPath;
    return root && parentStub<RootAgent>(runtimeOf(this.#agent), root.className, identity.parentPath.length);
  }

  #messengers(channel: string): MessengersFeature {
    const found = messengers.find(this.#agent);
    if (!found) throw channelErrors.NoSurfaceError(channel, "the root agent has no messengers");
    return found;
  }

  async replyFiles(requestId: string): Promise<ReplyFile[]> {
    const { workspace } = this.#agent;
    const chunks = this.#services.turns.replay(requestId)?.chunks ?? [];
    return replyFilesOf({ chunks, attachments: this.#agent.replyAttachments?.(requestId) ?? [], workspace });
  }

  async waitingApprovals(executionId: string | undefined): Promise<PendingApproval[]> {
    await approvals.of(this.#agent).restored();
    return approvals.of(this.#agent).pending(executionId);
  }

  approvalOutcome(toolCallId: string): ApprovalOutcome | undefined {
    const [decided] = decidedApprovals(this.#services, { callIds: new Set([toolCallId]) });
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
    const { turns, ids } = this.#services;
    messengerAccess.of(this.#agent).broughtBy(channel);
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
