// The MCP servers of an agent of the original. Their logins were kept elsewhere and are asked for again.
import { TableSet } from "../../host/table-set.ts";
import type { TakeoverPart } from "../../host/takeover.ts";
import { isObject, parseJson } from "../../util/json.ts";
import { storedOptions, type McpServerOptions } from "./server-record.ts";
import { MCP_TABLES } from "./server-store.ts";
import { normalizeUrl } from "./url-guard.ts";

interface OriginalServer {
  id: string;
  name: string;
  server_url: string;
  callback_url: string;
  client_id: string | null;
  auth_url: string | null;
  server_options: string | null;
}

export const MCP_SERVERS: TakeoverPart = {
  kind: "mcp-servers",
  tables: ["cf_agents_mcp_servers"],
  refuses: ({ sql, has }) => {
    if (!has("cf_agents_mcp_servers")) return [];
    const rows = sql.all<OriginalServer>("SELECT * FROM cf_agents_mcp_servers");
    const bound = rows.filter((row) => !isOnTheWeb(row));
    return bound.map(({ name, server_url: url }) => ({ what: `MCP server "${name}" at ${url}`, rows: 1 }));
  },
  carry({ sql, has }) {
    if (!has("cf_agents_mcp_servers")) return undefined;
    const rows = sql.all<OriginalServer>("SELECT * FROM cf_agents_mcp_servers ORDER BY rowid");
    // The others are here only if the class gives MCP servers up.
    const carried = rows.filter(isOnTheWeb);
    carried.forEach((row, index) => {
      new TableSet(sql, MCP_TABLES).run(
        `INSERT INTO cf_mcp_servers (id, name, url, url_key, callback_url, client_id, auth_url, options, position)
         VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?)`,
        // The login was kept elsewhere and is asked for again, so neither the client id nor a login under way is of use.
        ...[row.id, row.name, row.server_url, normalizeUrl(new URL(row.server_url)), callbackOf(row), null],
        ...[JSON.stringify(optionsOf(row)), index + 1]
      );
    });
    return { found: rows.length, carried: carried.length, left: rows.length - carried.length };
  }
};

/** A server that was added without one has an empty text. */
function callbackOf({ callback_url: url }: OriginalServer): string | null {
  return URL.canParse(url) ? url : null;
}

function isOnTheWeb({ server_url: url }: OriginalServer): boolean {
  return URL.canParse(url) && /^https?:/.test(url);
}

function optionsOf({ server_options: text }: OriginalServer) {
  const parsed = text === null ? undefined : parseJson(text);
  if (!parsed?.ok || !isObject(parsed.value)) return storedOptions({});
  const { client, transport, retry } = parsed.value as McpServerOptions;
  try {
    return storedOptions({ client, transport, retry });
  } catch (error) {
    console.warn("Options of an MCP server are not those that everthink takes; it gets the defaults.", error);
    return storedOptions({});
  }
}
