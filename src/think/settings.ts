// Settings of a class that other rooms read: how overlapping chat requests are treated, and how much of a conversation
// is kept in memory.
import type { MessageConcurrency } from "../chat/index.ts";

/** How large media of old messages are moved out of the conversation's rows. */
export interface MediaEvictionOptions {
  /** Newest messages that are left alone. Default 8, at least 4. */
  readonly keepRecentMessages?: number;
  /** Smaller values stay where they are. Default 32,768. */
  readonly minPartBytes?: number;
  /** Messages rewritten in one go. Default 64. */
  readonly maxRowsPerPass?: number;
}

export interface ThinkSettings {
  readonly messageConcurrency: MessageConcurrency;
  readonly hydrationByteBudget: number;
  readonly mediaEviction: boolean | MediaEvictionOptions;
}
