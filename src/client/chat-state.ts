// A client's state of a conversation, and how each event changes it. Pure: no socket, no clock. Frames may come twice
// and replays may start over; the same frame applied again changes nothing. What is shown is derived (view.ts).
import type { AwaitedRetry } from "./retry.ts";
import type { UIMessage } from "ai";
import type { ToolPart } from "../model/tool-part.ts";
import { assertNever } from "../util/assert-never.ts";
import type { ConversationFrame, EndFrame, Outcome, RefusedFrame } from "./frames.ts";
import {
  beginReplay,
  completeReplay,
  foldFrame,
  type OpenStream,
  type Streams,
  takeBack,
  takeOver
} from "./streams.ts";
import { isParked, putMessage, questionIn, replaceMessage, toolPartsOf } from "./message-list.ts";

/** A request of this client that has not ended, as far as it has received. */
export interface OwnRequest {
  readonly id: string;
  /** Shown until the server shows them. */
  readonly messages: readonly UIMessage[];
  /** An edit or a regeneration: what is shown from this message on makes place. */
  readonly replacesFrom: string | undefined;
  /** On the socket that is open now. */
  readonly isSent: boolean;
  /** The server has it. */
  readonly isDelivered: boolean;
  /** A transcript came that does not hold its messages. */
  readonly isMissing: boolean;
}

/** `unknown`: it ended while this client was away, and the server no longer says how. */
export interface TurnEnd {
  readonly requestId: string;
  readonly outcome: Outcome | "unknown";
  readonly error?: string;
  /** A steer took over, and this request's turn answers: of what `send` resolves with, the last one, whose outcome it is. */
  readonly answeredBy?: string;
}

export interface ChatState {
  /** The transcript as the server last sent it. */
  readonly stored: readonly UIMessage[];
  /** Answers being streamed, and replays being received, by request. */
  readonly streams: Streams;
  /** In the order they were made. */
  readonly requests: readonly OwnRequest[];
  /** The server says that a turn is accepted and will stream. */
  readonly waitingFor: string | undefined;
  /** An interrupted turn is being continued. Stale: said on an earlier connection. */
  readonly recovering: { readonly requestId: string | undefined; readonly isStale: boolean } | undefined;
  /** The model of this request has said nothing since then, by the server's clock. */
  readonly silence: { readonly requestId: string; readonly sinceMs: number } | undefined;
  /** The model of this request failed, and is asked again. */
  readonly retry: { readonly requestId: string; readonly awaited: AwaitedRetry } | undefined;
  /** The last ends received, newest last. */
  readonly ends: readonly TurnEnd[];
  /** The last turn failed. */
  readonly error: string | undefined;
  /** Calls this client has answered, until the transcript holds the answer. */
  readonly answers: ReadonlyMap<string, AnsweredCall>;
  /** Messages that this client has cleared away, and that the server may still show. */
  readonly cleared: ReadonlySet<string> | undefined;
  /**
   * Whose turn the newest answer belongs to: this client's, another's, or one that was found when this client came. It
   * decides who runs client tools.
   */
  readonly driver: "me" | "other" | "found";
}

/** A call as it was when it was answered. */
export interface AnsweredCall {
  readonly state: ToolPart["state"] | undefined;
  /** Of a parked one; another question in its place is open. */
  readonly question: string | undefined;
}

/** Older ends are forgotten; a frame of a request that ended so long ago does not come. */
const REMEMBERED_ENDS = 64;

export const INITIAL_CHAT: ChatState = {
  stored: [],
  streams: {},
  requests: [],
  waitingFor: undefined,
  recovering: undefined,
  silence: undefined,
  retry: undefined,
  ends: [],
  error: undefined,
  answers: new Map(),
  cleared: undefined,
  driver: "found"
};

export type ChatEvent =
  | { readonly type: "frame"; readonly frame: ConversationFrame }
  /** A new connection. What was known may be old. */
  | { readonly type: "opened" }
  | { readonly type: "dropped" }
  /** The server has answered what there is to resume. */
  | { readonly type: "greeted" }
  /** It has answered that nothing is going on. */
  | { readonly type: "found-idle" }
  /** The transcript, asked for over HTTP. */
  | { readonly type: "fetched"; readonly messages: readonly UIMessage[] }
  | { readonly type: "requested"; readonly request: Omit<OwnRequest, "isSent" | "isDelivered" | "isMissing"> }
  | { readonly type: "sent"; readonly requestId: string }
  /** A replay of this request was asked for and follows. */
  | { readonly type: "acknowledged"; readonly requestId: string }
  | { readonly type: "answered"; readonly callId: string }
  /** The answer was not accepted: the question is open again. */
  | { readonly type: "withdrawn"; readonly callId: string }
  | { readonly type: "cleared" }
  /** The server has emptied the conversation as well. */
  | { readonly type: "clear-confirmed" }
  /** What the user did could not be done. */
  | { readonly type: "failed"; readonly error: string };

