// What the engine needs of the stored messages. Every call is synchronous and may be part of the caller's transaction.
import type { UIMessage } from "ai";
import type { RunningCalls } from "../session/transcript-repair.ts";

export interface PromptOptions {
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
  /** Under the leaf, or under `parentId`. False: the id is stored already, and is left as it is. */
  append(message: UIMessage, parentId?: string | null): boolean;
  update(message: UIMessage): void;
  /** The path that ends at a message (default: the leaf), as clients see it. */
  path(leafId?: string): UIMessage[];
  /** The same for a model: every tool call is settled. Repairs that outlive the prompt are stored. */
  prompt(leafId: string | undefined, options: PromptOptions): UIMessage[];
  /** The newest message that holds this tool call. */
  messageOfCall(toolCallId: string): UIMessage | undefined;
  /** What the provider counted for the call that wrote a message. Part of the transaction that ends its turn. */
  noteUsage?(messageId: string, usage: CountedTokens): void;
  clear(): void;
}
