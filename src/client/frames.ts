// The `cf_agent_*` protocol on the client: text from the server becomes one typed frame or none, and the client's
// commands become text. The only module with the names of the wire. Never throws.
import { readAwaitedRetry, type AwaitedRetry } from "./retry.ts";
import type { UIMessage, UIMessageChunk } from "ai";
import { isChunk } from "../model/message-fold.ts";
import { isObject, parseJson } from "../util/json.ts";
import { receiptList, type ClientReceipt } from "./receipts.ts";
import { submissionList, type ClientSubmission } from "./submissions.ts";

export type Outcome = "completed" | "error" | "aborted" | "skipped";

export interface ChunkFrame {
  readonly type: "chunk";
  readonly requestId: string;
  readonly chunk: UIMessageChunk;
  /** Position in the request's sequence, the same live and replayed. */
  readonly seq: number | undefined;
  readonly isReplay: boolean;
  readonly isContinuation: boolean;
}

export interface EndFrame {
  readonly type: "end";
  readonly requestId: string;
  /** `recovering`: this attempt is over, the turn is not. Undefined: over, and the outcome is no longer stored. */
  readonly outcome: Outcome | "recovering" | undefined;
  readonly error: string | undefined;
  /** The request whose turn took over: it answers what this one asked. */
  readonly answeredBy?: string | undefined;
}

/** A frame about the conversation. */
export type ConversationFrame =
  | ChunkFrame
  | EndFrame
  | { readonly type: "replay-complete"; readonly requestId: string }
  | { readonly type: "messages"; readonly messages: readonly UIMessage[]; readonly isConnect: boolean }
  /** `restarts`: it is all that stays of the stream of this request, which has to be joined anew. */
  | { readonly type: "message-updated"; readonly message: UIMessage; readonly restarts?: string | undefined }
  | { readonly type: "cleared" }
  | { readonly type: "resuming"; readonly requestId: string; readonly probeId: string | undefined }
  | { readonly type: "pending"; readonly requestId: string | undefined; readonly probeId: string | undefined }
  | { readonly type: "none"; readonly reason: string | undefined; readonly probeId: string | undefined }
  | { readonly type: "recovering"; readonly isRecovering: boolean; readonly requestId: string | undefined }
  /** The request pauses until its model is asked again. */
  | { readonly type: "retry"; readonly requestId: string; readonly retry: AwaitedRetry }
  /** The model of this request has said nothing since then. */
  | { readonly type: "silent"; readonly requestId: string; readonly sinceMs: number }
  | RefusedFrame;

/** A command of this client was not accepted and has changed nothing. */
export interface RefusedFrame {
  readonly type: "refused";
  /** The tool call, or the request, that the command was about; a clear is about neither. */
  readonly about: string | undefined;
  readonly error: string;
  /** The decision about a call that was refused. */
  readonly approved: boolean | undefined;
}

/** A frame about the agent. */
export type AgentFrame =
  | { readonly type: "identity"; readonly name: string; readonly agent: string }
  | { readonly type: "state"; readonly state: unknown }
  | { readonly type: "state-error"; readonly error: string }
  | { readonly type: "submissions"; readonly submissions: readonly ClientSubmission[] }
  /** Undefined: this one receipt changed. */
  | { readonly type: "receipts"; readonly receipts: readonly ClientReceipt[]; readonly isAll: boolean }
  | { readonly type: "answer"; readonly callId: string; readonly answer: CallAnswer }
  | { readonly type: "run"; readonly sequence: number; readonly callId: string | undefined; readonly event: RunEvent };

/** What a run of a sub-agent says. */
export type RunEvent =
  | {
      readonly kind: "started";
      readonly runId: string;
      readonly agentType: string;
      readonly inputPreview: string | undefined;
      readonly order: number;
      readonly display: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: "chunk";
      readonly runId: string;
      readonly chunk: UIMessageChunk;
      /** Of what came before, only this stays. */
      readonly restarts?: UIMessage | undefined;
    }
  | {
      readonly kind: "ended";
      readonly runId: string;
      readonly status: "completed" | "error" | "aborted" | "interrupted";
      readonly summary: string | undefined;
      readonly error: string | undefined;
      readonly childStillRunning: boolean;
    };