export function reduceChat(state: ChatState, event: ChatEvent): ChatState {
  switch (event.type) {
    case "frame":
      return receive(state, event.frame);
    case "opened":
      return {
        ...state,
        recovering: state.recovering && { ...state.recovering, isStale: true },
        // Said again if it goes on.
        silence: undefined,
        retry: undefined,
        driver: state.driver === "me" ? "me" : "found"
      };
    case "dropped":
      return drop(state);
    case "greeted":
      return state.recovering?.isStale ? { ...state, recovering: undefined } : state;
    case "found-idle":
      return foundIdle(state);
    case "fetched":
      // A stream that is about to be joined again stays on show until its replay is there.
      return takeTranscript(state, { messages: event.messages, keeps: () => true });
    case "requested":
      return {
        ...state,
        requests: [...state.requests, { ...event.request, isSent: false, isDelivered: false, isMissing: false }],
        error: undefined
      };
    case "sent":
      return changeRequest(state, event.requestId, { isSent: true, isMissing: false });
    case "acknowledged":
      return { ...state, streams: beginReplay(state.streams, event.requestId) };
    case "answered":
      return answered(state, event.callId);
    case "withdrawn":
      return { ...state, answers: without(state.answers, event.callId) };
    case "cleared":
      return clearedHere(state);
    case "clear-confirmed":
      return { ...state, cleared: undefined };
    case "failed":
      return { ...state, error: event.error };
    default:
      return assertNever(event);
  }
}

function receive(state: ChatState, frame: ConversationFrame): ChatState {
  switch (frame.type) {
    case "chunk":
      return chunk(frame.isReplay ? state : spoken(state, frame.requestId), frame);
    case "replay-complete":
      return { ...state, ...completeReplay(state, frame.requestId), waitingFor: undefined };
    case "end":
      return end(spoken(state, frame.requestId), frame);
    case "messages":
      return takeTranscript(state, {
        messages: frame.messages,
        keeps: ({ isSuspended, replay }) => !isSuspended || replay !== undefined,
        isCurrent: !frame.isConnect
      });
    case "message-updated":
      return settleAnswers({
        ...state,
        stored: replaceMessage(state.stored, frame.message),
        streams:
          frame.restarts === undefined
            ? takeOver(state.streams, [frame.message])
            : takeBack(state.streams, frame.restarts, frame.message)
      });
    case "refused":
      return refused(state, frame);
    case "cleared":
      return cleared(state);
    case "resuming":
      return hasEnded(state, frame.requestId) ? state : { ...state, waitingFor: frame.requestId };
    case "pending":
      return { ...state, waitingFor: frame.requestId ?? state.waitingFor ?? "" };
    case "none":
      return state.waitingFor === undefined ? state : { ...state, waitingFor: undefined };
    case "silent": {
      const { requestId, sinceMs } = frame;
      return hasEnded(state, requestId) ? state : { ...state, silence: { requestId, sinceMs } };
    }
    case "retry": {
      const { requestId, retry: awaited } = frame;
      return hasEnded(state, requestId) ? state : { ...state, retry: { requestId, awaited } };
    }
    case "recovering":
      return {
        ...state,
        silence: undefined,
        retry: frame.isRecovering ? state.retry : undefined,
        recovering: frame.isRecovering ? { requestId: frame.requestId, isStale: false } : undefined
      };
    default:
      return assertNever(frame);
  }
}

/** The silence or the pause of this request is over. */
function spoken(state: ChatState, requestId: string): ChatState {
  const ids = [state.silence?.requestId, state.retry?.requestId];
  return ids.includes(requestId) ? { ...state, silence: undefined, retry: undefined } : state;
}

/** The question is open again, or shows what became of it. */
function refused(state: ChatState, frame: RefusedFrame): ChatState {
  if (isKnownDecision(state, frame)) return state;
  const answers = frame.about === undefined ? state.answers : without(state.answers, frame.about);
  return { ...state, answers, error: frame.error };
}

/** A copy of a decision that was accepted: its refusal changes nothing. */
export function isKnownDecision({ stored }: ChatState, { about, approved }: RefusedFrame): boolean {
  if (about === undefined || approved === undefined) return false;
  const part = stored.flatMap(toolPartsOf).find(({ toolCallId }) => toolCallId === about);
  return part?.approval?.approved === approved;
}

