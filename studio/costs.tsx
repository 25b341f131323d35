// What was spent: by day, conversation, person, model and turn, limits and how far they are used, and the prices.
import { useEffect, useMemo, useState, type ReactNode } from "react";
import type { CostsView, ModelPrice, ShownPrices, UsedLimit } from "../src/features/inspection/index.ts";
import { count, money, printable, readableAddress } from "./format.ts";
import { Badge, Empty, Fact, Loading, Scopes, useView, type Scope } from "./parts.tsx";
import {
  accountName,
  readProjectCosts,
  share,
  summarize,
  type CostRow,
  type CostSummary,
  type ProjectCosts
} from "./project-costs.ts";
import type { Route } from "./route.ts";
import type { StudioConfig, ViewSource } from "./source.ts";

interface CostsProps {
  readonly config: StudioConfig;
  readonly route: Route;
  readonly go: (route: Route) => void;
  readonly source: ViewSource;
  readonly version: unknown;
}

/** Rows of one list; the others are named by number. */
const MAX_ROWS = 30;

export function CostsPage(props: CostsProps) {
  const { config, source } = props;
  const [chosen, setChosen] = useState<Scope>("project");
  const [project, setProject] = useState<ProjectCosts | "unknown">();
  const [asked, setAsked] = useState(0);
  const hasProject = !source.isFile && project !== "unknown";
  const scope = hasProject ? chosen : "agent";
  useEffect(() => {
    if (scope !== "project") return;
    let isCurrent = true;
    readProjectCosts(config, () => isCurrent).then(
      (read) => isCurrent && setProject(read ?? "unknown"),
      // The server is gone; the page says so elsewhere.
      () => isCurrent && setProject((last) => last ?? "unknown")
    );
    return () => void (isCurrent = false);
  }, [config, scope, asked]);
  return (
    <div className="content">
      {hasProject && <Scopes label="Whose costs" chosen={scope} onChoose={setChosen} address={source.address} />}
      <div className="costs">
        {scope === "agent" ? (
          <OfAgent {...props} />
        ) : project === undefined || project === "unknown" ? (
          <Loading what="the costs of all agents" />
        ) : (
          <OfProject {...props} project={project} onRefresh={() => setAsked(asked + 1)} />
        )}
      </div>
    </div>
  );
}

function OfProject({ route, go, project, onRefresh }: CostsProps & { project: ProjectCosts; onRefresh: () => void }) {
  const summary = useMemo(() => summarize(project.agents), [project]);
  const prices = project.agents[0]?.costs.prices;
  const open = (at: string) => go({ ...route, at, turn: undefined });
  if (project.agents.length === 0 && project.failed.length === 0)
    return <Empty title="Nothing was spent yet">No agent of the project has asked a model.</Empty>;
  return (
    <>
      <Totals summary={summary}>
        <button onClick={onRefresh}>Read again</button>
      </Totals>
      <CostTable title="Days (UTC)" rows={summary.days} />
      <CostTable title="Conversations" rows={summary.agents} onOpen={open} nameOf={readableAddress} />
      <CostTable title="People" rows={summary.people} />
      <CostTable title="Models" rows={summary.models} />
      <Limits limits={summary.limits} isProject />
      {prices && <Prices prices={prices} used={summary.models} />}
      {project.unasked > 0 && <p className="faint">{`${project.unasked} older conversations were not asked.`}</p>}
      {project.failed.map(({ at, error }) => (
        <p key={at} className="error">
          {`${printable(readableAddress(at))}: ${error}`}
        </p>
      ))}
    </>
  );
}

function OfAgent({ route, go, source, version }: CostsProps) {
  const { value: costs, error } = useView<CostsView>(source, "costs", version);
  if (!costs)
    return error === undefined ? <Loading what="the costs" /> : <Empty title="No costs to show">{error}</Empty>;
  const summary = summarize([{ at: source.address, title: null, costs }]);
  const turns = [
    ...costs.turns.map((turn) => ({ ...turn, name: turn.turnId, isOwn: turn.agent === costs.agentPath })),
    ...costs.withoutLimits.turns.map((turn) => ({ ...turn, name: turn.turnId, isOwn: true }))
  ];
  const own = new Set(turns.flatMap(({ isOwn, name }) => (isOwn ? [name] : [])));
  return (
    <>
      <Totals summary={summary} />
      {costs.withoutLimits.isCut && <p className="faint">Of turns without limits the newest 500 are counted.</p>}
      <CostTable title="Days (UTC)" rows={summary.days} />
      <CostTable
        title="Turns"
        rows={turns}
        canOpen={(name) => own.has(name)}
        onOpen={(turn) => go({ ...route, view: "timeline", turn })}
      />
      <CostTable title="People" rows={summary.people} />
      <CostTable title="Models" rows={summary.models} />
      <Limits limits={summary.limits} />
      <Prices prices={costs.prices} used={summary.models} />
    </>
  );
}

