// What the agents of a project have spent, added up from the report of each: the numbers of `everthink costs`, and those of
// turns without limits beside them. Pure but for asking.
import type { Costs, CostsView, ReportedAccount, UsedLimit } from "../src/features/inspection/index.ts";
import { agentSource, readInstances, type StudioConfig } from "./source.ts";

/** Instances that are asked, those that were spoken in last: each of them is in memory then. */
const MAX_ASKED = 100;
/** At one time. */
const MAX_CONCURRENT = 6;

/** One agent with its conversation. */
export interface AgentCosts {
  readonly at: string;
  /** How its first question begins. */
  readonly title: string | null;
  readonly costs: CostsView;
}

export interface CostRow extends Costs {
  readonly name: string;
}

export interface CostSummary {
  /** As `everthink costs` prints it. */
  readonly limited: Costs;
  readonly unlimited: Costs;
  readonly total: Costs;
  /** Tokens of models without a price. */
  readonly unpricedTokens: number;
  /** Calls whose outcome is not known, and what they have reserved. */
  readonly open: number;
  readonly reservedUsd: number;
  readonly days: readonly CostRow[];
  readonly models: readonly CostRow[];
  /** By the name in `{ key }` of a limit. */
  readonly people: readonly Pick<CostRow, "name" | "usd" | "tokens">[];
  readonly agents: readonly (CostRow & { readonly title: string | null })[];
  readonly limits: readonly (UsedLimit & { readonly at: string })[];
}

export function summarize(agents: readonly AgentCosts[]): CostSummary {
  const views = agents.map(({ costs }) => costs);
  const limited = sum(views.map(({ total }) => total));
  const unlimited = sum(views.map(({ withoutLimits }) => withoutLimits.total));
  const days = views.flatMap((view) => [...view.days, ...view.withoutLimits.days]);
  const models = views.flatMap((view) => [...view.models, ...view.withoutLimits.models]);
  const accounts = views.flatMap((view) => view.accounts);
  const people = accounts.flatMap((account) => personOf(account) ?? []);
  return {
    limited,
    unlimited,
    total: sum([limited, unlimited]),
    unpricedTokens: views.reduce((count, { withoutLimits }) => count + withoutLimits.unpricedTokens, 0),
    open: views.reduce((count, { open }) => count + open, 0),
    // Every call of a turn with a limit is reserved for the turn, too.
    reservedUsd: accounts.reduce((usd, one) => usd + (one.account.startsWith("turn:") ? one.reservedUsd : 0), 0),
    days: grouped(days, ({ day }) => day).sort((one, other) => other.name.localeCompare(one.name)),
    models: grouped(models, ({ model }) => model).sort(byCost),
    people: grouped(
      people.map((one) => ({ ...one, calls: 0 })),
      ({ name }) => name
    ).sort(byCost),
    agents: agents
      .map(({ at, title, costs }) => ({ name: at, title, ...sum([costs.total, costs.withoutLimits.total]) }))
      .sort(byCost),
    limits: agents
      .flatMap(({ at, costs }) => costs.limits.map((limit) => ({ ...limit, at })))
      .sort((one, other) => share(other) - share(one))
  };
}

/** How far a limit is used, from 0 to 1; what is reserved counts as spent. */
export function share({ spent, reserved, limit }: Pick<UsedLimit, "spent" | "reserved" | "limit">): number {
  const used = spent + reserved;
  return limit > 0 ? Math.min(1, used / limit) : used > 0 ? 1 : 0;
}

/** The account without its kind and period: "ann" of "key:ann:2026-11-19". */
export function personOf({ account, usd, tokens }: ReportedAccount): Pick<CostRow, "name" | "usd" | "tokens"> | null {
  const [, name] = /^key:(.*?)(?::\d{4}-\d{2}(?:-\d{2})?)?$/s.exec(account) ?? [];
  return name === undefined ? null : { name, usd, tokens };
}

/** An account as a person reads it: without the path of an agent that is the root, and with its period behind it. */
export function accountName(account: string): string {
  return account
    .replace(/^key:/, "")
    .replace(/:\[\]/, "")
    .replaceAll(/:(?=\[|\d{4}-\d{2})|(?<=^(?:turn|day|conversation)):/g, " ");
}

function byCost(one: Pick<CostRow, "usd" | "tokens">, other: Pick<CostRow, "usd" | "tokens">): number {
  return other.usd - one.usd || other.tokens - one.tokens;
}

function grouped<Row extends Costs>(rows: readonly Row[], nameOf: (row: Row) => string): CostRow[] {
  return [...Map.groupBy(rows, nameOf)].map(([name, of]) => ({ name, ...sum(of) }));
}

function sum(costs: readonly Costs[]): Costs {
  return costs.reduce<Costs>(
    (all, { usd, tokens, calls }) => ({ usd: all.usd + usd, tokens: all.tokens + tokens, calls: all.calls + calls }),
    { usd: 0, tokens: 0, calls: 0 }
  );
}

export interface ProjectCosts {
  readonly agents: readonly AgentCosts[];
  /** Instances that were not asked, and those that did not answer. */
  readonly unasked: number;
  readonly failed: readonly { readonly at: string; readonly error: string }[];
}

/** Undefined: Studio's server does not know which instances there are. */
export async function readProjectCosts(
  { agents }: Pick<StudioConfig, "agents">,
  isNeeded: () => boolean
): Promise<ProjectCosts | undefined> {
  const lists = await Promise.all(agents.map(async ({ id }) => ({ id, ...(await readInstances(id)) })));
  if (lists.every(({ instances }) => instances === undefined)) return undefined;
  const known = lists
    .flatMap(({ id, instances = [] }) =>
      instances.map((one) => ({ ...one, at: `${id}/${encodeURIComponent(one.name)}` }))
    )
    // An instance in which nothing was said has asked no model.
    .filter(({ spokenAt }) => spokenAt !== null)
    .sort((one, other) => (other.spokenAt ?? 0) - (one.spokenAt ?? 0));
  const asked = known.slice(0, MAX_ASKED);
  const read: AgentCosts[] = [];
  const failed: { at: string; error: string }[] = [];
  const queue = asked.values();
  const work = async () => {
    for (const { at, title } of queue) {
      if (!isNeeded()) return;
      await agentSource(at)
        .get<CostsView>("costs")
        .then(
          (costs) => read.push({ at, title, costs }),
          ({ message: error }: Error) => failed.push({ at, error })
        );
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  return { agents: read, unasked: known.length - asked.length, failed };
}
