// Which servers are meant. Several conditions must all hold; a list holds if one of its values does. Pure.
import type { McpConnectionState } from "./connection-state.ts";

export interface McpFilter {
  serverId?: string | readonly string[];
  serverName?: string | readonly string[];
  state?: McpConnectionState | readonly McpConnectionState[];
}

export interface FilteredServer {
  readonly id: string;
  readonly name: string;
  readonly state: McpConnectionState;
}

export function matchesFilter(server: FilteredServer, filter: McpFilter = {}): boolean {
  return (
    isOneOf(server.id, filter.serverId) &&
    isOneOf(server.name, filter.serverName) &&
    isOneOf(server.state, filter.state)
  );
}

function isOneOf(value: string, wanted: string | readonly string[] | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === "string" ? wanted === value : wanted.includes(value);
}
