// What the engine needs of the stored messages. Every call is synchronous and may be part of the caller's transaction.
import type { UIMessage } from "ai";
import type { EventPayloads } from "../observe/events.ts";
import type { ChangeOrigin } from "../session/change-log.ts";
import type { RunningCalls } from "../session/transcript-repair.ts";

export interface TranscriptPromptOptions {
  /** Whether a client runs a tool, for calls that do not say themselves who answers them. */
  readonly isClientTool: (toolName: string) => boolean;
  /** A new message of the user started this turn. */
  readonly isUserTurn: boolean;
  /** The allowed calls that this turn runs. */
  readonly running?: RunningCalls;
}

/** Of one call of the model; undefined where the provider said nothing. */
export interface CountedTokens {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

export interface Transcript {
  /** Newest message of the active path. */
  readonly leafId: string | null;
  get(messageId: string): UIMessage | undefined;
  has(messageId: string): boolean;
  /** Which of these are stored. */
  storedOf(messageIds: readonly string[]): ReadonlySet<string>;
  /** Under the leaf, or under `parentId`. False: the id is stored already, and is left as it is. */
  append(message: UIMessage, origin: ChangeOrigin, parentId?: string | null): boolean;
  update(message: UIMessage, origin: ChangeOrigin): void;
  /** The path that ends at a message (default: the leaf), as clients see it. */
  path(leafId?: string): UIMessage[];
  /** The same for a model: every tool call is settled. Reads only; repairs that outlive the prompt are for `repair`. */
  prompt(leafId: string | undefined, options: TranscriptPromptOptions): RepairedPrompt;
  /** Stores the repairs of a prompt, as part of a turn that begins, and tells of them. Nothing if there are none. */
  repair(prompt: RepairedPrompt, turnId: string): void;
  /** The newest message that holds this tool call. */
  messageOfCall(toolCallId: string): UIMessage | undefined;
  /** What the provider counted for the call that wrote a message. Part of the transaction that ends its turn. */
  noteUsage?(messageId: string, usage: CountedTokens): void;
  clear(origin: ChangeOrigin): void;
}

export interface RepairedPrompt {
  readonly messages: UIMessage[];
  /** Those that are to be stored as they are here. */
  readonly changed: readonly UIMessage[];
  /** Payload of `chat:transcript:repaired`. */
  readonly repairs: EventPayloads["chat:transcript:repaired"];
}
