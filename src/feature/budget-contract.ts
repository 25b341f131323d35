// What agents of a tree and tools ask of the feature that keeps budgets. It lives in `budgets/`; a class without it loads none
// of it. Types only.
import type { Json } from "../util/json.ts";

export interface BudgetRole {
  /** The limits that hold for a sub-agent of this turn, as plain data; undefined: there are none. */
  limitsOf(turnId: string | undefined): Json | undefined;
  /** The limits of a parent hold for this agent. Part of the caller's transaction. */
  inherit(limits: Json): void;
  /** A cost of a tool. */
  spend(
    amount: { readonly unit: "usd" | "tokens"; readonly amount: number },
    spent?: { readonly id?: string; readonly name?: string }
  ): Promise<void>;
}
