// What the channel members of the class do: notices, the turn of a messenger's question, and calls between a root and its
// sub-agents. The root owns every messenger: a sub-agent posts through it.
import type { UIMessage } from "ai";
import { runtimeOf } from "../../agent/runtime.ts";
import { parentStub } from "../../agent/tree/parent.ts";
import { idempotencyId } from "../../session/idempotency.ts";
import type { TurnListener } from "../../turn/listener.ts";
import type {
  ApprovalOutcome,
  AskedAbout,
  DeliverNoticeOptions,
  FetchableAttachment,
  MessengerAnswer,
  MessengerQuestion,
  ReplyFile,
  SteeredMessenger,
  SteeringQuestion
} from "./capability.ts";
import type { PendingApproval, ReplyAttachment } from "../../feature/approval-contract.ts";
import { approvals } from "../approvals/capability.ts";
import { readReplyFiles, withFiles } from "./channel-files.ts";
import { messengerOriginOf, threadOf } from "./channel-origin.ts";
import type {
  ChannelContext,
  ChannelDefinition,
  MessengerCall,
  MessengerOrigin,
  MessengersFeature
} from "./channels.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import { channelErrors } from "./errors.ts";
import type { Channels } from "./feature.ts";
import { appendPart } from "./paragraphs.ts";
import { listDecidedApprovals, LISTED_DECISIONS, type DecidedApproval } from "../approvals/decided-approvals.ts";
import type { ChatServices } from "../../feature/services.ts";
import type { WorkspaceMembers } from "../workspace/capability.ts";
import { messengerAccess, messengers, type ChannelMembers } from "./capability.ts";
import type { AgentBase } from "../../agent/agent-base.ts";
import { turnInput } from "../../feature/turn-input.ts";
import { rootOf } from "../../turn/turn.ts";
import { errorMessage, ThinkError } from "../../util/errors.ts";

/** The root agent has the messengers, whatever else it is. */
type RootAgent = AgentBase & ChannelMembers;

/** The text in front of a notice that the model is to know of. */
export const OUT_OF_BAND = "[Delivered out of band] ";

