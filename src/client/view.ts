// What a client shows, derived from its state: the messages, one status, and what waits for the user or for this client.
// Nothing here is stored, so nothing here can disagree with the state. Pure.
import type { AwaitedRetry } from "./retry.ts";
import type { UIMessage } from "ai";
import { foldedMessage } from "../model/message-fold.ts";
import { toolNameOf, type ToolPart } from "../model/tool-part.ts";
import { type ChatState, type OwnRequest, withRequest } from "./chat-state.ts";
import { isParked, putMessage, questionIn, toolPartsOf, type AskedQuestion } from "./message-list.ts";

export type Status =
  /** Nothing was asked yet. */
  | "idle"
  /** Asked, and no answer streams yet. */
  | "queued"
  /** An answer streams. */
  | "running"
  /** The answer waits for an approval, or for the result of a client tool. */
  | "parked"
  /** The answer was interrupted and is about to go on. */
  | "recovering"
  /** The last turn is over, however it ended. */
  | "settled";

/** A question to the user. `approve` and `reject` take it whole, or the id of its call. */
export interface WaitingApproval extends AskedQuestion {
  /** Of the tool call. */
  readonly callId: string;
  /** Set: an action that is parked, and waits as long as it takes. */
  readonly executionId?: string;
  /** Of a call inside an answer: which question it is. */
  readonly approvalId?: string;
  readonly toolName: string;
  readonly input: unknown;
  /** What the agent says about it, such as a summary and a risk. */
  readonly descriptor?: unknown;
}

/** A call of a tool that runs in a client. */
export interface PendingToolCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export interface ChatView {
  readonly messages: readonly UIMessage[];
  readonly status: Status;
  readonly isRecovering: boolean;
  /**
   * The model has said nothing since then, for a minute or more (epoch milliseconds, by the agent's clock). It may be
   * thinking: this is no error. `stop()` ends the wait.
   */
  readonly silentSince: number | undefined;
  /** Why the answer pauses, and when the model is asked again. `describeRetry` says it in a sentence. */
  readonly retry: AwaitedRetry | undefined;
  readonly error: string | undefined;
  readonly pendingApprovals: readonly WaitingApproval[];
  readonly pendingToolCalls: readonly PendingToolCall[];
}

export function viewOf(state: ChatState): ChatView {
  const messages = shownMessages(state);
  const last = messages.findLast(({ role }) => role === "assistant");
  const isOpen = (part: ToolPart) => !state.answers.has(part.toolCallId);
  // A call without an answer waits in whatever message it is, also when the conversation went on.
  const waitingIn = (message: UIMessage) =>
    toolPartsOf(message).filter((part) => isOpen(part) && (isParked(part) || isWaitingCall(part, message === last)));
  const waiting = messages.flatMap((message) => (message.role === "assistant" ? waitingIn(message) : []));
  const pendingToolCalls = waiting.filter(isClientCall).map(callOf);
  const pendingApprovals = waiting.flatMap((part) => approvalOf(part) ?? []);
  // A conversation that went on without it does not wait for it.
  const isWaiting = last !== undefined && waitingIn(last).length > 0;
  return {
    messages,
    status: statusOf(state, isWaiting),
    isRecovering: state.recovering !== undefined,
    silentSince: state.silence?.sinceMs,
    retry: state.retry?.awaited,
    error: state.error,
    pendingApprovals,
    pendingToolCalls
  };
}

function statusOf(state: ChatState, isWaiting: boolean): Status {
  if (isStreaming(state)) return "running";
  if (state.recovering !== undefined) return "recovering";
  if (state.requests.length > 0 || state.waitingFor !== undefined || state.silence !== undefined) return "queued";
  if (isWaiting) return "parked";
  return state.ends.length > 0 ? "settled" : "idle";
}

export function isStreaming(state: ChatState): boolean {
  return Object.values(state.streams).some(({ live }) => live !== undefined);
}

/** Requests that can be stopped, by this client's state. */
export function activeRequests(state: ChatState): string[] {
  const ids = new Set(state.requests.map(({ id }) => id));
  for (const [id, { live }] of Object.entries(state.streams)) if (live) ids.add(id);
  if (state.waitingFor) ids.add(state.waitingFor);
  if (state.recovering?.requestId !== undefined) ids.add(state.recovering.requestId);
  if (state.silence) ids.add(state.silence.requestId);
  return [...ids];
}

function shownMessages(state: ChatState): readonly UIMessage[] {
  let messages = state.stored;
  for (const { live } of Object.values(state.streams)) {
    if (live && live.fold.message.parts.length > 0)
      messages = putMessage(messages, foldedMessage(live.fold), live.behind);
  }
  for (const request of state.requests) messages = withOptimistic(messages, request);
  return messages;
}

/** What this client asked for and the server does not show yet. */
function withOptimistic(messages: readonly UIMessage[], request: OwnRequest): readonly UIMessage[] {
  if (request.replacesFrom !== undefined) return withRequest(messages, request);
  const shown = new Set(messages.map(({ id }) => id));
  const missing = request.messages.filter(({ id }) => !shown.has(id));
  return missing.length === 0 ? messages : [...messages, ...missing];
}

function callOf(part: ToolPart): PendingToolCall {
  return { callId: part.toolCallId, toolName: toolNameOf(part), input: part.input };
}

function approvalOf(part: ToolPart): WaitingApproval | undefined {
  if (isParked(part)) {
    const { executionId } = part.output;
    return { ...callOf(part), executionId, ...questionIn(part), ...descriptorIn(part.approvalDescriptor) };
  }
  return part.state === "approval-requested"
    ? { ...callOf(part), approvalId: part.approval?.id, ...descriptorIn(part.approval?.descriptor) }
    : undefined;
}

function descriptorIn(descriptor: unknown): { descriptor?: unknown } {
  return descriptor === undefined ? {} : { descriptor };
}

/** Of an older answer only what is known to be a client's: an older server does not say so, and ends other calls. */
function isWaitingCall(part: ToolPart, isNewest: boolean): boolean {
  if (part.state === "approval-requested") return true;
  return isClientCall(part) && (isNewest || part.clientExecuted === true);
}

function isClientCall({ state, providerExecuted, clientExecuted }: ToolPart): boolean {
  if (state === "approval-responded") return clientExecuted === true;
  return state === "input-available" && providerExecuted !== true;
}