function Totals({ summary, children }: { summary: CostSummary; children?: ReactNode }) {
  const { total, limited, unlimited, unpricedTokens, open, reservedUsd } = summary;
  return (
    <div className="facts">
      <Fact name="total" value={dollars(total.usd)} />
      <Fact name="under limits" value={dollars(limited.usd)} title="What everthink costs prints" />
      <Fact name="without limits" value={dollars(unlimited.usd)} title="Counted from the tokens of those turns" />
      <Fact name="tokens" value={count(total.tokens)} />
      <Fact name="model calls" value={count(total.calls)} />
      <Fact name="under way" value={open === 0 ? "none" : `${open} calls, ${dollars(reservedUsd)} reserved`} />
      {unpricedTokens > 0 && <Fact name="without a price" value={`${count(unpricedTokens)} tokens`} />}
      {children}
    </div>
  );
}

interface CostTableProps {
  readonly title: string;
  readonly rows: readonly (Pick<CostRow, "name" | "usd" | "tokens"> & { calls?: number; title?: string | null })[];
  readonly nameOf?: (name: string) => string;
  readonly canOpen?: (name: string) => boolean;
  readonly onOpen?: (name: string) => void;
}

function CostTable({ title, rows, nameOf = (name) => name, canOpen = () => true, onOpen }: CostTableProps) {
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(({ usd }) => usd));
  const mostTokens = Math.max(...rows.map(({ tokens }) => tokens));
  return (
    <section className="panel">
      <h3>
        {title} <small>{rows.length}</small>
      </h3>
      <table className="cost-table">
        <thead>
          <tr>
            <th>{title}</th>
            <th aria-label="Share" />
            <th className="number">Cost</th>
            <th className="number">Tokens</th>
            <th className="number calls">Calls</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map(({ name, usd, tokens, calls, title: words }) => (
            <tr key={name}>
              <td>
                {onOpen && canOpen(name) ? (
                  <button className="link mono" onClick={() => onOpen(name)}>
                    {printable(nameOf(name))}
                  </button>
                ) : (
                  <span className="mono">{printable(nameOf(name))}</span>
                )}
                {typeof words === "string" && <span className="cost-words">{printable(words)}</span>}
              </td>
              <td className="cost-share" aria-hidden="true">
                <Share of={most > 0 ? usd / most : tokens / Math.max(1, mostTokens)} />
              </td>
              <td className="number">{usd === 0 && tokens > 0 ? "–" : dollars(usd)}</td>
              <td className="number">{count(tokens)}</td>
              <td className="number calls">{calls === undefined || calls === 0 ? "" : count(calls)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && <p className="faint">{`and ${rows.length - MAX_ROWS} more`}</p>}
    </section>
  );
}

function Limits({ limits, isProject = false }: { limits: CostSummary["limits"]; isProject?: boolean }) {
  if (limits.length === 0) return null;
  return (
    <section className="panel">
      <h3>
        Limits <small>of open turns, and those that hold outside of turns</small>
      </h3>
      <ul className="plain">
        {limits.slice(0, MAX_ROWS).map((limit) => (
          <li key={`${limit.at} ${limit.account} ${limit.unit}`} className="limit">
            <span className="mono">
              {printable(`${isProject ? `${readableAddress(limit.at)} ` : ""}${accountName(limit.account)}`)}
            </span>
            <Share of={share(limit)} isFull={share(limit) >= 0.9} />
            <span>
              {`${amount(limit, limit.spent)} of ${amount(limit, limit.limit)}`}
              {limit.reserved > 0 && `, ${amount(limit, limit.reserved)} reserved`}
            </span>
            <Badge kind={limit.then}>{limit.then === "ask" ? "then asks" : "then stops"}</Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Share({ of, isFull = false }: { of: number; isFull?: boolean }) {
  return (
    <span className="share" data-full={isFull}>
      <i style={{ width: `${Math.max(of > 0 ? 2 : 0, Math.round(of * 100))}%` }} />
    </span>
  );
}

/** Those of the models that were used first. */
function Prices({ prices: { isOwn, rows, isCut }, used }: { prices: ShownPrices; used: readonly CostRow[] }) {
  const isUsed = ({ model }: ModelPrice) => used.some(({ name }) => name.startsWith(model.replace(/\*.*$/, "")));
  const sorted = rows.toSorted((one, other) => Number(isUsed(other)) - Number(isUsed(one)));
  return (
    <section className="panel">
      <h3>
        Prices{" "}
        <small>{isOwn ? "of getPrices() of the class" : "of the package: compare them with the provider's page"}</small>
      </h3>
      <details className="section">
        <summary>
          <i className="chevron" />
          <b>{`${rows.length}${isCut ? " or more" : ""} models`}</b>
          <span className="faint">dollars per million tokens</span>
        </summary>
        <div className="scrolled" tabIndex={0} role="region" aria-label="Prices">
          <table>
            <thead>
              <tr>
                {["Model", "Input", "Cached", "Cache write", "Output", "Entered", "Source"].map((name) => (
                  <th key={name}>{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {sorted.map((price, index) => (
                <tr key={index}>
                  <td className="mono">{printable(`${price.provider} ${price.model}`)}</td>
                  <td>{price.input}</td>
                  <td>{price.cachedInput ?? "–"}</td>
                  <td>{price.cacheWrite ?? "–"}</td>
                  <td>{price.output}</td>
                  <td>{printable(price.date ?? "–")}</td>
                  <td>{printable(price.source ?? "–")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

function dollars(usd: number): string {
  return money({ amount: usd, currency: "USD" });
}

function amount({ unit }: Pick<UsedLimit, "unit">, value: number): string {
  return unit === "usd" ? dollars(value) : `${count(Math.round(value))} tokens`;
}
