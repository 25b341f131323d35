// MCP servers as a feature of an agent: what is stored is connected at the start in the background, clients are sent every
// change, and the callbacks of logins are answered. In turns the servers' tools join each one, under the class's approval
// policy. A server that is down costs its tools and leaves a note in the prompt, never the turn. An agent without servers has
// no table and makes no manager.
import { frames } from "../../agent/connections/frames.ts";
import { runtimeOf, type AgentRuntime } from "../../agent/runtime.ts";
import type { CallOwner, Feature, Roles, TurnPart } from "../../feature/feature.ts";
import type { Services } from "../../feature/services.ts";
import { allowsPrivateNames } from "../../util/inside-address.ts";
import { callbackUrlOf } from "./callback-url.ts";
import type { McpTurnMembers } from "./capability.ts";
import { McpManager } from "./manager.ts";
import type { McpMembers } from "./members.ts";
import { openProtocol } from "./protocol.ts";
import { MCP_TABLES, McpStore } from "./server-store.ts";

/** How long a turn waits for servers when the class does not say. */
export const MCP_WAIT_MS = 10_000;

/** The most that common providers take in one call. */
export const DEFAULT_MAX_MCP_TOOLS = 128;

/** Undefined: turns do not wait. */
export function waitOf(wait: McpTurnMembers["waitForMcpConnections"]): number | undefined {
  if (!wait) return undefined;
  return (wait === true ? undefined : wait.timeout) ?? MCP_WAIT_MS;
}

export class McpFeature implements Feature {
  readonly name = "mcp";
  readonly tables = MCP_TABLES;
  readonly roles: Partial<Roles> = {
    // With the state of an open login.
    callbacks: (request, path) => this.#known()?.handleCallbackRequest(request, { isOwnRoute: path === "/callback" }),
    untilConnected: () => this.#untilConnected()
  };
  readonly calls: CallOwner = { runsTool: (toolName) => this.#known()?.hasToolNamed(toolName) ?? false };
  readonly #services: Services;
  readonly #runtime: AgentRuntime;
  #manager: McpManager | undefined;
  #endBroadcasts = () => {};
  #isStarting = true;

  constructor(services: Services) {
    this.#services = services;
    this.#runtime = runtimeOf(services.agent);
    this.#runtime.connections.mcpServers = () => this.#used()?.state();
  }

  /** Made by the first use. */
  manager(): McpManager {
    if (this.#manager === undefined) {
      this.#manager = this.#openManager();
      this.#endBroadcasts = broadcastChanges(this.#runtime, this.#manager);
    }
    return this.#manager;
  }

  start(): void {
    this.#restore();
  }

  /** What `onStart` has registered. */
  ready(): void {
    this.#isStarting = false;
    this.#restore();
  }

  stop(): void {
    this.#endBroadcasts();
    void this.#manager?.closeAllConnections();
  }

  inTurn(): TurnPart | undefined {
    const manager = this.#known();
    return manager && partOf(this.#services.agent as McpTurnMembers, manager, this.#toolLimit());
  }

  /** A class that does not wait has the tools of servers that are connected already. */
  #untilConnected(): Promise<void> | undefined {
    // Of a class with turns.
    const timeout = waitOf((this.#services.agent as McpTurnMembers).waitForMcpConnections);
    return timeout === undefined ? undefined : this.#known()?.untilConnected({ timeout });
  }

  /** More than a provider takes only where turns do not offer all of them. */
  #toolLimit(): number {
    const { maxMcpTools } = this.#services.agent as McpTurnMembers;
    const isDefault = maxMcpTools === DEFAULT_MAX_MCP_TOOLS;
    return isDefault && this.#services.features.role("toolDiscovery") ? Infinity : maxMcpTools;
  }

  #restore(): void {
    try {
      this.#used()?.restore();
    } catch (error) {
      this.#services.degrade("mcp", error);
    }
  }

  /** Undefined where no server was ever stored. */
  #used(): McpManager | undefined {
    return this.#manager ?? (this.#services.sql.catalog.has(MCP_TABLES) ? this.manager() : undefined);
  }

  /** Undefined where there is no server. */
  #known(): McpManager | undefined {
    const used = this.#used();
    return used?.isEmpty === false ? used : undefined;
  }

  #openManager(): McpManager {
    const runtime = this.#runtime;
    const { sql, clock, ids } = runtime;
    const agent = this.#services.agent as McpMembers;
    return new McpManager({
      store: new McpStore(sql),
      clock,
      ids,
      fetch: (url, init) => agent.mcpFetch(url, init),
      loadProtocol: openProtocol,
      isStarting: () => this.#isStarting,
      addresses: { allowsPrivateNames: allowsPrivateNames(runtime.env) },
      callbackUrlOf: (options) => callbackUrlOf(agent, options),
      // Outside of the agent's context its methods are entered, which takes a promise.
      createOAuthProvider: (callbackUrl) => runtime.enterContext(() => agent.createMcpOAuthProvider(callbackUrl)),
      emit: (type, payload) => runtime.emit(type, payload),
      warn: (warning) => console.warn(warning),
      background: (work) => runtime.background(runtime.keepAlive.while(async () => work))
    });
  }
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

function partOf(agent: McpTurnMembers, manager: McpManager, limit: number): TurnPart {
  manager.heal();
  const { tools, omitted } = manager.toolSet({
    approval: (tool) => agent.mcpApproval(tool),
    limit
  });
  const notes = notesOn(manager, omitted);
  return { tools: { mcp: tools }, prompt: notes !== "" ? [{ label: "mcp", text: notes }] : undefined };
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
