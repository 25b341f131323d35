// What the class says and is given about MCP servers: options, states, what servers list, and the feature as far as the
// class itself asks it. The feature lives in `mcp/`; a class that does not return it from `getFeatures()` loads none of
// it. Types, and which feature belongs to which agent.
import type { ToolSet } from "ai";
import type { RetryOptions } from "../agent/retry.ts";
import type { Json } from "../util/json.ts";

export type McpSchema = { [key: string]: Json } & { type: "object" };

/** Hints of a server about a tool. They are its word: a policy may use them, security may not rest on them. */
export interface McpToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface McpTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: McpSchema;
  readonly outputSchema?: McpSchema;
  readonly annotations?: McpToolAnnotations;
}

export interface McpPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

export interface McpResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export type McpConnectionState =
  "authenticating" | "connecting" | "connected" | "discovering" | "ready" | "failed" | "not-connected";

/** What becomes of an attempt to connect. `connected`: the line is up, but the server's lists could not be read. */
export type McpConnectOutcome =
  | { readonly state: "ready" }
  | { readonly state: "authenticating"; readonly authUrl: string }
  | { readonly state: "connected" | "failed"; readonly error: string; readonly cause: unknown };

export type McpTransportType = "auto" | "streamable-http" | "sse";

/** Options of `addMcpServer`. */
export interface McpServerOptions {
  /** Your name for the server in tool names and calls. Default: a generated one of 8 characters. */
  id?: string;
  /** Origin that the server's login page sends the user back to. Default: that of the current request. */
  callbackHost?: string;
  /** Path for it, if not the agent's own. Requests for it must reach the agent. */
  callbackPath?: string;
  /** First segment of the agent's path. Default `agents`. */
  agentsPrefix?: string;
  /** How the agent introduces itself to the server. */
  client?: { name?: string; version?: string };
  transport?: {
    /** Sent with every request. Stored, because a restarted agent needs them too. */
    headers?: Record<string, string> | Headers | readonly (readonly [string, string])[];
    /** Default `auto`: streamable HTTP, and SSE where the server does not know it. */
    type?: McpTransportType;
  };
  /** For connecting again after a restart, after a login and after a lost connection. Default 3 attempts, 0.5 to 5 s. */
  retry?: RetryOptions;
  /** The most time for one call, read or prompt. Default 60 000. */
  timeoutMs?: number;
}

/**
 * Where an agent keeps its OAuth client registration and tokens for a server. Any `OAuthClientProvider` of
 * `@modelcontextprotocol/client` is one. Its `state`, code verifier and redirect are not used: the agent keeps those.
 */
export interface McpOAuthProvider {
  readonly redirectUrl: string | URL | undefined;
  readonly clientMetadata: object;
  clientInformation(context?: never): unknown;
  saveClientInformation?(information: never, context?: never): void | Promise<void>;
  tokens(context?: never): unknown;
  saveTokens(tokens: never, context?: never): void | Promise<void>;
}

/** How a login ended. */
export interface McpOAuthResult {
  readonly serverId: string;
  readonly authSuccess: boolean;
  readonly authError?: string;
}

export interface McpOAuthCallbackOptions {
  /** Answers the request itself; wins over the redirects. */
  customHandler?: (result: McpOAuthResult) => Response | Promise<Response>;
  /** Where the user goes after a login, resolved against the origin of the request. Default: that origin. */
  successRedirect?: string;
  /** Where the user goes when it failed; the reason is added as `error`. */
  errorRedirect?: string;
}

export interface McpFilter {
  serverId?: string | readonly string[];
  serverName?: string | readonly string[];
  state?: McpConnectionState | readonly McpConnectionState[];
}

/** A tool of an MCP server, as an approval policy sees it. */
export interface McpToolInfo {
  readonly serverId: string;
  readonly serverName: string;
  /** As the server calls it. */
  readonly name: string;
  /** As the model calls it. */
  readonly key: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: McpToolAnnotations;
}

/**
 * What may happen with a tool. `false`: it runs when the model calls it. `true`: every call waits for the user's
 * approval. A function decides for each call by its input. `"hide"`: the model does not get to see the tool.
 */
export type McpApproval = boolean | "hide" | ((input: unknown) => boolean | Promise<boolean>);

export type McpApprovalPolicy = (tool: McpToolInfo) => McpApproval;

export interface McpServerView {
  readonly name: string;
  readonly server_url: string;
  readonly auth_url: string | null;
  readonly state: McpConnectionState;
  readonly error: string | null;
  readonly instructions: string | null;
  readonly capabilities: object | null;
}

