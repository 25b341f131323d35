// What an agent has spent, for inspectors: the report of its budgets as it is, beside it the turns that had no limit, counted
// from their tokens, the limits that hold now with how far they are used, and the prices all of it is counted with. Reads only.
import { runtimeOf } from "../../agent/runtime.ts";
import type { ChatServices } from "../../feature/services.ts";
import { pathKey } from "../../host/path.ts";
import { TableSet } from "../../host/table-set.ts";
import { turnOf, type TurnHistory } from "../../journal/history.ts";
import { ONE_CALL_MODEL } from "../../model/index.ts";
import { parseJson, type Json } from "../../util/json.ts";
import { amountOf } from "../budgets/amount.ts";
import type { BudgetMembers } from "../budgets/capability.ts";
import { accountOf, dateIn, readInherited, readLimits, type KeptLimit } from "../budgets/limits.ts";
import type { ModelPrice } from "../budgets/prices.ts";
import type { Costs, CostReport, ReportedAccount } from "../budgets/report.ts";
import { TURN_LIMIT_TABLES } from "../budgets/tables.ts";
import { knownCostOf, type ModelPrices } from "./cost.ts";

/** Turns without limits that are counted, the newest, and of them those that are listed one by one. */
const COUNTED_TURNS = 500;
const LISTED_TURNS = 100;
const PAGE_TURNS = 100;
const SHOWN_LIMITS = 100;
const SHOWN_PRICES = 300;

/** `GET costs`: the report that `getCosts()` and `everthink costs` give, with what a page shows around it. */
export interface CostsView extends CostReport {
  /** As in `turns`: whose turns this agent's address shows. */
  readonly agentPath: string;
  /** Turns that had no limit: no account knows them, so they are counted from the tokens of their history. */
  readonly withoutLimits: CountedCosts;
  /** Limits of open turns, and those that hold outside of turns. */
  readonly limits: readonly UsedLimit[];
  readonly prices: ShownPrices;
}

export interface CountedCosts {
  readonly total: Costs;
  /** Of models without a price: they are part of `total.tokens` and of no sum of money. */
  readonly unpricedTokens: number;
  /** Newest first. Days of UTC. */
  readonly days: readonly ({ readonly day: string } & Costs)[];
  readonly turns: readonly ({ readonly turnId: string; readonly at: number } & Costs)[];
  readonly models: readonly ({ readonly model: string } & Costs)[];
  /** Older turns are not counted. */
  readonly isCut: boolean;
}

export interface UsedLimit {
  /** As in `CostReport.accounts`. */
  readonly account: string;
  readonly per: KeptLimit["per"];
  readonly unit: "usd" | "tokens";
  /** With what was granted. */
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  readonly then: "stop" | "ask";
  readonly isInherited: boolean;
}

export interface ShownPrices {
  /** The class has a `getPrices()`; otherwise they are the package's. */
  readonly isOwn: boolean;
  readonly rows: readonly ModelPrice[];
  readonly isCut: boolean;
}

export async function inspectCosts(services: ChatServices): Promise<CostsView> {
  // Only agents with these members have inspectors.
  const agent = services.agent as BudgetMembers;
  const report = await agent.getCosts();
  const prices = agent.getPrices();
  const { turns, isCut } = await turnsWithoutLimits(services);
  const agentPath = pathKey(runtimeOf(agent).identity.pathBelowRoot);
  return {
    ...report,
    agentPath,
    withoutLimits: countTurns(turns, prices, isCut),
    limits: await limitsNow(services, { members: agent, agentPath, report }),
    prices: {
      isOwn: services.isOverridden("getPrices"),
      rows: prices.slice(0, SHOWN_PRICES),
      isCut: prices.length > SHOWN_PRICES
    }
  };
}

