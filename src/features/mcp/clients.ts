// `this.mcp` as user code sees it. Without the types of the AI SDK and of the client package: a class that uses neither is
// type-checked without them.
import type { McpPrompt, McpResource, McpResourceTemplate, McpTool } from "./catalog.ts";
import type { McpConnectionState, McpConnectOutcome } from "./connection-state.ts";
import type { McpFilter } from "./filter.ts";
import type { McpServerOptions } from "./server-record.ts";
import type { OfServer } from "./servers-view.ts";

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
  /** Ends the request; the server is notified. */
  signal?: AbortSignal | undefined;
  /** Default: that of the server. */
  timeoutMs?: number | undefined;
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

/** A tool of a server as the AI SDK takes it. */
export interface McpAITool {
  readonly description?: string;
  /** For the SDK only. */
  readonly inputSchema: never;
  execute(
    input: unknown,
    options: { readonly toolCallId: string; readonly abortSignal?: AbortSignal | undefined }
  ): Promise<unknown>;
}

/** `this.mcp`: the servers of one agent, what they list, and requests to them. */
export interface McpClients {
  /**
   * Stores a server of the class and returns its id. It replaces what the class registered under this id: with another
   * address, nothing of the old one is kept. In `onStart()`: it connects when the start is over.
   */
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
  getAITools(filter?: McpFilter): Record<string, McpAITool>;
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
  /** Tries again what failed some time ago, and waits for every attempt to connect, at most `timeout` ms. Never rejects. */
  waitForConnections(options?: { timeout?: number }): Promise<void>;
  /** Called at every change that clients are shown. Returns the function that ends it. */
  onServerStateChanged(listener: () => void): () => void;
  /** What the user's browser is answered when a login is over. */
  configureOAuthCallback(options: McpOAuthCallbackOptions): void;
}
