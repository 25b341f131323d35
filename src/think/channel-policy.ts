// What the channel a turn came through changes about it.
import type { ToolSet } from "ai";

export interface ChannelPolicy {
  /** Put in front of the system prompt. */
  readonly instructions?: string | (() => string | Promise<string>);
  /** Narrows the turn's tools. */
  readonly tools?: (all: ToolSet) => ToolSet | Promise<ToolSet>;
  /** Steps a turn of this channel may take. */
  readonly maxTurns?: number;
}
