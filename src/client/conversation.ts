// The conversation side of a client: holds the state, puts the user's commands into the outbox, and resolves what callers
// wait for. A command is done when the server's transcript shows it; the server takes a repeated request, answer or
// approval once.
import type { Decided } from "./decisions.ts";
import type { UIMessage } from "ai";
import { errorMessage } from "../util/errors.ts";
import {
  reduceChat,
  INITIAL_CHAT,
  isKnownDecision,
  type ChatEvent,
  type ChatState,
  type TurnEnd
} from "./chat-state.ts";
import { ClientQueueFullError, CommandRefusedError } from "./errors.ts";
import {
  clientFrames,
  type ConversationFrame,
  type ApprovalFrame,
  type ClientToolDescription,
  type RefusedFrame,
  type ToolResultFrame
} from "./frames.ts";
import { Joining } from "./joining.ts";
import type { OutboxCommand, Outbox } from "./outbox.ts";
import type { PlannedRequest } from "./requests.ts";
import type { Timers } from "./timers.ts";
import { activeRequests, isStreaming } from "./view.ts";

/** Requests of one client that have not ended; the next one is refused. */
export const MAX_OPEN_REQUESTS = 100;

export interface ConversationInit {
  send(text: string): boolean;
  readonly outbox: Outbox;
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

export class ClientConversation {
  readonly #init: ConversationInit;
  readonly #joining: Joining;
  readonly #outbox: Outbox;
  readonly #waiting = new Map<string, (end: TurnEnd) => void>();
  #state: ChatState = INITIAL_CHAT;
  /** Something was sent that may start a turn, or that only a later answer confirms. */
  #mustAsk = false;

