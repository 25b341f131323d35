// The seam between the `Think` class and the rooms it stands on: what the class asks for, and what it gives. `parts.ts`
// connects them.
import type { UIMessage } from "ai";
import type { Connection } from "../agent/connections/connection.ts";
import type { AgentRuntime } from "../agent/runtime.ts";
import type { Sdk } from "../model/index.ts";
import type { AddMessagesOptions } from "../session/add-messages.ts";
import type { ChangeOrigin } from "../session/change-log.ts";
import type { Session } from "../session/session.ts";
import type { TurnHooks } from "../turn/hooks.ts";
import type { Turns } from "../turn/turns.ts";
import type { TurnFeatures } from "./assemble.ts";
import type { Branches } from "./branches.ts";
import type { DegradableStep } from "./degradation.ts";
import type { OptionalHook, ThinkOverrides } from "./overrides.ts";
import type { ReadJournalOptions, ReadJournalResult } from "./read-journal.ts";
import type { ThinkSettings } from "./settings.ts";
import type { ThinkActions } from "./think-actions.ts";

/** What the class hands to whoever builds its parts. Nothing of the user's may be called while they are built. */
export interface PartsInit {
  /** Storage, time, ids, events, connections, background work. */
  readonly runtime: AgentRuntime;
  /** The agent itself. Its fields may change: read them when they are needed. */
  readonly settings: ThinkSettings;
  /** What `configureSession` returned. */
  readonly session: Session;
  /** The engine's way to the user's overrides. */
  readonly hooks: TurnHooks;
  readonly sdk: Sdk;
  readonly overrides: ThinkOverrides;
  /** Whether the class has a hook of its own. */
  readonly isOverridden: (hook: OptionalHook) => boolean;
  readonly env: unknown;
  /** Something failed that the agent can be up without; see `getOnStartDegradations`. */
  readonly degrade: (step: DegradableStep, error: unknown) => void;
}

/** The engine, with what only the class itself may ask of it. */
export interface ThinkTurns extends Turns {
  /** What the turn is called that was started under a key (`idempotencyId`) and did not fail. */
  requestOf(idempotencyId: string): string | undefined;
  /** Gives up every turn as a clear does, and leaves the messages. */
  reset(): void;
}

/** The stored messages, as far as the class itself reads and writes them. Each write is one transaction. */
export interface ThinkTranscript {
  /** The live view: the active path as far as it fits the budget. */
  messages(): readonly UIMessage[];
  /** The path that ends at a message, as far as it fits the budget. */
  path(leafId: string): UIMessage[];
  has(messageId: string): boolean;
  /** Newest message of the active path. */
  leaf(): UIMessage | undefined;
  /** Under a key (`idempotencyId`) once; false if they had been added. */
  add(
    messages: readonly UIMessage[],
    options: Pick<AddMessagesOptions, "parentId" | "mode"> & { readonly idempotencyId?: string }
  ): boolean;
  hasAdded(idempotencyId: string): boolean;
  append(message: UIMessage, origin: ChangeOrigin, parentId?: string | null): void;
  update(message: UIMessage, origin: ChangeOrigin): void;
  /** Reads everything again at the next look. */
  invalidate(): void;
  /** Tells every reader that messages joined or left. */
  announce(): void;
}

export interface ThinkParts extends TurnFeatures {
  readonly turns: ThinkTurns;
  readonly transcript: ThinkTranscript;
  readonly actions: ThinkActions;
  readonly branches: Branches;
  readJournal(options?: ReadJournalOptions): ReadJournalResult;
  /** The client behind a turn's origin, for `getCurrentAgent()` in hooks and tools; undefined if it was no client. */
  connectionOf(origin: unknown): Connection | undefined;
}

export type OpenParts = (init: PartsInit) => ThinkParts;
