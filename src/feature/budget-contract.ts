// What agents of a tree and tools ask of the feature that keeps budgets. It lives in `budgets/`; a class without it loads none
// of it. Types, and one word.
import type { CallMeter } from "../model/index.ts";
import type { Json } from "../util/json.ts";

/** Why a turn ended that goes on when a person has granted more. */
export const AWAITING_BUDGET = "awaiting_budget";

/** What a turn has cost under its budgets. */
export interface TurnCost {
  readonly usd: number;
  readonly tokens: number;
}

/** As `usd()` and `tokens()` make them. */
export interface SpentAmount {
  readonly unit: "usd" | "tokens";
  readonly amount: number;
}

export interface BudgetRole {
  /** Of model calls that the framework makes beside the steps of a turn: for the turn that is running, if one is. */
  readonly meter: CallMeter;
  /** The limits that hold for a sub-agent of this turn, or of work outside of turns, as plain data; undefined: there are none. */
  limitsOf(turnId: string | undefined): Promise<Json | undefined>;
  /** What a turn has spent so far, with its sub-agents; undefined: it has no limits, or nothing was spent. */
  costOf(turnId: string): Promise<TurnCost | undefined>;
  /** What a turn that has ended waits for, as a person is shown it; undefined: for no more budget. */
  waitingFor(turnId: string): string | undefined;
  /** The turn does not go on: its question is taken back. */
  dropQuestion(turnId: string): void;
  /** A cost of a tool. */
  spend(amount: SpentAmount, spent?: { readonly id?: string; readonly name?: string }): Promise<void>;
}

/** An agent that can be held to the limits of a parent. */
export interface BudgetHeir {
  inheritBudgets(limits: object): void;
}
