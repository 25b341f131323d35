export { Agent } from "./agent.ts";
export { hasBearerToken } from "./bearer-token.ts";
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
export type { SubAgentInfo } from "./tree/children.ts";
export type { Connection, ConnectionContext } from "../host/connection.ts";
export {
  classifyError,
  isOutOfMemory,
  isPlatformTransient,
  isRetryable,
  isSupersededIsolate
} from "../host/platform-errors.ts";
export type { ErrorKind } from "../host/platform-errors.ts";
export { getCurrentAgent } from "./context.ts";
export type { AgentContext } from "./context.ts";
export { SqlError } from "./errors.ts";
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
export type { AllowedOrigins } from "./cross-site.ts";
export type { AgentStaticOptions } from "./options.ts";
export { parseSubAgentPath, SUB_PREFIX } from "../host/path.ts";
export type { AgentPath, AgentPathStep, SubAgentMatch } from "../host/path.ts";
export type { DeadLetter, QueueItem, QueueOptions } from "../features/queue/queue-table.ts";
export type { RetryCallOptions, RetryOptions } from "./retry.ts";
export { getAgentByName, routeAgentRequest } from "./routing.ts";
export type { AgentLookupOptions, AgentRoutingOptions, RouteTarget, RoutingRetry } from "./routing.ts";
export type { Schedule, ScheduleCriteria, ScheduleOptions } from "../features/schedules/schedule-row.ts";
export { StreamingResponse } from "./connections/streaming-response.ts";
export type {
  WorkflowCriteria,
  WorkflowInstanceStatus,
  WorkflowPage,
  WorkflowQuery
} from "../features/workflows/workflow-control.ts";
export type { WorkflowInfo, WorkflowStatus } from "../features/workflows/workflow-table.ts";
export type { RunWorkflowOptions, WorkflowEventInput } from "../features/workflows/workflows.ts";
export type { StateSource } from "./state.ts";
export { getSubAgentByName, routeSubAgentRequest } from "./tree/sub-agent-routing.ts";
export type { SubAgentClass, SubAgentStub } from "./tree/sub-agent-stub.ts";
