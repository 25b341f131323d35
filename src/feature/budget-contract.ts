// What agents of a tree and tools ask of the feature that keeps budgets. It lives in `budgets/`; a class without it loads none
// of it. Types only.
import type { Json } from "../util/json.ts";

export interface BudgetRole {
  /** The limits that hold for a sub-agent of this turn, or of work outside of turns, as plain data; undefined: there are none. */
  limitsOf(turnId: string | undefined): Promise<Json | undefined>;
  /** A cost of a tool. */
  spend(
    amount: { readonly unit: "usd" | "tokens"; readonly amount: number },
    spent?: { readonly id?: string; readonly name?: string }
  ): Promise<void>;
}

/** An agent that can be held to the limits of a parent. */
export interface BudgetHeir {
  inheritBudgets(limits: object): void;
}
