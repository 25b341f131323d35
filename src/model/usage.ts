// Token counts in one shape, whichever SDK major reported them. A count nobody reported stays undefined: zero would
// claim to know.
import { isObject } from "../util/json.ts";

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
  const inputTokens = count(usage["inputTokens"]);
  const outputTokens = count(usage["outputTokens"]);
  return {
    inputTokens,
    outputTokens,
    totalTokens: count(usage["totalTokens"]) ?? sum(inputTokens, outputTokens),
    // The details are where both majors report them now; the flat names are those of early ai 6 releases.
    reasoningTokens: count(output["reasoningTokens"]) ?? count(usage["reasoningTokens"]),
    cachedInputTokens: count(input["cacheReadTokens"]) ?? count(usage["cachedInputTokens"]),
    cacheWriteTokens: count(input["cacheWriteTokens"])
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

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}
