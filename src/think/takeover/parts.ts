// What a Think carries over from the original besides what every agent does, in the order in which it is carried: turns
// and approvals refer to messages.
import { OWN_RUN_TABLES } from "../../agent/agent-tools/own-run.ts";
import { RUN_TABLES } from "../../agent/agent-tools/run-table.ts";
import type { TakeoverContext, TakeoverPart } from "../../host/takeover.ts";
import type { Sql } from "../../host/ports.ts";
import { TableSet } from "../../host/table-set.ts";
import { Conversation } from "../../journal/conversation.ts";
import { storedOptions, type McpServerOptions } from "../../agent/mcp/server-record.ts";
import { MCP_TABLES } from "../../agent/mcp/server-store.ts";
import { normalizeUrl } from "../../agent/mcp/url-guard.ts";
import { isObject, parseJson, type Json } from "../../util/json.ts";
import { parseClientTools, type ClientToolSchema } from "../client-tools.ts";
import { CONFIG_KEY, CONFIG_TABLES } from "../config.ts";
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
    { what: "settings of sessions", rows: count("cf_agents_session_config") }
  ],
  carry({ sql, has, count }) {
    const found = count("think_config") + count("assistant_config");
    if (count("assistant_config") > 0) {
      new TableSet(sql, CONFIG_TABLES).run(
        "INSERT OR IGNORE INTO think_config (key, value) SELECT key, value FROM assistant_config WHERE session_id = ''"
      );
    }
    for (const table of ["assistant_config", "cf_agents_session_config"]) sql.run(`DROP TABLE IF EXISTS ${table}`);
    if (!has("think_config")) return undefined;
    const valueOf = (key: string) => {
      const row = sql.one<{ value: string }>("SELECT value FROM think_config WHERE key = ?", key);
      const parsed = row && parseJson(row.value);
      return parsed?.ok ? parsed.value : undefined;
    };
    rememberClient(new Conversation(sql, ""), { tools: valueOf("lastClientTools"), body: valueOf("lastBody") });
    sql.run("DELETE FROM think_config WHERE key <> ?", CONFIG_KEY);
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

// ── MCP servers ──

interface OriginalServer {
  id: string;
  name: string;
  server_url: string;
  callback_url: string;
  client_id: string | null;
  auth_url: string | null;
  server_options: string | null;
}

const MCP_SERVERS: TakeoverPart = {
  kind: "mcp-servers",
  tables: ["cf_agents_mcp_servers"],
  refuses: ({ sql, has }) => {
    if (!has("cf_agents_mcp_servers")) return [];
    const rows = sql.all<OriginalServer>("SELECT * FROM cf_agents_mcp_servers");
    const bound = rows.filter(({ server_url: url }) => !URL.canParse(url) || !/^https?:/.test(url));
    return bound.map(({ name, server_url: url }) => ({ what: `MCP server "${name}" at ${url}`, rows: 1 }));
  },
  carry({ sql, has }) {
    if (!has("cf_agents_mcp_servers")) return undefined;
    const rows = sql.all<OriginalServer>("SELECT * FROM cf_agents_mcp_servers ORDER BY rowid");
    rows.forEach((row, index) => {
      new TableSet(sql, MCP_TABLES).run(
        `INSERT INTO cf_mcp_servers (id, name, url, url_key, callback_url, client_id, auth_url, options, position)
         VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?)`,
        // The login was kept elsewhere and is asked for again, so neither the client id nor a login under way is of use.
        ...[row.id, row.name, row.server_url, normalizeUrl(new URL(row.server_url)), row.callback_url, null],
        ...[JSON.stringify(optionsOf(row)), index + 1]
      );
    });
    return { found: rows.length, carried: rows.length, left: 0 };
  }
};

function optionsOf({ server_options: text }: OriginalServer) {
  const parsed = text === null ? undefined : parseJson(text);
  if (!parsed?.ok || !isObject(parsed.value)) return storedOptions({});
  const { client, transport, retry } = parsed.value as McpServerOptions;
  try {
    return storedOptions({ ...(client && { client }), ...(transport && { transport }), ...(retry && { retry }) });
  } catch (error) {
    console.warn("Options of an MCP server are not those that everthink takes; it gets the defaults.", error);
    return storedOptions({});
  }
}

// ── Agents as tools ──

const KNOWN_RUN = "status IN ('starting', 'running', 'completed', 'error', 'aborted', 'interrupted')";
const OPEN_RUN = "status IN ('starting', 'running')";

const UNREPORTED = `detached = 1 AND (${OPEN_RUN} OR (finish_delivered_at IS NULL AND give_up_delivered_at IS NULL))`;

/** The first versions had no background runs. */
function hasDetachedRuns(sql: Sql, has: TakeoverContext["has"]): boolean {
  const columns = has("cf_agent_tool_runs") ? sql.all<{ name: string }>("PRAGMA table_info(cf_agent_tool_runs)") : [];
  return columns.some(({ name }) => name === "detached");
}

const AGENT_TOOLS: TakeoverPart = {
  kind: "agent-tool-runs",
  tables: ["cf_agent_tool_runs", "cf_agent_tool_child_runs"],
  refuses: ({ sql, has, count }) => [
    {
      what: "runs of agent tools with an unknown status",
      rows: count("cf_agent_tool_runs", `NOT ${KNOWN_RUN}`) + count("cf_agent_tool_child_runs", `NOT ${KNOWN_RUN}`)
    },
    {
      what: "background runs of agent tools whose end was not reported",
      rows: hasDetachedRuns(sql, has) ? count("cf_agent_tool_runs", UNREPORTED) : 0
    }
  ],
  carry(context) {
    const runs = carryRuns(context);
    const own = carryOwnRuns(context);
    return { found: runs + own, carried: runs + own, left: 0 };
  }
};

/** One that is open goes on with the turn that waits for it. */
function carryRuns({ sql, count }: TakeoverContext): number {
  if (count("cf_agent_tool_runs") === 0) return 0;
  return new TableSet(sql, RUN_TABLES).run(
    `INSERT INTO cf_child_runs (run_id, ordinal, class_name, call_id, turn_id, preview, display, display_order, status,
       summary, output, error, still_running, started_at, completed_at)
     SELECT run_id, ROW_NUMBER() OVER (ORDER BY started_at, rowid), agent_type, parent_tool_call_id,
       CASE WHEN ${OPEN_RUN} THEN ? END, input_preview, display_metadata, display_order, status, summary, output_json,
       error_message, child_still_running, started_at, completed_at FROM cf_agent_tool_runs`,
    openTurnId(sql)
  ).changed;
}

function carryOwnRuns({ sql, count }: TakeoverContext): number {
  if (count("cf_agent_tool_child_runs") === 0) return 0;
  return new TableSet(sql, OWN_RUN_TABLES).run(
    `INSERT INTO cf_own_runs (run_id, request_id, turn_id, status, output, summary, error, started_at, completed_at)
     SELECT run_id, COALESCE(request_id, run_id), ?, status, output_json, summary, error_message, started_at, completed_at
     FROM cf_agent_tool_child_runs`,
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
  MCP_SERVERS,
  AGENT_TOOLS,
  FILES,
  NEWER_FILES,
  TASKS
];
