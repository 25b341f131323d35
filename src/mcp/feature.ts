// MCP servers as a feature of an agent: what is stored is connected at the start in the background, tools join each turn,
// clients are told of every change, and the callbacks of logins are answered. A server that is down costs its tools and
// leaves a note in the prompt, never the turn.
import { McpAgent } from "../think/mcp-agent.ts";
import type { Feature, FeatureFactory, FeatureHost, TurnPart } from "../think/feature.ts";
import { provideMcp, type McpAccess } from "../think/mcp.ts";
import { callbackUrlOf } from "./callback-url.ts";
import { loadSdk } from "./client-package.ts";
import { McpOptionsError } from "./errors.ts";
import type { Fetch } from "./guarded-fetch.ts";
import { McpManager } from "./manager.ts";
import { MCP_TABLES, McpStore } from "./server-store.ts";

export interface McpOptions {
  /** Tools of MCP servers in one turn; default 128, the most that common providers take. Others are left out. */
  maxTools?: number;
  /** Makes the requests to servers, after their addresses were checked. Default: the global `fetch`. */
  fetch?: Fetch;
}

const DEFAULT_MAX_TOOLS = 128;

/**
 * Lets an agent use MCP servers: `this.addMcpServer(name, url)` and `this.mcp`.
 *
 * @example
 * export class Assistant extends Think<Env> {
 *   override getFeatures() {
 *     return [mcp()];
 *   }
 *   override onStart() {
 *     this.mcp.registerServer("weather", { name: "weather", url: "https://weather.example.com/mcp" });
 *   }
 * }
 */
export function mcp(options: McpOptions = {}): FeatureFactory {
  return function mcp(host) {
    return openMcp(host, options);
  };
}

function openMcp(host: FeatureHost, options: McpOptions): Feature {
  const { agent } = host;
  if (!(agent instanceof McpAgent)) throw new McpOptionsError("mcp() is for classes that extend Think.");
  const manager = openManager(host, agent, options.fetch ?? ((url, init) => fetch(url, init)));
  const access: McpAccess = {
    clients: manager,
    state: () => manager.state(),
    addServer: (name, url, given) => manager.addServer(name, url, given)
  };
  provideMcp(agent, access);
  const end = broadcastChanges(host, manager);
  return {
    name: "mcp",
    tables: MCP_TABLES,
    start: () => manager.restore(),
    // What `onStart` has registered.
    ready: () => manager.restore(),
    stop: () => {
      end();
      void manager.closeAllConnections();
    },
    inTurn: () => partOf(manager, agent, options.maxTools ?? DEFAULT_MAX_TOOLS),
    untilConnected: (timeoutMs) => manager.waitForConnections({ timeout: timeoutMs }),
    runsTool: (toolName) => manager.hasToolNamed(toolName),
    routes: {
      callback: (request, rest) =>
        rest === "" ? manager.handleCallbackRequest(request, { isOwnRoute: true }) : undefined
    },
    respond: (request) => manager.handleCallbackRequest(request),
    mcpServers: () => manager.state()
  };
}

function openManager(host: FeatureHost, agent: McpAgent, fetch: Fetch): McpManager {
  const { clock, ids, emit } = host;
  return new McpManager({
    store: new McpStore(host.sql),
    clock,
    ids,
    fetch,
    loadSdk,
    callbackUrlOf: (options) => callbackUrlOf(agent, options),
    createOAuthProvider: (callbackUrl) => agent.createMcpOAuthProvider(callbackUrl),
    emit,
    warn: (warning) => console.warn(warning),
    background: (work) => host.background(host.inAgent(async () => work))
  });
}

/** Changes that come together are sent together. */
function broadcastChanges(host: FeatureHost, manager: McpManager): () => void {
  let isDue = false;
  const end = manager.onServerStateChanged(() => {
    if (isDue) return;
    isDue = true;
    queueMicrotask(() => {
      if (!isDue) return;
      isDue = false;
      host.broadcast({ type: "cf_agent_mcp_servers", mcp: manager.state() });
    });
  });
  return () => {
    isDue = false;
    end();
  };
}

function partOf(manager: McpManager, agent: McpAgent, limit: number): TurnPart {
  manager.heal();
  const { tools, omitted } = manager.toolSet({ approval: (tool) => agent.mcpApproval(tool), limit });
  const notes = notesOn(manager, omitted);
  return { tools: { mcp: tools }, ...(notes !== "" && { prompt: [{ label: "mcp", text: notes }] }) };
}

/** What is missing, for the model and for whoever reads an explained prompt. No text of a server is part of it. */
function notesOn(manager: McpManager, omitted: number): string {
  const lines = manager.listServers().flatMap(({ name, state }) => {
    if (state === "ready") return [];
    const why = state === "authenticating" ? "the user has to log in to it first" : "it cannot be reached now";
    return [`- The tools of the MCP server "${name}" are missing: ${why}.`];
  });
  if (omitted > 0) lines.push(`- ${omitted} more tools of MCP servers are left out: there are too many for one turn.`);
  return lines.length === 0 ? "" : ["About MCP servers:", ...lines].join("\n");
}
