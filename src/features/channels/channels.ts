// Channels: the surfaces that a turn can belong to, and what each changes about its turns. The class declares them with
// `configureChannels()` and `getMessengers()`; `web` is always there. Here are their types and the rules of the
// declaration. Messengers themselves are a feature of their own.
import type { PendingApproval } from "../../feature/approval-contract.ts";
import type { ChannelText } from "../../feature/channel-text.ts";
import type { ToolSet } from "ai";
import type { FetchableAttachment } from "./capability.ts";
import type { CarriesFeature, Feature } from "../../feature/feature.ts";
import { channelErrors } from "./errors.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export type ChannelKind = "web" | "messenger" | "voice" | "custom";

/** The kind of a delivery: how far it is from the turn's answer. */
export type DeliveryKind = "final" | "interim" | "notice" | "command";

/** The state of the delivery of a reply. */
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

/** The surface that takes what is delivered outside a stream. */
export interface ChannelDeliverySurface {
  post(
    message: ChannelText,
    delivery?: { readonly kind: DeliveryKind; readonly turnEnded: boolean }
  ): MaybePromise<unknown>;
}

/** The messengers that `getMessengers()` returns; a provider's function, such as `telegramMessenger()`, makes each. */
export type MessengerSet = Record<string, ChannelMessenger>;

/** A messenger as this module sees it. */
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
  /** The most characters of the first message of an answer. */
  readonly visibleSoftLimit?: number;
  /** Makes the messages for a text that is too long for one. */
  readonly splitText?: (text: string) => string[];
  /** Whether an error of an edit only says that there was nothing to change. */
  readonly isExpectedDeliveryCompletion?: (error: unknown) => boolean;
}

export interface ChannelContext {
  readonly channelId: string;
  readonly kind: ChannelKind;
  readonly capabilities?: ChannelCapabilities;
  /** The event that started a messenger's turn. */
  readonly messenger?: MessengerOrigin;
  /** The thread of that event. */
  readonly thread?: string;
}

export interface ChannelDefinition {
  readonly kind: ChannelKind;
  readonly ingress?: ChannelIngress;
  readonly capabilities?: ChannelCapabilities;
  /** Which agent answers a messenger. */
  readonly conversation?: "thread" | "self" | ((event: never) => unknown);
  /** The policy of a messenger; for other kinds only `splitText` counts, for notices to their surface. */
  readonly delivery?: ChannelDeliveryPolicy;
  /** Text that is put in front of the system prompt of its turns. */
  readonly instructions?: string | ((context: ChannelContext) => MaybePromise<string>);
  /** Narrows the tools of its turns. */
  readonly tools?: (all: ToolSet) => MaybePromise<ToolSet>;
  /** The most steps that one of its turns may take. */
  readonly maxTurns?: number;
  /** Opens the surface for notices, for kinds that have no way of their own. */
  readonly surface?: (context: { readonly channelId: string; readonly thread?: string }) => ChannelDeliverySurface;
}

export type ThinkChannels = Record<string, ChannelDefinition>;

/** A channel with its defaults. */
export interface NormalizedChannelDefinition extends ChannelDefinition {
  readonly id: string;
  readonly ingress: ChannelIngress;
  readonly capabilities: ChannelCapabilities;
}

/** Returns the channels as they are given, for type inference. */
export function defineChannels<Channels extends ThinkChannels>(channels: Channels): Channels {
  return channels;
}

/** Makes a messenger an entry of `configureChannels()`, with a policy beside it. */
export function messengerChannel(
  messenger: ChannelMessenger,
  policy: Pick<ChannelDefinition, "instructions" | "tools" | "maxTurns"> = {}
): ChannelDefinition {
  const { capabilities, conversation, delivery } = messenger;
  return {
    ...policy,
    kind: "messenger",
    ingress: { transport: "webhook", messenger },
    capabilities,
    conversation,
    delivery
  };
}

/** The stored context of a message that came through a messenger, as far as this module reads it. */
export interface MessengerOrigin {
  readonly messengerId: string;
  readonly thread: { readonly id: string };
}

/** The feature that `getMessengers()` brings, as the class uses it. */
export interface MessengersFeature extends Feature {
  /** Whether it has a webhook at `path`, which is as `respond` is given it. */
  isWebhook(path: string): boolean;
  /** Takes a call of the root or of one of its sub-agents. Durable when it resolves; the provider may get it later. */
  take(call: MessengerCall): Promise<void>;
  /** Fetches a file of a user; only the root can. */
  fetchAttachment(messengerId: string, attachment: FetchableAttachment): Promise<ArrayBuffer>;
}

export interface MessengerNotice {
  readonly messengerId: string;
  readonly threadId: string;
  readonly message: ChannelText;
  /** A second notice under the same key is not posted. */
  readonly key: string;
}

/** A call of a sub-agent to its root. */
export type MessengerCall =
  | { readonly do: "post"; readonly notice: MessengerNotice }
  | { readonly do: "follow"; readonly turn: FollowedTurn }
  /** Where a question was asked, its chat says that it is escalated. */
  | { readonly do: "escalate"; readonly question: PendingApproval };

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

export const WEB: NormalizedChannelDefinition = {
  id: "web",
  kind: "web",
  ingress: { transport: "websocket" },
  capabilities: { canStream: true, canEditMessages: true }
};

/** Gives each channel its defaults. Throws ChannelDefinitionError. */
export function resolveChannels(
  configured: ThinkChannels,
  messengers: MessengerSet
): ReadonlyMap<string, NormalizedChannelDefinition> {
  const channels = new Map([["web", WEB]]);
  for (const [id, channel] of Object.entries(configured)) {
    if (id === "web" && channel.kind !== "web") throw channelErrors.ChannelDefinitionError(RESERVED_WEB);
    channels.set(id, id === "web" ? { ...WEB, ...channel } : normalize(id, channel));
  }
  for (const [id, messenger] of Object.entries(messengers)) {
    if (id === "web") throw channelErrors.ChannelDefinitionError(RESERVED_WEB);
    if (channels.has(id))
      throw channelErrors.ChannelDefinitionError(`"${id}" is declared twice; channel ids must be unique`);
    channels.set(id, normalize(id, messengerChannel(messenger)));
  }
  return channels;
}

function normalize(id: string, channel: ChannelDefinition): NormalizedChannelDefinition {
  const { ingress = { transport: channel.kind === "voice" ? "voice" : "custom" }, capabilities = {} } = channel;
  return { ...channel, id, ingress, capabilities };
}

const RESERVED_WEB = '"web" is reserved for the built-in WebSocket chat surface';

/** The messengers among the channels. */
export function messengersOf(channels: ReadonlyMap<string, ChannelDefinition>): MessengerSet {
  const messengers: MessengerSet = {};
  for (const [id, { kind, ingress }] of channels) {
    if (kind !== "messenger" || ingress?.transport !== "webhook") continue;
    messengers[id] = "messenger" in ingress ? ingress.messenger : ingress;
  }
  return messengers;
}
