// The part of the class that is about MCP servers: settings, override points and public names.
import { assertCallerMayChange } from "../agent/connections/readonly.ts";
import type {
  AddedMcpServer,
  McpApproval,
  McpClients,
  McpOAuthProvider,
  McpServerOptions,
  McpServersState,
  McpToolInfo
} from "../agent/mcp/index.ts";
import { mcpOf } from "./mcp.ts";
import { WorkspaceAgent } from "./workspace-agent.ts";

export abstract class McpAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends WorkspaceAgent<Env, State, Props> {
  /** Wait for MCP servers before each turn: at most 10 seconds, or `timeout` milliseconds. */
  waitForMcpConnections: boolean | { timeout?: number } = false;

  /** Tools of MCP servers in one turn; the default is the most that common providers take. Others are left out. */
  maxMcpTools: number = 128;

  /**
   * Sends a request to an MCP server or its login, after the address was checked: for proxies and service bindings. A
   * field and no method, because the methods of a class can be called over RPC.
   */
  mcpFetch: (url: string | URL, init?: RequestInit) => Promise<Response> = (url, init) => fetch(url, init);

  /**
   * What may happen with a tool of an MCP server: `false`, it runs when the model calls it; `true`, each call waits for the
   * user; a function decides by the call's input; `"hide"`, the model does not see the tool. A throw counts as `true`.
   */
  mcpApproval(_tool: McpToolInfo): McpApproval {
    return false;
  }

  /** Where registrations and tokens for an MCP server's login are kept; undefined: in the agent's own storage. */
  createMcpOAuthProvider(_callbackUrl: string): McpOAuthProvider | undefined {
    return undefined;
  }

  /** The agent's MCP servers. From `onStart()` on. */
  get mcp(): McpClients {
    return mcpOf(this);
  }

  /**
   * Connects to an MCP server and keeps it: its tools join every turn, also after a restart. Added again, with the same
   * name and address, it is the same server. Throws when it cannot be reached; it stays stored then. Needs the package
   * `@modelcontextprotocol/client`.
   *
   * @example
   * await this.addMcpServer("weather", "https://weather.example.com/mcp");
   */
  async addMcpServer(name: string, url: string, options: McpServerOptions = {}): Promise<AddedMcpServer> {
    assertCallerMayChange(this);
    return mcpOf(this).addServer(name, url, options);
  }

  /** Ends the connection and forgets the server with its tokens. */
  async removeMcpServer(id: string): Promise<void> {
    assertCallerMayChange(this);
    await mcpOf(this).removeServer(id);
  }

  /** What clients are shown of the MCP servers. */
  getMcpServers(): McpServersState {
    return mcpOf(this).state();
  }
}