export type CallAnswer =
  | { readonly ok: true; readonly result: unknown; readonly isDone: boolean }
  | { readonly ok: false; readonly error: string };

export type ServerFrame =
  { readonly kind: "chat"; readonly frame: ConversationFrame } | { readonly kind: "agent"; readonly frame: AgentFrame };

type Fields = Record<string, unknown>;

const CHAT = new Map<string, (frame: Fields) => ConversationFrame | undefined>([
  ["cf_agent_use_chat_response", readResponse],
  ["cf_agent_chat_messages", readMessages],
  [
    "cf_agent_message_updated",
    ({ message, restarts }) =>
      isMessage(message) ? { type: "message-updated", message, restarts: textOf(restarts) } : undefined
  ],
  ["cf_agent_chat_clear", () => ({ type: "cleared" })],
  [
    "cf_agent_stream_resuming",
    ({ id, probeId }) =>
      typeof id === "string" ? { type: "resuming", requestId: id, probeId: textOf(probeId) } : undefined
  ],
  [
    "cf_agent_stream_pending",
    ({ id, probeId }) => ({ type: "pending", requestId: textOf(id), probeId: textOf(probeId) })
  ],
  [
    "cf_agent_stream_resume_none",
    ({ reason, probeId }) => ({ type: "none", reason: textOf(reason), probeId: textOf(probeId) })
  ],
  [
    "cf_agent_chat_recovering",
    ({ recovering, id }) => ({ type: "recovering", isRecovering: recovering === true, requestId: textOf(id) })
  ],
  [
    "cf_agent_chat_retry",
    ({ id, retry: sent }) => {
      const retry = readAwaitedRetry(sent);
      return typeof id === "string" && retry ? { type: "retry", requestId: id, retry } : undefined;
    }
  ],
  [
    "cf_agent_chat_silent",
    ({ id, since }) =>
      typeof id === "string" && typeof since === "number"
        ? { type: "silent", requestId: id, sinceMs: since }
        : undefined
  ]
]);

const AGENT = new Map<string, (frame: Fields) => AgentFrame | undefined>([
  [
    "cf_agent_identity",
    ({ name, agent }) => ({ type: "identity", name: textOf(name) ?? "", agent: textOf(agent) ?? "" })
  ],
  ["cf_agent_state", ({ state }) => ({ type: "state", state })],
  ["cf_agent_state_error", ({ error }) => ({ type: "state-error", error: textOf(error) ?? "State update rejected" })],
  [
    "cf_agent_submissions",
    ({ submissions }) => {
      const list = submissionList(submissions);
      return list && { type: "submissions", submissions: list };
    }
  ],
  ["cf_agent_chat_receipt", ({ receipt }) => readReceipts([receipt], false)],
  ["cf_agent_chat_waiting", ({ receipts }) => readReceipts(receipts, true)],
  ["cf_agent_chat_steering_result", readSteeringResult],
  ["rpc", readAnswer],
  ["agent-tool-event", readRun]
]);

/** Undefined: not a frame of the protocol, but a message of the application. */
export function readFrame(text: string): ServerFrame | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { type } = parsed.value;
  if (typeof type !== "string") return undefined;
  const agent = AGENT.get(type)?.(parsed.value);
  if (agent) return { kind: "agent", frame: agent };
  const chat = CHAT.get(type)?.(parsed.value) ?? readRefusal(type, parsed.value);
  return chat && { kind: "chat", frame: chat };
}

/** About the stored conversation as a whole, and no answer to a command, unless it names a call. */
const SESSION_ERROR = "cf_agent_session_error";

