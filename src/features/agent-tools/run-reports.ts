// Reports to user code how a run ended: the class's hook, the method that a background run names, and the conversation. An end
// is reported once by the process that sees it. One whose report that process did not live to see returned is reported again
// by the next one, and given up when too many have died of it.
import { beforeDeadline } from "../../host/deadline.ts";
import type { AfterDeath } from "../../work/kind.ts";
import { agentToolErrors } from "./errors.ts";
import type { RunOwner } from "./ports.ts";
import type { RunAgentToolResult } from "./run.ts";
import { backgroundOf, displayOf, runInfo, runResult, workKeyOf, type RunRow } from "./run-table.ts";

/** How long a hook may take. One that has not returned by then counts as called, and goes on by itself. */
export const REPORT_MS = 900_000;
/** Processes that may die before a report has returned. From the third on each waits a while, as it may be the hook's doing. */
export const REPORT_TRIES = 20;
/** Deaths without a pause, after that of the process that saw the end. */
const QUICK_RESTARTS = 2;

export class RunReports {
  readonly #owner: RunOwner;
  /** Of this process, by end, until it is written that the end was reported. */
  readonly #calls = new Map<string, Promise<void>>();

  constructor(owner: RunOwner) {
    this.#owner = owner;
  }

  /** Resolves when user code has returned. Throws if that cannot be written: called again, it calls no hook a second time. */
  async report(row: RunRow): Promise<void> {
    const key = workKeyOf(row);
    const call = this.#calls.get(key) ?? this.#call(row);
    this.#calls.set(key, call);
    await call;
    this.#owner.table.reported(row);
    this.#calls.delete(key);
  }

  /** The same for an end that was left; `calls` of it have not returned. */
  async again(row: RunRow, calls: number): Promise<void> {
    const { table, runtime } = this.#owner;
    if (calls < REPORT_TRIES) return this.report(row);
    await runtime.report(agentToolErrors.AgentToolReportGivenUpError(row.class_name, calls));
    table.reported(row);
  }

  /** When an end that was left is reported again, after so many processes that died in it. */
  afterDeath(starts: number): AfterDeath {
    const { clock, options } = this.#owner.runtime;
    return starts < QUICK_RESTARTS ? "again" : { at: clock.now() + options.keepAliveIntervalMs };
  }

  /** A throw is logged; the report counts as made. */
  async #call(row: RunRow): Promise<void> {
    const { agent, runtime, conversation } = this.#owner;
    const info = runInfo(row);
    const result = runResult(row);
    // The caller of one that never began was not promised anything.
    const { onFinish, notify = false } = (row.reason === "not-started" ? undefined : backgroundOf(row)) ?? {};
    const post = () => conversation.post(noticeOf(row, result), `agent-tool:${row.run_id}:${row.status}`);
    const calls: [name: string, call: () => unknown][] = [
      ["onAgentToolFinish", () => agent.onAgentToolFinish(info, result)]
    ];
    if (onFinish !== undefined) calls.push([onFinish, () => runtime.invoke(onFinish, info, result)]);
    if (notify) calls.push(["notify", post]);
    for (const [name, call] of calls) {
      const late = () => agentToolErrors.AgentToolHookLateError(name, REPORT_MS);
      try {
        // In a function of its own: a hook that is not asynchronous may throw, too.
        await beforeDeadline((async () => call())(), { clock: runtime.clock, timeoutMs: REPORT_MS, late });
      } catch (error) {
        await runtime.report(error);
      }
    }
  }
}

/** The text that is posted to a conversation about a background run. */
function noticeOf({ display, class_name: className }: RunRow, { status, summary, error }: RunAgentToolResult): string {
  const name = displayOf({ display })?.name ?? className;
  if (status !== "completed") return `${name} did not finish (${status})${error === undefined ? "." : `: ${error}`}`;
  return summary === undefined || summary === "" ? `${name} has finished.` : `${name}: ${summary}`;
}
