// The public types of MCP servers.
export type { McpPrompt, McpResource, McpResourceTemplate, McpSchema, McpTool, McpToolAnnotations } from "./catalog.ts";
export type { AddedMcpServer, McpAITool, McpClients, McpRequestOptions, McpServerInfo } from "./clients.ts";
export type { McpConnectionState, McpConnectOutcome } from "./connection-state.ts";
export type { McpOAuthProvider } from "./credentials.ts";
export type { McpFilter } from "./filter.ts";
export type { McpOAuthCallbackOptions, McpOAuthResult } from "./clients.ts";
export type { McpServerOptions, McpTransportType } from "./server-record.ts";
export type { McpServersState, McpServerView, McpToolView, OfServer } from "./servers-view.ts";
export type { McpApproval, McpToolInfo } from "./tools.ts";