/** What all refusals have: a type of the protocol, a text, and the call or the request that they are about. */
function readRefusal(type: string, { error, body, toolCallId, id, approved }: Fields): RefusedFrame | undefined {
  const callId = textOf(toolCallId);
  if (!type.startsWith("cf_agent_") || (type === SESSION_ERROR && callId === undefined)) return undefined;
  const text = textOf(error) ?? (error === true ? textOf(body) : undefined);
  if (text === undefined) return undefined;
  const decision = typeof approved === "boolean" ? approved : undefined;
  return { type: "refused", about: callId ?? textOf(id), error: text, approved: decision };
}

const OUTCOMES: ReadonlySet<unknown> = new Set(["completed", "error", "aborted", "skipped", "recovering"]);

function readResponse(frame: Fields): ConversationFrame | undefined {
  const { id, body, done, error, outcome } = frame;
  if (typeof id !== "string") return undefined;
  if (done === true || error === true) {
    // An older server says "error" in the frame only.
    const known = OUTCOMES.has(outcome) ? (outcome as EndFrame["outcome"]) : error === true ? "error" : undefined;
    const answeredBy = textOf(frame["answeredBy"]);
    return { type: "end", requestId: id, outcome: known, error: error === true ? String(body) : undefined, answeredBy };
  }
  if (frame["replayComplete"] === true) return { type: "replay-complete", requestId: id };
  const parsed = typeof body === "string" && body !== "" ? parseJson(body) : undefined;
  if (!parsed?.ok || !isChunk(parsed.value)) return undefined;
  return {
    type: "chunk",
    requestId: id,
    chunk: parsed.value,
    seq: typeof frame["seq"] === "number" ? frame["seq"] : undefined,
    isReplay: frame["replay"] === true,
    isContinuation: frame["continuation"] === true
  };
}

function readMessages({ messages, connect }: Fields): ConversationFrame | undefined {
  const list = messageList(messages);
  return list && { type: "messages", messages: list, isConnect: connect === true };
}

/** A list of messages as the server sends it, or undefined. */
export function messageList(value: unknown): UIMessage[] | undefined {
  return Array.isArray(value) && value.every(isMessage) ? value : undefined;
}

function readAnswer({ id, success, result, error, done }: Fields): AgentFrame | undefined {
  if (typeof id !== "string") return undefined;
  const answer: CallAnswer =
    success === true ? { ok: true, result, isDone: done !== false } : { ok: false, error: String(error) };
  return { type: "answer", callId: id, answer };
}

function readReceipts(value: unknown, isAll: boolean): AgentFrame | undefined {
  const receipts = receiptList(value);
  return receipts && { type: "receipts", receipts, isAll };
}

function readSteeringResult({ key, result, failed }: Fields): AgentFrame | undefined {
  if (typeof key !== "string") return undefined;
  const answer: CallAnswer = isObject(failed)
    ? { ok: false, error: String(failed["message"]) }
    : { ok: true, result, isDone: true };
  return { type: "answer", callId: key, answer };
}

function readRun({ sequence, parentToolCallId, event }: Fields): AgentFrame | undefined {
  if (typeof sequence !== "number" || !isObject(event) || typeof event["runId"] !== "string") return undefined;
  const read = readRunEvent(event["runId"], event);
  return read && { type: "run", sequence, callId: textOf(parentToolCallId), event: read };
}

const RUN_ENDS: ReadonlyMap<unknown, Extract<RunEvent, { kind: "ended" }>["status"]> = new Map([
  ["finished", "completed"],
  ["error", "error"],
  ["aborted", "aborted"],
  ["interrupted", "interrupted"]
]);

