// What clients are shown of an agent's MCP servers: the content of `cf_agent_mcp_servers`. Headers and tokens are not
// part of it. Bounded, because it is sent to every client at every change. Pure.
import type { McpPrompt, McpResource, McpTool } from "./catalog.ts";
import type { McpConnectionState } from "./connection-state.ts";
import { toolKey } from "./tool-names.ts";

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

/** As JSON. Past it tools lose their schemas, then servers what they say about themselves, and then the lists their ends. */
export const MAX_VIEW_CHARS = 512 * 1024;

export function toolView(tool: OfServer<McpTool>): McpToolView {
  return { ...tool, toolKey: toolKey(tool.serverId, tool.name) };
}

export function boundedView(state: McpServersState): McpServersState {
  if (sizeOf(state) <= MAX_VIEW_CHARS) return state;
  const tools = state.tools.map(({ inputSchema: _input, outputSchema: _output, ...rest }) => rest);
  const short = { ...state, tools };
  return sizeOf(short) <= MAX_VIEW_CHARS ? short : cutView({ ...short, servers: withoutWords(state.servers) });
}

function withoutWords(servers: McpServersState["servers"]): McpServersState["servers"] {
  const entries = Object.entries(servers);
  return Object.fromEntries(entries.map(([id, view]) => [id, { ...view, instructions: null, capabilities: null }]));
}

function cutView(state: McpServersState): McpServersState {
  const lists = { tools: [...state.tools], prompts: [...state.prompts], resources: [...state.resources] };
  while (sizeOf({ ...state, ...lists }) > MAX_VIEW_CHARS) {
    for (const list of Object.values(lists)) list.length = Math.floor(list.length / 2);
    if (Object.values(lists).every((list) => list.length === 0)) break;
  }
  return { ...state, ...lists };
}

function sizeOf(state: McpServersState): number {
  return JSON.stringify(state).length;
}
