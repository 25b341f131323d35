// `everthink/core/budgets`: limits of money and tokens that are kept, and the prices that they are counted with.
export { budgets, type BudgetMembers } from "../features/budgets/capability.ts";
export * from "../features/budgets/index.ts";
export type { ApprovalMembers } from "../features/approvals/capability.ts";
