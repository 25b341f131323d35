// Server to client: every chat frame as text. Optional fields are left out rather than sent empty, because clients test
// whether a field is present: JSON has none for `undefined`. Fields that only newer clients read are sent to all: older ones ignore them.
import type { AwaitedRetry } from "../turn/retry-policy.ts";
import type { UIMessage } from "ai";

export type WireOutcome = "completed" | "error" | "aborted" | "skipped" | "recovering";
export type NoneReason = "idle" | "continuation-owned";

/** What every frame of a request carries. */
export interface FrameTurn {
  readonly requestId: string;
  readonly continuation: boolean;
}

export interface TerminalFrame extends FrameTurn {
  /** Left out when it is no longer stored. */
  readonly outcome?: WireOutcome;
  /** The question it answers. */
  readonly messageIds?: readonly string[];
  /** Set: the request failed, and this is what to show. Plain text: observing clients would parse JSON as a chunk. */
  readonly errorText?: string;
  readonly replay?: boolean;
  /** The request that answers what this one asked: its turn took over at a step boundary. */
  readonly answeredBy?: string | undefined;
}

export interface AnswerRefusedFrame {
  readonly toolCallId: string;
  readonly code: string;
  readonly error: string;
  /** The decision that was refused, so that its sender can tell a repetition from a contradiction. */
  readonly approved?: boolean;
}

const RESPONSE = "cf_agent_use_chat_response";

export const chatFrames = {
  chunk: (turn: FrameTurn, chunk: { readonly seq: number; readonly body: string }, replay = false) =>
    JSON.stringify({
      type: RESPONSE,
      id: turn.requestId,
      body: chunk.body,
      done: false,
      replay: replay || undefined,
      seq: chunk.seq,
      continuation: turn.continuation || undefined
    }),

  /** All there was; the stream goes on. */
  replayComplete: (turn: FrameTurn) =>
    JSON.stringify({
      type: RESPONSE,
      id: turn.requestId,
      body: "",
      done: false,
      replay: true,
      replayComplete: true,
      continuation: turn.continuation || undefined
    }),

  terminal: ({ errorText, replay, messageIds, outcome, answeredBy, ...turn }: TerminalFrame) =>
    JSON.stringify({
      type: RESPONSE,
      id: turn.requestId,
      body: errorText ?? "",
      done: true,
      error: errorText === undefined ? undefined : true,
      replay: replay || undefined,
      continuation: turn.continuation || undefined,
      messageIds: messageIds?.length ? messageIds : undefined,
      outcome,
      answeredBy
    }),

  /** `connect`: sent because of a connect, so it may be older than what the client wrote while offline. */
  snapshot: (messages: readonly UIMessage[], connect = false) =>
    JSON.stringify({ type: "cf_agent_chat_messages", messages, connect: connect || undefined }),

  /** `restarts`: this is all that stays of the stream of the request, which goes on for clients that join it anew. */
  messageUpdated: (message: UIMessage, restarts?: string) =>
    JSON.stringify({ type: "cf_agent_message_updated", message, restarts }),

  /**
   * An answer to a tool call was refused. Not sent as the end of a request: clients would treat that as the end of an
   * unknown stream and add an empty message.
   */
  answerRefused: (refusal: AnswerRefusedFrame) => JSON.stringify({ type: "cf_agent_session_error", ...refusal }),

  clear: () => JSON.stringify({ type: "cf_agent_chat_clear" }),

  resuming: (id: string, probeId?: string) => JSON.stringify({ type: "cf_agent_stream_resuming", id, probeId }),

  pending: (id: string, probeId?: string) => JSON.stringify({ type: "cf_agent_stream_pending", id, probeId }),

  none: (reason?: NoneReason, probeId?: string) =>
    JSON.stringify({ type: "cf_agent_stream_resume_none", reason, probeId }),

  /** A status, not an error: the model of this request has said nothing since then. Older clients do not know the frame. */
  silent: (id: string, sinceMs: number) => JSON.stringify({ type: "cf_agent_chat_silent", id, since: sinceMs }),

  /** Why this request pauses, and when its model is asked again. Older clients do not know the frame. */
  retry: (id: string, retry: AwaitedRetry) => JSON.stringify({ type: "cf_agent_chat_retry", id, retry }),

  recovering: (recovering: boolean, id?: string) => JSON.stringify({ type: "cf_agent_chat_recovering", recovering, id })
};
