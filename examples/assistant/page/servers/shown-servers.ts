// What the agent tells its pages about MCP servers: a frame of the protocol at every change. Fields are looked at, not
// trusted: names, texts and hints are the servers' own.
import { useCallback, useState } from "react";
import type { McpServersState } from "everthink";

export type ShownTool = McpServersState["tools"][number];
export type ShownServer = McpServersState["servers"][string] & { readonly id: string; readonly tools: ShownTool[] };

export function readServers(text: string): ShownServer[] | undefined {
  const frame = parsed(text);
  if (frame?.type !== "cf_agent_mcp_servers" || frame.mcp === undefined) return undefined;
  const { servers, tools } = frame.mcp;
  return Object.entries(servers).map(([id, server]) => ({
    ...server,
    id,
    tools: tools.filter(({ serverId }) => serverId === id)
  }));
}

function parsed(text: string): { type?: unknown; mcp?: McpServersState } | undefined {
  try {
    return JSON.parse(text) as { type?: unknown; mcp?: McpServersState };
  } catch {
    // Not JSON, so not of the protocol.
    return undefined;
  }
}

export function useShownServers(): { servers: readonly ShownServer[]; receive(this: void, text: string): void } {
  const [servers, setServers] = useState<readonly ShownServer[]>([]);
  const receive = useCallback((text: string) => {
    const shown = readServers(text);
    if (shown !== undefined) setServers(shown);
  }, []);
  return { servers, receive };
}

/** The state in words, and whether it is on its way, good, or needs a person. */
export function stateWords({ state, tools }: ShownServer): { word: string; tone: "busy" | "ready" | "ask" | "failed" } {
  switch (state) {
    case "ready":
      return { word: `${tools.length} ${tools.length === 1 ? "tool" : "tools"}`, tone: "ready" };
    case "authenticating":
      return { word: "wants you to log in", tone: "ask" };
    case "failed":
      return { word: "cannot be reached", tone: "failed" };
    case "not-connected":
      return { word: "not connected", tone: "failed" };
    default:
      return { word: `${state} …`, tone: "busy" };
  }
}
