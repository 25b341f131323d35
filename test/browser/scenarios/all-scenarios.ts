// Every scenario, in the order in which they are played.
import { branchingScenarios } from "./branching.ts";
import { failureScenarios } from "./failures.ts";
import type { Scenario } from "./scenario.ts";
import { streamingScenarios } from "./streaming.ts";
import { toolScenarios } from "./tools.ts";

export const scenarios: readonly Scenario[] = [
  ...streamingScenarios,
  ...branchingScenarios,
  ...toolScenarios,
  ...failureScenarios
];
