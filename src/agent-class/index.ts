// `everthink/agent`: the class for an agent without a conversation, and what goes with any agent.
export { Agent } from "./agent.ts";
export { hasBearerToken } from "../agent/bearer-token.ts";
export { callable } from "../feature/callable.ts";
export type { CallableMetadata, Callables } from "../feature/callable.ts";
export { EmailNotSentError } from "../features/email/email.ts";
export type {
  EmailAddress,
  EmailBinding,
  IncomingEmail,
  OutgoingEmail,
  ReplyToEmailOptions,
  SendEmailOptions
} from "../features/email/email.ts";
export type { SubAgentInfo } from "../agent/tree/children.ts";
export type { Connection, ConnectionContext } from "../host/connection.ts";
export {
  classifyError,
  isOutOfMemory,
  isPlatformTransient,
  isRetryable,
  isSupersededIsolate
} from "../host/platform-errors.ts";
export type { ErrorKind } from "../host/platform-errors.ts";
export { getCurrentAgent } from "./current-agent.ts";
export type { AgentContext } from "./current-agent.ts";
export { SqlError } from "../agent/errors.ts";
export type {
  DeleteFibersOptions,
  FiberContext,
  FiberInspection,
  FiberRecoveryContext,
  FiberRecoveryResult,
  FiberStatus,
  ListFibersOptions,
  RunFiberOptions,
  StartFiberOptions,
  StartFiberResult
} from "../features/fibers/fibers.ts";
export type { AllowedOrigins } from "../agent/cross-site.ts";
export type { AgentStaticOptions } from "../agent/options.ts";
export { parseSubAgentPath, SUB_PREFIX } from "../host/path.ts";
export type { AgentPath, AgentPathStep, SubAgentMatch } from "../host/path.ts";
export type { DeadLetter, QueueItem, QueueOptions } from "../features/queue/queue-item.ts";
export type { RetryCallOptions, RetryOptions } from "../agent/retry.ts";
export { getAgentByName, routeAgentRequest } from "../agent/routing.ts";
export type { AgentLookupOptions, AgentRoutingOptions, RouteTarget, RoutingRetry } from "../agent/routing.ts";
export type { Schedule, ScheduleCriteria, ScheduleOptions } from "../features/schedules/schedule-row.ts";
export { StreamingResponse } from "../agent/connections/streaming-response.ts";
export type {
  WorkflowCriteria,
  WorkflowInstanceStatus,
  WorkflowPage,
  WorkflowQuery
} from "../features/workflows/workflow-control.ts";
export type { WorkflowInfo, WorkflowStatus } from "../features/workflows/workflow-table.ts";
export type { RunWorkflowOptions, WorkflowEventInput } from "../features/workflows/workflows.ts";
export type { StateSource } from "../agent/state.ts";
export { getSubAgentByName, routeSubAgentRequest } from "../agent/tree/sub-agent-routing.ts";
export type { SubAgentClass, SubAgentStub } from "../agent/tree/sub-agent-stub.ts";
