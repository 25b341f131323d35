// The meter of one attempt of a turn, or of a model that is used outside of turns: it reserves the most that a call can cost
// before the call is made, and settles it with what the provider reported.
import type { CallEnd, MeteredCall, MeteredRun } from "../../model/index.ts";
import type { Sums } from "./amount.ts";
import type { BudgetBook } from "./book.ts";
import { FREE, highestRates, spentOf, type ReservedCall } from "./cost.ts";
import { UnpricedModelError } from "./errors.ts";
import type { CallSize } from "./fit.ts";
import type { ReserveAnswer, ReserveRequest } from "./ledger.ts";
import type { KeptLimit } from "./limits.ts";
import { priceOf, type ModelPrice } from "./prices.ts";
import { promptBound, reasoningBound } from "./prompt-size.ts";

/** The longest answer of a call that asks for none, of a model whose longest answer is not known. */
export const DEFAULT_OUTPUT_TOKENS = 8_192;

export type BudgetRefusal = Extract<ReserveAnswer, { is: "refused" }>;

export interface TurnMeterInit {
  readonly book: BudgetBook;
  readonly agent: string;
  readonly epoch: string;
  readonly turnId: string | null;
  readonly attempt: number;
  readonly limits: readonly KeptLimit[];
  readonly prices: readonly ModelPrice[];
  readonly allowsUnpriced: boolean;
  readonly nextId: () => string;
  /** After each call: what its turn has spent, with its sub-agents. */
  readonly counted?: ((spent: Sums) => void) | undefined;
  /** What is thrown in place of the call. */
  refuse(refusal: BudgetRefusal): Error;
}

export class TurnMeter {
  readonly #init: TurnMeterInit;

  constructor(init: TurnMeterInit) {
    this.#init = init;
  }

  /** Throws: the call is not made. */
  async begin({ provider, modelId, step, options }: MeteredCall): Promise<MeteredRun> {
    const { book, agent, epoch, turnId, attempt, limits, nextId, refuse } = this.#init;
    const counted = limits.find(({ isForCounting }) => isForCounting)?.account ?? null;
    const price = this.#priceOf(provider, modelId);
    const prompt = promptBound(options);
    const size: CallSize = {
      prompt,
      reasoning: reasoningBound(options.providerOptions),
      output: options.maxOutputTokens ?? price?.maxOutput ?? DEFAULT_OUTPUT_TOKENS
    };
    const request: ReserveRequest = {
      ...{ id: nextId(), agent, epoch, turnId, provider, model: modelId, size, limits },
      step: `${attempt}.${step}`,
      rates: price ? highestRates(price, prompt) : FREE
    };
    const answer = await book.reserve(request);
    if (answer.is === "refused") throw refuse(answer);
    const reserved: ReservedCall = { prompt, output: answer.output + size.reasoning, price };
    return {
      maxOutputTokens: answer.output,
      end: async (end) => {
        const { usd, tokens } = spentIn(reserved, end);
        const spent = await book.settle({ id: request.id, usd, tokens, counted });
        if (spent) this.#init.counted?.(spent);
        return usd;
      }
    };
  }

  #priceOf(provider: string, modelId: string): ModelPrice | undefined {
    const { prices, limits, allowsUnpriced } = this.#init;
    const price = priceOf(prices, provider, modelId);
    const needsPrice = limits.some(({ unit, isForCounting }) => unit === "usd" && !isForCounting);
    if (!price && needsPrice && !allowsUnpriced) throw new UnpricedModelError(provider, modelId);
    return price;
  }
}

function spentIn(reserved: ReservedCall, end: CallEnd): { usd: number; tokens: number } {
  if (end.kind === "refused") return { usd: 0, tokens: 0 };
  return spentOf(reserved, end.kind === "reported" ? end.usage : NOT_REPORTED);
}

const NOT_REPORTED = {
  inputTokens: undefined,
  outputTokens: undefined,
  cachedInputTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined
};
