// Reports to user code how a run ended: the class's hook, the method that a background run names, and the conversation. An end
// is reported once per process: while its report is under way the row is not due. One that the process did not live to see
// returned is made again by the next process, and given up when too many have died of it.
import { beforeDeadline } from "../../host/deadline.ts";
import { UNENDED_STARTS_LIMIT } from "../../agent/backoff.ts";
import { agentToolErrors } from "./errors.ts";
import type { RunOwner } from "./ports.ts";
import type { RunAgentToolResult } from "./run.ts";
import { backgroundOf, displayOf, runInfo, runResult, type RunRow } from "./run-table.ts";

/** How long a hook may take. One that has not returned by then counts as called, and goes on by itself. */
export const REPORT_MS = 900_000;
/** Processes that may die before a report has returned. From the third on each waits a while, as it may be the hook's doing. */
export const REPORT_TRIES = 20;

export class RunReports {
  readonly #owner: RunOwner;
  readonly #underWay = new Set<string>();
  /** When reports that earlier processes left are made again. */
  readonly #againAt = new Map<string, number>();

  constructor(owner: RunOwner) {
    this.#owner = owner;
  }

  isUnderWay(row: RunRow): boolean {
    return this.#underWay.has(keyOf(row));
  }

  /** When the report of a row that an earlier process left is made again. Decided once: each wake asks. */
  againAt(row: RunRow): number {
    const { clock, options } = this.#owner.runtime;
    const key = keyOf(row);
    const known = this.#againAt.get(key);
    if (known !== undefined) return known;
    const at = clock.now() + (row.reports < UNENDED_STARTS_LIMIT ? 0 : options.keepAliveIntervalMs);
    this.#againAt.set(key, at);
    return at;
  }

  /** Resolves when user code has returned. */
  report(row: RunRow): Promise<void> {
    return this.#claimed(row, () => this.#call(row));
  }

  /** The same for a row that an earlier process left: it is claimed before anything is waited for. */
  again(row: RunRow): Promise<void> {
    const { table, runtime } = this.#owner;
    return this.#claimed(row, () =>
      this.#owner.inAgent(async () => {
        if (row.reports >= REPORT_TRIES) {
          return runtime.report(agentToolErrors.AgentToolReportGivenUpError(row.class_name, row.reports));
        }
        table.reportBegins(row);
        await this.#call(row);
      })
    );
  }

  async #claimed(row: RunRow, work: () => Promise<void>): Promise<void> {
    const key = keyOf(row);
    this.#underWay.add(key);
    try {
      await work();
      this.#owner.table.reported(row);
    } finally {
      this.#underWay.delete(key);
      this.#againAt.delete(key);
    }
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

/** Its end is still to be reported. */
export function isUnreported({ reports, status }: RunRow): boolean {
  return reports > 0 && status !== "clearing";
}

/** An end, not a run: one that was given up may end again. */
function keyOf({ run_id, last_event }: RunRow): string {
  return `${last_event}:${run_id}`;
}

/** The text that is posted to a conversation about a background run. */
function noticeOf({ display, class_name: className }: RunRow, { status, summary, error }: RunAgentToolResult): string {
  const name = displayOf({ display })?.name ?? className;
  if (status !== "completed") return `${name} did not finish (${status})${error === undefined ? "." : `: ${error}`}`;
  return summary === undefined || summary === "" ? `${name} has finished.` : `${name}: ${summary}`;
}
