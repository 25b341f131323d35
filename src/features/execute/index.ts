// `everthink/tools/execute`
export {
  createExecuteRuntime,
  createExecuteTool,
  type CreateExecuteToolOptions,
  type ExecuteInput,
  type ExecuteRuntime,
  type ExecuteToolAgent
} from "./create-execute-tool.ts";
export {
  sanitizeToolName,
  type Connector,
  type ConnectorContext,
  type ConnectorTool,
  type UnknownOutcome
} from "./connector.ts";
export { ToolSetConnector } from "./tool-set-connector.ts";
export { StateConnector } from "./state-connector.ts";
export { ExecuteDefinitionError, RollbackError } from "./errors.ts";
export { truncatePausedExecutionOutput, type ExecutionOutcome, type PendingCall } from "./outcome.ts";
export type { ExecutionDecision } from "./execution-approvals.ts";
export { type Execution, type ExecutionStatus, type LogEntry, type LogState, type Snippet } from "./execution-store.ts";
export type { IsolateLoader } from "../../sandbox/isolate.ts";