async function turnsWithoutLimits({ journal, features }: ChatServices) {
  const turns: TurnHistory[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  let isCut = true;
  while (turns.length < COUNTED_TURNS) {
    const rows = journal.history.turnsBefore(before, PAGE_TURNS);
    turns.push(...rows.flatMap((row) => turnOf(row) ?? []));
    before = rows.at(-1)?.sequence ?? 0;
    isCut = rows.length === PAGE_TURNS;
    if (!isCut) break;
  }
  const budgets = features.role("budgets");
  const accounts = await Promise.all(turns.map(({ turnId }) => budgets?.costOf(turnId)));
  // A tool that was run by hand asked no model.
  const asked = ({ models }: TurnHistory) => models.some((model) => model !== ONE_CALL_MODEL);
  return { turns: turns.filter((turn, index) => accounts[index] === undefined && asked(turn)), isCut };
}

/** Pure. */
export function countTurns(turns: readonly TurnHistory[], prices: ModelPrices, isCut: boolean): CountedCosts {
  const counted = turns.map(({ turnId, settledAt, models, usage, steps }) => {
    const [model = "unknown"] = models;
    // Of a turn with several models it is not kept which of them used how much.
    const isOne = models.length === 1;
    const cost = isOne ? knownCostOf(prices, model, usage) : null;
    const tokens = usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
    return {
      ...{ turnId, at: settledAt, day: dateIn("UTC", settledAt), model: isOne ? model : models.join(", ") || model },
      ...{ usd: cost?.amount ?? 0, tokens, calls: steps, isPriced: cost !== null }
    };
  });
  const grouped = (keyOf: (turn: (typeof counted)[number]) => string) =>
    [...Map.groupBy(counted, keyOf)].map(([key, of]) => ({ key, ...sumOf(of) }));
  return {
    total: sumOf(counted),
    unpricedTokens: sumOf(counted.filter(({ isPriced }) => !isPriced)).tokens,
    days: grouped(({ day }) => day).map(({ key: day, ...costs }) => ({ day, ...costs })),
    turns: counted
      .filter(({ tokens }) => tokens > 0)
      .slice(0, LISTED_TURNS)
      .map(({ turnId, at, usd, tokens, calls }) => ({ turnId, at, usd, tokens, calls })),
    models: grouped(({ model }) => model)
      .filter(({ tokens }) => tokens > 0)
      .map(({ key: model, ...costs }) => ({ model, ...costs })),
    isCut
  };
}

function sumOf(costs: readonly Costs[]): Costs {
  return costs.reduce<Costs>(
    (sum, { usd, tokens, calls }) => ({
      usd: sum.usd + usd,
      tokens: sum.tokens + tokens,
      calls: sum.calls + calls
    }),
    { usd: 0, tokens: 0, calls: 0 }
  );
}

/** Of a turn that is over its limits are not kept: its accounts are in the report. */
async function limitsNow(
  { sql, clock }: ChatServices,
  {
    members,
    agentPath,
    report: { accounts }
  }: { readonly members: BudgetMembers; readonly agentPath: string; readonly report: CostReport }
): Promise<UsedLimit[]> {
  const rows = new TableSet(sql, TURN_LIMIT_TABLES).all<{ limits: string }>("SELECT limits FROM cf_budget_limits");
  const ofTurns = rows.flatMap(({ limits }) => {
    const parsed = parseJson(limits);
    // Written by the feature that keeps budgets.
    return parsed.ok ? readInherited(parsed.value as Json) : [];
  });
  const limits = [...ofTurns, ...(await limitsOutsideTurns(members, agentPath))];
  const nowMs = clock.now();
  const used = limits
    .filter((limit) => limit.isForCounting !== true && limit.per !== "step")
    .map((limit) => usedLimit(limit, accountOf(limit, { nowMs, step: "" }), accounts));
  const byAccount = new Map(used.map((one) => [`${one.account} ${one.unit}`, one]));
  return [...byAccount.values()].slice(0, SHOWN_LIMITS);
}

/** `getBudgets()` may count on a connection that inspectors do not have. */
async function limitsOutsideTurns(members: BudgetMembers, agent: string): Promise<KeptLimit[]> {
  const nothing = { requestId: undefined, trigger: undefined, channel: undefined, body: undefined };
  try {
    const given: unknown = await members.getBudgets({ ...nothing, turnId: undefined, connection: undefined });
    return readLimits(given, { agent, turnId: undefined });
  } catch {
    // The turn that has this answer says why; here no limit is known then.
    return [];
  }
}

function usedLimit(
  { per, unit, limit, then, isInherited }: KeptLimit,
  account: string,
  accounts: readonly ReportedAccount[]
): UsedLimit {
  const known = accounts.find((one) => one.account === account);
  const isMoney = unit === "usd";
  const granted = (isMoney ? known?.grantedUsd : known?.grantedTokens) ?? 0;
  return {
    ...{ account, per, unit, then, isInherited },
    limit: amountOf(unit, limit).amount + granted,
    spent: (isMoney ? known?.usd : known?.tokens) ?? 0,
    reserved: (isMoney ? known?.reservedUsd : known?.reservedTokens) ?? 0
  };
}
