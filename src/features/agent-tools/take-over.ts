// The runs of children that an agent of the original has. Which turn waits for an open one is said by what has turns.
import type { Sql } from "../../host/ports.ts";
import { TableSet } from "../../host/table-set.ts";
import type { TakeoverContext, TakeoverPart } from "../../host/takeover.ts";
import { RUN_TABLES } from "./run-table.ts";

/** The states that a run may be in. */
export const KNOWN_RUN = "status IN ('starting', 'running', 'completed', 'error', 'aborted', 'interrupted')";
export const OPEN_RUN = "status IN ('starting', 'running')";

const UNREPORTED = `detached = 1 AND (${OPEN_RUN} OR (finish_delivered_at IS NULL AND give_up_delivered_at IS NULL))`;

/** The first versions had no background runs. */
function hasDetachedRuns(sql: Sql, has: TakeoverContext["has"]): boolean {
  const columns = has("cf_agent_tool_runs") ? sql.all<{ name: string }>("PRAGMA table_info(cf_agent_tool_runs)") : [];
  return columns.some(({ name }) => name === "detached");
}

export const CHILD_RUNS: TakeoverPart = {
  kind: "agent-tool-runs",
  tables: ["cf_agent_tool_runs"],
  refuses: ({ sql, has, count }) => [
    {
      what: "runs of agent tools with an unknown status",
      rows: count("cf_agent_tool_runs", `NOT ${KNOWN_RUN}`)
    },
    {
      what: "background runs of agent tools whose end was not reported",
      rows: hasDetachedRuns(sql, has) ? count("cf_agent_tool_runs", UNREPORTED) : 0
    }
  ],
  carry({ sql, has, count }) {
    const found = count("cf_agent_tool_runs");
    if (found === 0) return undefined;
    // The others are here only if the class gives these runs up.
    const isCarried = hasDetachedRuns(sql, has) ? `${KNOWN_RUN} AND NOT (${UNREPORTED})` : KNOWN_RUN;
    const carried = new TableSet(sql, RUN_TABLES).run(
      `INSERT INTO cf_child_runs (run_id, ordinal, class_name, call_id, turn_id, preview, display, display_order, status,
         summary, output, error, still_running, started_at, completed_at)
       SELECT run_id, ROW_NUMBER() OVER (ORDER BY started_at, rowid), agent_type, parent_tool_call_id,
         NULL, input_preview, display_metadata, display_order, status, summary, output_json,
         error_message, child_still_running, started_at, completed_at FROM cf_agent_tool_runs WHERE ${isCarried}`
    ).changed;
    return { found, carried, left: found - carried };
  }
};
