// What an agent and its sub-agents have spent, by day, turn, model and account. Pure but for reading the ledger.
import { addSums, dollars, NOTHING, type Sums } from "./amount.ts";
import type { BudgetLedger, CallRow } from "./ledger.ts";
import { dateIn } from "./limits.ts";

/** Calls that a report adds up, the newest. */
const REPORTED_CALLS = 10_000;
const REPORTED_ACCOUNTS = 200;
/** Turns that are listed, the newest. */
const REPORTED_TURNS = 100;

/** In dollars. */
export interface Costs {
  readonly usd: number;
  readonly tokens: number;
  readonly calls: number;
}

export interface CostReport {
  readonly at: number;
  /** Over the calls that are still known one by one; accounts know all of them. */
  readonly total: Costs;
  /** Newest first. Days of UTC. */
  readonly days: readonly ({ readonly day: string } & Costs)[];
  readonly turns: readonly ({ readonly turnId: string; readonly agent: string } & Costs)[];
  readonly models: readonly ({ readonly provider: string; readonly model: string } & Costs)[];
  readonly accounts: readonly ReportedAccount[];
  /** Model calls whose outcome is not known yet. */
  readonly open: number;
}

export interface ReportedAccount {
  /** "key:ann:2026-11-19", "day:…", "conversation:…", "turn:…". */
  readonly account: string;
  readonly usd: number;
  readonly tokens: number;
  readonly reservedUsd: number;
  readonly reservedTokens: number;
  readonly grantedUsd: number;
  readonly grantedTokens: number;
}

export function reportCosts(ledger: BudgetLedger, nowMs: number): CostReport {
  const calls = ledger.calls(REPORTED_CALLS);
  const byDay = grouped(calls, (call) => dateIn("UTC", call.at));
  const byTurn = grouped(
    calls.filter(({ turn_id }) => turn_id !== null),
    ({ agent, turn_id }) => JSON.stringify([agent, turn_id])
  );
  const byModel = grouped(calls, ({ provider, model }) => JSON.stringify([provider, model]));
  return {
    at: nowMs,
    total: costsOf(calls),
    days: [...byDay].map(([day, costs]) => ({ day, ...costs })),
    turns: [...byTurn].slice(0, REPORTED_TURNS).map(([key, costs]) => {
      const [agent = "", turnId = ""] = JSON.parse(key) as string[];
      return { turnId, agent, ...costs };
    }),
    models: [...byModel].map(([key, costs]) => {
      const [provider = "", model = ""] = JSON.parse(key) as string[];
      return { provider, model, ...costs };
    }),
    accounts: ledger.accounts(REPORTED_ACCOUNTS).map(({ account, balance: { spent, reserved, granted } }) => ({
      account,
      usd: dollars(spent.usd),
      tokens: spent.tokens,
      reservedUsd: dollars(reserved.usd),
      reservedTokens: reserved.tokens,
      grantedUsd: dollars(granted.usd),
      grantedTokens: granted.tokens
    })),
    open: ledger.openCount
  };
}

function grouped(calls: readonly CallRow[], keyOf: (call: CallRow) => string): Map<string, Costs> {
  const groups = Map.groupBy(calls, keyOf);
  return new Map([...groups].map(([key, of]) => [key, costsOf(of)]));
}

function costsOf(calls: readonly CallRow[]): Costs {
  const sum = calls.reduce<Sums>((before, call) => addSums(before, call), NOTHING);
  return { usd: dollars(sum.usd), tokens: sum.tokens, calls: calls.length };
}
