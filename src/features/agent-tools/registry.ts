// The runs of each agent, for the package's own modules; user code has no name for them.
import type { ChildRuns } from "./child-runs.ts";

const runs = new WeakMap<object, ChildRuns>();

export function provideChildRuns(agent: object, given: ChildRuns): void {
  runs.set(agent, given);
}

/** Those of its children. */
export function childRunsOf(agent: object): ChildRuns {
  const known = runs.get(agent);
  if (!known) throw new TypeError("Not an agent.");
  return known;
}
