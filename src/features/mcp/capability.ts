// MCP servers as a capability of every agent, and their tools as one of every conversation, with the settings of turns.
import { capability } from "../../feature/capability.ts";
import { DEFAULT_MAX_MCP_TOOLS, McpFeature } from "./feature.ts";
import { McpMembers } from "./members.ts";
import type { McpApproval, McpToolInfo } from "./tools.ts";

export const mcp = capability({ name: "mcp", members: McpMembers, feature: (services) => new McpFeature(services) });

export class McpTurnMembers {
  /**
   * Wait for MCP servers before each turn: at most 10 seconds, or `timeout` milliseconds.
   * @example
   * waitForMcpConnections = { timeout: 5_000 };
   */
  waitForMcpConnections: boolean | { timeout?: number } = false;

  /**
   * Tools of MCP servers in one turn; the default is the most that common providers take. Others are left out. With
   * `toolDiscovery` the default leaves out none: the model is offered those that it has found.
   * @example
   * maxMcpTools = 40;
   */
  maxMcpTools: number = DEFAULT_MAX_MCP_TOOLS;

  /**
   * What may happen with a tool of an MCP server: `false`, it runs when the model calls it; `true`, each call waits for the
   * user; a function decides by the call's input; `"hide"`, the model does not see the tool. Anything else, and a throw,
   * counts as `true`.
   * @example
   * mcpApproval({ serverId, annotations }: McpToolInfo) {
   *   return serverId !== "docs" || annotations?.readOnlyHint !== true;
   * }
   */
  mcpApproval(_tool: McpToolInfo): McpApproval {
    return false;
  }
}

export const mcpTools = capability({ name: "mcp-tools", members: McpTurnMembers, requires: [mcp] });
