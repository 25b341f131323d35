// `everthink costs`: what an agent and its sub-agents have spent under their budgets, read from the inspection API.
import type { Costs, CostsView, ReportedAccount, ShownPrices } from "../../features/inspection/index.ts";
import { INSPECTION_VARIABLE } from "../../framework/studio/studio-arguments.ts";
import { isObject } from "../../util/json.ts";
import { CommandError, type CliContext } from "../cli-context.ts";
import { wholeNumber, type ParsedArguments } from "../command-line.ts";
import { connectionFailure, targetOf } from "../connect.ts";
import { printable } from "../message-text.ts";
import { withProgress } from "../progress.ts";
import { queryOf, targetUrl, type AgentTarget } from "../target.ts";

const DEFAULT_ROWS = 10;
const ANSWER_LIMIT_MS = 15_000;

export async function runCosts(parsed: ParsedArguments, context: CliContext): Promise<number> {
  const limit = wholeNumber(parsed, "limit", { fallback: DEFAULT_ROWS });
  const target = targetOf(parsed, context);
  const token = parsed.text("token") ?? context.environment[INSPECTION_VARIABLE];
  const url = new URL(`${targetUrl(target)}/inspect/v1/costs`);
  for (const [key, value] of Object.entries(queryOf(parsed))) url.searchParams.set(key, value);
  const report = await withProgress(`Asking ${targetUrl(target)}`, context, read(url, target, token));
  if (parsed.flag("json")) context.print(JSON.stringify(report, null, 2));
  else for (const line of costLines(report, limit)) context.print(printable(line));
  return 0;
}

async function read(url: URL, target: AgentTarget, token: string | undefined): Promise<CostsView> {
  const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { signal, ...(headers && { headers }) }).catch((error: unknown) => {
    throw connectionFailure(target, error instanceof Error ? error.message : undefined);
  });
  if (response.status === 401 || response.status === 403) {
    throw new CommandError(
      "The agent does not let this command look inside.",
      `Give --token, or set ${INSPECTION_VARIABLE} to the key that the app has.`
    );
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok || !isReport(body)) throw connectionFailure(target, `It answered ${response.status}.`);
  return body;
}

function isReport(body: unknown): body is CostsView {
  return isObject(body) && isObject(body["total"]) && Array.isArray(body["days"]) && isObject(body["prices"]);
}

/** What is printed. Pure. */
export function costLines(report: CostsView, limit: number): string[] {
  const { total, days, models, turns, accounts, open, withoutLimits, prices } = report;
  const rows = <Row>(title: string, all: readonly Row[], line: (row: Row) => string) =>
    all.length === 0
      ? []
      : ["", title, ...all.slice(0, limit).map((row) => `  ${line(row)}`), ...more(all.length, limit)];
  return [
    `Total      ${costText(total)}`,
    `Under way  ${open} call${open === 1 ? "" : "s"}`,
    ...(withoutLimits.total.calls === 0 ? [] : [`No limit   ${costText(withoutLimits.total)}`]),
    `Prices     ${pricesText(prices)}`,
    ...rows("Days (UTC)", days, (one) => `${one.day}  ${costText(one)}`),
    ...rows("Models", models, (one) => `${one.provider} ${one.model}  ${costText(one)}`),
    ...rows("Turns", turns, (one) => `${one.turnId}  ${costText(one)}`),
    ...rows("Accounts", accounts.filter(isShown), accountText)
  ];
}

function more(count: number, limit: number): string[] {
  return count > limit ? [`  and ${count - limit} more (--limit)`] : [];
}

/** Turns are listed by themselves. */
function isShown({ account }: ReportedAccount): boolean {
  return !account.startsWith("turn:") && !account.startsWith("step:");
}

function accountText({ account, usd, tokens, reservedUsd, grantedUsd }: ReportedAccount): string {
  const reserved = reservedUsd > 0 ? `, $${dollarText(reservedUsd)} reserved` : "";
  const granted = grantedUsd > 0 ? `, $${dollarText(grantedUsd)} granted` : "";
  return `${account}  $${dollarText(usd)}  ${tokens} tokens${reserved}${granted}`;
}

function pricesText({ isOwn, rows, isCut }: ShownPrices): string {
  const dates = rows.flatMap(({ date }) => (date === undefined ? [] : [date])).toSorted();
  const of = isOwn ? "the class's own" : "the package's";
  const newest = dates.at(-1);
  return `${of}, ${rows.length}${isCut ? " and more" : ""} row${rows.length === 1 ? "" : "s"}${newest === undefined ? "" : `, the newest of ${newest}`}`;
}

function costText({ usd, tokens, calls }: Costs): string {
  return `$${dollarText(usd)}  ${tokens} tokens  ${calls} call${calls === 1 ? "" : "s"}`;
}

function dollarText(usd: number): string {
  return usd.toFixed(4);
}
