import { errorTable, ThinkError } from "../../util/errors.ts";

export const agentToolErrors = errorTable(ThinkError, {
  AgentToolClassError: (className: string) => ({
    code: "agent-tool-class",
    message: `"${className}" cannot run as a tool: it is no chat agent.`,
    hint: "A class that runs as a tool extends Think, or has startAgentToolRun() and the methods that go with it, and is exported from the Worker under its own name."
  }),
  AgentToolContextError: () => ({
    code: "agent-tool-context",
    message: "agentTool() can only run inside an agent.",
    hint: "Return the tool from getTools() or beforeTurn(), or give it to a model call in a method of an agent."
  }),
  /** Reported to `onError`; the hook goes on by itself. */
  AgentToolHookLateError: (hook: string, limitMs: number) => ({
    code: "agent-tool-hook-late",
    message: `"${hook}" has not returned ${limitMs / 60_000} minutes after a run of an agent tool ended.`,
    hint: "It counts as called, and nothing waits for it any longer. Start long work with schedule(), queue() or startFiber()."
  }),
  /** Reported to `onError`: every process that called the hooks ended before they returned. */
  AgentToolReportGivenUpError: (className: string, calls: number) => ({
    code: "agent-tool-report-given-up",
    message: `The end of a run of "${className}" was reported ${calls} times, and no report returned.`,
    hint: "Each time the process ended first. The run and its result are kept: see listAgentToolRuns()."
  }),
  /** The class of a sub-agent cannot hold the limits of its parent's turn. */
  NotInheritedError: (className: string) => ({
    code: "budget-not-inherited",
    message: "The sub-agent was not started: it could exceed the budget of this turn.",
    hint: `Give ${className} the capability of everthink/core/budgets, so that the limits of its parent hold for it.`
  })
});
