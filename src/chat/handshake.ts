// How a client joins a stream that is already there: what it is told when it connects and when it asks, the replay its
// acknowledgement starts, and what becomes of those who wait. After an acknowledgement a socket has every chunk from the
// first on, then the live ones, without gap or repetition: a replay runs in one synchronous block.
import type { Replay, Turns } from "../turn/turns.ts";
import type { TurnView } from "../turn/turn.ts";
import type { Audience } from "./audience.ts";
import type { ClientView } from "./client-view.ts";
import { chatFrames, type FrameTurn } from "./frames.ts";
import { decideConnect, decideResume, type ResumableTurn, type ResumeDecision } from "./resume-decision.ts";

export class ResumeHandshake {
  readonly #audience: Audience;
  readonly #turns: Turns;

  constructor(audience: Audience, turns: Turns) {
    this.#audience = audience;
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
    this.#audience.sendSnapshot([view], true);
    return true;
  }

  /**
   * A continuation is replayed onto the answer it extends. What became of that answer's calls is no part of the replay,
   * and a client that has just fetched the transcript may have missed it.
   */
  #bringUpToDate(view: ClientView): void {
    const turn = this.#turns.streaming();
    if (!turn?.continuation) return;
    const extended = this.#turns.transcript().find(({ id }) => id === turn.messageId);
    if (extended) this.#audience.send(view, chatFrames.messageUpdated(extended));
  }

  /** Always answered, and only with one frame. */
  asked(view: ClientView, probeId: string | undefined): void {
    const decision = this.#decide(view);
    switch (decision.answer) {
      case "resuming":
        this.#audience.send(view, chatFrames.resuming(decision.requestId, probeId));
        if (decision.withhold) view.offer(decision.requestId);
        return;
      case "pending":
        return this.#park(view, decision.requestId, probeId);
      case "none":
        this.#audience.send(view, chatFrames.none(decision.reason, probeId));
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
    this.#audience.send(
      view,
      failed?.requestId === requestId
        ? chatFrames.terminal({ ...turn, errorText: failed.text, outcome: "error", messageIds: failed.messageIds })
        : chatFrames.terminal({ ...turn, ...endOf(replay), replay: true })
    );
    // The client has built its own copy of an answer it may show already, or of one that was never stored.
    if (sent > 0) this.#audience.sendSnapshot([view]);
    // It answered an old offer; the one it still owes an answer to may have been lost on it.
    if (view.offered !== undefined && view.offered !== requestId) {
      this.#audience.send(view, chatFrames.resuming(view.offered));
    }
  }

  /** Those who waited are offered the stream; all others hear it live. A continuation's starter always waits for it. */
  streamStarted(turn: TurnView, isFirstStart: boolean): void {
    const starter = turn.trigger === "auto-continuation" ? this.#audience.origin(turn.origin) : undefined;
    for (const view of this.#audience.known()) {
      if (!view.socket.isOpen) continue;
      if (view.unpark() || (view === starter && isFirstStart)) this.#offer(view, turn.requestId);
      else if (isFirstStart && view.offered !== turn.requestId) view.follow(turn.turnId);
    }
  }

  /** A turn ended without a stream. While another is accepted, those who wait go on waiting. */
  endedUnstreamed(turn: TurnView): void {
    if (turn.trigger === "auto-continuation") this.#tellStarter(turn);
    const next = this.#turns.streaming() ?? this.#turns.waiting();
    if (next === undefined || next.turnId === turn.turnId) this.releaseParked();
  }

  /**
   * The same for a turn that failed after it was interrupted. A client that waits for its stream listens for nothing but
   * an offer: it is offered the stream, and its acknowledgement is answered with the error.
   */
  failedUnstreamed(turn: TurnView): void {
    const next = this.#turns.streaming() ?? this.#turns.waiting();
    if (next !== undefined && next.turnId !== turn.turnId) return;
    for (const view of this.#audience.known()) {
      if (view.unpark()) this.#audience.send(view, chatFrames.resuming(turn.requestId));
    }
  }

  releaseParked(): void {
    for (const view of this.#audience.known()) {
      if (view.unpark()) this.#audience.send(view, chatFrames.none());
    }
  }

  /**
   * Its client attached to a stream that will never come, and has no other way to hear of a failure: nobody told it the
   * request id, so a bare error frame would reach no reader.
   */
  #tellStarter(turn: TurnView): void {
    const starter = this.#audience.origin(turn.origin);
    if (!starter) return;
    starter.unpark();
    const hasFailed = this.#turns.failed()?.requestId === turn.requestId;
    this.#audience.send(starter, hasFailed ? chatFrames.resuming(turn.requestId) : chatFrames.none());
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
    const owner = this.#audience.origin(turn.origin);
    return {
      requestId: turn.requestId,
      isAutoContinuation: turn.trigger === "auto-continuation",
      owner: owner === undefined ? "nobody" : owner === asker ? "asker" : "another"
    };
  }

  #offer(view: ClientView, requestId: string): void {
    this.#audience.send(view, chatFrames.resuming(requestId));
    view.offer(requestId);
  }

  #park(view: ClientView, requestId: string, probeId?: string): void {
    this.#audience.send(view, chatFrames.pending(requestId, probeId));
    view.park();
  }

  #replayLive(view: ClientView, replay: Replay): void {
    // A socket that closes in the middle keeps its offer; the client starts over on its next one.
    if (this.#sendChunks(view, replay.turn, replay) === "client-left") return;
    if (this.#audience.send(view, chatFrames.replayComplete(replay.turn))) view.acknowledge(replay.turn.requestId);
  }

  /** How many were sent, if the client stayed to the end. */
  #sendChunks(view: ClientView, turn: FrameTurn, replay: Replay): number | "client-left" {
    let sent = 0;
    for (const chunk of replay.chunks) {
      if (!this.#audience.send(view, chatFrames.chunk(turn, chunk, true))) return "client-left";
      sent += 1;
    }
    return sent;
  }
}

function endOf(replay: Replay | undefined) {
  if (!replay || replay.state === "live") return {};
  return { outcome: replay.state, messageIds: replay.turn.inputMessageIds };
}
