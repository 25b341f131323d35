// All MCP servers of one agent: which there are, their connections, and what they offer together. Rows are the truth
// about servers; a connection in memory belongs to a row and is made anew after a restart, in the background.
import type { Tool } from "ai";
import { happensWithin } from "../../host/deadline.ts";
import { sameJson } from "../../util/json.ts";
import type { McpCatalog, McpPrompt, McpResource, McpResourceTemplate, McpTool } from "./catalog.ts";
import type {
  AddedMcpServer,
  McpAITool,
  McpClients,
  McpOAuthCallbackOptions,
  McpRequestOptions,
  McpServerInfo
} from "./clients.ts";
import { McpConnection, type ConnectionServices } from "./connection.ts";
import type { McpConnectOutcome } from "./connection-state.ts";
import { McpPackageMissingError, mcpErrors } from "./errors.ts";
import { matchesFilter, type McpFilter } from "./filter.ts";
import { callbackResponse, callbackServer, finishCallback, isOpenLogin } from "./oauth-callback.ts";
import { placeServer, type RegisteredBy } from "./registration.ts";
import {
  changedOptions,
  checkServerName,
  generateServerId,
  normalizeServerId,
  storedOptions,
  type McpServerOptions,
  type McpServerRecord
} from "./server-record.ts";
import { boundedView, toolView, type McpServersState, type McpServerView, type OfServer } from "./servers-view.ts";
import { mcpToolSet, resultOf, type ListedTool, type McpApprovalPolicy, type McpToolSet } from "./tools.ts";
import { isToolKeyOf } from "./tool-names.ts";
import { normalizeUrl, parseServerUrl } from "./url-guard.ts";

export interface McpServerRegistration extends McpServerOptions {
  /** Where the server's login page sends the user back to; undefined where no login is possible. */
  callbackUrl?: string | undefined;
}

export interface ManagerServices extends Omit<ConnectionServices, "changed"> {
  /** Where a login page sends the user back to, if the caller does not say; undefined where no login is possible. */
  readonly callbackUrlOf?: (options: McpServerOptions) => string | undefined;
  /** The class's `onStart` runs: what is added now is the class's. */
  readonly isStarting?: () => boolean;
}

/** What becomes of a server that is registered or added. */
interface StoredServer {
  readonly record: McpServerRecord;
  /** What is connected is no longer what is stored. */
  readonly isChanged: boolean;
}

export class McpManager implements McpClients {
  readonly #services: ConnectionServices & ManagerServices;
  readonly #connections = new Map<string, McpConnection>();
  readonly #listeners = new Set<() => void>();
  readonly #warned = new Set<string>();
  /** Ids that the class has registered during this start. */
  readonly #registered = new Set<string>();
  #callback: McpOAuthCallbackOptions = {};

  constructor(services: ManagerServices) {
    this.#services = { ...services, changed: () => this.#changed() };
  }

