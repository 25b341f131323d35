// A messenger as the class declares it: its definition, the check of it, and its defaults.
import type { Clock } from "../../host/ports.ts";
import type { CarriesFeature } from "../../feature/feature.ts";
import type { ChannelDeliveryPolicy, MessengersFeature } from "../channels/channels.ts";
import type { MessengerAttachmentPolicy } from "./attachments.ts";
import type { ChatAdapter } from "./chat-adapter.ts";
import { messengerErrors } from "./errors.ts";
import type { SplitLimits } from "./split.ts";
import type { ChatSdkEventInput, MessengerAuthor, MessengerCapabilities, MessengerEvent } from "./event.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";

export type MessengerTrigger = "direct-message" | "mention" | "subscribed-thread" | "action";

/** The agent that answers. */
export type MessengerTarget =
  | { readonly target: "self" }
  | {
      readonly target: "subagent";
      readonly name: string;
      /** The class of the agent. Default: that of the agent which has the messenger. */
      readonly agentClass?: { readonly name: string };
    };

export interface MessengerDeliveryPolicy extends ChannelDeliveryPolicy {
  /** The most characters of each further message. Default: as of the first. */
  readonly followupLimit?: number;
  /** The most that a message may weigh as it is sent: some characters are sent as two. */
  readonly weight?: SplitLimits["weight"];
  /** The most characters of text in a card (default 3,000): a long input is shown in that many at a time. */
  readonly cardLimit?: number;
  /** The time between two edits of one message while it grows. */
  readonly editIntervalMs?: (event: { readonly isDirectMessage: boolean }) => number;
  /** How many messages may be posted and edited in one chat: at the limit the next one waits. */
  readonly pace?: readonly MessengerPace[];
  /** The time between two typing indicators, while there is no text yet (default 4 s). */
  readonly typingIntervalMs?: number;
}

/** A limit: at most `calls` in any `perMs` of one chat. */
export interface MessengerPace {
  readonly calls: number;
  readonly perMs: number;
  /** The calls that count. Default: posts and edits. */
  readonly of?: "posts" | "edits";
  /** The chats that have the limit. Default: every chat. */
  readonly in?: "direct" | "group";
}

/** A connection that the root agent itself keeps to the provider, beside webhooks. */
export interface MessengerConnection {
  /** Opens the connection, if it is not open. */
  drive(): void;
  stop(): void;
  nextWake(nowMs: number): number | null;
}

/** The intake of a messenger, as its connection uses it. */
export interface ConnectionIntake {
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
  /** The adapter's name. Default: the provider. Two messengers of one agent cannot share it. */
  readonly adapterName?: string;
  readonly provider: string;
  /** The bot's name in the chat. */
  readonly userName: string;
  /** The path of the webhook, below the agent's address. Default `/messengers/{id}/webhook`. */
  readonly path?: string;
  /** The methods of the webhook (default POST). Providers that ask for an address by GET need "GET", too; it is verified like the others. */
  readonly methods?: readonly string[];
  /** Makes the event of a message or press. Undefined: that of `defaultChatSdkEvent`. A throw refuses the webhook with 503. */
  readonly toEvent?: (input: ChatSdkEventInput) => MaybePromise<MessengerEvent | undefined>;
  /**
   * Names the shard of a thread, for a `Chat` that the class runs itself with `createChatSdkState`. The messengers of this
   * package keep their state in the agent's own database, in one transaction with the events it belongs to.
   */
  readonly shardKey?: (threadId: string) => string;
  /** Names the shard of a key of that state. */
  readonly keyShard?: (key: string) => string | undefined;
  /** The events that are answered. Default: direct messages and mentions. */
  readonly respondTo?: readonly MessengerTrigger[];
  /** Whether a mention subscribes its thread (default true). */
  readonly subscribeOnMention?: boolean;
  /** Which agent answers. "thread", the default: a sub-agent for each thread. "self": the agent itself. */
  readonly conversation?: "thread" | "self" | ((event: MessengerEvent) => MaybePromise<MessengerTarget>);
  /** Whether a webhook is the provider's; `false`: every caller is believed. */
  readonly verifyWebhook: false | ((request: Request) => MaybePromise<boolean | Response>);
  readonly capabilities?: MessengerCapabilities;
  readonly delivery?: MessengerDeliveryPolicy;
  /** Files of users that the model is given (default: images and PDF); `false`: it only reads their names. */
  readonly attachments?: MessengerAttachmentPolicy | false;
  /** Whether other bots in groups are answered, too. Default false: two bots would answer each other for ever. */
  readonly respondToBots?: boolean;
  /** Names the speaker in a group's messages; null or empty: no name. */
  readonly channelSpeakerLabel?: (author: MessengerAuthor) => string | null;
  /** Makes the connection to a provider that does not send every message by webhook; undefined: this agent has none. */
  readonly connect?: (intake: ConnectionIntake) => MessengerConnection | undefined;
  /** The time, in milliseconds, within which messages of a thread are one question (default 600). */
  readonly debounceMs?: number;
}

/** The options that every provider of this package takes beside its own. */
export interface ProviderOptions extends Partial<
  Omit<MessengerDefinition, "adapter" | "provider" | "verifyWebhook" | "userName" | "connect">
> {
  readonly userName: string;
  /** The check of a webhook. Default: the provider's own. */
  readonly verifyWebhook?: MessengerDefinition["verifyWebhook"];
}

export type Messenger = MessengerDefinition & CarriesFeature<MessengersFeature>;

export type Messengers = Record<string, Messenger>;

export interface NormalizedMessenger extends MessengerDefinition {
  readonly id: string;
  readonly adapterName: string;
  readonly path: string;
  readonly methods: readonly string[];
  readonly respondTo: readonly MessengerTrigger[];
  readonly subscribeOnMention: boolean;
  readonly conversation: NonNullable<MessengerDefinition["conversation"]>;
  readonly capabilities: MessengerCapabilities;
  readonly delivery: MessengerDeliveryPolicy;
  readonly debounceMs: number;
}

const DEBOUNCE_MS = 600;

/** Gives each messenger its defaults. Throws MessengerDefinitionError. */
export function normalizeMessengers(messengers: Readonly<Record<string, MessengerDefinition>>): NormalizedMessenger[] {
  const normalized = Object.entries(messengers).map(([id, definition]) => normalize(id, definition));
  refuseDuplicates(normalized, ({ adapterName }) => adapterName, "Duplicate messenger adapter name");
  refuseDuplicates(normalized, ({ path }) => path, "Duplicate messenger path");
  return normalized;
}

function normalize(id: string, definition: MessengerDefinition): NormalizedMessenger {
  const path = definition.path ?? `/messengers/${id}/webhook`;
  if (!path.startsWith("/")) throw messengerErrors.MessengerDefinitionError(id, 'its path must start with "/"');
  if (/[?#]/.test(path)) throw messengerErrors.MessengerDefinitionError(id, "its path must not include query or hash");
  if (definition.verifyWebhook === undefined)
    throw messengerErrors.MessengerDefinitionError(id, "it requires verifyWebhook");
  return {
    ...definition,
    id,
    path,
    adapterName: definition.adapterName ?? definition.provider,
    methods: (definition.methods ?? ["POST"]).map((method) => method.toUpperCase()),
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
    if (known.has(value)) throw messengerErrors.MessengerDefinitionError(messenger.id, `${problem}: ${value}`);
    known.add(value);
  }
}
