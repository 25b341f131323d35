// What MCP servers have to do with turns: their tools join each one, under the class's approval policy. A server that is down
// costs its tools and leaves a note in the prompt, never the turn. The servers themselves are a part of every `Agent`.
import type { McpManager } from "./manager.ts";
import { mcpOf } from "./open-mcp.ts";
import { MCP_TABLES } from "./server-store.ts";
import type { Feature, FeatureHost, TurnPart } from "../../feature/feature.ts";

export function mcpFeature(host: FeatureHost): Feature {
  const { agent, sql } = host;
  /** Undefined: there are none. */
  const servers = () => {
    const manager = sql.catalog.has(MCP_TABLES) ? mcpOf(agent) : undefined;
    return manager?.isEmpty === false ? manager : undefined;
  };
  return {
    name: "mcp",
    tables: MCP_TABLES,
    inTurn: () => {
      const manager = servers();
      return manager && partOf(host, manager);
    },
    untilConnected: async (timeoutMs) => servers()?.untilConnected({ timeout: timeoutMs }),
    runsTool: (toolName) => servers()?.hasToolNamed(toolName) ?? false
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
