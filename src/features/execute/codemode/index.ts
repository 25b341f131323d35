// `everthink/codemode`
export { CodemodeConnector } from "./codemode-connector.ts";
export { createCodemodeRuntime, DynamicWorkerExecutor, type CreateCodemodeRuntimeOptions } from "./codemode-runtime.ts";
export { CodemodeRuntime } from "./runtime-class.ts";
export type { DynamicWorkerExecutorOptions, ExecutorProvider, ExecutorResult } from "./execute-once.ts";
export {
  McpConnector,
  type McpAgentLike,
  type McpClientLike,
  type McpConnectionLike,
  type McpToolListing
} from "./mcp-connector.ts";
export { OpenApiConnector, type OpenApiRequest } from "./openapi-connector.ts";
export {
  sanitizeToolName,
  type Connector,
  type ConnectorContext,
  type ConnectorTool,
  type UnknownOutcome
} from "../connector.ts";
export type { ExecuteRuntime } from "../create-execute-tool.ts";
export { DEFAULT_MAX_EXECUTIONS } from "../execution-store.ts";
export { DEFAULT_PAUSED_TTL_MS } from "../executions.ts";
export { normalizeCode } from "../normalize.ts";
export { truncateResponse, truncateResult } from "../outcome.ts";
export type { CodeExecutor, PassFunctions } from "../runner.ts";
export { generateTypesFromJsonSchema } from "../catalog.ts";
export { ToolSetConnector } from "../tool-set-connector.ts";
export { StateConnector } from "../state-connector.ts";
export { MAX_DURABLE_VALUE_BYTES } from "../value-codec.ts";