  get #isStarting(): boolean {
    return this.#services.isStarting?.() ?? false;
  }

  get isEmpty(): boolean {
    return this.#services.store.list().length === 0;
  }

  /** Connects what is stored and is not, in the background. A server that waits for a login goes on waiting. */
  restore(): void {
    for (const record of this.#services.store.list()) {
      const connection = this.#connection(record);
      if (connection.state !== "not-connected" || connection.pending !== undefined) continue;
      this.#services.background(connection.establish({ attempts: record.options.retry.maxAttempts }));
    }
  }

  /**
   * Adds a server and connects to it; one that is there already is connected again if need be. Throws when it cannot be
   * reached; it stays stored then.
   */
  async addServer(name: string, url: string, options: McpServerRegistration = {}): Promise<AddedMcpServer> {
    const { record, isChanged } = this.#store({ name, url, ...options }, this.#isStarting ? "start" : "call");
    const connection = this.#connection(record);
    if (isChanged) return this.#added(record, await connection.establishAnew({ attempts: 1 }));
    await connection.pending;
    const known = this.#usable(record.id, connection);
    return known ?? this.#added(record, await connection.establishAnew({ attempts: 1 }));
  }

  /** Stores a server of the class without connecting to it. It replaces what the class registered under this id before. */
  registerServer(id: string, server: McpServerRegistration & { name: string; url: string }): string {
    const wasUsed = this.#connections.get(normalizeServerId(id))?.state ?? "not-connected";
    const { record, isChanged } = this.#store({ ...server, id }, this.#isStarting ? "start" : "class");
    const connection = this.#connection(record);
    if (isChanged && wasUsed !== "not-connected") {
      this.#services.background(connection.establishAnew({ attempts: record.options.retry.maxAttempts }));
    }
    this.#changed();
    return record.id;
  }

  /** Connects a stored server and reads its lists: one attempt, whose outcome is returned, also when it failed. */
  async connectToServer(id: string): Promise<McpConnectOutcome> {
    return this.#connection(this.#require(id)).establishAnew({ attempts: 1 });
  }

  /** As `connectToServer`, with the server's retries. */
  async establishConnection(id: string): Promise<McpConnectOutcome> {
    const record = this.#require(id);
    return this.#connection(record).establishAnew({ attempts: record.options.retry.maxAttempts });
  }

  /** Reads a connected server's lists again; undefined for one that is not connected. */
  async discoverIfConnected(id: string): Promise<McpConnectOutcome | undefined> {
    const connection = this.#connection(this.#require(id));
    const isConnected = ["connected", "discovering", "ready"].includes(connection.state);
    return isConnected ? connection.discover() : undefined;
  }

  /** Ends the connection. The server stays stored, and is connected again after a restart. */
  async closeConnection(id: string): Promise<void> {
    const connection = this.#connections.get(id);
    this.#connections.delete(id);
    await connection?.close();
    this.#changed();
  }

  async closeAllConnections(): Promise<void> {
    await Promise.all([...this.#connections.keys()].map((id) => this.closeConnection(id)));
  }

  /** Ends the connection and forgets the server, its tokens included. Nothing for a server that is not there. */
  async removeServer(id: string): Promise<void> {
    // Before the row goes: ending the session takes the server's token.
    await this.closeConnection(id);
    this.#services.store.remove(id);
    this.#changed();
  }

  listServers(filter?: McpFilter): McpServerInfo[] {
    return this.#matching(filter).map(({ record, connection }) => ({
      id: record.id,
      name: record.name,
      url: record.url,
      state: connection.state,
      authUrl: record.authUrl,
      error: connection.error
    }));
  }

  listTools(filter?: McpFilter): OfServer<McpTool>[] {
    return this.#listed("tools", filter);
  }

  listPrompts(filter?: McpFilter): OfServer<McpPrompt>[] {
    return this.#listed("prompts", filter);
  }

  listResources(filter?: McpFilter): OfServer<McpResource>[] {
    return this.#listed("resources", filter);
  }

  listResourceTemplates(filter?: McpFilter): OfServer<McpResourceTemplate>[] {
    return this.#listed("resourceTemplates", filter);
  }

  /** The servers' tools for the AI SDK. */
  getAITools(filter?: McpFilter): Record<string, Tool & McpAITool> {
    // A server that is down has none now, so that no call of one could try it.
    this.#retry();
    // The SDK's type says less: each of these has an `execute`.
    return this.toolSet({ filter }).tools as Record<string, Tool & McpAITool>;
  }

  /** Whether the model's name for a tool is one of a stored server, also while the server is down. */
  hasToolNamed(key: string): boolean {
    return this.#services.store.list().some(({ id }) => isToolKeyOf(id, key));
  }

  /** As `getAITools`, under a policy and a limit. */
  toolSet(options: {
    filter?: McpFilter | undefined;
    approval?: McpApprovalPolicy | undefined;
    limit?: number;
  }): McpToolSet {
    const tools = this.#matching(options.filter).flatMap(({ record, connection }): ListedTool[] => {
      this.#warnIfMissing(record, connection);
      return connection.catalog.tools.map((tool) => ({ serverId: record.id, serverName: record.name, tool }));
    });
    return mcpToolSet({
      tools,
      approval: options.approval,
      warn: this.#services.warn,
      call: ({ serverId, tool }, input, signal) => this.#callListed(serverId, { tool, input }, { signal }),
      limit: options.limit
    });
  }

  /** The server's result as it came, also where it reports an error. */
  async callTool(
    call: { serverId: string; name: string; arguments?: Record<string, unknown> },
    options: McpRequestOptions = {}
  ): Promise<unknown> {
    const connection = this.#connection(this.#require(call.serverId));
    const definition = connection.catalog.tools.find(({ name }) => name === call.name);
    const params = { name: call.name, arguments: call.arguments ?? {} };
    return connection.request(
      ({ client }, limits) =>
        client.callTool(params, {
          ...limits,
          toolDefinition: definition && mutable(definition)
        }),
      options
    );
  }

  async readResource(read: { serverId: string; uri: string }, options: McpRequestOptions = {}): Promise<unknown> {
    const connection = this.#connection(this.#require(read.serverId));
    return connection.request(({ client }, limits) => client.readResource({ uri: read.uri }, limits), options);
  }

  async getPrompt(
    prompt: { serverId: string; name: string; arguments?: Record<string, string> },
    options: McpRequestOptions = {}
  ): Promise<unknown> {
    const connection = this.#connection(this.#require(prompt.serverId));
    const params = { name: prompt.name, arguments: prompt.arguments };
    return connection.request(({ client }, limits) => client.getPrompt(params, limits), options);
  }

  /** Tries again what failed some time ago, and waits for every attempt to connect, at most `timeout` ms. Never rejects. */
  async waitForConnections(options: { timeout?: number } = {}): Promise<void> {
    this.#retry();
    await this.untilConnected(options);
  }

  /** As `waitForConnections`, for attempts that are under way: a turn does not wait for a server that is down. */
  async untilConnected({ timeout }: { timeout?: number } = {}): Promise<void> {
    const pending = [...this.#connections.values()].flatMap((connection) => connection.pending ?? []);
    if (pending.length === 0 || (timeout !== undefined && !(timeout > 0))) return;
    const all = Promise.all(pending);
    await (timeout === undefined ? all : happensWithin(timeout, all, this.#services.clock));
  }

  #retry(): void {
    for (const connection of this.#connections.values()) connection.retry();
  }

  /** For a turn: opens lines that were hung up, and tries servers again that failed some time ago. */
  heal(): void {
    for (const connection of this.#connections.values()) connection.heal();
  }

  /** Called at every change that clients are shown. Returns the function that ends it. */
  onServerStateChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  configureOAuthCallback(options: McpOAuthCallbackOptions): void {
    this.#callback = options;
  }

  /** The answer to the request that ends a login; undefined for any other request. */
  async handleCallbackRequest(request: Request, { isOwnRoute = false } = {}): Promise<Response | undefined> {
    const { store, clock, background } = this.#services;
    const record = callbackServer({ request, isOwnRoute }, store);
    if (record === undefined) return undefined;
    const connection = (of: McpServerRecord) => this.#connection(of);
    const result = await finishCallback(request, record, { store, clock, background, connection });
    this.#changed();
    return callbackResponse(request, result, this.#callback);
  }

  /** What clients are shown. */
  state(): McpServersState {
    const servers = this.#matching().map(({ record, connection }): [string, McpServerView] => [
      record.id,
      {
        name: record.name,
        server_url: record.url,
        auth_url: record.authUrl,
        state: connection.state,
        error: connection.error,
        instructions: connection.instructions,
        capabilities: connection.capabilities
      }
    ]);
    return boundedView({
      servers: Object.fromEntries(servers),
      tools: this.listTools().map(toolView),
      prompts: this.listPrompts(),
      resources: this.listResources()
    });
  }

  async #callListed(serverId: string, call: { tool: McpTool; input: unknown }, options: McpRequestOptions) {
    const given = typeof call.input === "object" && call.input !== null ? { ...call.input } : {};
    return resultOf(await this.callTool({ serverId, name: call.tool.name, arguments: given }, options));
  }

  /** Finds, renames, replaces or inserts the row, in one transaction. */
  #store(given: McpServerRegistration & { name: string; url: string }, by: RegisteredBy): StoredServer {
    const { store } = this.#services;
    const address = parseServerUrl(given.url, this.#services.addresses);
    const key = normalizeUrl(address);
    const id = given.id === undefined ? undefined : normalizeServerId(given.id);
    const found = store.find(checkServerName(given.name), key);
    const stored = { servers: store.list(), registered: this.#registered };
    const { row, isReplaced, moved } = placeServer({ id, found, by }, stored);
    const options = storedOptions(given);
    const result = store.transaction((): StoredServer => {
      for (const server of moved) this.#giveOtherId(server);
      if (row === undefined) {
        const made = id ?? this.#freshId();
        const kept = { clientId: null, authUrl: null, session: null, callbackUrl: this.#callbackUrl(given, null) };
        const marked = by === "call" ? { ...options, isAdded: true as const } : options;
        store.insert({ id: made, name: given.name, url: address.href, ...kept, options: marked }, key);
        return { record: this.#require(made), isChanged: false };
      }
      if (isReplaced) return this.#replace(row, given, address);
      if (id !== undefined && id !== row.id) this.#rename(row.id, id);
      const record = this.#require(id ?? row.id);
      const isChanged = this.#storeOptions(record, given);
      return { record: this.#require(record.id), isChanged };
    });
    if (by === "start") this.#registered.add(result.record.id);
    return result;
  }

  /** Another address is another server: neither headers nor logins of the old one are for it. */
  #replace(
    old: McpServerRecord,
    given: McpServerRegistration & { name: string; url: string },
    address: URL
  ): StoredServer {
    const { store, warn } = this.#services;
    const key = normalizeUrl(address);
    const callbackUrl = this.#callbackUrl(given, old.callbackUrl);
    if (normalizeUrl(new URL(old.url)) === key) {
      store.replace(old, { ...old, name: given.name }, key);
      const isChanged = this.#storeOptions(this.#require(old.id), given);
      return { record: this.#require(old.id), isChanged };
    }
    store.replace(old, { name: given.name, url: address.href, callbackUrl, options: storedOptions(given) }, key);
    this.#abandon(old.id);
    warn(
      `The MCP server "${old.id}" is at another address now: ${address.host}. Logins of the old address are dropped.`
    );
    return { record: this.#require(old.id), isChanged: true };
  }

  /** What a user added under an id that the class uses now. */
  #giveOtherId({ id, name }: McpServerRecord): void {
    const other = this.#freshId();
    this.#rename(id, other);
    this.#services.warn(
      `The MCP server "${name}" has the id "${other}" now: the class uses "${id}", or one too much like it.`
    );
  }

  /** Whether anything that matters to the connection is different now. */
  #storeOptions(record: McpServerRecord, options: McpServerRegistration): boolean {
    const next = changedOptions(record.options, options);
    const callbackUrl = this.#callbackUrl(options, record.callbackUrl);
    if (sameJson(next, record.options) && callbackUrl === record.callbackUrl) return false;
    this.#services.store.update(record, { options: next, callbackUrl });
    const { headers, transport } = record.options;
    // A login page that was made for another address cannot lead back to this one.
    const isPageStale = record.authUrl !== null && callbackUrl !== record.callbackUrl;
    return isPageStale || !sameJson(next.headers, headers) || next.transport !== transport;
  }

  /** An address that was only derived stays: the agent is registered for it, and login pages name it. */
  #callbackUrl(options: McpServerRegistration, stored: string | null): string | null {
    const isNamed = options.callbackHost !== undefined || options.callbackPath !== undefined;
    const given = options.callbackUrl ?? (isNamed ? this.#services.callbackUrlOf?.(options) : undefined);
    return given ?? stored ?? this.#services.callbackUrlOf?.(options) ?? null;
  }

  #rename(from: string, to: string): void {
    const wasUsed = this.#connections.get(from)?.state ?? "not-connected";
    // Its line goes with the old id; the new one goes on with the session and the tokens that were renamed with it.
    this.#abandon(from);
    this.#services.store.rename(from, to);
    if (wasUsed === "not-connected" || wasUsed === "authenticating") return;
    const record = this.#require(to);
    this.#services.background(this.#connection(record).establish({ attempts: record.options.retry.maxAttempts }));
  }

  #abandon(id: string): void {
    this.#connections.get(id)?.abandon();
    this.#connections.delete(id);
  }

  #freshId(): string {
    const { store, ids } = this.#services;
    let id = generateServerId(ids);
    while (store.get(id) !== undefined) id = generateServerId(ids);
    return id;
  }

  #usable(id: string, connection: McpConnection): AddedMcpServer | undefined {
    if (connection.state === "ready") return { id, state: "ready" };
    const record = connection.state === "authenticating" ? this.#require(id) : undefined;
    if (!record?.authUrl || !isOpenLogin(record, this.#services)) return undefined;
    return { id, state: "authenticating", authUrl: record.authUrl };
  }

  #added({ id, name }: McpServerRecord, outcome: McpConnectOutcome): AddedMcpServer {
    if (outcome.state === "ready") return { id, state: "ready" };
    if (outcome.state === "authenticating") return { id, state: "authenticating", authUrl: outcome.authUrl };
    if (outcome.cause instanceof McpPackageMissingError) throw outcome.cause;
    throw mcpErrors.McpConnectError(name, outcome.error, outcome.cause);
  }

  #require(id: string): McpServerRecord {
    const record = this.#services.store.get(id);
    if (record === undefined) throw mcpErrors.UnknownMcpServerError(id);
    return record;
  }

  #connection(record: McpServerRecord): McpConnection {
    const known = this.#connections.get(record.id);
    if (known !== undefined) return known;
    const made = new McpConnection(record, this.#services);
    this.#connections.set(record.id, made);
    return made;
  }

  #matching(filter?: McpFilter): { record: McpServerRecord; connection: McpConnection }[] {
    return this.#services.store
      .list()
      .map((record) => ({ record, connection: this.#connection(record) }))
      .filter(({ record, connection }) =>
        matchesFilter({ id: record.id, name: record.name, state: connection.state }, filter)
      );
  }

  #listed<List extends keyof McpCatalog>(
    list: List,
    filter: McpFilter | undefined
  ): OfServer<McpCatalog[List][number]>[] {
    return this.#matching(filter).flatMap(({ record, connection }) =>
      connection.catalog[list].map((item) => ({ ...item, serverId: record.id }))
    );
  }

  #warnIfMissing({ id, name }: McpServerRecord, { state, error }: McpConnection): void {
    const mark = `${id} ${state}`;
    if (state === "ready" || state === "authenticating") {
      for (const earlier of [...this.#warned]) if (earlier.startsWith(`${id} `)) this.#warned.delete(earlier);
    } else if (!this.#warned.has(mark)) {
      this.#warned.add(mark);
      const why = error === null ? state : `${state}, ${error}`;
      this.#services.warn(`The tools of the MCP server "${name}" are missing: it is ${why}.`);
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The client's type of a tool has mutable lists. */
function mutable(tool: McpTool) {
  const { name, inputSchema, outputSchema } = tool;
  return { name, inputSchema: structuredClone(inputSchema), outputSchema };
}
