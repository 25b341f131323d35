// A user's own way to count tokens, and what is made of its answer.
import type { ContextBlock } from "./context/block.ts";
import type { SessionMessage } from "./session-message.ts";

export interface SessionTokenCounterInput {
  readonly messages: readonly SessionMessage[];
  readonly systemPrompt: string;
  readonly contextBlocks: readonly ContextBlock[];
}

/** Counts everything a model would be given. Replaces the estimate as a whole. */
export type SessionTokenCounter = (input: SessionTokenCounterInput) => number | Promise<number>;

/** Not a number, infinite or negative: 0. Rounded up. */
export function checkedCount(count: number): number {
  return Number.isFinite(count) && count > 0 ? Math.ceil(count) : 0;
}
