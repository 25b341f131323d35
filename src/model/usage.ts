// Token counts in one shape, whichever SDK major reported them. A count that was not reported stays undefined: zero would
// claim to know.
import { isObject } from "../util/json.ts";

/** More than any call can use. A larger number is a provider's mistake, and sums of it would not be exact. */
const MAX_TOKENS = 1e12;

export interface ModelUsage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number | undefined;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number | undefined;
  readonly totalTokens: number | undefined;
  readonly reasoningTokens: number | undefined;
  /** Input tokens read from the provider's prompt cache. */
  readonly cachedInputTokens: number | undefined;
  /** Input tokens written to the provider's prompt cache. */
  readonly cacheWriteTokens: number | undefined;
}

export const NO_USAGE: ModelUsage = {
  inputTokens: undefined,
  outputTokens: undefined,
  totalTokens: undefined,
  reasoningTokens: undefined,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined
};

/** Reads the usage object of a step or of a finish part. Anything else counts as "nothing reported". */
export function normaliseUsage(usage: unknown): ModelUsage {
  if (!isObject(usage)) return NO_USAGE;
  const input = isObject(usage["inputTokenDetails"]) ? usage["inputTokenDetails"] : {};
  const output = isObject(usage["outputTokenDetails"]) ? usage["outputTokenDetails"] : {};
  const inputTokens = tokenCount(usage["inputTokens"]);
  const outputTokens = tokenCount(usage["outputTokens"]);
  return {
    inputTokens,
    outputTokens,
    totalTokens: tokenCount(usage["totalTokens"]) ?? sum(inputTokens, outputTokens),
    // The details are where both majors report them now; the flat names are those of early ai 6 releases.
    reasoningTokens: tokenCount(output["reasoningTokens"]) ?? tokenCount(usage["reasoningTokens"]),
    cachedInputTokens: tokenCount(input["cacheReadTokens"]) ?? tokenCount(usage["cachedInputTokens"]),
    cacheWriteTokens: tokenCount(input["cacheWriteTokens"])
  };
}

export function addUsage(first: ModelUsage, second: ModelUsage): ModelUsage {
  return {
    inputTokens: sum(first.inputTokens, second.inputTokens),
    outputTokens: sum(first.outputTokens, second.outputTokens),
    totalTokens: sum(first.totalTokens, second.totalTokens),
    reasoningTokens: sum(first.reasoningTokens, second.reasoningTokens),
    cachedInputTokens: sum(first.cachedInputTokens, second.cachedInputTokens),
    cacheWriteTokens: sum(first.cacheWriteTokens, second.cacheWriteTokens)
  };
}

/** A number of tokens as it can be counted with: whole, never negative. Parts of a token count as one. */
export function tokenCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= MAX_TOKENS ? Math.ceil(value) : undefined;
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}
