// What an agent offers its capabilities.
import type { ModelMessage, UIMessage } from "ai";
import type { Blobs } from "../host/blobs.ts";
import type { Clock, Ids, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import type { Journal } from "../journal/journal.ts";
import type { Emit } from "../observe/events.ts";
import type { MessageStore } from "../session/message-store.ts";
import type { Session } from "../session/session.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { LateOutcomes } from "../turn/late-outcomes.ts";
import type { ChainOptions, StoredTranscript } from "../session/transcript.ts";
import type { Result } from "../util/result.ts";
import type { ChatProtocol } from "../wire/index.ts";
import type { FeatureFactory } from "./feature.ts";
import type { Features } from "./features.ts";
import type { PromptExplanation } from "./prompt-explanation.ts";
import type { CoreSettings } from "./settings.ts";
import type { DeferredTools } from "./tool-discovery.ts";
import type { MergedTools } from "./tool-layers.ts";
import type { MessagesInput } from "./turn-input.ts";

export interface Services {
  /** The agent itself, an instance of the user's class. */
  readonly agent: object;
  readonly env: unknown;
  readonly features: Features;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly quarantine: Quarantine;
  readonly emit: Emit;
  /** Runs work in the agent's context, kept alive until it ends. */
  inAgent<T>(work: () => Promise<T>): Promise<T>;
  /** Work that no caller waits for. A rejection is logged. */
  background(work: Promise<unknown>): void;
  /** Hands an error to the user's `onError`; what that throws is logged and swallowed. */
  report(error: unknown): Promise<void>;
  /** After a change of what `nextWake` answers. */
  rearm(): void;
  /** The agent is up without this step. Logged and remembered once, however often it comes up. */
  degrade(step: string, error: unknown): void;
  /** Sends a frame to every client that follows the protocol. */
  broadcast(frame: object): void;
  /** Throws ReadonlyConnectionError when what is running was caused by a client that may only watch. */
  assertCallerMayChange(): void;
}

/** What an agent with a conversation offers beside that. */
export interface ChatServices extends Services {
  /** The class's settings and methods that every conversation has. They may change: read them when they are needed. */
  readonly overrides: CoreSettings;
  /** Whether the class has a method of its own. */
  readonly isOverridden: (name: string) => boolean;
  readonly blobs: Blobs;
  readonly session: Session;
  readonly store: MessageStore;
  readonly journal: Journal;
  readonly transcript: StoredTranscript;
  /** Admits, cancels, replays and follows turns. */
  readonly turns: TurnEngine;
  readonly conversation: LateOutcomes;
  /** `Sdk.validateInput`: what a schema makes of a value. */
  readonly validate: (schema: unknown, value: unknown) => Promise<Result<unknown, unknown>>;
  /** Logs what an action threw: its caller is given an output in its place. */
  readonly actionFailed: (error: unknown, call: FailedAction) => void;
  readonly addMessages: (messages: MessagesInput, options: AddMessagesOptions) => Promise<void>;
  /** What a turn with this history would be given now. Nothing is stored. */
  readonly previewTurn: (channel: string | undefined, history: readonly UIMessage[]) => Promise<TurnPreview>;
  /** Takes a command of a client, whatever protocol it speaks. */
  readonly submitCommand: ChatProtocol["submit"];
  /** What `configure()` stored last. */
  readonly config: () => unknown;
  /** What `getFeatures()` of the class returns. */
  readonly ownFeatures: () => readonly FeatureFactory[];
}

export interface AddMessagesOptions extends ChainOptions {
  /** Whether clients are notified (default true). While a turn streams they are with what it sends next. */
  readonly broadcast?: boolean;
  /** A second call with the same key adds nothing. */
  readonly idempotencyKey?: string;
}

export interface FailedAction {
  readonly action: string;
  readonly requestId: string;
}

export interface TurnPreview {
  readonly explanation: PromptExplanation;
  readonly merged: MergedTools;
  readonly deferred: DeferredTools | undefined;
  /** Names of the tools that its first step is offered. */
  readonly offered: readonly string[];
  /** The history as the model is shown it. */
  readonly shown: readonly UIMessage[];
  /** Messages as the model is given them. */
  readonly modelMessages: (of: readonly UIMessage[]) => Promise<ModelMessage[]>;
}

const services = new WeakMap<object, Services>();

export function provideServices(given: Services): void {
  services.set(given.agent, given);
}

/** The services of an agent, for the package's own modules; user code has no name for them. */
export function servicesOf(agent: object): Services {
  const known = services.get(agent);
  if (!known) throw new TypeError("Not an agent.");
  return known;
}

/** Those of an agent with a conversation. Throws NotStartedError before its session is known. */
export function chatServicesOf(agent: object): ChatServices {
  return servicesOf(agent).features.chat;
}
