// What everthink is meant to reach, and whether it does. A ratio is to the baseline of the same run unless it says
// otherwise; rows, megabytes and packages are absolute.
import type { ContenderName } from "./contenders.ts";
import { metricOf, type MetricKey } from "./metrics.ts";
import type { Results } from "./results.ts";

export interface Aim {
  metric: MetricKey;
  /** "baseline": a ratio to the baseline; a metric: a ratio to everthink's own; absent: the number itself. */
  comparedTo?: "baseline" | MetricKey;
  /** At most this much, or at least when more is better. */
  limit: number;
  /** Default: everthink as it is. */
  of?: ContenderName;
}

export interface Verdict {
  aim: Aim;
  /** Undefined when the run did not measure it. */
  reached: number | undefined;
  isMet: boolean | undefined;
  /** The same of a build with the plugins of `everthink/build`; undefined if that was not measured, or is no question. */
  withPlugins: number | undefined;
}

/** "The same as" leaves space for a digit more in a number that is sent or a row on another page. */
const SAME = 1.05;

export const AIMS: readonly Aim[] = [
  { metric: "turnDone", comparedTo: "baseline", limit: 1.3 },
  { metric: "turnDone", comparedTo: "baseline", limit: 1.0, of: "everthink-plugins" },
  { metric: "backToBack", comparedTo: "baseline", limit: 1.4 },
  { metric: "tenTools", comparedTo: "baseline", limit: 1.2 },
  { metric: "tenTools", comparedTo: "baseline", limit: 0.8, of: "everthink-plugins" },
  // It waits for the end of a step, and a turn ends and another begins then.
  { metric: "steer", comparedTo: "ownStep", limit: 4 },
  { metric: "burstRate", comparedTo: "baseline", limit: 5 },
  { metric: "pacedCpu", comparedTo: "baseline", limit: 1.1 },
  { metric: "pacedDisk", comparedTo: "baseline", limit: 5 },
  { metric: "rowsWrittenTurn", limit: 7 },
  { metric: "rowsWrittenBurst", limit: 20 },
  { metric: "rowsWrittenTools", limit: 27 },
  { metric: "rowsRead1000", comparedTo: "rowsRead10", limit: SAME },
  { metric: "bytesAsking1000", comparedTo: "bytesAsking10", limit: SAME },
  { metric: "new1000", comparedTo: "baseline", limit: 1.3 },
  { metric: "new3000", comparedTo: "baseline", limit: 1.3 },
  { metric: "all1000", comparedTo: "baseline", limit: 2 },
  { metric: "all3000", comparedTo: "baseline", limit: 2 },
  { metric: "restart", comparedTo: "baseline", limit: 1.2 },
  { metric: "replay", comparedTo: "baseline", limit: 1.0 },
  { metric: "bundle", comparedTo: "baseline", limit: 1.25 },
  { metric: "start", comparedTo: "baseline", limit: 1.2 },
  { metric: "memoryIdle", comparedTo: "baseline", limit: 1.3 },
  { metric: "memoryStreaming", comparedTo: "baseline", limit: 1.3 },
  { metric: "installSize", limit: 40 },
  { metric: "installPackages", limit: 60 }
];

export function judge(results: Pick<Results, "ratio" | "ownRatio" | "summary">, aims = AIMS): Verdict[] {
  return aims.map((aim) => {
    const reached = reachedBy(results, aim);
    const withPlugins = aim.of === undefined ? reachedBy(results, { ...aim, of: "everthink-plugins" }) : undefined;
    if (reached === undefined) return { aim, reached, isMet: undefined, withPlugins };
    const isMet = metricOf(aim.metric).higherIsBetter ? reached >= aim.limit : reached <= aim.limit;
    return { aim, reached, isMet, withPlugins };
  });
}

function reachedBy(results: Pick<Results, "ratio" | "ownRatio" | "summary">, aim: Aim): number | undefined {
  const { metric, comparedTo, of = "everthink" } = aim;
  if (comparedTo === undefined) return results.summary(metric, of)?.median;
  return comparedTo === "baseline" ? results.ratio(metric, of) : results.ownRatio(metric, comparedTo, of);
}
