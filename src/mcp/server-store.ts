// The table of MCP servers and the table of what logging in to them left behind. Both are made when the first server is
// added and read as empty before. A server's rows go with it.
import type { Sql } from "../host/ports.ts";
import { parseJson } from "../util/json.ts";
import { McpLimitError } from "./errors.ts";
import { parseStoredOptions, parseStoredSession, type McpServerRecord } from "./server-record.ts";

export const SERVERS_TABLE = "cf_mcp_servers";
export const CREDENTIALS_TABLE = "cf_mcp_credentials";

/** Statements that make the tables; nothing where they are there already. */
export const MCP_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${SERVERS_TABLE} (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, url TEXT NOT NULL, url_key TEXT NOT NULL, callback_url TEXT, client_id TEXT,
    auth_url TEXT, options TEXT NOT NULL, session TEXT, position INTEGER NOT NULL
  )`,
  // kind: client, tokens, discovery, or state:<nonce> for a login that is under way.
  `CREATE TABLE IF NOT EXISTS ${CREDENTIALS_TABLE} (
    server_id TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, expires_at INTEGER,
    PRIMARY KEY (server_id, kind)
  ) WITHOUT ROWID`
];

/** Servers of one agent. The next one is refused. */
export const MAX_SERVERS = 50;
/** Logins under way for one server. The oldest makes room. */
const MAX_PENDING_LOGINS = 10;

interface ServerRow {
  id: string;
  name: string;
  url: string;
  callback_url: string | null;
  client_id: string | null;
  auth_url: string | null;
  options: string;
  session: string | null;
}

/** What may change about a stored server. */
export type ServerChange = Partial<
  Pick<McpServerRecord, "callbackUrl" | "clientId" | "authUrl" | "options" | "session">
>;

const COLUMNS: Record<keyof ServerChange, string> = {
  callbackUrl: "callback_url",
  clientId: "client_id",
  authUrl: "auth_url",
  options: "options",
  session: "session"
};

export class McpStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** In the order in which they were added. */
  list(): McpServerRecord[] {
    if (!this.#isMade()) return [];
    return this.#sql.all<ServerRow>(`SELECT * FROM ${SERVERS_TABLE} ORDER BY position`).map(recordOf);
  }

  get(id: string): McpServerRecord | undefined {
    if (!this.#isMade()) return undefined;
    const row = this.#sql.one<ServerRow>(`SELECT * FROM ${SERVERS_TABLE} WHERE id = ?`, id);
    return row && recordOf(row);
  }

  /** `urlKey`: the address as `normalizeUrl` spells it. */
  find(name: string, urlKey: string): McpServerRecord | undefined {
    if (!this.#isMade()) return undefined;
    const query = `SELECT * FROM ${SERVERS_TABLE} WHERE name = ? AND url_key = ? ORDER BY position`;
    const row = this.#sql.one<ServerRow>(query, name, urlKey);
    return row && recordOf(row);
  }

  insert(record: McpServerRecord, urlKey: string): void {
    this.#sql.transaction(() => {
      for (const statement of MCP_TABLES) this.#sql.run(statement);
      const { count, last } = this.#sql.one<{ count: number; last: number | null }>(
        `SELECT count(*) AS count, max(position) AS last FROM ${SERVERS_TABLE}`
      ) ?? { count: 0, last: null };
      if (count >= MAX_SERVERS) throw new McpLimitError(MAX_SERVERS);
      const { id, name, url, callbackUrl, clientId, authUrl, options, session } = record;
      this.#sql.run(
        `INSERT INTO ${SERVERS_TABLE} (id, name, url, url_key, callback_url, client_id, auth_url, options, session, position)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[id, name, url, urlKey, callbackUrl, clientId, authUrl],
        ...[JSON.stringify(options), jsonOrNull(session), (last ?? 0) + 1]
      );
    });
  }

  update(id: string, change: ServerChange): void {
    const fields = Object.entries(change) as [keyof ServerChange, ServerChange[keyof ServerChange]][];
    if (fields.length === 0 || !this.#isMade()) return;
    const assignments = fields.map(([field]) => `${COLUMNS[field]} = ?`).join(", ");
    const values = fields.map(([, value]) => (typeof value === "string" ? value : jsonOrNull(value ?? null)));
    this.#sql.run(`UPDATE ${SERVERS_TABLE} SET ${assignments} WHERE id = ?`, ...values, id);
  }

  /** The server keeps everything but its id, its credentials included. */
  rename(from: string, to: string): void {
    this.#sql.transaction(() => {
      this.#sql.run(`UPDATE ${SERVERS_TABLE} SET id = ? WHERE id = ?`, to, from);
      this.#sql.run(`UPDATE ${CREDENTIALS_TABLE} SET server_id = ? WHERE server_id = ?`, to, from);
      // The state of a login names the server it is for, so those under way cannot be finished any more.
      this.#sql.run(`DELETE FROM ${CREDENTIALS_TABLE} WHERE server_id = ? AND kind LIKE 'state:%'`, to);
      this.#sql.run(`UPDATE ${SERVERS_TABLE} SET auth_url = NULL WHERE id = ?`, to);
    });
  }

  remove(id: string): void {
    if (!this.#isMade()) return;
    this.#sql.transaction(() => {
      this.#sql.run(`DELETE FROM ${SERVERS_TABLE} WHERE id = ?`, id);
      this.#sql.run(`DELETE FROM ${CREDENTIALS_TABLE} WHERE server_id = ?`, id);
    });
  }

  transaction<T>(work: () => T): T {
    return this.#sql.transaction(work);
  }

  readCredential(serverId: string, kind: string): unknown {
    const row = this.#credential(serverId, kind);
    const parsed = row && parseJson(row.value);
    return parsed?.ok ? parsed.value : undefined;
  }

  /** Ignored for a server that is gone: a login that ends after its server was removed must leave nothing behind. */
  writeCredential(serverId: string, kind: string, value: unknown): void {
    this.#writeCredential({ serverId, kind, value, expiresAt: null });
  }

  deleteCredential(serverId: string, kind: string): void {
    if (!this.#isMade()) return;
    this.#sql.run(`DELETE FROM ${CREDENTIALS_TABLE} WHERE server_id = ? AND kind = ?`, serverId, kind);
  }

  /** A login that is under way. Logins whose time is over are deleted here, and the oldest if there are too many. */
  writeLogin(serverId: string, nonce: string, login: { value: unknown; expiresAt: number; now: number }): void {
    this.#sql.transaction(() => {
      const pending = `server_id = ? AND kind LIKE 'state:%'`;
      this.#sql.run(`DELETE FROM ${CREDENTIALS_TABLE} WHERE ${pending} AND expires_at <= ?`, serverId, login.now);
      this.#sql.run(
        `DELETE FROM ${CREDENTIALS_TABLE} WHERE server_id = ? AND kind IN (
           SELECT kind FROM ${CREDENTIALS_TABLE} WHERE ${pending} AND kind <> ?
           ORDER BY expires_at DESC LIMIT -1 OFFSET ${MAX_PENDING_LOGINS - 1})`,
        ...[serverId, serverId, `state:${nonce}`]
      );
      this.#writeCredential({ serverId, kind: `state:${nonce}`, value: login.value, expiresAt: login.expiresAt });
    });
  }

  /** Undefined for a login that was never started, was finished, or whose time is over. */
  readLogin(serverId: string, nonce: string, now: number): unknown {
    const row = this.#credential(serverId, `state:${nonce}`);
    if (row === undefined || row.expires_at === null || row.expires_at <= now) return undefined;
    const parsed = parseJson(row.value);
    return parsed.ok ? parsed.value : undefined;
  }

  deleteLogin(serverId: string, nonce: string): void {
    this.deleteCredential(serverId, `state:${nonce}`);
  }

  #credential(serverId: string, kind: string): { value: string; expires_at: number | null } | undefined {
    if (!this.#isMade()) return undefined;
    const query = `SELECT value, expires_at FROM ${CREDENTIALS_TABLE} WHERE server_id = ? AND kind = ?`;
    return this.#sql.one(query, serverId, kind);
  }

  #writeCredential(row: { serverId: string; kind: string; value: unknown; expiresAt: number | null }): void {
    if (this.get(row.serverId) === undefined) return;
    this.#sql.run(
      `INSERT INTO ${CREDENTIALS_TABLE} (server_id, kind, value, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (server_id, kind) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
      ...[row.serverId, row.kind, JSON.stringify(row.value), row.expiresAt]
    );
  }

  #isMade(): boolean {
    return this.#sql.one(`SELECT 1 AS made FROM sqlite_master WHERE name = ?`, SERVERS_TABLE) !== undefined;
  }
}

function recordOf(row: ServerRow): McpServerRecord {
  const options = parseJson(row.options);
  const session = row.session === null ? undefined : parseJson(row.session);
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    callbackUrl: row.callback_url,
    clientId: row.client_id,
    authUrl: row.auth_url,
    options: parseStoredOptions(options.ok ? options.value : undefined),
    session: parseStoredSession(session?.ok ? session.value : undefined)
  };
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
