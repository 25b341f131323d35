export { agentTool } from "./agent-tool.ts";
export type { AgentToolOptions } from "./definition.ts";
export type { AgentToolEvent } from "./events.ts";
export type { AgentToolChunk } from "./chunk-feed.ts";
export type { AgentToolRunInspection } from "./run-progress.ts";
export type { AgentToolRetention } from "./run.ts";
export type {
  AgentToolDisplay,
  AgentToolFailure,
  AgentToolInterruption,
  AgentToolRunInfo,
  AgentToolRunStatus,
  AgentToolValue,
  BackgroundRun,
  RunAgentToolOptions,
  RunAgentToolResult
} from "./run.ts";
export type { ClearAgentToolRunsOptions } from "./run-table.ts";
