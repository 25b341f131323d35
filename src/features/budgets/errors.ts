import { errorTable, ThinkError } from "../../util/errors.ts";
import { TurnEndError } from "../../turn/errors.ts";

export const budgetErrors = errorTable(ThinkError, {
  AmountError: (given: string) => ({
    code: "budget-amount-invalid",
    message: `${given} is not an amount.`,
    hint: "usd() takes 0 to 1,000,000 dollars, tokens() 0 to 1,000,000,000,000 tokens."
  }),
  /** What `getBudgets()` returned cannot be kept. */
  LimitError: (problem: string) => ({
    code: "budget-limit-invalid",
    message: "The budgets of this agent cannot be read, so no model is called.",
    hint: `A limit of getBudgets() is { per, limit, then }: ${problem}.`
  }),
  /** The account of a tree is at its root, and the root could not be asked. */
  AccountUnreachableError: (cause: unknown) => ({
    code: "budget-account-unreachable",
    message: "The budget could not be asked, so the model was not called.",
    hint: "The root of the tree keeps the accounts: its class must have the budgets capability too. The cause says what failed.",
    cause
  })
});

/** A model call does not fit into a limit whose `then` is "stop". */
export class BudgetReachedError extends TurnEndError {
  constructor(readonly explanation: string) {
    super({
      code: "budget-reached",
      message: `This answer has reached its budget and ends here: ${explanation}.`,
      hint: 'A limit of getBudgets() with then: "stop". The call was not made.',
      status: "error",
      reason: "budget_reached"
    });
  }
}

/** The turn waits for a person to grant more. */
export class BudgetAskedError extends TurnEndError {
  constructor(readonly explanation: string) {
    super({
      code: "budget-asked",
      message: `More budget was asked for: ${explanation}.`,
      hint: 'A limit of getBudgets() with then: "ask". The turn goes on when the question is approved.',
      status: "completed",
      reason: "awaiting_budget"
    });
  }
}

/** A model whose cost is not known cannot be kept below an amount of money. */
export class UnpricedModelError extends TurnEndError {
  constructor(
    readonly provider: string,
    readonly modelId: string
  ) {
    super({
      code: "model-price-unknown",
      message: "This model cannot be used under a budget in money, because its price is not known.",
      hint: `Add a price of "${modelId}" of the provider "${provider}" to getPrices(), or set budgetUnpricedModels to "allow".`,
      status: "error",
      reason: "model_price_unknown"
    });
  }
}
