// An agent without a conversation: it has an MCP server, which runs beside it, and sailors as children.
import { z } from "zod";
import { Agent } from "../../src/agent-class/index.ts";
import { serveMcp } from "../../src/features/mcp/served-mcp.test-support.ts";
import type { RunAgentToolResult } from "../../src/index.ts";
import { Sailor } from "./crew.ts";

export class Harbour extends Agent {
  /** Has the sessions of this activation only. */
  readonly #tides = serveMcp((server) => {
    server.registerTool("tide", { inputSchema: z.object({ port: z.string() }) }, ({ port }) => ({
      content: [{ type: "text", text: `High water at ${port}.` }]
    }));
  });

  override mcpFetch = async (url: string | URL, init?: RequestInit) => this.#tides.handler(new Request(url, init));

  async addTides(): Promise<string> {
    return (await this.addMcpServer("tides", "https://tides.example.com/mcp", { id: "tides" })).state;
  }

  async tide(port: string): Promise<string> {
    await this.mcp.waitForConnections();
    return JSON.stringify(await this.mcp.callTool({ serverId: "tides", name: "tide", arguments: { port } }));
  }

  async hangUp(): Promise<void> {
    await this.mcp.closeAllConnections();
  }

  async order(runId: string, order: string): Promise<RunAgentToolResult> {
    return this.runAgentTool(Sailor, { input: { order }, runId });
  }
}
