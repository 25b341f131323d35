// `everthink/core/mcp`: MCP servers, and their tools in every turn.
export { mcpTools, type McpTurnMembers } from "../features/mcp/capability.ts";
export type { McpMembers } from "../features/mcp/members.ts";
