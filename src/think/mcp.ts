// MCP servers as a feature of every agent: what is stored is connected at the start in the background, tools join each
// turn, clients are sent every change, and the callbacks of logins are answered. A server that is down costs its tools and
// leaves a note in the prompt, never the turn. An agent without servers has no table and no part in a turn.
import { pathBelowAgent } from "../agent/own-path.ts";
import { runtimeOf } from "../agent/runtime.ts";
import { callbackUrlOf } from "../agent/mcp/callback-url.ts";
import { loadProtocol } from "../agent/mcp/connection.ts";
import { McpManager } from "../agent/mcp/manager.ts";
import { MCP_TABLES, McpStore } from "../agent/mcp/server-store.ts";
import { NotStartedError } from "./errors.ts";
import type { Feature, FeatureHost, TurnPart } from "./feature.ts";

const managers = new WeakMap<object, McpManager>();

/** The MCP servers of an agent. Throws NotStartedError in its constructor and in `configureSession`. */
export function mcpOf(agent: object): McpManager {
  const manager = managers.get(agent);
  if (manager === undefined) throw new NotStartedError(agent.constructor.name);
  return manager;
}

export function mcpFeature(host: FeatureHost): Feature {
  const { agent } = host;
  const manager = openManager(host);
  managers.set(agent, manager);
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
    inTurn: () => (manager.isEmpty ? undefined : partOf(host, manager)),
    untilConnected: (timeoutMs) => manager.waitForConnections({ timeout: timeoutMs }),
    runsTool: (toolName) => manager.hasToolNamed(toolName),
    respond: (request) => {
      if (manager.isEmpty) return undefined;
      const isOwnRoute = pathBelowAgent(request.url, runtimeOf(agent)) === "/callback";
      return manager.handleCallbackRequest(request, { isOwnRoute });
    },
    mcpServers: () => manager.state()
  };
}

function openManager({ agent, overrides, sql, clock, ids, emit, background, inAgent }: FeatureHost): McpManager {
  return new McpManager({
    store: new McpStore(sql),
    clock,
    ids,
    fetch: (url, init) => overrides.mcpFetch(url, init),
    loadProtocol,
    callbackUrlOf: (options) => callbackUrlOf(agent, options),
    // Outside of the agent's context its methods are entered, which takes a promise.
    createOAuthProvider: (callbackUrl) =>
      runtimeOf(agent).enterContext(() => overrides.createMcpOAuthProvider(callbackUrl)),
    emit,
    warn: (warning) => console.warn(warning),
    background: (work) => background(inAgent(async () => work))
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

function partOf({ overrides }: FeatureHost, manager: McpManager): TurnPart {
  manager.heal();
  const { tools, omitted } = manager.toolSet({
    approval: (tool) => overrides.mcpApproval(tool),
    limit: overrides.maxMcpTools
  });
  const notes = notesOn(manager, omitted);
  return { tools: { mcp: tools }, ...(notes !== "" && { prompt: [{ label: "mcp", text: notes }] }) };
}

/** What is missing, for the model and for readers of an explained prompt. No text of a server is part of it. */
function notesOn(manager: McpManager, omitted: number): string {
  const lines = manager.listServers().flatMap(({ name, state }) => {
    if (state === "ready") return [];
    const why = state === "authenticating" ? "the user has to log in to it first" : "it cannot be reached now";
    return [`- The tools of the MCP server "${name}" are missing: ${why}.`];
  });
  if (omitted > 0) lines.push(`- ${omitted} more tools of MCP servers are left out: there are too many for one turn.`);
  return lines.length === 0 ? "" : ["About MCP servers:", ...lines].join("\n");
}
