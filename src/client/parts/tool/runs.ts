// What is said of a sub-agent's run in the card of the call that asked it. Pure.
import type { AgentRun } from "../think.ts";

/**
 * What a sub-agent's run is called: its display name, or the id of its agent.
 *
 * @example
 * {agentRuns.map((run) => <li key={run.runId}>{runName(run)}</li>)}
 */
export function runName({ display, agentType }: AgentRun): string {
  const { name } = display;
  return typeof name === "string" && name !== "" ? name : agentType;
}

const WORDS: Readonly<Record<AgentRun["status"], string>> = {
  running: "working",
  completed: "done",
  error: "failed",
  aborted: "stopped",
  interrupted: "gave no sign of life"
};

/**
 * How far a sub-agent's run is, in words.
 *
 * @example
 * {runName(run)} {runWord(run)}
 */
export function runWord({ status }: AgentRun): string {
  return WORDS[status];
}

/** Of a run's last words, as many as fit on a few lines. */
const SHOWN_CHARACTERS = 260;

export function lastWords({ message }: AgentRun): string {
  const said = (type: "text" | "reasoning") =>
    message.parts.flatMap((part) => (part.type === type ? [part.text] : [])).join(" ");
  // Its thoughts, until it says something.
  const text = (said("text") || said("reasoning"))
    .replaceAll(/[*_`#]+/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  if (text.length <= SHOWN_CHARACTERS) return text;
  const cut = text.slice(-SHOWN_CHARACTERS);
  return `… ${cut.slice(cut.indexOf(" ") + 1)}`;
}
