// The part of the class that is about MCP servers: its settings and public names. They need the feature of `mcp/`, which
// a class brings with `getFeatures()`.
import { Agent } from "../agent/agent.ts";
import { assertCallerMayChange } from "../agent/connections/readonly.ts";
import { McpFeatureMissingError } from "./errors.ts";
import {
  mcpOf,
  NO_MCP_SERVERS,
  type AddedMcpServer,
  type McpAccess,
  type McpApproval,
  type McpClients,
  type McpOAuthProvider,
  type McpServerOptions,
  type McpServersState,
  type McpToolInfo
} from "./mcp.ts";

export abstract class McpAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends Agent<Env, State, Props> {
  /** Wait for MCP servers before each turn: at most 10 seconds, or `timeout` milliseconds. */
  waitForMcpConnections: boolean | { timeout?: number } = false;

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

  /** The agent's MCP servers. Throws for a class whose `getFeatures()` does not return `mcp()`. */
  get mcp(): McpClients {
    return requireMcp(this).clients;
  }

  /**
   * Connects to an MCP server and keeps it: its tools join every turn, also after a restart. Added again, with the same
   * name and address, it is the same server. Throws when it cannot be reached; it stays stored then.
   */
  async addMcpServer(name: string, url: string, options: McpServerOptions = {}): Promise<AddedMcpServer> {
    assertCallerMayChange(this);
    return requireMcp(this).addServer(name, url, options);
  }

  /** Ends the connection and forgets the server with its tokens. */
  async removeMcpServer(id: string): Promise<void> {
    assertCallerMayChange(this);
    await requireMcp(this).clients.removeServer(id);
  }

  /** What clients are shown of the MCP servers. */
  getMcpServers(): McpServersState {
    return mcpOf(this)?.state() ?? NO_MCP_SERVERS;
  }
}

function requireMcp(agent: object): McpAccess {
  const access = mcpOf(agent);
  if (access === undefined) throw new McpFeatureMissingError(agent.constructor.name);
  return access;
}
