// `this.mcp` as user code sees it.
import type { ToolSet } from "ai";
import type { McpPrompt, McpResource, McpResourceTemplate, McpTool } from "./catalog.ts";
import type { McpConnectionState, McpConnectOutcome } from "./connection.ts";
import type { McpFilter } from "./filter.ts";
import type { McpOAuthCallbackOptions } from "./oauth-callback.ts";
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
