// The conversation side of a client: holds the state, sends what it asks for, and tells who waits. What was asked for
// stays until the server has it: it goes out when a connection is there, and again on the next one if nobody knows
// whether it arrived. The server takes a repeated request, answer or approval once.
import type { UIMessage } from "ai";
import { reduceChat, INITIAL_CHAT, type ChatEvent, type ChatState, type TurnEnd } from "./chat-state.ts";
import { ClientQueueFullError } from "./errors.ts";
import { clientFrames, type ChatFrame, type ClientToolDescription, type ToolResultFrame } from "./frames.ts";
import { Joining } from "./joining.ts";
import type { PlannedRequest } from "./requests.ts";
import type { Timers } from "./timers.ts";
import { activeRequests, isStreaming } from "./view.ts";

/** Requests of one client that have not ended; the next one is refused. */
export const MAX_OPEN_REQUESTS = 100;

export interface ConversationInit {
  send(text: string): boolean;
  fetchMessages(): Promise<readonly UIMessage[] | undefined>;
  newId(): string;
  readonly timers: Timers;
  /** What is shown may have changed. */
  onChange(): void;
}

export interface RequestExtras {
  readonly clientTools?: readonly ClientToolDescription[];
  /** Fields of the application; hooks of the agent see them. */
  readonly body?: Readonly<Record<string, unknown>>;
}

export class Conversation {
  readonly #init: ConversationInit;
  readonly #joining: Joining;
  readonly #waiting = new Map<string, (end: TurnEnd) => void>();
  /** Requests to be stopped, until they have ended. */
  readonly #stopping = new Set<string>();
  /** The transcript is to be emptied, as soon as there is a connection. */
  #mustClear = false;
  #state: ChatState = INITIAL_CHAT;

  constructor(init: ConversationInit) {
    this.#init = init;
    this.#joining = new Joining({
      send: (text) => init.send(text),
      dispatch: (event) => this.#dispatch(event),
      state: () => this.#state,
      fetchMessages: () => init.fetchMessages(),
      onGreeted: () => this.#flush(),
      newId: () => init.newId(),
      timers: init.timers
    });
  }

  get state(): ChatState {
    return this.#state;
  }

  opened(): void {
    this.#joining.opened();
  }

  dropped(): void {
    this.#joining.dropped();
  }

  receive(frame: ChatFrame): void {
    this.#joining.receive(frame);
  }

  /** Resolves when the turn has ended, however it did. */
  request(plan: PlannedRequest, extras: RequestExtras): Promise<TurnEnd> {
    if (this.#state.requests.length >= MAX_OPEN_REQUESTS) {
      throw new ClientQueueFullError("requests", MAX_OPEN_REQUESTS);
    }
    const id = this.#init.newId();
    const { trigger, posted, shown, replacesFrom } = plan;
    const frame = clientFrames.request({ requestId: id, messages: posted, trigger, ...extras });
    const ended = new Promise<TurnEnd>((resolve) => this.#waiting.set(id, resolve));
    this.#dispatch({ type: "requested", request: { id, frame, messages: shown, replacesFrom } });
    if (this.#joining.isGreeted) this.#sendRequests();
    return ended;
  }

  /** Everything that runs or waits, also what others asked for: a person sees one conversation. */
  stop(): void {
    for (const id of activeRequests(this.#state)) this.#stopping.add(id);
    if (this.#joining.isGreeted) this.#sendStops();
  }

  answerTool(result: ToolResultFrame): void {
    this.#answer(result.callId, clientFrames.toolResult(result));
  }

  answerApproval(callId: string, isApproved: boolean): void {
    this.#answer(callId, clientFrames.approval(callId, isApproved));
  }

  /** A decision that is made by a call: the question is off the screen while it runs. */
  async decide<T>(callId: string | undefined, call: () => Promise<T>): Promise<T> {
    if (callId !== undefined) this.#dispatch({ type: "answered", callId, frame: "" });
    try {
      return await call();
    } catch (error) {
      if (callId !== undefined) this.#dispatch({ type: "withdrawn", callId });
      throw error;
    } finally {
      this.#askIfQuiet();
    }
  }

  clear(): void {
    this.#mustClear = true;
    this.#dispatch({ type: "cleared" });
    if (this.#joining.isGreeted) this.#sendClear();
  }

  /** Nobody will hear of these any more. */
  close(): void {
    for (const [requestId, resolve] of this.#waiting) resolve({ requestId, outcome: "unknown" });
    this.#waiting.clear();
  }

  #answer(callId: string, frame: string): void {
    this.#dispatch({ type: "answered", callId, frame });
    if (!this.#joining.isGreeted) return;
    this.#init.send(frame);
    this.#askIfQuiet();
  }

  /** An answer may start a turn. While another streams its end will tell; asking would hold that one back. */
  #askIfQuiet(): void {
    if (this.#joining.isGreeted && !isStreaming(this.#state)) this.#joining.ask();
  }

  /** The server has told what it knows; what it lacks goes out now. */
  #flush(): void {
    this.#sendClear();
    this.#sendRequests();
    const answers = Object.values(this.#state.answers).filter((frame) => frame !== "");
    for (const frame of answers) this.#init.send(frame);
    this.#sendStops();
    if (answers.length > 0) this.#askIfQuiet();
  }

  /** Sent once: emptying it again would take away what others have said since. */
  #sendClear(): void {
    if (this.#mustClear) this.#mustClear = !this.#init.send(clientFrames.clear());
  }

  #sendRequests(): void {
    for (const { id, frame, isSent, isDelivered } of this.#state.requests) {
      if (isSent || isDelivered) continue;
      if (!this.#init.send(frame)) return;
      this.#dispatch({ type: "sent", requestId: id });
    }
  }

  #sendStops(): void {
    const active = new Set(activeRequests(this.#state));
    // Newest first: when the one that runs ends, none that waited behind it may begin.
    for (const id of [...this.#stopping].reverse()) {
      if (active.has(id)) this.#init.send(clientFrames.cancel(id));
      else this.#stopping.delete(id);
    }
  }

  #dispatch(event: ChatEvent): void {
    const before = this.#state;
    this.#state = reduceChat(before, event);
    if (this.#state === before) return;
    if (this.#state.ends !== before.ends) this.#tellWaiting();
    // A replay is shown when it is complete.
    const isHidden = event.type === "frame" && event.frame.type === "chunk" && event.frame.isReplay;
    if (!isHidden) this.#init.onChange();
  }

  #tellWaiting(): void {
    for (const end of this.#state.ends) {
      this.#stopping.delete(end.requestId);
      this.#waiting.get(end.requestId)?.(end);
      this.#waiting.delete(end.requestId);
    }
  }
}