  constructor(init: ConversationInit) {
    this.#init = init;
    this.#outbox = init.outbox;
    this.#joining = new Joining({
      send: (text) => init.send(text),
      dispatch: (event) => this.#dispatch(event),
      state: () => this.#state,
      fetchMessages: () => init.fetchMessages(),
      onGreeted: () => this.#pump(),
      outbox: init.outbox,
      newId: () => init.newId(),
      timers: init.timers
    });
  }

  /** The server has sent on this connection what it has: chat commands may go out. */
  get isGreeted(): boolean {
    return this.#joining.isGreeted;
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

  receive(frame: ConversationFrame): void {
    const refused = this.#refusalIn(frame);
    if (refused) this.#refused(refused);
    else this.#joining.receive(frame);
    if (frame.type === "none") this.#resolveMissed();
  }

  /** Resolves when the turn has ended, however it did. */
  request(plan: PlannedRequest, extras: RequestExtras): Promise<TurnEnd> {
    if (this.#state.requests.length >= MAX_OPEN_REQUESTS) {
      throw new ClientQueueFullError("requests", MAX_OPEN_REQUESTS);
    }
    const id = this.#init.newId();
    const { trigger, posted, shown, replacesFrom } = plan;
    const ended = new Promise<TurnEnd>((resolve) => this.#waiting.set(id, resolve));
    this.#dispatch({ type: "requested", request: { id, messages: shown, replacesFrom } });
    const key = keys.request(id);
    const delivered = this.#outbox.add({
      key,
      frame: clientFrames.request({ requestId: id, messages: posted, trigger, ...extras }),
      isChat: true,
      needsAnswer: true,
      isDone: () => !this.#state.requests.some((request) => request.id === id && !request.isDelivered),
      onSent: () => this.#dispatch({ type: "sent", requestId: id })
    });
    delivered.catch((error: unknown) => {
      // One that is still there is sent with the next connection.
      if (!this.#outbox.has(key)) this.#failRequest(id, errorMessage(error));
    });
    return ended;
  }

  /** Everything that runs or waits, also requests of other clients: the user sees one conversation. */
  stop(): Promise<void> {
    // Newest first: when the one that runs ends, none that waited behind it may begin.
    const stops = activeRequests(this.#state).reverse();
    const stop = (id: string) => {
      const isDone = () => !activeRequests(this.#state).includes(id);
      return this.#add(keys.stop(id), { frame: clientFrames.cancel(id), isDone });
    };
    return mayFail(Promise.all(stops.map(stop)).then(() => undefined));
  }

  answerTool(result: ToolResultFrame): Promise<void> {
    return this.#answer(result.callId, clientFrames.toolResult(result));
  }

  answerApproval(callId: string, decision: ApprovalFrame): Promise<void> {
    return this.#answer(callId, clientFrames.approval(callId, decision));
  }

  /** A decision that is made by a call: the question is off the screen while it runs. */
  decide(callId: string | undefined, call: () => Promise<Decided>): Promise<unknown> {
    return mayFail(this.#decide(callId, call));
  }

  clear(): Promise<void> {
    const isKnown = this.#state.stored.length > 0 || this.#state.requests.length > 0;
    this.#dispatch({ type: "cleared" });
    // Repeated only while what was cleared is still there: emptying it again would take away what others have said since.
    const isDone = (isInDoubt: boolean) => (isInDoubt || isKnown) && this.#state.cleared === undefined;
    const cleared = this.#add(keys.clear, { frame: clientFrames.clear(), isDone });
    return mayFail(
      cleared.then(() => {
        if (this.#outbox.has(keys.clear)) return;
        this.#dispatch({ type: "clear-confirmed" });
        // Other clients may have said it before the clear took effect. The server sends the sender of a clear no frame.
        if (this.#state.stored.length > 0) this.#fetchAgain();
      })
    );
  }

  /** Callers stop waiting. What was not sent yet goes out if the client connects again. */
  close(): void {
    for (const [requestId, resolve] of this.#waiting) resolve({ requestId, outcome: "unknown" });
    this.#waiting.clear();
  }

  /** There will be no connection: open requests end with the reason. */
  closeForGood(reason: string): void {
    for (const { id } of this.#state.requests) this.#failRequest(id, reason);
  }

  async #decide(callId: string | undefined, call: () => Promise<Decided>): Promise<unknown> {
    if (callId !== undefined) this.#dispatch({ type: "answered", callId });
    try {
      const { output, isRefused } = await call();
      // What still waits, waits on.
      if (callId !== undefined && isRefused) this.#dispatch({ type: "withdrawn", callId });
      return output;
    } catch (error) {
      if (callId !== undefined) this.#dispatch({ type: "withdrawn", callId });
      this.#dispatch({ type: "failed", error: errorMessage(error) });
      throw error;
    } finally {
      this.#mustAsk = true;
      this.#askIfQuiet();
    }
  }

  #answer(callId: string, frame: string): Promise<void> {
    this.#dispatch({ type: "answered", callId });
    const key = keys.answer(callId);
    const added = this.#add(key, { frame, isDone: () => !this.#state.answers.has(callId) });
    added.catch((error: unknown) => {
      // One that is still there is sent with the next connection.
      if (!this.#outbox.has(key)) this.#withdraw(callId, errorMessage(error));
    });
    return added;
  }

  /** The question is open again, and the user is shown why. */
  #withdraw(callId: string, error: string): void {
    this.#dispatch({ type: "withdrawn", callId });
    this.#dispatch({ type: "failed", error });
  }

  /** A command that the server confirms by answering the question that follows it. */
  #add(key: string, command: Pick<OutboxCommand, "frame" | "isDone">): Promise<void> {
    const onSent = () => {
      this.#mustAsk = true;
    };
    const added = this.#outbox.add({ ...command, key, isChat: true, needsAnswer: false, onSent });
    this.#askIfQuiet();
    return added;
  }

  #pump(): void {
    this.#outbox.settle();
    this.#outbox.pump();
    this.#askIfQuiet();
  }

  /** An answer may start a turn. While another turn streams, its end will show that; asking would hold that stream back. */
  #askIfQuiet(): void {
    if (!this.#mustAsk || !this.#joining.isGreeted) return;
    this.#mustAsk = false;
    if (!isStreaming(this.#state)) this.#joining.ask();
  }

  /** An error that ends no request of ours is the answer to another command. */
  #refusalIn(frame: ConversationFrame): RefusedFrame | undefined {
    if (frame.type === "refused") return frame;
    if (frame.type !== "end" || frame.error === undefined) return undefined;
    const { requestId, error } = frame;
    const isAnswer = this.#outbox.has(keys.answer(requestId));
    return isAnswer ? { type: "refused", about: requestId, error, approved: undefined } : undefined;
  }

  #refused(frame: RefusedFrame): void {
    const { about, error } = frame;
    if (about !== undefined && isKnownDecision(this.#state, frame)) {
      this.#outbox.acknowledge(keys.answer(about));
      return;
    }
    const candidates = about === undefined ? [keys.clear] : [keys.answer(about), keys.stop(about), keys.request(about)];
    const key = candidates.find((one) => this.#outbox.refuse(one, new CommandRefusedError(error)));
    this.#dispatch({ type: "frame", frame });
    if (key !== keys.clear) return;
    // What was cleared away here is still there.
    this.#dispatch({ type: "clear-confirmed" });
    this.#fetchAgain();
  }

  #fetchAgain(): void {
    const fetched = this.#init.fetchMessages().catch(() => undefined);
    void fetched.then((messages) => messages && this.#dispatch({ type: "fetched", messages }));
  }

  /** Whether the server has it decides what can be said about its turn. */
  #failRequest(requestId: string, error: string): void {
    const request = this.#state.requests.find(({ id }) => id === requestId);
    if (request === undefined) return;
    const outcome = request.isDelivered ? undefined : "error";
    this.#dispatch({ type: "frame", frame: { type: "end", requestId, outcome, error } });
  }

  #dispatch(event: ChatEvent): void {
    const before = this.#state;
    this.#state = reduceChat(before, event);
    if (this.#state === before) return;
    this.#outbox.settle();
    if (this.#state.ends !== before.ends) this.#resolveWaiting();
    // A replay is shown when it is complete.
    const isHidden = event.type === "frame" && event.frame.type === "chunk" && event.frame.isReplay;
    if (!isHidden) this.#init.onChange();
  }

  #resolveWaiting(): void {
    // In the order in which they came: the end of a turn that took over is behind that of the one before it.
    for (const end of this.#state.ends) {
      const resolve = this.#waiting.get(end.requestId);
      if (!resolve) continue;
      this.#waiting.delete(end.requestId);
      if (end.answeredBy === undefined) resolve(end);
      else this.#waitOn(end, end.answeredBy, resolve);
    }
  }

  /** The caller is given the end of the chain, under the id of its own request. */
  #waitOn({ requestId }: TurnEnd, answeredBy: string, resolve: (end: TurnEnd) => void): void {
    const others = this.#waiting.get(answeredBy);
    this.#waiting.set(answeredBy, (end) => {
      others?.(end);
      resolve({ ...end, requestId, answeredBy: end.answeredBy ?? end.requestId });
    });
  }

  /** Nothing runs or waits: turns that took over while this client was away are over. */
  #resolveMissed(): void {
    for (const [requestId, resolve] of this.#waiting) {
      if (this.#state.requests.some(({ id }) => id === requestId)) continue;
      this.#waiting.delete(requestId);
      resolve({ requestId, outcome: "unknown" });
    }
  }
}

/** A caller that does not look at the promise need not handle its rejection. */
function mayFail<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

const keys = {
  request: (id: string) => `request:${id}`,
  answer: (callId: string) => `answer:${callId}`,
  stop: (id: string) => `stop:${id}`,
  clear: "clear"
};
