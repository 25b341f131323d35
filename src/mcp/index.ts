// The public names of `everthink/mcp`.
export { mcp, type McpOptions } from "./feature.ts";
export type {
  AddedMcpServer,
  McpApproval,
  McpClients,
  McpConnectionState,
  McpConnectOutcome,
  McpFilter,
  McpOAuthCallbackOptions,
  McpOAuthProvider,
  McpOAuthResult,
  McpPrompt,
  McpRequestOptions,
  McpResource,
  McpResourceTemplate,
  McpServerInfo,
  McpServerOptions,
  McpServersState,
  McpTool,
  McpToolAnnotations,
  McpToolInfo
} from "../think/mcp.ts";