/** The agent, as far as it is used beside its channels. */
interface Owner extends WorkspaceMembers {
  /** Only an agent with actions has attachments. */
  replyAttachments?(requestId: string): ReplyAttachment[];
}

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
      if (channel === "web") await this.#append(informModel ? withPrefix(text) : toPlain(text), kind);
      else await this.#send(channel, text, { ...options, kind });
      if (channel !== "web" && informModel) await this.#append(withPrefix(text), kind);
    } catch (error) {
      this.#services.emit("notice:failed", { channel, error: errorMessage(error) });
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
    const isOfRoot = !definition && this.#findRoot() !== undefined && threadId !== undefined;
    if (!definition && !isOfRoot) throw channelErrors.NoSurfaceError(channel, "it is not registered");
    if (!definition || definition.kind === "messenger") {
      if (threadId === undefined) throw channelErrors.NoSurfaceError(channel, "a messenger needs a thread to post to");
      const key = `notice:${this.#services.ids.next()}`;
      return this.receive({ do: "post", notice: { messengerId: channel, threadId, message: text, key } });
    }
    if (!definition.surface)
      throw channelErrors.NoSurfaceError(channel, `the kind "${definition.kind}" has no surface outside a turn`);
    const surface = definition.surface({ channelId: channel, thread: threadId });
    for (const piece of split(text, definition)) {
      await surface.post(piece, { kind, turnEnded: this.active() === undefined });
    }
  }

  // ── The root ──

  /** Takes a call in the root; a sub-agent passes it to its root. */
  async receive(call: MessengerCall): Promise<void> {
    const root = this.#findRoot();
    if (root) return root.messengerCall(call);
    // A root without messengers has asked in no chat.
    if (call.do === "escalate") await messengers.find(this.#agent)?.take(call);
    else await this.#findMessengers(call.do === "post" ? call.notice.messengerId : call.turn.messengerId).take(call);
  }

  /** Says in the chat in which a question was asked that it is escalated. */
  async escalated(question: PendingApproval): Promise<void> {
    // A sub-agent that no messenger can have brought a message to does not wake its root.
    if (messengerAccess.of(this.#agent).identities().length === 0) return;
    await this.receive({ do: "escalate", question });
  }

  async fetchAttachment(attachment: FetchableAttachment, messengerId: string | undefined): Promise<ArrayBuffer> {
    const id = messengerId ?? this.messengerOrigin()?.messengerId;
    if (id === undefined) throw channelErrors.NoSurfaceError("", "no messenger is behind this conversation; name one");
    // Functions and what the provider sent do not cross to another object.
    const { name, mediaType, size, url, fetchMetadata } = attachment;
    const plainAttachment = JSON.parse(
      JSON.stringify({ name, mediaType, size, url, fetchMetadata })
    ) as FetchableAttachment;
    const root = this.#findRoot();
    return root
      ? root.fetchMessengerAttachment(plainAttachment, id)
      : this.#findMessengers(id).fetchAttachment(id, plainAttachment);
  }

  /** Finds the root of a sub-agent. Undefined in the root itself. */
  #findRoot() {
    const { identity } = runtimeOf(this.#agent);
    const [root] = identity.parentPath;
    return root && parentStub<RootAgent>(runtimeOf(this.#agent), root.className, identity.parentPath.length);
  }

  /** Finds the messengers of the root. Throws NoSurfaceError. */
  #findMessengers(channel: string): MessengersFeature {
    const found = messengers.find(this.#agent);
    if (!found) throw channelErrors.NoSurfaceError(channel, "the root agent has no messengers");
    return found;
  }

  async replyFiles(requestId: string): Promise<ReplyFile[]> {
    const { workspace } = this.#agent;
    const chunks = this.#services.turns.replay(requestId)?.chunks ?? [];
    return readReplyFiles({ chunks, attachments: this.#agent.replyAttachments?.(requestId) ?? [], workspace });
  }

  async waitingApprovals({ executionId, requestId, callIds = [] }: AskedAbout): Promise<PendingApproval[]> {
    const asked = approvals.of(this.#agent);
    await asked.restored();
    const parked = asked.pending(executionId);
    if (requestId === undefined) return [...parked, ...asked.chat.waiting(callIds)];
    return [...parked.filter(({ descriptor }) => descriptor.requestId === requestId), ...asked.chat.ofTurn(requestId)];
  }

  approvalOutcomes(toolCallIds: readonly string[]): (ApprovalOutcome | undefined)[] {
    const decided = new Map<string, DecidedApproval>();
    // As many at once as are listed, so that what is looked through is looked through once for all of them.
    for (let from = 0; from < toolCallIds.length; from += LISTED_DECISIONS) {
      const callIds = new Set(toolCallIds.slice(from, from + LISTED_DECISIONS));
      // Newest first: the newest of one call is its outcome.
      for (const one of listDecidedApprovals(this.#services, { callIds }).toReversed()) decided.set(one.callId, one);
    }
    return toolCallIds.map((callId) => outcomeOf(decided.get(callId)));
  }

  // ── A messenger's question ──

  /**
   * Runs one turn under the key, however often it is asked for. Only a caller that starts the turn is given its text as it
   * grows, and only while its first attempt runs; the answer has all of it.
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
        // What takes over at a step boundary answers in its place.
        if (isStreaming && rootOf(turn).requestId === requestId)
          void Promise.resolve(onText(body)).catch(() => (isStreaming = false));
      },
      interrupted: (turn) => void (isStreaming &&= rootOf(turn).requestId !== requestId)
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
      return { requestId: turns.steering.endOfChain(ticket.requestId), status, text: readText(answer) };
    } finally {
      stop();
    }
  }

  /**
   * Gives a message to the running turn, if that answers the thread it came from: once, however often it is asked. One that
   * is not taken, or became a turn of its own, is to be asked under the same key: its turn is found then.
   */
  async steer({ message, channel, key, files = [], waits }: SteeringQuestion): Promise<SteeredMessenger> {
    const { turns, features } = this.#services;
    messengerAccess.of(this.#agent).broughtBy(channel);
    const idempotency = idempotencyId("turn", key);
    const id = `steer-${idempotency}`;
    if (!turns.steering.receipt(id)) {
      const isOver = turns.requestOf(idempotency) !== undefined;
      if (isOver) return turns.steering.isAnsweredElsewhere(idempotency) ? "answered" : "ask";
      const steers = features.role("steers");
      if (!steers || !this.#answers(message)) return "ask";
      const input = [await withFiles(message, files, this.#agent.workspace)];
      const commit = () => {
        if (!this.#answers(message)) throw new ThreadIdleError();
      };
      try {
        const given = { id, kind: "steer", input, isFromClient: false, channel, idempotencyId: idempotency } as const;
        await steers.accept({ ...given, commit });
      } catch (error) {
        // Refused as a steer, it is a question like any other.
        if (error instanceof ThinkError || error instanceof ThreadIdleError) return "ask";
        throw error;
      }
    }
    return waits ? this.#untilDecided(id) : (this.#decided(id) ?? "waits");
  }

  /** Whether the running turn answers the thread that this message came from. */
  #answers(message: UIMessage): boolean {
    const { turns, transcript } = this.#services;
    const started = turns.started();
    const question = started?.questionId === undefined ? undefined : transcript.get(started.questionId);
    return !started?.signal.aborted && question !== undefined && threadOf(question) === threadOf(message);
  }

  async #untilDecided(id: string): Promise<SteeredMessenger> {
    const { promise, resolve } = Promise.withResolvers<SteeredMessenger>();
    const look = () => {
      const decided = this.#decided(id);
      if (decided) resolve(decided);
    };
    const stop = this.#services.turns.listen({ receipt: look, settled: look });
    look();
    return promise.finally(stop);
  }

  /** Undefined: it waits. */
  #decided(id: string): "answered" | "ask" | undefined {
    const { turns } = this.#services;
    const state = turns.steering.receipt(id)?.state;
    if (state === "started") return "ask";
    const isWaiting = state === "accepted" || state === "queued" || (state === "passed" && turns.isOpen(id));
    return isWaiting ? undefined : "answered";
  }
}

/** No turn answers the thread any more. */
class ThreadIdleError extends Error {}

/** Splits a text as the channel says. A card is one message, whatever its text. */
function split(text: ChannelText, { delivery }: ChannelDefinition): ChannelText[] {
  if (!delivery?.splitText || (typeof text === "object" && text.card)) return [text];
  return delivery.splitText(toPlain(text)).map((piece) => (typeof text === "string" ? piece : { markdown: piece }));
}

function toPlain(text: ChannelText): string {
  return typeof text === "string" ? text : text.markdown;
}

function withPrefix(text: ChannelText): string {
  return `${OUT_OF_BAND}${toPlain(text)}`;
}

function readText(message: UIMessage | undefined): string {
  return (message?.parts ?? []).reduce((text, part) => (part.type === "text" ? appendPart(text, part.text) : text), "");
}

function outcomeOf(decided: DecidedApproval | undefined): ApprovalOutcome | undefined {
  if (!decided) return undefined;
  const { approved, expired, by } = decided;
  return { how: expired ? "expired" : approved ? "approved" : "rejected", by };
}
