// What tokens cost, where the class knows the model's price. Pure.
import type { StepUsage } from "../../journal/records.ts";
import { dollars } from "../budgets/amount.ts";
import { costOf as unitsOf } from "../budgets/cost.ts";
import { priceOf, type ModelPrice } from "../budgets/prices.ts";
import type { Cost, StepTimeline } from "./views.ts";

/** As `getPrices()` gives them. */
export type ModelPrices = readonly ModelPrice[];

/** Null: the price or the tokens are not known. The timeline names no provider: the first row of the model counts. */
export function knownCostOf(
  prices: ModelPrices,
  modelId: string | null | undefined,
  usage: StepUsage | null
): Cost | null {
  const price = typeof modelId === "string" ? priceOf(prices, undefined, modelId) : undefined;
  if (!price || !usage || (usage.inputTokens === null && usage.outputTokens === null)) return null;
  const counted = {
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
    cachedInputTokens: usage.cachedInputTokens ?? 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.reasoningTokens ?? 0
  };
  return { amount: dollars(unitsOf(price, counted)), currency: "USD" };
}

/** Null: one of them is not known, or they are in different currencies. */
export function sumOfCosts(costs: readonly (Cost | null)[]): Cost | null {
  const [first] = costs;
  if (!first || costs.some((cost) => cost?.currency !== first.currency)) return null;
  return { amount: costs.reduce((sum, cost) => sum + (cost?.amount ?? 0), 0), currency: first.currency };
}

/** With what the calls have cost that were cancelled for it. */
function costOfStep(
  prices: ModelPrices,
  modelId: string | null,
  { model, usage, cancelled }: StepTimeline
): Cost | null {
  const own = knownCostOf(prices, model === null ? modelId : pricedId(model), usage);
  if (cancelled.length === 0) return own;
  return sumOfCosts([own, ...cancelled.map((one) => knownCostOf(prices, pricedId(one.model), one.usage))]);
}

/** A name in a list of models is its id, or has the provider in front of it. */
function pricedId(name: string): string {
  const [plain = name] = name.split("#");
  return plain.startsWith("@") ? plain : plain.slice(plain.indexOf("/") + 1);
}

interface CostedAttempt {
  readonly modelId: string | null;
  readonly steps: readonly StepTimeline[];
}

/** The same attempts with what their steps cost, and the sum over the steps whose tokens are known. */
export function withCosts<Attempt extends CostedAttempt>(
  attempts: readonly Attempt[],
  prices: ModelPrices
): { attempts: Attempt[]; cost: Cost | null } {
  const costed = attempts.map((attempt) => ({
    ...attempt,
    steps: attempt.steps.map((step) => ({ ...step, cost: costOfStep(prices, attempt.modelId, step) }))
  }));
  const known = costed.flatMap(({ steps }) => steps).filter(({ usage }) => usage !== null);
  return { attempts: costed, cost: sumOfCosts(known.map(({ cost }) => cost)) };
}
