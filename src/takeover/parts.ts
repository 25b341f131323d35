// What a Think carries over from the original besides what every agent does, in the order in which it is carried: turns
// and approvals refer to messages.
import { OWN_RUN_TABLES } from "../features/agent-tools/own-run.ts";
import { RUN_TABLES } from "../features/agent-tools/run-table.ts";
import { KNOWN_RUN, OPEN_RUN } from "../features/agent-tools/take-over.ts";
import type { TakeoverContext, TakeoverPart } from "../host/takeover.ts";
import type { Sql } from "../host/ports.ts";
import { TableSet } from "../host/table-set.ts";
import { Conversation } from "../journal/conversation.ts";
import { isObject, parseJson, type Json } from "../util/json.ts";
import { parseClientTools, type ClientToolSchema } from "../feature/client-tools.ts";
import { CONFIG_KEY, CONFIG_TABLES } from "../agent/config.ts";
import { APPROVALS, LEDGER } from "./actions.ts";
import { MESSAGES } from "./messages.ts";
import { NOTIFICATIONS, SUBMISSIONS } from "./submissions.ts";
import { TURNS } from "./turns.ts";

// ── Configuration, and what the last client said ──

const CONFIG_KEYS = `'${CONFIG_KEY}', 'lastClientTools', 'lastBody'`;

const CONFIG: TakeoverPart = {
  kind: "config",
  tables: ["think_config", "assistant_config", "cf_agents_session_config"],
  // Ours has the name and the shape of one of them.
  keepsTables: true,
  refuses: ({ count }) => [
    { what: "unknown settings in think_config", rows: count("think_config", `key NOT IN (${CONFIG_KEYS})`) },
    { what: "unknown settings in assistant_config", rows: count("assistant_config", `key NOT IN (${CONFIG_KEYS})`) },
    {
      what: "settings of sessions",
      rows: count("cf_agents_session_config") + count("assistant_config", "session_id <> ''")
    }
  ],
  carry({ sql, count }) {
    const found = count("think_config") + count("assistant_config");
    if (count("assistant_config") > 0) {
      new TableSet(sql, CONFIG_TABLES).run(
        "INSERT OR IGNORE INTO think_config (key, value) SELECT key, value FROM assistant_config WHERE session_id = ''"
      );
    }
    const givenUp = count("cf_agents_session_config") + count("assistant_config", "session_id <> ''");
    for (const table of givenUp > 0 ? [] : ["assistant_config", "cf_agents_session_config"]) {
      sql.run(`DROP TABLE IF EXISTS ${table}`);
    }
    if (found === 0) return undefined;
    const valueOf = (key: string) => {
      const row = sql.one<{ value: string }>("SELECT value FROM think_config WHERE key = ?", key);
      const parsed = row && parseJson(row.value);
      return parsed?.ok ? parsed.value : undefined;
    };
    rememberClient(new Conversation(sql, ""), { tools: valueOf("lastClientTools"), body: valueOf("lastBody") });
    sql.run("DELETE FROM think_config WHERE key IN ('lastClientTools', 'lastBody')");
    return { found, carried: found, left: 0 };
  }
};

function rememberClient(conversation: Conversation, { tools, body }: { tools: unknown; body: unknown }): void {
  // Checked by the original when a client sent them.
  const described = Array.isArray(tools) ? parseClientTools(tools as ClientToolSchema[]) : [];
  if (described.length === 0 && !isObject(body)) return;
  conversation.transaction((row) => {
    if (described.length > 0) row.clientTools = described.map((tool): Json => ({ ...tool }));
    if (isObject(body)) row.body = body as Json;
  });
}

// ── Agents as tools ──

const OWN_RUNS: TakeoverPart = {
  kind: "agent-tool-runs",
  tables: ["cf_agent_tool_child_runs"],
  refuses: ({ count }) => [
    {
      what: "runs as an agent tool with an unknown status",
      rows: count("cf_agent_tool_child_runs", `NOT ${KNOWN_RUN}`)
    }
  ],
  carry(context) {
    const { sql } = context;
    // One that is open goes on with the turn that waits for it.
    new TableSet(sql, RUN_TABLES).change(`UPDATE cf_child_runs SET turn_id = ? WHERE ${OPEN_RUN}`, openTurnId(sql));
    const own = carryOwnRuns(context);
    const found = context.count("cf_agent_tool_child_runs");
    return found === 0 ? undefined : { found, carried: own, left: found - own };
  }
};

function carryOwnRuns({ sql, count }: TakeoverContext): number {
  if (count("cf_agent_tool_child_runs") === 0) return 0;
  return new TableSet(sql, OWN_RUN_TABLES).run(
    `INSERT INTO cf_own_runs (run_id, request_id, turn_id, status, output, summary, error, started_at, completed_at)
     SELECT run_id, COALESCE(request_id, run_id), ?, status, output_json, summary, error_message, started_at, completed_at
     FROM cf_agent_tool_child_runs WHERE ${KNOWN_RUN}`,
    openTurnId(sql) ?? ""
  ).changed;
}

/** The original runs one turn at a time. Of runs that are over it is not asked for. */
function openTurnId(sql: Sql): string | null {
  return new Conversation(sql, "").row.openTurns[0]?.turnId ?? null;
}

// ── Files ──

const FILES: TakeoverPart = {
  kind: "files",
  tables: /^cf_workspace_\w+$/,
  // Ours is the same table.
  keepsTables: true,
  carry({ sql }) {
    const tables = sql.all<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'cf\\_workspace\\_%' ESCAPE '\\'"
    );
    const rows = tables.map(
      ({ name }) => sql.one<{ count: number }>(`SELECT COUNT(*) AS count FROM "${name}"`)?.count ?? 0
    );
    const found = rows.reduce((sum, count) => sum + count, 0);
    return { found, carried: found, left: 0 };
  }
};

const NEWER_FILES: TakeoverPart = {
  kind: "files",
  tables: /^(?:_?vfs_\w+|computer_\w+)$/,
  // The directory at the root is always there.
  refuses: ({ count }) => [
    { what: "files in the file system of the newer layout (vfs_nodes)", rows: Math.max(0, count("vfs_nodes") - 1) },
    { what: "executions of a computer (computer_execution_runtime)", rows: count("computer_execution_runtime") }
  ],
  carry: () => undefined
};

// ── What is made anew ──

const TASKS: TakeoverPart = {
  kind: "scheduled-tasks",
  tables: ["cf_think_scheduled_tasks"],
  carry({ count }) {
    const found = count("cf_think_scheduled_tasks");
    return { found, carried: 0, left: found };
  }
};

export const THINK_TAKEOVER: readonly TakeoverPart[] = [
  MESSAGES,
  CONFIG,
  TURNS,
  SUBMISSIONS,
  NOTIFICATIONS,
  LEDGER,
  APPROVALS,
  OWN_RUNS,
  FILES,
  NEWER_FILES,
  TASKS
];
