// All scenarios, in the order of a round.
import { bundleSize, bytesSent, rowsRead, rowsWritten } from "./counts.ts";
import { histories } from "./histories.ts";
import { installSize } from "./install.ts";
import { memory, restart, start } from "./processes.ts";
import type { Scenario } from "./scenario.ts";
import { burst, oneChunkTurn, paced, replay, steering, tools } from "./turns.ts";

export const SCENARIOS: readonly Scenario[] = [
  oneChunkTurn,
  tools,
  steering,
  burst,
  paced,
  ...histories,
  replay,
  restart,
  rowsWritten,
  rowsRead,
  bytesSent,
  start,
  memory,
  bundleSize,
  installSize
];