function chunk(state: ChatState, frame: Extract<ConversationFrame, { type: "chunk" }>): ChatState {
  const isKnown = state.streams[frame.requestId] !== undefined;
  // A copy that arrived too late; a replay that was asked for has its place among the streams.
  if (!isKnown && (frame.isReplay || hasEnded(state, frame.requestId))) return state;
  const isMine = state.requests.some(({ id }) => id === frame.requestId);
  const begun = isMine ? promote(state, frame.requestId) : state;
  const streams = foldFrame(begun, frame);
  if (streams === begun.streams && begun === state) return state;
  const isWaitedFor = state.waitingFor === frame.requestId && !frame.isReplay;
  return {
    ...begun,
    streams,
    ...(isWaitedFor && { waitingFor: undefined }),
    ...(!isKnown && { error: undefined, driver: isMine ? "me" : driverOf(state, frame.isContinuation) }),
    ...(isMine && { driver: "me" as const })
  };
}

/** A continuation goes on with what the same client started. */
function driverOf(state: ChatState, isContinuation: boolean): ChatState["driver"] {
  return isContinuation && state.driver === "me" ? "me" : "other";
}

/** The server has begun with it: its messages have their place in the transcript. */
function promote(state: ChatState, requestId: string): ChatState {
  const request = state.requests.find(({ id }) => id === requestId);
  if (request === undefined || (request.isDelivered && request.messages.length === 0)) return state;
  const delivered = { ...request, isDelivered: true, messages: [], replacesFrom: undefined };
  return {
    ...state,
    stored: withRequest(state.stored, request),
    requests: state.requests.map((one) => (one === request ? delivered : one))
  };
}

/** The transcript as it will be with the messages of a request. */
export function withRequest(
  messages: readonly UIMessage[],
  request: Pick<OwnRequest, "messages" | "replacesFrom">
): readonly UIMessage[] {
  const from = request.replacesFrom === undefined ? -1 : messages.findIndex(({ id }) => id === request.replacesFrom);
  let list = from < 0 ? messages : messages.slice(0, from);
  for (const message of request.messages) list = putMessage(list, message);
  return list;
}

function end(state: ChatState, frame: EndFrame): ChatState {
  const { requestId, outcome, error, answeredBy } = frame;
  const stream = state.streams[requestId];
  const { [requestId]: _ended, ...streams } = state.streams;
  const request = state.requests.find(({ id }) => id === requestId);
  const isOver = outcome !== "recovering";
  const next: ChatState = {
    ...state,
    stored: withAnswer(withEnded(state.stored, request, outcome), stream),
    streams: stream ? streams : state.streams,
    ...(state.waitingFor === requestId && { waitingFor: undefined }),
    requests: request && isOver ? state.requests.filter((one) => one !== request) : state.requests
  };
  if (!isOver) return next;
  const known = state.ends.find((one) => one.requestId === requestId);
  const ended: TurnEnd = {
    requestId,
    outcome: outcome ?? "unknown",
    ...(error !== undefined && { error }),
    ...(answeredBy !== undefined && { answeredBy })
  };
  // Said once; a replay that was asked for says it again, with less to say.
  if (known && (outcome === undefined || known.outcome === outcome)) return next;
  return { ...next, ends: remember(state.ends, ended), ...(error !== undefined && { error }) };
}

function remember(ends: readonly TurnEnd[], ended: TurnEnd): readonly TurnEnd[] {
  return [...ends.filter(({ requestId }) => requestId !== ended.requestId), ended].slice(-REMEMBERED_ENDS);
}

/** The transcript after a request is over. The user's messages stay, unless the server refused them. */
function withEnded(
  stored: readonly UIMessage[],
  request: OwnRequest | undefined,
  outcome: EndFrame["outcome"]
): readonly UIMessage[] {
  if (request === undefined || request.messages.length === 0) return stored;
  const isRefused = outcome === "skipped" && request.isMissing;
  // An edit that was not accepted takes nothing away.
  const isRejectedEdit = request.replacesFrom !== undefined && !request.isDelivered;
  return isRefused || isRejectedEdit ? stored : withRequest(stored, request);
}

/** The answer as it was streamed. What is stored of it follows, and replaces it. */
function withAnswer(stored: readonly UIMessage[], stream: OpenStream | undefined): readonly UIMessage[] {
  if (stream === undefined) return stored;
  const { live, replay, isSuspended } = stream;
  // An end comes behind the whole replay.
  const chunks = replay === undefined || replay === "empty" ? live : replay;
  if (chunks === undefined || chunks.fold.message.parts.length === 0) return stored;
  const { message } = chunks.fold;
  // What an earlier connection brought is less than what is stored.
  const isOutdated = isSuspended && chunks === live && stored.some(({ id }) => id === message.id);
  return isOutdated ? stored : putMessage(stored, message, chunks.behind);
}

interface Transcript {
  readonly messages: readonly UIMessage[];
  keeps(stream: OpenStream): boolean;
  /** Not older than what this client has sent. */
  readonly isCurrent?: boolean;
}

