// The runs of each agent, for the package's own modules; user code has no name for them.
import type { ChildRuns } from "./child-runs.ts";
import type { OwnRuns } from "./own-run.ts";

export interface AgentToolParts {
  /** Of its children. */
  readonly children: ChildRuns;
  /** That its parent asked of it. */
  readonly own: OwnRuns;
}

const parts = new WeakMap<object, AgentToolParts>();

export function provideAgentTools(agent: object, given: AgentToolParts): void {
  parts.set(agent, given);
}

export function agentToolsOf(agent: object): AgentToolParts | undefined {
  return parts.get(agent);
}

export function childRunsOf(agent: object): ChildRuns | undefined {
  return parts.get(agent)?.children;
}
