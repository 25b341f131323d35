// Whether a model call fits into what is left, and how long its answer may be then. Pure: the account that decides runs it
// inside the transaction that reserves.
import type { Amount, Sums } from "./amount.ts";
import { highestCost, type Rates } from "./cost.ts";

/** The tokens of a call. */
export interface CallSize {
  /** The most that its prompt has. */
  readonly prompt: number;
  /** What the provider adds to the answer's limit for reasoning. */
  readonly reasoning: number;
  /** The longest answer that is asked for. */
  readonly output: number;
}

/** An answer cut shorter than this is none: the call does not fit. */
export const LEAST_OUTPUT_TOKENS = 256;

/** Of the answer, and for the growth of the prompt, that a person is asked for. */
const ASKED_OUTPUT_TOKENS = 4_096;
const ASKED_PROMPT_GROWTH = 1.25;

export interface Left {
  readonly unit: Amount["unit"];
  /** Below zero when more was spent. */
  readonly left: number;
}

export type Fit =
  | { readonly fits: true; readonly output: number; readonly reserved: Sums }
  | { readonly fits: false; readonly short: readonly Short[] };

/** A limit that has no room, by its place, in its unit. */
export interface Short {
  readonly place: number;
  /** What it lacks for this call, with the shortest answer. */
  readonly needed: number;
  /** What a person is asked for: the turn that goes on has a longer prompt, and an answer of some length. */
  readonly asked: number;
}

/** What a call can cost at most, with an answer of this length. */
export function mostOf({ prompt, reasoning }: CallSize, rates: Rates, output: number): Sums {
  return {
    usd: highestCost(rates, { prompt, output: reasoning + output }),
    tokens: prompt + reasoning + output
  };
}

export function fit(size: CallSize, rates: Rates, lefts: readonly Left[]): Fit {
  const least = Math.min(size.output, LEAST_OUTPUT_TOKENS);
  const outputs = lefts.map((left) => longestOutput(size, rates, left));
  const output = Math.min(size.output, ...outputs);
  if (output >= least) return { fits: true, output, reserved: mostOf(size, rates, output) };
  const smallest = mostOf(size, rates, least);
  const grown = { ...size, prompt: Math.ceil(size.prompt * ASKED_PROMPT_GROWTH) };
  const usual = mostOf(grown, rates, Math.min(size.output, ASKED_OUTPUT_TOKENS));
  const short = lefts.flatMap(({ unit, left }, place): Short[] => {
    if ((outputs[place] ?? 0) >= least) return [];
    return [{ place, needed: Math.max(1, smallest[unit] - left), asked: Math.max(1, usual[unit] - left) }];
  });
  return { fits: false, short };
}

/** What is left, as tokens of an answer. */
function longestOutput(size: CallSize, rates: Rates, { unit, left }: Left): number {
  const withoutAnswer = mostOf(size, rates, 0)[unit];
  if (withoutAnswer > left) return -1;
  if (unit === "tokens") return left - withoutAnswer;
  if (rates.output === 0) return size.output;
  const output = Math.min(size.output, Math.floor((left - withoutAnswer) / rates.output));
  // Both costs were rounded.
  return mostOf(size, rates, output).usd > left ? output - 1 : output;
}
