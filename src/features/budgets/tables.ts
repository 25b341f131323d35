// The tables of budgets: the accounts of a tree at its root, and, at each agent, what its turns may spend.
import type { TableDefinition } from "../../host/table-set.ts";

/** Model calls that stay known one by one; beyond, only the accounts know them. */
export const KEPT_CALLS = 10_000;
/** After its last call an account is kept so long, if another period or turn has followed. */
export const ACCOUNT_KEPT_MS = 62 * 24 * 3_600_000;

export const BUDGET_TABLES: readonly TableDefinition[] = [
  // Bound: one row per conversation and key, and those of turns, steps, days and months for ACCOUNT_KEPT_MS. Deleted: by later calls.
  {
    name: "cf_budget_accounts",
    create: [
      `CREATE TABLE cf_budget_accounts (
        account TEXT PRIMARY KEY,
        usd_spent INTEGER NOT NULL DEFAULT 0,
        tokens_spent INTEGER NOT NULL DEFAULT 0,
        usd_granted INTEGER NOT NULL DEFAULT 0,
        tokens_granted INTEGER NOT NULL DEFAULT 0,
        updated_at INTEGER NOT NULL
      )`
    ]
  },
  // Bound: the newest KEPT_CALLS, and those that are open. Deleted: by later calls.
  {
    name: "cf_budget_calls",
    create: [
      `CREATE TABLE cf_budget_calls (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        agent TEXT NOT NULL,
        epoch TEXT NOT NULL,
        root_epoch TEXT NOT NULL,
        turn_id TEXT,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        accounts TEXT NOT NULL,
        usd INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        at INTEGER NOT NULL,
        settled_at INTEGER
      )`,
      "CREATE INDEX cf_budget_calls_open ON cf_budget_calls (state) WHERE state = 'open'"
    ]
  },
  // Bound: one per question that was approved. Deleted: with the account that it was for.
  {
    name: "cf_budget_grants",
    create: [
      `CREATE TABLE cf_budget_grants (
        id TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        unit TEXT NOT NULL,
        amount INTEGER NOT NULL,
        granted_by TEXT,
        at INTEGER NOT NULL
      )`
    ]
  }
];

export const TURN_LIMIT_TABLES: readonly TableDefinition[] = [
  // Bound: one row per open turn, and one of what a parent has set. Deleted: with the turn, and by the next start.
  {
    name: "cf_budget_limits",
    create: ["CREATE TABLE cf_budget_limits (turn_id TEXT PRIMARY KEY, limits TEXT NOT NULL)"]
  }
];
