// The public names of budgets at the root of the package.
export { tokens, usd, type Amount } from "./amount.ts";
export type { BudgetContext } from "./capability.ts";
export type { BudgetKey, BudgetLimit, BudgetPer } from "./limits.ts";
export { PRICES, type ModelPrice, type Rate } from "./prices.ts";
export type { CostReport, Costs, ReportedAccount } from "./report.ts";
