// What the tests of tool discovery share: an agent with MCP servers of many tools, and a network that is a map of functions.
import { Think, type McpApproval, type McpToolInfo, type ToolDiscovery } from "../../src/index.ts";
import { rawMcp, textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { createScript, createTestHost, type RecordedCall, type Script, type Step } from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { SERVERS, type ServerTools } from "../kit/many-tools/index.ts";
import { toolNames } from "../kit/prompts.ts";
import type { ToolSet } from "ai";

export interface DiscoveryScene {
  script: Script;
  discovery: ToolDiscovery;
  servers: readonly ServerTools[];
  approval: (tool: McpToolInfo) => McpApproval;
  own: () => ToolSet;
  maxTools: number;
  /** Calls that servers were sent, as `server/tool input`. */
  calls: string[];
  /** The process can die after an effect, before its result is known. */
  boundary: () => Promise<void>;
  beforeTurn: Think["beforeTurn"];
  beforeStep: Think["beforeStep"];
  configureSession: Think["configureSession"] | undefined;
}

function emptyScene(steps: readonly Step[]): DiscoveryScene {
  return {
    script: createScript(steps),
    discovery: "auto",
    servers: SERVERS,
    approval: () => false,
    own: () => ({}),
    maxTools: 128,
    calls: [],
    boundary: async () => undefined,
    beforeTurn: () => undefined,
    beforeStep: () => undefined,
    configureSession: undefined
  };
}

export const INSPECTION_KEY = "a-key-of-the-operator-0123";

export const scene: DiscoveryScene = emptyScene([]);

const urlOf = (id: string) => `https://${id}.example.com/mcp`;

async function answer(url: string | URL, init?: RequestInit): Promise<Response> {
  const id = new URL(url).hostname.split(".")[0];
  const server = scene.servers.find((one) => one.id === id);
  if (server === undefined) throw new TypeError("fetch failed");
  const handler = rawMcp({
    "tools/list": () => ({ tools: server.tools }),
    "tools/call": async ({ params }) => {
      scene.calls.push(`${server.id}/${String(params["name"])} ${JSON.stringify(params["arguments"])}`);
      await scene.boundary();
      return textResult(`Done: ${String(params["name"])}.`);
    }
  });
  return handler(new Request(url, init));
}

export class Clerk extends Think {
  override workspaceTools = false;
  override waitForMcpConnections = true;
  override toolDiscovery = scene.discovery;
  override maxMcpTools = scene.maxTools;
  override mcpFetch = answer;

  override getModel() {
    return installedModel(scene.script);
  }
  override getTools() {
    return scene.own();
  }
  override configureChannels() {
    return {
      kiosk: { kind: "custom" as const, tools: (all: ToolSet) => pick(all, (name) => name.includes("github")) }
    };
  }
  override configureSession(session: Parameters<Think["configureSession"]>[0]) {
    return scene.configureSession?.(session) ?? session;
  }
  override mcpApproval(tool: McpToolInfo): McpApproval {
    return scene.approval(tool);
  }
  override beforeTurn(context: Parameters<Think["beforeTurn"]>[0]) {
    return scene.beforeTurn(context);
  }
  override beforeStep(context: Parameters<Think["beforeStep"]>[0]) {
    return scene.beforeStep(context);
  }
  async compactNow() {
    return (await this.session.compact()) !== null;
  }
  override onStart() {
    for (const { id, name } of scene.servers) this.mcp.registerServer(id, { name, url: urlOf(id) });
  }
}

function pick(all: ToolSet, isKept: (name: string) => boolean): ToolSet {
  return Object.fromEntries(Object.entries(all).filter(([name]) => isKept(name)));
}

/** A host for the agent, with what is different about it. */
export function open(steps: readonly Step[], changes: Partial<DiscoveryScene> = {}) {
  Object.assign(scene, emptyScene(steps), changes);
  return createTestHost({ agents: { Clerk }, env: { EVERTHINK_INSPECTION_KEY: INSPECTION_KEY } });
}

export type Host = ReturnType<typeof open>;

export const agentOf = (host: Host) => host.get(Clerk, "a");

/** Tools of a few servers, for tests that need no more. */
export const someServers = (...ids: string[]) => SERVERS.filter(({ id }) => ids.includes(id));

export const key = (server: string, tool: string) => `tool_${server}_${tool}`;

export const offered = (call = 0): string[] => toolNames(scene.script.calls[call]);

/** What a provider is sent besides the conversation: the system prompt and the tools, as JSON. */
export const promptJson = (call: RecordedCall | undefined): string =>
  JSON.stringify([call?.prompt.filter(({ role }) => role === "system"), call?.tools]);