function takeTranscript(state: ChatState, { messages, keeps, isCurrent }: Transcript): ChatState {
  const ids = new Set(messages.map(({ id }) => id));
  const isCleared = ({ id }: UIMessage) => state.cleared?.has(id) === true;
  const mustClear = messages.some(isCleared);
  const streams = Object.fromEntries(Object.entries(state.streams).filter(([, stream]) => keeps(stream)));
  return settleAnswers({
    ...state,
    stored: mustClear ? messages.filter((message) => !isCleared(message)) : messages,
    cleared: mustClear ? state.cleared : undefined,
    streams: takeOver(streams, messages),
    requests: state.requests.map((request) => {
      // An edit keeps the id of its message, so its presence says nothing.
      if (request.replacesFrom !== undefined || request.messages.length === 0) return request;
      const isThere = request.messages.every(({ id }) => ids.has(id));
      const isMissing = isCurrent === true && request.isSent && !isThere;
      return { ...request, isMissing, isDelivered: request.isDelivered || isThere };
    })
  });
}

function answered(state: ChatState, callId: string): ChatState {
  const part = state.stored.flatMap(toolPartsOf).find(({ toolCallId }) => toolCallId === callId);
  const call = { state: part?.state, question: part && questionIn(part).inputHash };
  return { ...state, answers: new Map([...state.answers, [callId, call]]), driver: "me" };
}

function settleAnswers(state: ChatState): ChatState {
  if (state.answers.size === 0) return state;
  const parts = new Map(state.stored.flatMap(toolPartsOf).map((part) => [part.toolCallId, part]));
  const left = [...state.answers].filter(([callId, answered]) => {
    const part = parts.get(callId);
    if (part === undefined) return false;
    // A client's tool that needs approval is answered twice: with the decision, and then with its result.
    const isResultOpen = part.state === "approval-responded" && answered.state === part.state;
    // Code that waits again asks another question.
    const isSameQuestion = isParked(part) && answered.question === questionIn(part).inputHash;
    return isUnanswered(part.state) || isSameQuestion || isResultOpen;
  });
  return left.length === state.answers.size ? state : { ...state, answers: new Map(left) };
}

function isUnanswered(toolState: string): boolean {
  return toolState === "input-available" || toolState === "approval-requested";
}

function drop(state: ChatState): ChatState {
  const streams: Record<string, OpenStream> = {};
  for (const [id, { live }] of Object.entries(state.streams)) {
    if (live) streams[id] = { live, replay: undefined, isSuspended: true };
  }
  return { ...state, streams, requests: state.requests.map((request) => ({ ...request, isSent: false })) };
}

/** What was being streamed will not go on. How open requests ended, the server still has to say. */
function foundIdle(state: ChatState): ChatState {
  return { ...state, streams: {}, waitingFor: undefined, recovering: undefined, silence: undefined, retry: undefined };
}

/** Requests that are still open end by themselves: each gets its end from the server. */
function cleared(state: ChatState): ChatState {
  return {
    ...INITIAL_CHAT,
    ends: state.ends,
    requests: state.requests.map((request) => ({ ...request, messages: [], replacesFrom: undefined })),
    driver: state.driver
  };
}

/**
 * What never left this client is not asked for any more. What was sent before is not sent again: it has arrived before
 * the clear, or it is of no use.
 */
function clearedHere(state: ChatState): ChatState {
  const isUnsent = (request: OwnRequest) => !request.isSent && !request.isDelivered;
  const ended = state.requests.filter(isUnsent).map(({ id }): TurnEnd => ({ requestId: id, outcome: "skipped" }));
  const sent = state.requests.filter((request) => !isUnsent(request));
  const gone = [...state.stored, ...state.requests.flatMap(({ messages }) => messages), ...streamedMessages(state)];
  return {
    ...cleared({ ...state, requests: sent.map((request) => ({ ...request, isDelivered: true })) }),
    ends: [...state.ends, ...ended].slice(-REMEMBERED_ENDS),
    cleared: new Set([...(state.cleared ?? []), ...gone.map(({ id }) => id)])
  };
}

function streamedMessages({ streams }: ChatState): UIMessage[] {
  return Object.values(streams).flatMap(({ live }) => (live ? [live.fold.message] : []));
}

function without(answers: ChatState["answers"], callId: string): ChatState["answers"] {
  return new Map([...answers].filter(([id]) => id !== callId));
}

function changeRequest(state: ChatState, requestId: string, change: Partial<OwnRequest>): ChatState {
  return {
    ...state,
    requests: state.requests.map((request) => (request.id === requestId ? { ...request, ...change } : request))
  };
}

function hasEnded(state: ChatState, requestId: string): boolean {
  return state.ends.some((end) => end.requestId === requestId);
}
