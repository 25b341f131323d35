// MCP servers as a part of every agent: what is stored is connected at the start in the background, clients are sent every
// change, and the callbacks of logins are answered. An agent without servers has no table and makes no manager.
import type { Agent } from "../../agent/agent.ts";
import { frames } from "../../agent/connections/frames.ts";
import { pathBelowAgent } from "../../agent/own-path.ts";
import { runtimeOf, type AgentRuntime } from "../../agent/runtime.ts";
import { isObject } from "../../util/json.ts";
import { callbackUrlOf } from "./callback-url.ts";
import { openProtocol } from "./protocol.ts";
import { McpManager } from "./manager.ts";
import { MCP_TABLES, McpStore } from "./server-store.ts";

interface AgentMcp {
  /** Made by the first use. */
  manager(): McpManager;
}

/** The operator lets agents reach the network around the machine. `everthink serve --allow-private-network` sets it. */
const PRIVATE_NETWORK = "EVERTHINK_PRIVATE_NETWORK";

const ofAgents = new WeakMap<object, AgentMcp>();

/** The MCP servers of an agent. */
export function mcpOf(agent: object): McpManager {
  const mcp = ofAgents.get(agent);
  if (mcp === undefined) throw new TypeError("Not an agent.");
  return mcp.manager();
}

export function openMcp(agent: Agent): void {
  const runtime = runtimeOf(agent);
  let manager: McpManager | undefined;
  let end = () => {};
  let isStarting = true;
  const made = () => {
    if (manager === undefined) {
      manager = openManager(agent, runtime, () => isStarting);
      end = broadcastChanges(runtime, manager);
    }
    return manager;
  };
  ofAgents.set(agent, { manager: made });
  /** Undefined where no server was ever stored. */
  const used = () => manager ?? (runtime.sql.catalog.has(MCP_TABLES) ? made() : undefined);
  const restore = () => {
    try {
      used()?.restore();
    } catch (error) {
      runtime.degraded("mcp", error);
    }
  };
  runtime.connections.mcpServers = () => used()?.state();
  runtime.extensions.push({
    start: restore,
    // What `onStart` has registered.
    ready: () => {
      isStarting = false;
      restore();
    },
    // The state of an open login.
    checksCallers: true,
    respond: (request) => {
      const known = used();
      if (known === undefined || known.isEmpty) return undefined;
      const isOwnRoute = pathBelowAgent(request.url, runtime) === "/callback";
      return known.handleCallbackRequest(request, { isOwnRoute });
    },
    stop: () => {
      end();
      void manager?.closeAllConnections();
    }
  });
}

function openManager(agent: Agent, runtime: AgentRuntime, isStarting: () => boolean): McpManager {
  const { sql, clock, ids } = runtime;
  return new McpManager({
    store: new McpStore(sql),
    clock,
    ids,
    fetch: (url, init) => agent.mcpFetch(url, init),
    loadProtocol: openProtocol,
    isStarting,
    addresses: { allowsPrivateNames: isObject(runtime.env) && runtime.env[PRIVATE_NETWORK] === "1" },
    callbackUrlOf: (options) => callbackUrlOf(agent, options),
    // Outside of the agent's context its methods are entered, which takes a promise.
    createOAuthProvider: (callbackUrl) => runtime.enterContext(() => agent.createMcpOAuthProvider(callbackUrl)),
    emit: (type, payload) => runtime.emit(type, payload),
    warn: (warning) => console.warn(warning),
    background: (work) => runtime.background(runtime.keepAlive.while(async () => work))
  });
}

/** Changes that come together are sent together. */
function broadcastChanges({ connections }: AgentRuntime, manager: McpManager): () => void {
  let isDue = false;
  const end = manager.onServerStateChanged(() => {
    if (isDue) return;
    isDue = true;
    queueMicrotask(() => {
      if (!isDue) return;
      isDue = false;
      connections.broadcastProtocol(frames.mcpServers(manager.state()));
    });
  });
  return () => {
    isDue = false;
    end();
  };
}
