// How a client joins a stream that is already there: what it is sent when it connects and when it asks, the replay that
// its acknowledgement starts, and what happens to clients that wait. After an acknowledgement a socket has every chunk
// from the first on, then the live ones, without gap or repetition: a replay runs in one synchronous block.
import type { TurnView } from "../turn/turn.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { Replay } from "../turn/replay.ts";
import type { ChatClients, ClientView } from "./clients.ts";
import { chatFrames, type FrameTurn, type NoneReason } from "./frames.ts";

/** A turn whose stream is open, or has not begun. */
export interface ResumableTurn {
  readonly requestId: string;
  /** Continues after a client's answer to a tool call; that client builds its view from this stream. */
  readonly isAutoContinuation: boolean;
  /** The client whose answer it continues. */
  readonly owner: "asker" | "another" | "gone";
}

export interface ResumeState {
  readonly streaming: ResumableTurn | undefined;
  readonly waiting: ResumableTurn | undefined;
  /** Request of the newest failed turn, which clients may still ask about. */
  readonly failed: string | undefined;
}

export type ResumeDecision =
  /** `withhold`: live chunks would overtake the replay that the acknowledgement starts. */
  | { readonly answer: "resuming"; readonly requestId: string; readonly withhold: boolean }
  | { readonly answer: "pending"; readonly requestId: string }
  | { readonly answer: "none"; readonly reason: NoneReason };

/** What a client is sent that asks whether there is something to resume. Total and pure; the order of the rows is the contract. */
export function decideResume({ streaming, waiting, failed }: ResumeState): ResumeDecision {
  if (streaming) {
    if (isOwnedByAnother(streaming)) return { answer: "none", reason: "continuation-owned" };
    return { answer: "resuming", requestId: streaming.requestId, withhold: true };
  }
  if (waiting?.isAutoContinuation && !isOwnedByAnother(waiting)) {
    return { answer: "pending", requestId: waiting.requestId };
  }
  if (failed !== undefined) return { answer: "resuming", requestId: failed, withhold: false };
  if (waiting && !isOwnedByAnother(waiting)) return { answer: "pending", requestId: waiting.requestId };
  // Not "idle": the client would conclude that no turn is open at all.
  if (waiting) return { answer: "none", reason: "continuation-owned" };
  return { answer: "none", reason: "idle" };
}

export type ConnectDecision =
  /** No snapshot: it would overwrite the message the client is about to rebuild. */
  | { readonly send: "offer"; readonly requestId: string }
  | { readonly send: "snapshot"; readonly pending: string | undefined };

/** The same for a client that has just connected. It may join any stream: it has applied no chunk yet. */
export function decideConnect({ streaming, waiting }: Omit<ResumeState, "failed">): ConnectDecision {
  if (streaming) return { send: "offer", requestId: streaming.requestId };
  return { send: "snapshot", pending: waiting && !isOwnedByAnother(waiting) ? waiting.requestId : undefined };
}

function isOwnedByAnother(turn: ResumableTurn): boolean {
  return turn.isAutoContinuation && turn.owner === "another";
}

export class ResumeHandshake {
  readonly #clients: ChatClients;
  readonly #turns: TurnEngine;

  constructor(clients: ChatClients, turns: TurnEngine) {
    this.#clients = clients;
    this.#turns = turns;
  }

  /** True when the client now has the transcript; false when it was offered a stream instead. */
  connected(view: ClientView): boolean {
    const decision = decideConnect({
      streaming: this.#resumable(this.#turns.streaming(), view),
      waiting: this.#resumable(this.#turns.waiting(), view)
    });
    if (decision.send === "offer") {
      this.#bringUpToDate(view);
      this.#offer(view, decision.requestId);
      return false;
    }
    if (decision.pending !== undefined) this.#park(view, decision.pending);
    this.#clients.sendSnapshot([view], true);
    return true;
  }

