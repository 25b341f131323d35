// What the tests of MCP servers in an agent share: a Think, and a network that is a map of functions and
// outlives the process, as servers do.
import { z } from "zod";
import {
  Think,
  type McpApproval,
  type McpServerOptions,
  type McpServersState,
  type McpToolInfo
} from "../../src/index.ts";
import { ProtectedMcp } from "../../src/features/mcp/oauth-server.test-support.ts";
import { textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp, type Handler } from "../../src/features/mcp/served-mcp.test-support.ts";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createScript, createTestHost, scriptedModel, type Script, type Step } from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";

interface Scene {
  script: Script;
  origins: Map<string, Handler>;
  approval: (tool: McpToolInfo) => McpApproval;
  wait: Think["waitForMcpConnections"];
  maxTools: number;
  /** Side effects of tools, in order. */
  effects: string[];
  events: AgentEvent[];
  /** The process can die after an effect, before its result is known. */
  boundary: () => Promise<void>;
}

export const scene: Scene = emptyScene([]);

function emptyScene(steps: Step[]): Scene {
  return {
    script: createScript(steps),
    origins: new Map(),
    approval: () => false,
    wait: true,
    maxTools: 128,
    effects: [],
    events: [],
    boundary: async () => undefined
  };
}

export class Librarian extends Think {
  override workspaceTools = false;
  static override callables = ["add", "remove"];
  override observability = { emit: (event: AgentEvent) => void scene.events.push(event) };
  override waitForMcpConnections = scene.wait;
  override maxMcpTools = scene.maxTools;

  override getModel() {
    return scriptedModel(scene.script);
  }
  override mcpFetch = async (url: string | URL, init?: RequestInit) => {
    const handler = scene.origins.get(new URL(url).origin);
    if (handler === undefined) throw new TypeError("fetch failed");
    return handler(new Request(url, init));
  };
  override shouldConnectionBeReadonly(_connection: unknown, { request }: { request: Request }) {
    return request.url.includes("readonly");
  }
  override mcpApproval(tool: McpToolInfo): McpApproval {
    return scene.approval(tool);
  }
  async add(name: string, url: string, options?: McpServerOptions) {
    return this.addMcpServer(name, url, options);
  }
  async remove(id: string) {
    await this.removeMcpServer(id);
  }
  async servers(): Promise<string> {
    return JSON.stringify(this.getMcpServers());
  }
  async wait() {
    await this.mcp.waitForConnections();
  }
  async inChild(name: string, url: string) {
    const child = await this.subAgent(Apprentice, "kid");
    return JSON.stringify(await child.add(name, url, { id: "lib", callbackHost: "http://localhost" }));
  }
  async childServers(): Promise<string> {
    return (await this.subAgent(Apprentice, "kid")).servers();
  }
}

/** As a sub-agent. */
export class Apprentice extends Librarian {}

export function open(steps: Step[] = []) {
  Object.assign(scene, emptyScene(steps));
  return createTestHost({ agents: { Librarian }, exports: [Apprentice] });
}

export type Host = ReturnType<typeof open>;

export const LIBRARY = "https://library.example.com";
export const URL_LIBRARY = `${LIBRARY}/mcp`;
export const LOGIN = "https://login.example.com";

/** A server with a tool that has an effect, one that hangs, and one that reports an error. */
export function library() {
  const served = serveMcp((server) => {
    server.registerTool(
      "lend",
      { inputSchema: z.object({ book: z.string() }), annotations: { destructiveHint: true } },
      async ({ book }) => {
        scene.effects.push(`lent ${book}`);
        await scene.boundary();
        return textResult(`You have ${book}.`);
      }
    );
    server.registerTool("broken", { inputSchema: z.object({}) }, () => ({
      ...textResult("The shelf fell."),
      isError: true
    }));
  });
  scene.origins.set(LIBRARY, served.handler);
  return served;
}

/** The same behind a login. */
export function protectedLibrary(): ProtectedMcp {
  const served = library();
  const server = new ProtectedMcp({ mcpUrl: `${LIBRARY}/mcp`, loginOrigin: LOGIN, mcp: served.handler });
  scene.origins.set(LIBRARY, server.resource);
  scene.origins.set(LOGIN, server.login);
  return server;
}

export const agentOf = (host: Host) => host.get(Librarian, "a");

/** What the agent shows its clients. */
export const serversOf = async (host: Host): Promise<McpServersState> =>
  JSON.parse(await (await agentOf(host)).servers()) as McpServersState;

export const say = async (host: Host, id: string) => (await agentOf(host)).saveMessages([user(id)]);

export const messages = (host: Host) => storedMessages(host, "/agents/librarian/a");
