// Turns the numbers of a run into tables: ratios first, absolute numbers with their spread second, aims
// third. Also replaces the generated part of a document, and gives the same as JSON.
import { judge, type Verdict } from "./aims.ts";
import type { Contender } from "./contenders.ts";
import type { Machine } from "./machine.ts";
import { METRIC_KEYS, metricOf, type MetricKey } from "./metrics.ts";
import type { Results } from "./results.ts";
import { renderNumber, renderTable } from "./table.ts";

const MARKERS = ["<!-- measured: begin -->", "<!-- measured: end -->"] as const;

export interface Run {
  contenders: readonly Contender[];
  results: Results;
  rounds: number;
  date: string;
  machine: Machine;
}

export function renderReport(run: Run): string {
  const { machine } = run;
  return [
    `Measured ${run.date}, ${run.rounds} rounds, on ${machine.cores} cores of ${machine.cpu}; Node ${machine.node}, workerd ${machine.workerd}.`,
    "Ratios to the baseline:",
    ratioTable(run),
    "Absolute, medians with quartiles:",
    absoluteTable(run),
    ...run.results.failures.map(
      ({ scenario, contender, message }) => `Not measured: ${scenario} of ${contender}: ${message}`
    )
  ].join("\n\n");
}

export function renderAims(results: Results): string {
  const rendered = (value: number | undefined) => (value === undefined ? "–" : renderNumber(value));
  const rows = judge(results).map(({ aim, reached, isMet, withPlugins }) => [
    aimLabel(aim),
    `${metricOf(aim.metric).higherIsBetter ? "≥" : "≤"} ${renderNumber(aim.limit)}`,
    rendered(reached),
    isMet === undefined ? "not measured" : isMet ? "met" : "missed",
    rendered(withPlugins)
  ]);
  return renderTable(["Aim", "limit", "reached", "", "with its plugins"], rows);
}

function aimLabel({ metric, comparedTo, of }: Verdict["aim"]): string {
  const compared = comparedTo === undefined ? "" : comparedTo === "baseline" ? " / baseline" : ` / ${comparedTo}`;
  return `${metricOf(metric).label}${compared}${of === "everthink-plugins" ? ", with its plugins" : ""}`;
}

/** Everything, for other programs. */
export function reportJson({ contenders, results, rounds, date, machine }: Run): string {
  const metrics = measuredKeys({ contenders, results }).map((key) => [
    key,
    {
      ...metricOf(key),
      contenders: Object.fromEntries(
        contenders.map(({ name }) => [name, { ratio: results.ratio(key, name), ...results.summary(key, name) }])
      )
    }
  ]);
  const report = { date, machine, rounds, metrics: Object.fromEntries(metrics), failures: results.failures };
  return `${JSON.stringify({ ...report, aims: judge(results) }, undefined, 2)}\n`;
}

/** Refuses a document without the place for it. */
export function replaceMeasured(document: string, measured: string): string {
  const [begin, end] = MARKERS;
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error(`The document has no "${begin}" followed by "${end}".`);
  return `${document.slice(0, from + begin.length)}\n\n${measured}\n\n${document.slice(to)}`;
}

function ratioTable({ contenders, results }: Run): string {
  const others = contenders.filter(({ name }) => name !== "baseline");
  const rows = measuredKeys({ contenders, results }).map((key) => [
    metricOf(key).label,
    ...others.map(({ name }) => {
      const ratio = results.ratio(key, name);
      return ratio === undefined ? "–" : renderNumber(ratio);
    })
  ]);
  return renderTable(["", ...others.map(({ label }) => label)], rows);
}

function absoluteTable({ contenders, results }: Run): string {
  const rows = measuredKeys({ contenders, results }).map((key) => [
    `${metricOf(key).label}, ${metricOf(key).unit}`,
    ...contenders.map(({ name }) => {
      const summary = results.summary(key, name);
      if (summary === undefined) return "–";
      const { median, low, high } = summary;
      const spread = low === high ? "" : ` (${renderNumber(low)}–${renderNumber(high)})`;
      return `${renderNumber(median)}${spread}`;
    })
  ]);
  return renderTable(["", ...contenders.map(({ label }) => label)], rows);
}

function measuredKeys({ contenders, results }: Pick<Run, "contenders" | "results">): MetricKey[] {
  return METRIC_KEYS.filter((key) => contenders.some(({ name }) => results.summary(key, name) !== undefined));
}
