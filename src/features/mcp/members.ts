// The public names of MCP servers on the class of every agent.
// Its declarations name no type of `ai` and not the capability: a project with a plain `Agent` is type-checked without
// that package. At run time only `capability.ts` imports this file.
import { mcp } from "./capability.ts";
import type { AddedMcpServer, McpClients } from "./clients.ts";
import type { McpOAuthProvider } from "./credentials.ts";
import type { McpServerOptions } from "./server-record.ts";
import type { McpServersState } from "./servers-view.ts";

export class McpMembers {
  static readonly changes = ["addMcpServer", "removeMcpServer"] satisfies (keyof McpMembers)[];

  /**
   * Sends a request to an MCP server or its login, after the address was checked: for proxies and service bindings. A
   * field and no method, because the methods of a class can be called over RPC.
   * @example
   * mcpFetch = (url: string | URL, init?: RequestInit) => this.env.PROXY.fetch(url, init);
   */
  mcpFetch: (url: string | URL, init?: RequestInit) => Promise<Response> = (url, init) => fetch(url, init);

  /**
   * Where registrations and tokens for an MCP server's login are kept; undefined: in the agent's own storage.
   * @example
   * createMcpOAuthProvider(callbackUrl: string) {
   *   return vaultProvider(this.name, callbackUrl); // an OAuthClientProvider of yours
   * }
   */
  createMcpOAuthProvider(_callbackUrl: string): McpOAuthProvider | undefined {
    return undefined;
  }

  /** The agent's MCP servers: requests to them, what they list, and their tools for the AI SDK. From `onStart()` on. */
  get mcp(): McpClients {
    return mcp.of(this).manager();
  }

  /**
   * Connects to an MCP server and keeps it, also after a restart: a `Think` has its tools in every turn. Added again, with the same
   * name and address, it is the same server. Throws when it cannot be reached; it stays stored then. Needs the package
   * `@modelcontextprotocol/client`.
   *
   * @example
   * await this.addMcpServer("weather", "https://weather.example.com/mcp");
   */
  async addMcpServer(name: string, url: string, options: McpServerOptions = {}): Promise<AddedMcpServer> {
    return mcp.of(this).manager().addServer(name, url, options);
  }

  /** Ends the connection and forgets the server with its tokens. */
  async removeMcpServer(id: string): Promise<void> {
    await mcp.of(this).manager().removeServer(id);
  }

  /** What clients are shown of the MCP servers. */
  getMcpServers(): McpServersState {
    return mcp.of(this).manager().state();
  }
}
