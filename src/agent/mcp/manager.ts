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
import { McpConnectError, McpOptionsError, McpPackageMissingError, UnknownMcpServerError } from "./errors.ts";
import { matchesFilter, type McpFilter } from "./filter.ts";
import { callbackResponse, callbackServer, finishCallback, isOpenLogin } from "./oauth-callback.ts";
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
import { canShareToolKeys, isToolKeyOf } from "./tool-names.ts";
import { normalizeUrl, parseServerUrl } from "./url-guard.ts";

export interface McpServerRegistration extends McpServerOptions {
  /** Where the server's login page sends the user back to; undefined where no login is possible. */
  callbackUrl?: string | undefined;
}

export interface ManagerServices extends Omit<ConnectionServices, "changed"> {
  /** Where a login page sends the user back to, if the caller does not say; undefined where no login is possible. */
  readonly callbackUrlOf?: (options: McpServerOptions) => string | undefined;
}

export class McpManager implements McpClients {
  readonly #services: ConnectionServices & ManagerServices;
  readonly #connections = new Map<string, McpConnection>();
  readonly #listeners = new Set<() => void>();
  readonly #warned = new Set<string>();
  #callback: McpOAuthCallbackOptions = {};

  constructor(services: ManagerServices) {
    this.#services = { ...services, changed: () => this.#changed() };
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
    const { record, hasNewOptions } = this.#store(name, url, options);
    const connection = this.#connection(record);
    if (hasNewOptions) return this.#added(record, await connection.establishAnew({ attempts: 1 }));
    await connection.pending;
    const known = this.#usable(record.id, connection);
    return known ?? this.#added(record, await connection.establishAnew({ attempts: 1 }));
  }

  /** Stores a server without connecting to it. */
  registerServer(id: string, server: McpServerRegistration & { name: string; url: string }): string {
    const { record, hasNewOptions } = this.#store(server.name, server.url, { ...server, id });
    const connection = this.#connection(record);
    if (hasNewOptions && connection.state !== "not-connected") {
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
      ...(options.limit !== undefined && { limit: options.limit })
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
          ...(definition !== undefined && { toolDefinition: mutable(definition) })
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
    const params = { name: prompt.name, ...(prompt.arguments !== undefined && { arguments: prompt.arguments }) };
    return connection.request(({ client }, limits) => client.getPrompt(params, limits), options);
  }

  /** Waits for the attempts to connect that are under way, at most `timeout` ms. Never rejects. */
  async waitForConnections({ timeout }: { timeout?: number } = {}): Promise<void> {
    const pending = [...this.#connections.values()].flatMap((connection) => connection.pending ?? []);
    if (pending.length === 0 || (timeout !== undefined && !(timeout > 0))) return;
    const all = Promise.all(pending);
    await (timeout === undefined ? all : happensWithin(timeout, all, this.#services.clock));
  }

  /** Tries servers again that failed some time ago. */
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

  /** Finds, renames or inserts the row, in one go. */
  #store(
    name: string,
    url: string,
    options: McpServerRegistration
  ): { record: McpServerRecord; hasNewOptions: boolean } {
    const { store, ids } = this.#services;
    const address = parseServerUrl(url);
    const key = normalizeUrl(address);
    const wanted = options.id === undefined ? undefined : normalizeServerId(options.id);
    const found = store.find(checkServerName(name), key);
    const holder = wanted === undefined ? undefined : store.get(wanted);
    if (holder !== undefined && holder.id !== found?.id) {
      throw new McpOptionsError(`The id "${wanted}" belongs to another MCP server.`);
    }
    if (wanted !== undefined) this.#assertDistinct(wanted, found?.id);
    if (found === undefined) {
      const id = wanted ?? this.#freshId(ids);
      const callbackUrl = this.#callbackUrl(options, null);
      const kept = { clientId: null, authUrl: null, session: null, callbackUrl };
      store.insert({ id, name, url: address.href, ...kept, options: storedOptions(options) }, key);
      return { record: this.#require(id), hasNewOptions: false };
    }
    const id = wanted ?? found.id;
    if (id !== found.id) this.#rename(found.id, id);
    return { record: this.#require(id), hasNewOptions: this.#storeOptions(this.#require(id), options) };
  }

  /** Whether anything that matters to the connection is different now. */
  #storeOptions(record: McpServerRecord, options: McpServerRegistration): boolean {
    const next = changedOptions(record.options, options);
    const callbackUrl = this.#callbackUrl(options, record.callbackUrl);
    if (sameJson(next, record.options) && callbackUrl === record.callbackUrl) return false;
    this.#services.store.update(record.id, { options: next, callbackUrl });
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
    // Its line goes with the old id; the new one connects with the tokens that were renamed with it.
    this.#services.background(this.closeConnection(from));
    this.#services.store.rename(from, to);
  }

  /** A server could otherwise list a tool under the name that the model has for another server's. */
  #assertDistinct(id: string, own: string | undefined): void {
    const other = this.#services.store.list().find((record) => record.id !== own && canShareToolKeys(record.id, id));
    if (other === undefined) return;
    throw new McpOptionsError(`The id "${id}" is too much like "${other.id}": their tools could have the same names.`);
  }

  #freshId(ids: ConnectionServices["ids"]): string {
    let id = generateServerId(ids);
    while (this.#services.store.get(id) !== undefined) id = generateServerId(ids);
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
    throw new McpConnectError(name, outcome.error, outcome.cause);
  }

  #require(id: string): McpServerRecord {
    const record = this.#services.store.get(id);
    if (record === undefined) throw new UnknownMcpServerError(id);
    return record;
  }

  #connection({ id }: McpServerRecord): McpConnection {
    const known = this.#connections.get(id);
    if (known !== undefined) return known;
    const made = new McpConnection(id, this.#services);
    this.#connections.set(id, made);
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
  return { name, inputSchema: structuredClone(inputSchema), ...(outputSchema && { outputSchema }) };
}