  /**
   * A continuation is replayed onto the answer it extends. The results of that answer's calls are no part of the replay,
   * and a client that has just fetched the transcript may have missed them.
   */
  #bringUpToDate(view: ClientView): void {
    const turn = this.#turns.streaming();
    if (!turn?.continuation) return;
    const extended = this.#turns.transcript().find(({ id }) => id === turn.messageId);
    if (extended) this.#clients.send(view, chatFrames.messageUpdated(extended));
  }

  /** Always answered, and only with one frame. */
  asked(view: ClientView, probeId: string | undefined): void {
    const decision = this.#decide(view);
    switch (decision.answer) {
      case "resuming":
        this.#clients.send(view, chatFrames.resuming(decision.requestId, probeId));
        if (decision.withhold) view.offer(decision.requestId);
        return;
      case "pending":
        return this.#park(view, decision.requestId, probeId);
      case "none":
        this.#clients.send(view, chatFrames.none(decision.reason, probeId));
    }
  }

  /** Each acknowledgement gets one complete replay, and an end if there is one. */
  acknowledged(view: ClientView, requestId: string): void {
    const replay = this.#turns.replay(requestId);
    if (replay?.state === "live") this.#replayLive(view, replay);
    else this.#replayEnded(view, requestId, replay);
  }

  #replayEnded(view: ClientView, requestId: string, replay: Replay | undefined): void {
    const turn = { requestId, continuation: replay?.turn.continuation ?? false };
    const sent = replay ? this.#sendChunks(view, turn, replay) : 0;
    if (sent === "client-left") return;
    const failed = this.#turns.failed();
    this.#clients.send(
      view,
      failed?.requestId === requestId
        ? chatFrames.terminal({ ...turn, errorText: failed.text, outcome: "error", messageIds: failed.messageIds })
        : chatFrames.terminal({ ...turn, ...endOf(replay), replay: true })
    );
    // The client has built its own copy of an answer it may show already, or of one that was never stored.
    if (sent > 0) this.#clients.sendSnapshot([view]);
    // It answered an old offer; it may have missed the offer it has not answered yet.
    if (view.offered !== undefined && view.offered !== requestId) {
      this.#clients.send(view, chatFrames.resuming(view.offered));
    }
  }

  /** Waiting clients are offered the stream; all others receive it live. A continuation's starter always waits for it. */
  streamStarted(turn: TurnView, isFirstStart: boolean): void {
    const starter = turn.trigger === "auto-continuation" ? this.#clients.origin(turn.origin) : undefined;
    for (const view of this.#clients.known()) {
      if (!view.socket.isOpen) continue;
      if (view.unpark() || (view === starter && isFirstStart)) this.#offer(view, turn.requestId);
      else if (isFirstStart && view.offered !== turn.requestId) view.follow(turn.turnId);
    }
  }

  /** A turn ended without a stream. While another turn is accepted, waiting clients go on waiting. */
  endedUnstreamed(turn: TurnView): void {
    if (turn.trigger === "auto-continuation") this.#notifyStarter(turn);
    const next = this.#turns.streaming() ?? this.#turns.waiting();
    if (next === undefined || next.turnId === turn.turnId) this.releaseParked();
  }

  /**
   * The same for a turn that failed after it was interrupted. A client that waits for its stream reacts only to an offer: it is offered the stream, and its acknowledgement is answered with the error.
   */
  failedUnstreamed(turn: TurnView): void {
    const next = this.#turns.streaming() ?? this.#turns.waiting();
    if (next !== undefined && next.turnId !== turn.turnId) return;
    for (const view of this.#clients.known()) {
      if (view.unpark()) this.#clients.send(view, chatFrames.resuming(turn.requestId));
    }
  }

  releaseParked(): void {
    for (const view of this.#clients.known()) {
      if (view.unpark()) this.#clients.send(view, chatFrames.none());
    }
  }

  /**
   * Its client attached to a stream that will never come. It was never sent the request id, so it would ignore a bare
   * error frame: an offer is the only way to report the failure.
   */
  #notifyStarter(turn: TurnView): void {
    const starter = this.#clients.origin(turn.origin);
    if (!starter) return;
    starter.unpark();
    const hasFailed = this.#turns.failed()?.requestId === turn.requestId;
    this.#clients.send(starter, hasFailed ? chatFrames.resuming(turn.requestId) : chatFrames.none());
  }

  #decide(view: ClientView): ResumeDecision {
    return decideResume({
      streaming: this.#resumable(this.#turns.streaming(), view),
      waiting: this.#resumable(this.#turns.waiting(), view),
      failed: this.#turns.failed()?.requestId
    });
  }

  #resumable(turn: TurnView | undefined, asker: ClientView): ResumableTurn | undefined {
    if (!turn) return undefined;
    const owner = this.#clients.origin(turn.origin);
    return {
      requestId: turn.requestId,
      isAutoContinuation: turn.trigger === "auto-continuation",
      owner: owner === undefined ? "gone" : owner === asker ? "asker" : "another"
    };
  }

  #offer(view: ClientView, requestId: string): void {
    this.#clients.send(view, chatFrames.resuming(requestId));
    view.offer(requestId);
  }

  #park(view: ClientView, requestId: string, probeId?: string): void {
    this.#clients.send(view, chatFrames.pending(requestId, probeId));
    view.park();
  }

  #replayLive(view: ClientView, replay: Replay): void {
    // A socket that closes in the middle keeps its offer; the client starts over on its next one.
    if (this.#sendChunks(view, replay.turn, replay) === "client-left") return;
    if (this.#clients.send(view, chatFrames.replayComplete(replay.turn))) view.acknowledge(replay.turn.requestId);
  }

  /** The number sent, if the client stayed connected to the end. */
  #sendChunks(view: ClientView, turn: FrameTurn, replay: Replay): number | "client-left" {
    let sent = 0;
    for (const chunk of replay.chunks) {
      if (!this.#clients.send(view, chatFrames.chunk(turn, chunk, true))) return "client-left";
      sent += 1;
    }
    return sent;
  }
}

function endOf(replay: Replay | undefined) {
  if (!replay || replay.state === "live") return {};
  return { outcome: replay.state, messageIds: replay.turn.inputMessageIds };
}
