// What a messenger is to the class: how it is declared, checked, and which defaults hold.
import type { Clock } from "../host/ports.ts";
import type { CarriesFeature } from "../think/feature.ts";
import type { MessengersFeature } from "../think/channels.ts";
import type { MessengerAttachmentPolicy } from "./attachments.ts";
import type { ChatAdapter } from "./chat-adapter.ts";
import { MessengerDefinitionError } from "./errors.ts";
import type { MessengerAuthor, MessengerCapabilities, MessengerEvent } from "./event.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";

export type MessengerTrigger = "direct-message" | "mention" | "subscribed-thread" | "action";

/** Which agent answers. */
export type MessengerTarget =
  | { readonly target: "self" }
  | {
      readonly target: "subagent";
      readonly name: string;
      /** Default: the class of the agent that has the messenger. */
      readonly agentClass?: { readonly name: string };
    };

export interface MessengerDeliveryPolicy {
  readonly emptyResponseText?: string;
  readonly errorResponseText?: string;
  readonly interruptedResponseText?: string;
  /** Characters of the first message of an answer. */
  readonly visibleSoftLimit?: number;
  /** Characters of each further one. Default: as the first. */
  readonly followupLimit?: number;
  /** What a message may weigh as it is sent: some characters are sent as two. */
  readonly weight?: { readonly limit: number; readonly of: (character: string) => number };
  /** The messages for what is beyond the first. Default: cut at paragraphs, lines or words, code blocks kept whole. */
  readonly splitText?: (text: string) => string[];
  /** Time between two edits of one message. */
  readonly editIntervalMs?: (event: { readonly isDirectMessage: boolean }) => number;
  /** Time between two typing indicators, while there is no text yet (default 4 s). */
  readonly typingIntervalMs?: number;
  /** An error of an edit that only says that there was nothing to change. */
  readonly isExpectedDeliveryCompletion?: (error: unknown) => boolean;
}

/** A connection that the root agent itself keeps to the provider, beside webhooks. */
export interface MessengerConnection {
  /** Opens it, if it is not open. */
  drive(): void;
  stop(): void;
  nextWake(nowMs: number): number | null;
}

export interface MessengerConnectionInit {
  readonly agentName: string;
  readonly clock: Clock;
  /** Runs work in the agent's context, kept alive until it ends. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>;
  /** Stores what the adapter is given as a webhook's, and what `commit` remembers, in one transaction. */
  readonly receive: (read: (adapter: ChatAdapter) => Promise<void>, commit: () => void) => Promise<void>;
  readonly remember: (key: string, value: object | undefined) => void;
  readonly recall: (key: string) => unknown;
}

export interface MessengerDefinition {
  /** A Chat SDK adapter, or a function that makes it on first use. */
  readonly adapter: ChatAdapter | (() => MaybePromise<ChatAdapter>);
  /** Default: the provider. Two messengers of one agent cannot share it. */
  readonly adapterName?: string;
  readonly provider: string;
  /** The bot's name in the chat. */
  readonly userName: string;
  /** Default `/messengers/{id}/webhook`, below the agent's address. */
  readonly path?: string;
  /** Default: direct messages and mentions. */
  readonly respondTo?: readonly MessengerTrigger[];
  /** Whether a mention subscribes its thread (default true). */
  readonly subscribeOnMention?: boolean;
  /** Default "thread": a sub-agent for each thread. "self": the agent itself. */
  readonly conversation?: "thread" | "self" | ((event: MessengerEvent) => MaybePromise<MessengerTarget>);
  /** Whether a webhook is the provider's; `false`: every caller is believed. */
  readonly verifyWebhook: false | ((request: Request) => MaybePromise<boolean | Response>);
  readonly capabilities?: MessengerCapabilities;
  readonly delivery?: MessengerDeliveryPolicy;
  /** Files of users that the model is given (default: images and PDF); `false`: it only reads their names. */
  readonly attachments?: MessengerAttachmentPolicy | false;
  /** Answers other bots in groups, too. Default false: two bots would answer each other for ever. */
  readonly respondToBots?: boolean;
  /** Names the speaker in a group's messages; null or empty: no name. */
  readonly channelSpeakerLabel?: (author: MessengerAuthor) => string | null;
  /** For providers that do not send every message by webhook; undefined: not of this agent. */
  readonly connect?: (init: MessengerConnectionInit) => MessengerConnection | undefined;
  /** Messages of a thread that come within this time are one question (default 600). */
  readonly debounceMs?: number;
}

/** What every provider of this package takes beside its own options. */
export interface ProviderOptions extends Partial<
  Omit<MessengerDefinition, "adapter" | "provider" | "verifyWebhook" | "userName" | "connect">
> {
  readonly userName: string;
  /** Default: the provider's own check. */
  readonly verifyWebhook?: MessengerDefinition["verifyWebhook"];
}

export type Messenger = MessengerDefinition & CarriesFeature<MessengersFeature>;

export type Messengers = Record<string, Messenger>;

export interface NormalizedMessenger extends MessengerDefinition {
  readonly id: string;
  readonly adapterName: string;
  readonly path: string;
  readonly respondTo: readonly MessengerTrigger[];
  readonly subscribeOnMention: boolean;
  readonly conversation: NonNullable<MessengerDefinition["conversation"]>;
  readonly capabilities: MessengerCapabilities;
  readonly delivery: MessengerDeliveryPolicy;
  readonly debounceMs: number;
}

const DEBOUNCE_MS = 600;

/** Throws MessengerDefinitionError. */
export function normalizeMessengers(messengers: Readonly<Record<string, MessengerDefinition>>): NormalizedMessenger[] {
  const normalized = Object.entries(messengers).map(([id, definition]) => normalizedOf(id, definition));
  refuseDuplicates(normalized, ({ adapterName }) => adapterName, "Duplicate messenger adapter name");
  refuseDuplicates(normalized, ({ path }) => path, "Duplicate messenger path");
  return normalized;
}

function normalizedOf(id: string, definition: MessengerDefinition): NormalizedMessenger {
  const path = definition.path ?? `/messengers/${id}/webhook`;
  if (!path.startsWith("/")) throw new MessengerDefinitionError(id, 'its path must start with "/"');
  if (/[?#]/.test(path)) throw new MessengerDefinitionError(id, "its path must not include query or hash");
  if (definition.verifyWebhook === undefined) throw new MessengerDefinitionError(id, "it requires verifyWebhook");
  return {
    ...definition,
    id,
    path,
    adapterName: definition.adapterName ?? definition.provider,
    respondTo: definition.respondTo ?? ["direct-message", "mention"],
    subscribeOnMention: definition.subscribeOnMention ?? true,
    conversation: definition.conversation ?? "thread",
    capabilities: definition.capabilities ?? {},
    delivery: definition.delivery ?? {},
    debounceMs: definition.debounceMs ?? DEBOUNCE_MS
  };
}

function refuseDuplicates(
  messengers: readonly NormalizedMessenger[],
  valueOf: (messenger: NormalizedMessenger) => string,
  problem: string
): void {
  const known = new Set<string>();
  for (const messenger of messengers) {
    const value = valueOf(messenger);
    if (known.has(value)) throw new MessengerDefinitionError(messenger.id, `${problem}: ${value}`);
    known.add(value);
  }
}