/** What a server lists, with the server it belongs to. */
export type OfServer<T> = T & { readonly serverId: string };

/** `toolKey`: the name under which the model calls the tool. */
export type McpToolView = OfServer<Omit<McpTool, "inputSchema"> & Partial<McpTool>> & { readonly toolKey: string };

/** Answer of `getMcpServers()` and content of the frame `cf_agent_mcp_servers`. */
export interface McpServersState {
  readonly servers: Readonly<Record<string, McpServerView>>;
  readonly tools: readonly McpToolView[];
  readonly prompts: readonly OfServer<McpPrompt>[];
  readonly resources: readonly OfServer<McpResource>[];
}

/** What `addMcpServer` returns: the server can be used, or the user has to log in at `authUrl` first. */
export type AddedMcpServer =
  | { readonly id: string; readonly state: "ready" }
  | { readonly id: string; readonly state: "authenticating"; readonly authUrl: string };

export interface McpServerInfo {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly state: McpConnectionState;
  readonly authUrl: string | null;
  readonly error: string | null;
}

/** Options of one request to a server. */
export interface McpRequestOptions {
  /** Ends the request; the server is told. */
  signal?: AbortSignal | undefined;
  /** Default: that of the server. */
  timeoutMs?: number | undefined;
}

/** `this.mcp`: the servers of one agent, what they list, and requests to them. */
export interface McpClients {
  /** Stores a server, unless it is stored, and returns its id. In `onStart()`: it connects when the start is over. */
  registerServer(id: string, server: McpServerOptions & { name: string; url: string; callbackUrl?: string }): string;
  /** Connects a stored server and reads its lists: one attempt, whose outcome is returned, also when it failed. */
  connectToServer(id: string): Promise<McpConnectOutcome>;
  /** As `connectToServer`, with the server's retries. */
  establishConnection(id: string): Promise<McpConnectOutcome>;
  /** Reads a connected server's lists again; undefined for one that is not connected. */
  discoverIfConnected(id: string): Promise<McpConnectOutcome | undefined>;
  /** Ends the connection. The server stays stored, and is connected again after a restart. */
  closeConnection(id: string): Promise<void>;
  closeAllConnections(): Promise<void>;
  /** Ends the connection and forgets the server, its tokens included. Nothing for a server that is not there. */
  removeServer(id: string): Promise<void>;
  listServers(filter?: McpFilter): McpServerInfo[];
  listTools(filter?: McpFilter): OfServer<McpTool>[];
  listPrompts(filter?: McpFilter): OfServer<McpPrompt>[];
  listResources(filter?: McpFilter): OfServer<McpResource>[];
  listResourceTemplates(filter?: McpFilter): OfServer<McpResourceTemplate>[];
  /** The servers' tools for the AI SDK. Turns have them without it. */
  getAITools(filter?: McpFilter): ToolSet;
  /** The server's result as it came, also where it reports an error. */
  callTool(
    call: { serverId: string; name: string; arguments?: Record<string, unknown> },
    options?: McpRequestOptions
  ): Promise<unknown>;
  readResource(read: { serverId: string; uri: string }, options?: McpRequestOptions): Promise<unknown>;
  getPrompt(
    prompt: { serverId: string; name: string; arguments?: Record<string, string> },
    options?: McpRequestOptions
  ): Promise<unknown>;
  /** Waits for the attempts to connect that are under way, at most `timeout` ms. Never rejects. */
  waitForConnections(options?: { timeout?: number }): Promise<void>;
  /** Called at every change that clients are shown. Returns the function that ends it. */
  onServerStateChanged(listener: () => void): () => void;
  /** What the user's browser is answered when a login is over. */
  configureOAuthCallback(options: McpOAuthCallbackOptions): void;
}

/** What the class asks of the feature. */
export interface McpAccess {
  readonly clients: McpClients;
  addServer(name: string, url: string, options: McpServerOptions): Promise<AddedMcpServer>;
  state(): McpServersState;
}

/** What an agent without servers shows its clients. */
export const NO_MCP_SERVERS: McpServersState = { servers: {}, tools: [], prompts: [], resources: [] };

const features = new WeakMap<object, McpAccess>();

/** Called by the feature when it joins its agent. */
export function provideMcp(agent: object, feature: McpAccess): void {
  features.set(agent, feature);
}

/** Undefined for a class without the feature, and before the agent has started. */
export function mcpOf(agent: object): McpAccess | undefined {
  return features.get(agent);
}
