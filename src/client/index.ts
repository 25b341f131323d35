// `everthink/client`: the client library. Plain TypeScript for browsers and Node; React is not needed.
export { createThinkClient, type ThinkClient } from "./think-client.ts";
export type {
  SteerOptions,
  SubmitOptions,
  SubmitResult,
  ThinkClientOptions,
  ThinkClientSettings,
  ThinkSnapshot
} from "./options.ts";
export type { ClientReceipt } from "./receipts.ts";
export type { AgentAddress, AgentStep, Query } from "./address.ts";
export type { ThinkClientPlatform } from "./platform.ts";
export type { AgentRun } from "./agent-runs.ts";
export type { AgentState, CallableMethods } from "./callables.ts";
export type { CallOptions } from "./calls.ts";
export type { TurnEnd } from "./chat-state.ts";
export type { ApprovalHandler, ClientTool, ClientTools } from "./client-tools.ts";
export type { DecidedQuestion } from "./decisions.ts";
export {
  CallFailedError,
  CallLostError,
  CallMayHaveRunError,
  CallTimeoutError,
  ClientAddressError,
  ClientClosedError,
  ClientQueueFullError,
  CommandRefusedError,
  FrameTooLargeError,
  NoWebSocketError,
  UnknownTargetError
} from "./errors.ts";
export type { AskedQuestion } from "./message-list.ts";
export type { MessageInput } from "./requests.ts";
export { describeRetry, type AwaitedRetry } from "./retry.ts";
export type { ConnectionState, WebSocketClass, WebSocketLike } from "./socket.ts";
export type { ClientSubmission } from "./submissions.ts";
export type { Timers } from "./timers.ts";
export type { ChatView, WaitingApproval, PendingToolCall, Status } from "./view.ts";
