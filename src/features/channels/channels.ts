// Channels: the surfaces a turn can belong to, and what each changes about its turns. The class declares them with
// `configureChannels()` and `getMessengers()`; `web` is always there. Types, the rules of the declaration, and the
// feature that gives turns their policy. Messengers themselves are a feature of their own.
import type { ToolSet } from "ai";
import type { EventPayloads } from "../../observe/events.ts";
import type { TurnView } from "../../turn/turn.ts";
import type { FetchableAttachment } from "./capability.ts";
import type { CarriesFeature, ChannelPolicy, Feature, TurnPart } from "../../feature/feature.ts";
import { channelErrors } from "./errors.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export type ChannelKind = "web" | "messenger" | "voice" | "custom";

/** How far a notice is from the turn's answer. */
export type DeliveryKind = "final" | "interim" | "notice" | "command";

/** How far the delivery of a reply is. */
export interface DeliveryTag {
  readonly stage: string;
  readonly kind: DeliveryKind;
  readonly turnEnded: boolean;
}

export interface ChannelCapabilities {
  readonly canEditMessages?: boolean;
  readonly canStream?: boolean;
  readonly maxMessageLength?: number;
  readonly supportsActions?: boolean;
  readonly supportsAttachments?: boolean;
  readonly supportsEphemeral?: boolean;
}

/** Takes what is delivered outside a stream. */
export interface ChannelDeliverySurface {
  post(
    message: ChannelText,
    delivery?: { readonly kind: DeliveryKind; readonly turnEnded: boolean }
  ): MaybePromise<unknown>;
}

/** `card`: shown in the place of the text by providers that have cards. */
export type ChannelText = string | { readonly markdown: string; readonly card?: ChannelCard };

/** A card element of the Chat SDK: texts, sections, fields, images, links, dividers, tables and buttons. */
export interface ChannelCard {
  readonly type: "card";
  readonly title?: string;
  readonly subtitle?: string;
  readonly imageUrl?: string;
  readonly children: readonly { readonly [field: string]: unknown }[];
}

/** What `getMessengers()` returns: made by a provider's function, such as `telegramMessenger()`. */
export type MessengerSet = Record<string, ChannelMessenger>;

/** A messenger as this module sees it; providers' functions make it. */
export interface ChannelMessenger extends CarriesFeature<MessengersFeature> {
  readonly capabilities?: ChannelCapabilities;
  readonly conversation?: ChannelDefinition["conversation"];
  readonly delivery?: ChannelDeliveryPolicy;
}

export type ChannelIngress =
  | { readonly transport: "websocket" }
  | { readonly transport: "voice" }
  | { readonly transport: "custom" }
  | { readonly transport: "webhook"; readonly messenger: ChannelMessenger }
  | ({ readonly transport: "webhook" } & ChannelMessenger);

/** Texts and sizes of what is delivered in a channel. */
export interface ChannelDeliveryPolicy {
  readonly emptyResponseText?: string;
  readonly errorResponseText?: string;
  readonly interruptedResponseText?: string;
  /** Characters of the first message of an answer. */
  readonly visibleSoftLimit?: number;
  /** The messages for a text that is too long for one. */
  readonly splitText?: (text: string) => string[];
  /** An error of an edit that only says that there was nothing to change. */
  readonly isExpectedDeliveryCompletion?: (error: unknown) => boolean;
}

export interface ChannelContext {
  readonly channelId: string;
  readonly kind: ChannelKind;
  readonly capabilities?: ChannelCapabilities;
  /** Of a messenger's turn: the event that started it. */
  readonly messenger?: MessengerOrigin;
  /** Its thread. */
  readonly thread?: string;
}

export interface ChannelDefinition {
  readonly kind: ChannelKind;
  readonly ingress?: ChannelIngress;
  readonly capabilities?: ChannelCapabilities;
  /** Of a messenger: which agent answers. */
  readonly conversation?: "thread" | "self" | ((event: never) => unknown);
  /** Of a messenger: its own. Of other kinds: `splitText` for notices to their surface. */
  readonly delivery?: ChannelDeliveryPolicy;
  /** Put in front of the system prompt of its turns. */
  readonly instructions?: string | ((context: ChannelContext) => MaybePromise<string>);
  /** Narrows the tools of its turns. */
  readonly tools?: (all: ToolSet) => MaybePromise<ToolSet>;
  /** Steps that one of its turns may take. */
  readonly maxTurns?: number;
  /** Where notices go, for kinds that have no way of their own. */
  readonly surface?: (context: { readonly channelId: string; readonly thread?: string }) => ChannelDeliverySurface;
}

export type ThinkChannels = Record<string, ChannelDefinition>;

/** A channel as it holds: with what it has by default. */
export interface NormalizedChannelDefinition extends ChannelDefinition {
  readonly id: string;
  readonly ingress: ChannelIngress;
  readonly capabilities: ChannelCapabilities;
}

/** For type inference. */
export function defineChannels<Channels extends ThinkChannels>(channels: Channels): Channels {
  return channels;
}

/** A messenger as an entry of `configureChannels()`, with a policy beside it. */
export function messengerChannel(
  messenger: ChannelMessenger,
  policy: Pick<ChannelDefinition, "instructions" | "tools" | "maxTurns"> = {}
): ChannelDefinition {
  const { capabilities, conversation, delivery } = messenger;
  return {
    ...policy,
    kind: "messenger",
    ingress: { transport: "webhook", messenger },
    ...(capabilities && { capabilities }),
    ...(conversation !== undefined && { conversation }),
    ...(delivery && { delivery })
  };
}

/** The stored context of a message that came through a messenger, as far as this module looks into it. */
export interface MessengerOrigin {
  readonly messengerId: string;
  readonly thread: { readonly id: string };
}

