// `everthink/core/mcp`: MCP servers, and their tools in every turn.
export { mcpTools, type McpMembers, type McpTurnMembers } from "../features/mcp/capability.ts";
