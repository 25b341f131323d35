// Everything that is measured, in the order of the tables. A metric has one unit and one direction; scenarios fill in
// the numbers.

export type Unit = "ms" | "µs" | "chunks/s" | "rows" | "statements" | "KiB" | "MB" | "packages";

export interface Metric {
  label: string;
  unit: Unit;
  /** More is better; otherwise less is. */
  higherIsBetter?: true;
}

export const METRICS = {
  turnFirstText: { label: "One-chunk turn, to the first text", unit: "ms" },
  turnDone: { label: "One-chunk turn, to done", unit: "ms" },
  backToBack: { label: "20 one-chunk turns back to back, each", unit: "ms" },
  turnCpu: { label: "The same, CPU of the process", unit: "ms" },
  tenTools: { label: "Ten tool calls, one after another", unit: "ms" },
  tenToolsAtOnce: { label: "Ten tool calls in one step", unit: "ms" },
  ownStep: { label: "A step of a turn with tools, its model thinks for 20 ms", unit: "ms" },
  steer: { label: "From a steer to the first text of the turn that takes over", unit: "ms" },
  burstRate: { label: "2,000-chunk burst", unit: "chunks/s", higherIsBetter: true },
  pacedCpu: { label: "Paced stream (400 chunks, one in 5 ms), CPU a chunk", unit: "µs" },
  pacedDisk: { label: "Paced stream, bytes to disk", unit: "KiB" },
  new10: { label: "Turn on 10 messages, new one posted", unit: "ms" },
  new200: { label: "Turn on 200 messages, new one posted", unit: "ms" },
  new1000: { label: "Turn on 1,000 messages, new one posted", unit: "ms" },
  new3000: { label: "Turn on 3,000 messages, new one posted", unit: "ms" },
  all10: { label: "Turn on 10 messages, all posted", unit: "ms" },
  all200: { label: "Turn on 200 messages, all posted", unit: "ms" },
  all1000: { label: "Turn on 1,000 messages, all posted", unit: "ms" },
  all3000: { label: "Turn on 3,000 messages, all posted", unit: "ms" },
  restart: { label: "SIGKILL and start to the first done, 1,000 messages", unit: "ms" },
  replay: { label: "Reconnect to a held stream and replay 2,000 chunks", unit: "ms" },
  statements: { label: "SQL statements, one-chunk turn", unit: "statements" },
  rowsWrittenTurn: { label: "Rows written, one-chunk turn", unit: "rows" },
  rowsWrittenBurst: { label: "Rows written, 2,000-chunk burst", unit: "rows" },
  rowsWrittenTools: { label: "Rows written, ten tool calls one after another", unit: "rows" },
  rowsRead10: { label: "Rows read, one-chunk turn on 10 messages", unit: "rows" },
  rowsRead1000: { label: "Rows read, one-chunk turn on 1,000 messages", unit: "rows" },
  bytesAsking10: { label: "Bytes to the client that asks, 10 messages", unit: "KiB" },
  bytesAsking1000: { label: "Bytes to the client that asks, 1,000 messages", unit: "KiB" },
  bytesWatching10: { label: "Bytes to a second tab that watches, 10 messages", unit: "KiB" },
  bytesWatching1000: { label: "Bytes to a second tab that watches, 1,000 messages", unit: "KiB" },
  databaseGrowth: { label: "Database growth a one-chunk turn", unit: "KiB" },
  bundle: { label: "Bundle, minified", unit: "KiB" },
  bundleGzip: { label: "Bundle, minified and gzip", unit: "KiB" },
  start: { label: "Process start to the first response of an agent", unit: "ms" },
  memoryIdle: { label: "Memory with 100 idle agents", unit: "MB" },
  memoryStreaming: { label: "Memory with 20 of them streaming", unit: "MB" },
  installSize: { label: "Install size", unit: "MB" },
  installPackages: { label: "Packages installed", unit: "packages" }
} as const satisfies Record<string, Metric>;

export type MetricKey = keyof typeof METRICS;

/** What one run of a scenario found. */
export type Sample = Partial<Record<MetricKey, number>>;

export function metricOf(key: MetricKey): Metric {
  return METRICS[key];
}

export const METRIC_KEYS = Object.keys(METRICS) as MetricKey[];
