// Budgets as a capability: the limits that a class sets, the prices that they are counted with, and its public names.
import type { LanguageModel } from "ai";
import type { Connection } from "../../host/connection.ts";
import { chatCapability } from "../../feature/capability.ts";
import { isOverridden } from "../../feature/members.ts";
import { servicesOf } from "../../feature/services.ts";
import type { ModelObject } from "../../model/index.ts";
import type { TurnTrigger } from "../../turn/turn.ts";
import type { MaybePromise } from "../../util/maybe-promise.ts";
import { approvals } from "../approvals/capability.ts";
import type { Json } from "../../util/json.ts";
import type { Amount } from "./amount.ts";
import type { BookCommand } from "./book.ts";
import { BudgetsFeature } from "./feature.ts";
import type { BudgetLimit } from "./limits.ts";
import { PRICES, type ModelPrice } from "./prices.ts";
import type { CostReport } from "./report.ts";

/** What is about to spend. Without a turn: a model of `budgeted()`, or `spend()`, outside of turns. */
export interface BudgetContext {
  readonly turnId: string | undefined;
  readonly requestId: string | undefined;
  readonly trigger: TurnTrigger | undefined;
  readonly channel: string | undefined;
  /** Custom fields of the client's request: they are what the client says. */
  readonly body: Record<string, unknown> | undefined;
  /** The client that asked, if a client did. */
  readonly connection: Connection | undefined;
}

export class BudgetMembers {
  /**
   * What becomes of a model without a price under a budget in money. "allow": its calls cost nothing.
   * @example
   * budgetUnpricedModels = "allow" as const;
   */
  budgetUnpricedModels: "refuse" | "allow" = "refuse";

  /**
   * What this turn may spend: asked when the turn begins, and kept for all of it. A call that does not fit into every limit
   * is not made. Default: no limits.
   *
   * @example
   * getBudgets({ connection }: BudgetContext): BudgetLimit[] {
   *   const user = (connection?.state as { user?: string } | null)?.user ?? "nobody";
   *   return [
   *     { per: "turn", limit: usd(0.5) },
   *     { per: { key: user, each: "day" }, limit: usd(2.5), then: "ask" }
   *   ];
   * }
   */
  getBudgets(_context: BudgetContext): MaybePromise<readonly BudgetLimit[]> {
    return [];
  }

  /**
   * What models cost. The first row that names a model counts. Default: the table of the package, which was right when it was
   * released: providers change their prices.
   *
   * @example
   * getPrices() {
   *   return [{ provider: "openai", model: "gpt-5", input: 1, output: 8 }, ...PRICES];
   * }
   */
  getPrices(): readonly ModelPrice[] {
    return PRICES;
  }

  /**
   * The same model, whose calls count for the limits of the turn that makes them, or outside of turns for those that
   * `getBudgets()` returns without one. For your own calls, such as the summaries of a compaction.
   *
   * @example
   * const { text } = await generateText({ model: this.budgeted(this.getModel()), prompt });
   */
  budgeted(model: LanguageModel): ModelObject {
    return budgets.of(this).budgeted(model);
  }

  /**
   * Counts a cost of your own, such as that of a search. It has been spent: what is counted beyond a limit keeps the next call
   * from being made. With an `id` it is counted once, however often it is said.
   */
  async spend(amount: Amount, options?: { readonly id?: string; readonly name?: string }): Promise<void> {
    await budgets.of(this).spend(amount, options);
  }

  /** What this agent's tree has spent under its budgets. */
  async getCosts(): Promise<CostReport> {
    return budgets.of(this).report();
  }

  /** Called by a parent: its limits hold for every turn of this agent. */
  inheritBudgets(limits: object): void {
    // Sent by a parent's `limitsOf`.
    budgets.of(this).inherit(limits as Json);
  }

  /** For sub-agents, whose root keeps their accounts. */
  async askBudgets(command: object): Promise<unknown> {
    // Only agents of the tree can call it.
    return budgets.of(this).answer(command as BookCommand);
  }
}

export const budgets = chatCapability({
  name: "budgets",
  requires: [approvals],
  members: BudgetMembers,
  isUsed: (agent) =>
    isOverridden(agent, "getBudgets") || TABLES.some((table) => servicesOf(agent).sql.catalog.hasTable(table)),
  feature: (services) => new BudgetsFeature(services)
});

/** An agent with one of these has limits of a parent, or accounts of its sub-agents. */
const TABLES = ["cf_budget_limits", "cf_budget_accounts", "cf_budget_calls"];
