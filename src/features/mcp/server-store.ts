// The table of MCP servers and the table of what logging in to them left behind. Both are made when the first server is
// added and read as empty before. A server's rows go with it.
import { Cached } from "../../host/cached.ts";
import type { Sql } from "../../host/ports.ts";
import { TableSet, type TableDefinition } from "../../host/table-set.ts";
import { parseJson } from "../../util/json.ts";
import { mcpErrors } from "./errors.ts";
import { parseStoredOptions, parseStoredSession, type McpServerRecord } from "./server-record.ts";

export const MCP_TABLES: readonly TableDefinition[] = [
  // Bound: MAX_SERVERS rows. Deleted: by `remove`.
  {
    name: "cf_mcp_servers",
    create: [
      `CREATE TABLE cf_mcp_servers (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        url TEXT NOT NULL,
        url_key TEXT NOT NULL,
        callback_url TEXT,
        client_id TEXT,
        auth_url TEXT,
        options TEXT NOT NULL,
        session TEXT,
        position INTEGER NOT NULL
      )`
    ]
  },
  // kind: client, tokens, discovery, state:<nonce> for a login that is under way, or former:<kind> where a provider of the
  // class's own may still hold what it was given for an address that the server no longer has. Bound: one row per server and
  // kind, MAX_PENDING_LOGINS states. Deleted: with the server; states when they are used or their time is over.
  {
    name: "cf_mcp_credentials",
    create: [
      `CREATE TABLE cf_mcp_credentials (
        server_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        value TEXT NOT NULL,
        expires_at INTEGER,
        PRIMARY KEY (server_id, kind)
      ) WITHOUT ROWID`
    ]
  }
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

/**
 * A server at the address for which something was begun. What ends after the server was removed, renamed or given another
 * address neither reads nor writes anything: a token of one address must not be sent to another.
 */
export type ServerRef = Pick<McpServerRecord, "id" | "url">;

/** What a login leaves that another address must not be sent. */
export type LoginKind = "client" | "tokens";

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
  readonly #tables: TableSet;
  /** Every turn asks for them. */
  readonly #servers: Cached<readonly McpServerRecord[]>;

  constructor(sql: Sql) {
    this.#tables = new TableSet(sql, MCP_TABLES);
    this.#servers = new Cached(sql, () => this.#readServers());
  }

  /** In the order in which they were added. */
  list(): readonly McpServerRecord[] {
    return this.#tables.exists ? this.#servers.value : [];
  }

  get(id: string): McpServerRecord | undefined {
    return this.list().find((record) => record.id === id);
  }

  /** Undefined once the server is removed, renamed or at another address. */
  current({ id, url }: ServerRef): McpServerRecord | undefined {
    const record = this.get(id);
    return record?.url === url ? record : undefined;
  }

  #readServers(): McpServerRecord[] {
    return this.#tables.all<ServerRow>(`SELECT * FROM cf_mcp_servers ORDER BY position`).map(recordOf);
  }

  /** `urlKey`: the address as `normalizeUrl` spells it. */
  find(name: string, urlKey: string): McpServerRecord | undefined {
    const query = `SELECT * FROM cf_mcp_servers WHERE name = ? AND url_key = ? ORDER BY position`;
    const row = this.#tables.one<ServerRow>(query, name, urlKey);
    return row && recordOf(row);
  }

  insert(record: McpServerRecord, urlKey: string): void {
    this.#tables.transaction(() => {
      const { count, last } = this.#tables.one<{ count: number; last: number | null }>(
        `SELECT count(*) AS count, max(position) AS last FROM cf_mcp_servers`
      ) ?? { count: 0, last: null };
      if (count >= MAX_SERVERS) throw mcpErrors.McpLimitError(MAX_SERVERS);
      const { id, name, url, callbackUrl, clientId, authUrl, options, session } = record;
      this.#tables.run(
        `INSERT INTO cf_mcp_servers (id, name, url, url_key, callback_url, client_id, auth_url, options, session, position)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[id, name, url, urlKey, callbackUrl, clientId, authUrl],
        ...[JSON.stringify(options), jsonOrNull(session), (last ?? 0) + 1]
      );
      this.#servers.drop();
    });
  }

  update({ id, url }: ServerRef, change: ServerChange): void {
    const fields = Object.entries(change) as [keyof ServerChange, ServerChange[keyof ServerChange]][];
    if (fields.length === 0) return;
    const assignments = fields.map(([field]) => `${COLUMNS[field]} = ?`).join(", ");
    const values = fields.map(([, value]) => (typeof value === "string" ? value : jsonOrNull(value ?? null)));
    this.#tables.change(`UPDATE cf_mcp_servers SET ${assignments} WHERE id = ? AND url = ?`, ...values, id, url);
    this.#servers.drop();
  }

  /** The server keeps everything but its id, its credentials included. */
  rename(from: string, to: string): void {
    this.#tables.transaction(() => {
      this.#tables.change(`UPDATE cf_mcp_servers SET id = ? WHERE id = ?`, to, from);
      this.#tables.change(`UPDATE cf_mcp_credentials SET server_id = ? WHERE server_id = ?`, to, from);
      // The state of a login names the server it is for, so those under way cannot be finished any more.
      this.#tables.change(`DELETE FROM cf_mcp_credentials WHERE server_id = ? AND kind LIKE 'state:%'`, to);
      this.#tables.change(`UPDATE cf_mcp_servers SET auth_url = NULL WHERE id = ?`, to);
      this.#servers.drop();
    });
  }

  /** The same id is another server from now on, or the same one by another name. */
  replace(
    old: ServerRef,
    next: Omit<McpServerRecord, "id" | "clientId" | "authUrl" | "session">,
    urlKey: string
  ): void {
    const { name, url, callbackUrl, options } = next;
    this.#tables.transaction(() => {
      this.#tables.change(
        `UPDATE cf_mcp_servers SET name = ?, url = ?, url_key = ?, callback_url = ?, options = ? WHERE id = ?`,
        ...[name, url, urlKey, callbackUrl, JSON.stringify(options), old.id]
      );
      if (url !== old.url) this.#forgetLogins(old.id);
      this.#servers.drop();
    });
  }

  /** Everything that the address before was given or gave: nothing of it is for the address that comes. */
  #forgetLogins(id: string): void {
    this.#tables.change(`UPDATE cf_mcp_servers SET session = NULL, client_id = NULL, auth_url = NULL WHERE id = ?`, id);
    this.#tables.change(`DELETE FROM cf_mcp_credentials WHERE server_id = ?`, id);
    const insert = `INSERT INTO cf_mcp_credentials (server_id, kind, value) VALUES (?, ?, 'true')`;
    for (const kind of ["client", "tokens"] satisfies LoginKind[]) this.#tables.run(insert, id, `former:${kind}`);
  }

  remove(id: string): void {
    this.#tables.transaction(() => {
      this.#tables.change(`DELETE FROM cf_mcp_servers WHERE id = ?`, id);
      this.#tables.change(`DELETE FROM cf_mcp_credentials WHERE server_id = ?`, id);
      this.#servers.drop();
    });
  }

  transaction<T>(work: () => T): T {
    return this.#tables.transaction(work);
  }

  readCredential(server: ServerRef, kind: string): unknown {
    const row = this.#credential(server, kind);
    const parsed = row && parseJson(row.value);
    return parsed?.ok ? parsed.value : undefined;
  }

  /** Ignored for a server that is gone: a login that ends after its server was removed must leave nothing behind. */
  writeCredential(server: ServerRef, kind: string, value: unknown): void {
    this.#writeCredential({ server, kind, value, expiresAt: null });
  }

  deleteCredential(server: ServerRef, kind: string): void {
    if (this.current(server) === undefined) return;
    this.#tables.change(`DELETE FROM cf_mcp_credentials WHERE server_id = ? AND kind = ?`, server.id, kind);
  }

  /** Whether a provider of the class's own may still hold what an earlier address gave it. */
  isFormer(server: ServerRef, kind: LoginKind): boolean {
    return this.current(server) === undefined || this.#credential(server, `former:${kind}`) !== undefined;
  }

  /** The provider was given what this address gave. */
  renewed(server: ServerRef, kind: LoginKind): void {
    this.deleteCredential(server, `former:${kind}`);
  }

  /** A login that is under way. Logins whose time is over are deleted here, and the oldest if there are too many. */
  writeLogin(server: ServerRef, nonce: string, login: { value: unknown; expiresAt: number; now: number }): void {
    const { id } = server;
    this.#tables.transaction(() => {
      const pending = `server_id = ? AND kind LIKE 'state:%'`;
      this.#tables.change(`DELETE FROM cf_mcp_credentials WHERE ${pending} AND expires_at <= ?`, id, login.now);
      this.#tables.change(
        `DELETE FROM cf_mcp_credentials WHERE server_id = ? AND kind IN (
           SELECT kind FROM cf_mcp_credentials WHERE ${pending} AND kind <> ?
           ORDER BY expires_at DESC LIMIT -1 OFFSET ${MAX_PENDING_LOGINS - 1})`,
        ...[id, id, `state:${nonce}`]
      );
      this.#writeCredential({ server, kind: `state:${nonce}`, value: login.value, expiresAt: login.expiresAt });
    });
  }

  /** Undefined for a login that was never started, was finished, or whose time is over. */
  readLogin(server: ServerRef, nonce: string, now: number): unknown {
    const row = this.#credential(server, `state:${nonce}`);
    if (row === undefined || row.expires_at === null || row.expires_at <= now) return undefined;
    const parsed = parseJson(row.value);
    return parsed.ok ? parsed.value : undefined;
  }

  deleteLogin(server: ServerRef, nonce: string): void {
    this.deleteCredential(server, `state:${nonce}`);
  }

  #credential(server: ServerRef, kind: string): { value: string; expires_at: number | null } | undefined {
    if (this.current(server) === undefined) return undefined;
    const query = `SELECT value, expires_at FROM cf_mcp_credentials WHERE server_id = ? AND kind = ?`;
    return this.#tables.one(query, server.id, kind);
  }

  #writeCredential(row: { server: ServerRef; kind: string; value: unknown; expiresAt: number | null }): void {
    if (this.current(row.server) === undefined) return;
    this.#tables.run(
      `INSERT INTO cf_mcp_credentials (server_id, kind, value, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (server_id, kind) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`,
      ...[row.server.id, row.kind, JSON.stringify(row.value), row.expiresAt]
    );
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
