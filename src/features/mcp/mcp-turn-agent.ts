// What a class decides about the tools of MCP servers in its turns. The servers themselves are a part of every `Agent`.
import type { McpApproval, McpToolInfo } from "./index.ts";
import { WorkspaceAgent } from "../workspace/workspace-agent.ts";

export abstract class McpTurnAgent<
  Env = unknown,
  State = unknown,
  Props extends Record<string, unknown> = Record<string, unknown>
> extends WorkspaceAgent<Env, State, Props> {
  /** Wait for MCP servers before each turn: at most 10 seconds, or `timeout` milliseconds. */
  waitForMcpConnections: boolean | { timeout?: number } = false;

  /** Tools of MCP servers in one turn; the default is the most that common providers take. Others are left out. */
  maxMcpTools: number = 128;

  /**
   * What may happen with a tool of an MCP server: `false`, it runs when the model calls it; `true`, each call waits for the
   * user; a function decides by the call's input; `"hide"`, the model does not see the tool. Anything else, and a throw,
   * counts as `true`.
   */
  mcpApproval(_tool: McpToolInfo): McpApproval {
    return false;
  }
}
