// How a connection joins open turns: it asks once, accepts what it is offered, and detects when the server has sent
// everything. It has the transcript before it joins a stream, because the stream builds on it, and before it reports the
// end of a stream that it could not join any more. One of these per client; each connection resets it, so that no state
// of an earlier one is left.
import type { UIMessage } from "ai";
import type { ChatEvent, ChatState } from "./chat-state.ts";
import { clientFrames, type ConversationFrame } from "./frames.ts";
import type { Outbox } from "./outbox.ts";
import type { Timers } from "./timers.ts";

/** The server always answers; one that does not is not waited for any longer than this. */
export const GREETING_TIMEOUT_MS = 5_000;
export const HISTORY_TIMEOUT_MS = 10_000;
/** Frames kept while the transcript is fetched; with more, it is not waited for. */
export const MAX_HELD_FRAMES = 1_000;

export interface JoiningInit {
  send(text: string): boolean;
  dispatch(event: ChatEvent): void;
  state(): ChatState;
  /** The transcript over HTTP; undefined if it cannot be had. */
  fetchMessages(): Promise<readonly UIMessage[] | undefined>;
  /** What waited for this connection may go out now. */
  onGreeted(): void;
  /** What goes out through it is confirmed by the answer to a later question. */
  readonly outbox: Pick<Outbox, "mark" | "confirm" | "isWaitingForConfirmation">;
  newId(): string;
  readonly timers: Timers;
}

interface Probe {
  readonly id: string;
  /** Open when it was asked. */
  readonly requestIds: readonly string[];
  /** Of the outbox: what was sent before it. */
  readonly mark: number;
}

export class Joining {
  readonly #init: JoiningInit;
  #probe: Probe | undefined;
  #acknowledged = new Set<string>();
  /** Requests whose end came before their stream, and for which the transcript was fetched. */
  #caughtUp = new Set<string>();
  #hasTranscript = false;
  #isGreeted = false;
  /** Frames that wait for the transcript. */
  #held: ConversationFrame[] | undefined;
  /** Makes what an earlier connection started void. */
  #connection = 0;
  #cancelTimer: () => void = () => undefined;

  constructor(init: JoiningInit) {
    this.#init = init;
  }

  /** The connection is open and the server has said what is going on: chat frames may go out. */
  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  opened(): void {
    this.#reset();
    this.#init.dispatch({ type: "opened" });
    this.#cancelTimer = this.#init.timers.after(GREETING_TIMEOUT_MS, () => this.#greeted());
    this.ask();
  }

  dropped(): void {
    this.#reset();
    this.#init.dispatch({ type: "dropped" });
  }

  /** Is there something to resume? Not while a stream is received: it would be held back until its replay. */
  ask(): void {
    const { state, newId, send, outbox } = this.#init;
    this.#probe = { id: newId(), requestIds: state().requests.map(({ id }) => id), mark: outbox.mark };
    send(clientFrames.probe(this.#probe.id));
  }

  receive(frame: ConversationFrame): void {
    if (this.#held === undefined) return this.#take(frame);
    this.#held.push(frame);
    if (this.#held.length > MAX_HELD_FRAMES) this.#release();
  }

  #take(frame: ConversationFrame): void {
    if (frame.type === "messages") this.#hasTranscript = true;
    if (frame.type === "resuming" && !this.#hasTranscript) return this.#fetchFirst(frame);
    if (frame.type === "end" && this.#isBehind(frame.requestId)) return this.#fetchFirst(frame);
    this.#init.dispatch({ type: "frame", frame });
    if (frame.type === "resuming") this.#acknowledge(frame.requestId);
    if (frame.type === "message-updated" && frame.restarts !== undefined) this.#joinAgain(frame.restarts);
    if (frame.type === "end") this.#askWhatElse();
    if ("probeId" in frame && this.#probe !== undefined && frame.probeId === this.#probe.id) {
      this.#answered(frame, this.#probe);
    }
  }

  /** The end of a stream does not show whether other requests ended while this client was disconnected. */
  #askWhatElse(): void {
    const { requests, waitingFor } = this.#init.state();
    const isInDoubt = waitingFor !== undefined || requests.some(({ isSent, isDelivered }) => isDelivered && !isSent);
    if (isInDoubt || this.#init.outbox.isWaitingForConfirmation) this.ask();
  }

  #answered(frame: ConversationFrame, { requestIds, mark }: Probe): void {
    this.#probe = undefined;
    this.#init.outbox.confirm(mark);
    if (frame.type === "none" && frame.reason === "idle") this.#foundIdle(new Set(requestIds));
    this.#greeted();
  }

  /** Requests that the server has and does not work on are over: each is answered with its end. */
  #foundIdle(asked: ReadonlySet<string>): void {
    this.#init.dispatch({ type: "found-idle" });
    for (const { id, isDelivered } of this.#init.state().requests) {
      if (isDelivered && asked.has(id)) this.#acknowledge(id);
    }
  }

  #greeted(): void {
    this.#cancelTimer();
    this.#init.dispatch({ type: "greeted" });
    if (this.#isGreeted) return;
    this.#isGreeted = true;
    this.#init.onGreeted();
  }

  /** What was taken back is followed by a stream of what stays. */
  #joinAgain(requestId: string): void {
    this.#acknowledged.delete(requestId);
    this.#acknowledge(requestId);
  }

  /** Once per stream and connection: each acknowledgement brings a complete replay. */
  #acknowledge(requestId: string): void {
    if (this.#acknowledged.has(requestId)) return;
    this.#acknowledged.add(requestId);
    this.#init.dispatch({ type: "acknowledged", requestId });
    this.#init.send(clientFrames.acknowledge(requestId));
  }

  /**
   * What this client has of the stream is not all of it: the turn ended before the stream was joined again. What it left
   * open, such as a call of a client tool, must be known when its end is.
   */
  #isBehind(requestId: string): boolean {
    const stream = this.#init.state().streams[requestId];
    if (stream === undefined || this.#caughtUp.has(requestId)) return false;
    const isJoining = stream.isSuspended || stream.replay !== undefined;
    const hasReplay = stream.replay !== undefined && stream.replay !== "empty";
    return isJoining && !hasReplay;
  }

  /**
   * An offer comes in place of the transcript, and the server holds the stream back until it is accepted. What an end
   * left behind comes after it.
   */
  #fetchFirst(frame: ConversationFrame): void {
    this.#held = [frame];
    if (frame.type === "end") this.#caughtUp.add(frame.requestId);
    const connection = this.#connection;
    const isCurrent = () => connection === this.#connection && this.#held !== undefined;
    const cancel = this.#init.timers.after(HISTORY_TIMEOUT_MS, () => {
      if (isCurrent()) this.#release();
    });
    void this.#init
      .fetchMessages()
      .catch(() => undefined)
      .then((messages) => {
        cancel();
        if (!isCurrent()) return;
        if (messages) this.#init.dispatch({ type: "fetched", messages });
        this.#release();
      });
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#hasTranscript = true;
    // One of them may wait for the transcript again, and those behind it with it.
    for (const frame of held) this.receive(frame);
  }

  #reset(): void {
    this.#cancelTimer();
    this.#connection += 1;
    this.#probe = undefined;
    this.#acknowledged = new Set();
    this.#caughtUp = new Set();
    this.#hasTranscript = false;
    this.#isGreeted = false;
    this.#held = undefined;
  }
}
