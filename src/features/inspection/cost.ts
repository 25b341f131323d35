// What tokens cost, where the class gave the model's price. Pure. There is no list of prices here: it would be out of date.
import type { StepUsage } from "../../journal/records.ts";
import type { Cost, ModelPrice, StepTimeline } from "./views.ts";

const PER_TOKENS = 1_000_000;

/** By the model's id, as the timeline shows it. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** Null: the price or the tokens are not known. */
export function costOf(prices: ModelPrices, modelId: string | null | undefined, usage: StepUsage | null): Cost | null {
  const price = typeof modelId === "string" && Object.hasOwn(prices, modelId) ? prices[modelId] : undefined;
  if (!price || !usage || (usage.inputTokens === null && usage.outputTokens === null)) return null;
  const inputTokens = usage.inputTokens ?? 0;
  // Counted among the input tokens.
  const cached = price.cachedInput === undefined ? 0 : Math.min(inputTokens, usage.cachedInputTokens ?? 0);
  const amount =
    (inputTokens - cached) * price.input + cached * (price.cachedInput ?? 0) + (usage.outputTokens ?? 0) * price.output;
  return { amount: amount / PER_TOKENS, currency: price.currency ?? "USD" };
}

/** Null: one of them is not known, or they are in different currencies. */
export function sumOfCosts(costs: readonly (Cost | null)[]): Cost | null {
  const [first] = costs;
  if (!first || costs.some((cost) => cost?.currency !== first.currency)) return null;
  return { amount: costs.reduce((sum, cost) => sum + (cost?.amount ?? 0), 0), currency: first.currency };
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
    steps: attempt.steps.map((step) => ({ ...step, cost: costOf(prices, attempt.modelId, step.usage) }))
  }));
  const known = costed.flatMap(({ steps }) => steps).filter(({ usage }) => usage !== null);
  return { attempts: costed, cost: sumOfCosts(known.map(({ cost }) => cost)) };
}