/** Names of conversations that a messenger makes begin with this. They stay private when the class has lost the messenger. */
export const CONVERSATION_PREFIX = "messenger:";

/** What the class asks of the feature that `getMessengers()` brings. */
export interface MessengersFeature extends Feature {
  /** Whether it has a webhook there; `path` as `respond` is given it. */
  isWebhook(path: string): boolean;
  /** Asked of the root, by itself and by its sub-agents. Durable when it resolves; the provider may get it later. */
  take(call: MessengerCall): Promise<void>;
  /** Asked of the root. */
  fetchAttachment(messengerId: string, attachment: FetchableAttachment): Promise<ArrayBuffer>;
}

export interface MessengerNotice {
  readonly messengerId: string;
  readonly threadId: string;
  readonly message: ChannelText;
  /** A second notice under the same key is not posted. */
  readonly key: string;
}

/** What a sub-agent tells its root. */
export type MessengerCall =
  { readonly do: "post"; readonly notice: MessengerNotice } | { readonly do: "follow"; readonly turn: FollowedTurn };

/** A turn that the messenger did not start itself, such as the one after an approval. */
export interface FollowedTurn {
  readonly messengerId: string;
  readonly threadId: string;
  readonly turnId: string;
  readonly requestId: string;
  readonly text: string;
  readonly failed: boolean;
  /** The path of the agent that ran it, below the root. */
  readonly target: readonly { readonly className: string; readonly name: string }[];
}

const WEB: NormalizedChannelDefinition = {
  id: "web",
  kind: "web",
  ingress: { transport: "websocket" },
  capabilities: { canStream: true, canEditMessages: true }
};

/** Throws ChannelDefinitionError. */
export function resolveChannels(
  configured: ThinkChannels,
  messengers: MessengerSet
): ReadonlyMap<string, NormalizedChannelDefinition> {
  const channels = new Map([["web", WEB]]);
  for (const [id, channel] of Object.entries(configured)) {
    if (id === "web" && channel.kind !== "web") throw channelErrors.ChannelDefinitionError(RESERVED_WEB);
    channels.set(id, id === "web" ? { ...WEB, ...channel } : normalizedOf(id, channel));
  }
  for (const [id, messenger] of Object.entries(messengers)) {
    if (id === "web") throw channelErrors.ChannelDefinitionError(RESERVED_WEB);
    if (channels.has(id))
      throw channelErrors.ChannelDefinitionError(`"${id}" is declared twice; channel ids must be unique`);
    channels.set(id, normalizedOf(id, messengerChannel(messenger)));
  }
  return channels;
}

function normalizedOf(id: string, channel: ChannelDefinition): NormalizedChannelDefinition {
  const { ingress = { transport: channel.kind === "voice" ? "voice" : "custom" }, capabilities = {} } = channel;
  return { ...channel, id, ingress, capabilities };
}

const RESERVED_WEB = '"web" is reserved for the built-in WebSocket chat surface';

/** The messengers among them. */
export function messengersOf(channels: ReadonlyMap<string, ChannelDefinition>): MessengerSet {
  const messengers: MessengerSet = {};
  for (const [id, { kind, ingress }] of channels) {
    if (kind !== "messenger" || ingress?.transport !== "webhook") continue;
    messengers[id] = "messenger" in ingress ? ingress.messenger : ingress;
  }
  return messengers;
}

export interface ChannelsInit {
  readonly configured: () => MaybePromise<ThinkChannels>;
  readonly messengers: () => MessengerSet;
  readonly context: () => MessengerOrigin | undefined;
  readonly emit: (type: "channel:resolved", payload: EventPayloads["channel:resolved"]) => void;
}

/** The channels of one agent. */
export class Channels {
  readonly #init: ChannelsInit;
  #resolved: ReadonlyMap<string, NormalizedChannelDefinition> = new Map([["web", WEB]]);

  constructor(init: ChannelsInit) {
    this.#init = init;
  }

  async start(): Promise<void> {
    this.#resolved = resolveChannels(await this.#init.configured(), this.#init.messengers());
  }

  get(id: string): NormalizedChannelDefinition | undefined {
    return this.#resolved.get(id);
  }

  get messengers(): MessengerSet {
    return messengersOf(this.#resolved);
  }

  /** Observed for every turn of a channel that the class declares. */
  inTurn({ channel: id, requestId }: TurnView): TurnPart | undefined {
    const channel = id === undefined ? undefined : this.#resolved.get(id);
    if (!channel || channel === WEB) return undefined;
    return { begin: () => this.#init.emit("channel:resolved", { channel: channel.id, kind: channel.kind, requestId }) };
  }

  channelPolicy(id: string): ChannelPolicy | undefined {
    const channel = this.#resolved.get(id);
    if (!channel) return undefined;
    const { instructions, tools, maxTurns } = channel;
    return {
      ...(instructions !== undefined && {
        instructions: typeof instructions === "string" ? instructions : () => this.#instructions(id, instructions)
      }),
      ...(tools && { tools }),
      ...(maxTurns !== undefined && { maxTurns })
    };
  }

  async #instructions(id: string, instructions: (context: ChannelContext) => MaybePromise<string>): Promise<string> {
    return instructions(this.contextOf(id));
  }

  contextOf(id: string): ChannelContext {
    const { kind, capabilities } = this.#resolved.get(id) ?? {};
    const origin = this.#init.context();
    const messenger = origin?.messengerId === id ? origin : undefined;
    return {
      channelId: id,
      // A class that only answers for its root need not declare the root's messenger.
      kind: kind ?? (messenger ? "messenger" : "custom"),
      ...(capabilities && { capabilities }),
      ...(messenger && { messenger, thread: messenger.thread.id })
    };
  }
}
