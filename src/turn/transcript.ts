// What the engine needs of the stored messages. Every call is synchronous and may be part of the caller's transaction.
import type { UIMessage } from "ai";

export interface Transcript {
  /** Newest message of the active path. */
  readonly leaf: string | null;
  get(messageId: string): UIMessage | undefined;
  has(messageId: string): boolean;
  /** Under the leaf, or under `parentId`; an id that is already stored is left as it is. */
  append(message: UIMessage, parentId?: string | null): void;
  update(message: UIMessage): void;
  /** The path that ends at a message (default: the leaf), as far as the model and clients see it. */
  path(leafId?: string): UIMessage[];
  /** The newest message that holds this tool call. */
  messageOfCall(toolCallId: string): UIMessage | undefined;
  clear(): void;
}