function readRunEvent(runId: string, event: Fields): RunEvent | undefined {
  const { kind, body, display, order } = event;
  if (kind === "started") {
    return {
      kind,
      runId,
      agentType: textOf(event["agentType"]) ?? "",
      inputPreview: textOf(event["inputPreview"]),
      order: typeof order === "number" ? order : 0,
      display: isObject(display) ? display : {}
    };
  }
  if (kind === "chunk" || kind === "rewritten") {
    const parsed = typeof body === "string" ? parseJson(body) : undefined;
    const restarts = isMessage(event["restarts"]) ? event["restarts"] : undefined;
    return parsed?.ok && isChunk(parsed.value) ? { kind: "chunk", runId, chunk: parsed.value, restarts } : undefined;
  }
  const status = RUN_ENDS.get(kind);
  return (
    status && {
      kind: "ended",
      runId,
      status,
      summary: textOf(event["summary"]),
      error: textOf(event["error"]) ?? textOf(event["reason"]),
      childStillRunning: event["childStillRunning"] === true
    }
  );
}

function isMessage(value: unknown): value is UIMessage {
  return (
    isObject(value) &&
    typeof value["id"] === "string" &&
    typeof value["role"] === "string" &&
    Array.isArray(value["parts"])
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A tool that runs in the client, as it is described to the model. */
export interface ClientToolDescription {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of its input. */
  readonly parameters?: object;
}

export interface RequestFrame {
  readonly requestId: string;
  readonly messages: readonly UIMessage[];
  readonly trigger: "submit-message" | "regenerate-message";
  readonly clientTools?: readonly ClientToolDescription[];
  readonly body?: Readonly<Record<string, unknown>>;
}

export interface ToolResultFrame {
  readonly callId: string;
  readonly toolName: string;
  readonly output?: unknown;
  /** Set: the tool failed. */
  readonly errorText?: string;
}

export interface ApprovalFrame {
  readonly isApproved: boolean;
  readonly reason?: string | undefined;
  /** Which question is decided. */
  readonly approvalId?: string | undefined;
  /** What the call is to run with in place of the input that was asked about. */
  readonly input?: unknown;
}

/** What is to be done with a message that waits, or with the running turn. */
export interface SteeringCommand {
  readonly do: "steer" | "follow-up" | "edit" | "withdraw" | "stop-after-step";
  /** Of the message; for a turn that is to stop, its request. */
  readonly id?: string | undefined;
  readonly message?: UIMessage | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

export const clientFrames = {
  request: ({ requestId, messages, trigger, clientTools, body }: RequestFrame) =>
    JSON.stringify({
      type: "cf_agent_use_chat_request",
      id: requestId,
      init: {
        method: "POST",
        body: JSON.stringify({ ...body, messages, trigger, clientTools })
      }
    }),
  cancel: (id: string) => JSON.stringify({ type: "cf_agent_chat_request_cancel", id }),
  clear: () => JSON.stringify({ type: "cf_agent_chat_clear" }),
  toolResult: ({ callId, toolName, output, errorText }: ToolResultFrame) =>
    JSON.stringify({
      type: "cf_agent_tool_result",
      toolCallId: callId,
      toolName,
      output: output ?? null,
      ...(errorText !== undefined && { state: "output-error", errorText }),
      autoContinue: true
    }),
  approval: (callId: string, { isApproved, ...question }: ApprovalFrame) =>
    JSON.stringify({
      type: "cf_agent_tool_approval",
      toolCallId: callId,
      approved: isApproved,
      autoContinue: true,
      ...question
    }),
  probe: (probeId: string) => JSON.stringify({ type: "cf_agent_stream_resume_request", probeId }),
  acknowledge: (id: string) => JSON.stringify({ type: "cf_agent_stream_resume_ack", id }),
  state: (state: unknown) => JSON.stringify({ type: "cf_agent_state", state }),
  steering: (key: string, command: SteeringCommand) =>
    JSON.stringify({ type: "cf_agent_chat_steering", key, ...command }),
  call: (id: string, method: string, args: readonly unknown[]) => JSON.stringify({ type: "rpc", id, method, args })
};
