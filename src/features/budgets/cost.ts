// What a call costs: what it did, by the counts that the provider reported, and the most that it can. In billionths of a
// dollar, rounded up. Pure.
import type { ModelUsage } from "../../model/index.ts";
import type { Sums } from "./amount.ts";
import type { ModelPrice, Rate } from "./prices.ts";

/** A dollar per million tokens is so many billionths of a dollar per token. */
const UNITS_PER_TOKEN = 1_000;
/** A million dollars: counts that come to more are no counts, and sums of them would not be exact. */
const MOST_UNITS = 1e15;

/** The most that a token of each kind can cost, in units. */
export interface Rates {
  readonly input: number;
  readonly output: number;
}

export const FREE: Rates = { input: 0, output: 0 };

/** The counts that the price of a call needs. */
export type CountedUsage = Pick<
  ModelUsage,
  "inputTokens" | "outputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens"
>;

/** A prompt that may be long is reserved at the higher of both rates. */
export function highestRates(price: ModelPrice, promptTokens: number): Rates {
  const { longPrompt } = price;
  const rates: Rate[] = longPrompt && promptTokens > longPrompt.above ? [price, longPrompt] : [price];
  const most = (values: (rate: Rate) => (number | undefined)[]) =>
    Math.max(...rates.flatMap((rate) => values(rate).map((value) => value ?? 0))) * UNITS_PER_TOKEN;
  return {
    input: most(({ input, cachedInput, cacheWrite }) => [input, cachedInput, cacheWrite]),
    output: most(({ output, reasoning }) => [output, reasoning])
  };
}

/** Of a call with so many tokens, at the most that each can cost. */
export function highestCost(rates: Rates, { prompt, output }: { prompt: number; output: number }): number {
  return Math.min(MOST_UNITS, Math.ceil(prompt * rates.input + output * rates.output - 1e-6));
}

/** What a call with these counts costs; counts that are missing are zero. */
export function costOf(price: ModelPrice, usage: CountedUsage): number {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  const { longPrompt } = price;
  const special = cachedInputTokens + cacheWriteTokens;
  const isLong = longPrompt !== undefined && Math.max(inputTokens, special) > longPrompt.above;
  const rate: Rate = isLong ? longPrompt : price;
  // Part of the input, but for providers that count what they read from the cache beside it.
  const plain = special > inputTokens ? inputTokens : inputTokens - special;
  const hidden = Math.min(reasoningTokens, outputTokens);
  const amount =
    plain * rate.input +
    cachedInputTokens * (rate.cachedInput ?? rate.input) +
    cacheWriteTokens * (rate.cacheWrite ?? rate.input) +
    (outputTokens - hidden) * rate.output +
    hidden * (rate.reasoning ?? rate.output);
  return Math.min(MOST_UNITS, Math.ceil(amount * UNITS_PER_TOKEN - 1e-6));
}

/** What was reserved for a call: the most that its prompt and its answer have. */
export interface ReservedCall {
  readonly prompt: number;
  readonly output: number;
  readonly price: ModelPrice | undefined;
}

/** What a call used, as it is kept. */
export interface Spent extends Sums {
  /** Whether the provider reported all of it; else what was reserved stands for what it left out. */
  readonly isReported: boolean;
}

/** A count that the provider left out is taken for the most that was reserved. */
export function spentOf({ prompt, output, price }: ReservedCall, usage: CountedUsage): Spent {
  const { inputTokens, outputTokens } = usage;
  const missing = {
    prompt: inputTokens === undefined ? prompt : 0,
    output: outputTokens === undefined ? output : 0
  };
  const tokens = (inputTokens ?? prompt) + (outputTokens ?? output);
  const isReported = inputTokens !== undefined && outputTokens !== undefined;
  const money = price ? costOf(price, usage) + highestCost(highestRates(price, prompt), missing) : 0;
  return { usd: money, tokens, isReported };
}
