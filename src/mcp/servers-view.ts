// What clients are shown of an agent's MCP servers: the content of `cf_agent_mcp_servers`. Headers and tokens are not
// part of it. Bounded, because it is sent to every client at every change. Pure.
import type { McpServersState, McpTool, McpToolView, OfServer } from "../think/mcp.ts";
import { toolKey } from "./tool-names.ts";

/** Of the three lists as JSON. Past it tools lose their schemas, and then the lists their ends. */
export const MAX_VIEW_CHARS = 512 * 1024;

export function toolView(tool: OfServer<McpTool>): McpToolView {
  return { ...tool, toolKey: toolKey(tool.serverId, tool.name) };
}

export function boundedView(state: McpServersState): McpServersState {
  if (sizeOf(state) <= MAX_VIEW_CHARS) return state;
  const tools = state.tools.map(({ inputSchema: _input, outputSchema: _output, ...rest }) => rest);
  const lists = { tools, prompts: [...state.prompts], resources: [...state.resources] };
  while (sizeOf({ ...state, ...lists }) > MAX_VIEW_CHARS) {
    for (const list of Object.values(lists)) list.length = Math.floor(list.length / 2);
    if (Object.values(lists).every((list) => list.length === 0)) break;
  }
  return { ...state, ...lists };
}

function sizeOf(state: McpServersState): number {
  return JSON.stringify(state).length;
}
