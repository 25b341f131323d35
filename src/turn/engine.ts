// The turn engine: one door (`admit`), one runner behind it, many readers. Everything it accepts is durable before it
// returns, and reaches exactly one outcome.
import type { UIMessage } from "ai";
import type { ConversationRow, FailedTurn } from "../journal/conversation.ts";
import type { ClientTool } from "../journal/records.ts";
import type { Json } from "../util/json.ts";
import type { Admission, TurnTicket } from "./admission.ts";
import { admittedRecord, notesOf } from "./admitting.ts";
import { Answers } from "./answers.ts";
import { firstAttempt } from "./attempt-record.ts";
import { Desk, type EngineInit } from "./desk.ts";
import { NestedTurnError, OutsideTurnError, QueueFullError } from "./errors.ts";
import type { TurnListener } from "./listener.ts";
import { LiveTurn } from "./live-turn.ts";
import { storedChunks, upTo } from "./replay.ts";
import { TurnRunner } from "./runner.ts";
import { abandonCalls, announceEnding, placeInput, recordEnding } from "./settle.ts";
import { approvedCalls, isHalfAnswered } from "./tool-answer.ts";
import type { TurnOutcome, TurnView } from "./turn.ts";
import type { AnswerOutcome, ApprovalAnswer, RecoveringTurn, Replay, ToolResultAnswer, Turns } from "./turns.ts";

/** Turns that may wait in one conversation. */
export const QUEUE_LIMIT = 1_000;

/** Of a finished stream, as JSON. */
const REPLAY_CHARS = 16 * 1024 * 1024;

/** Doors whose callers wait for the turn. */
const BLOCKING = new Set<Admission["trigger"]>(["rpc", "programmatic"]);

export class TurnEngine implements Turns {
  readonly #desk: Desk;
  readonly #runner: TurnRunner;
  readonly #answers: Answers;

  constructor(init: EngineInit) {
    this.#desk = new Desk(init);
    this.#runner = new TurnRunner(this.#desk);
    this.#answers = new Answers({ desk: this.#desk, turns: this });
    // In its own tick: the turn that ends is still being put away.
    this.#desk.readers.add({ settled: () => queueMicrotask(() => this.#answers.continueIfReady()) });
  }

  refuseNested(): void {
    if (this.#desk.nesting.isInTurn) throw new NestedTurnError();
  }

  admit(admission: Admission): TurnTicket {
    if (BLOCKING.has(admission.trigger)) this.refuseNested();
    return this.#findKeyed(admission) ?? this.#begin(this.#write(admission));
  }

  requestOf(id: string): string | undefined {
    return this.#openKeyed(id)?.view.requestId ?? this.#desk.init.idempotency.turn(id)?.requestId;
  }

  /** The turn that an earlier call under the same key started, unless it failed. */
  #findKeyed({ idempotencyId: id, signal }: Admission): TurnTicket | undefined {
    if (id === undefined) return undefined;
    const { idempotency, transcript } = this.#desk.init;
    const live = this.#openKeyed(id);
    if (live) {
      live.follow(signal);
      if (this.#desk.nesting.isInResponse) live.isNested = true;
      return { turnId: live.view.turnId, requestId: live.view.requestId, isFound: true, settled: live.settled };
    }
    const kept = idempotency.turn(id);
    if (!kept) return undefined;
    const { turnId, requestId, messageId, ...ended } = kept;
    const message = messageId === undefined ? undefined : transcript.get(messageId);
    const outcome: TurnOutcome = { ...ended, ...(message && { message }), streamed: true };
    return { turnId, requestId, isFound: true, settled: Promise.resolve(outcome) };
  }

  #openKeyed(id: string): LiveTurn | undefined {
    const turns = this.#desk.openTurns.map((open) => this.#desk.find(open));
    return turns.find((live) => live && notesOf(live.admitted).idempotencyId === id);
  }

  /** The turn is durable: readers may know, and the runner may take it. */
  #begin(live: LiveTurn): TurnTicket {
    const { turnId, requestId, origin } = live.view;
    // The caller's own transaction may be around this one.
    this.#desk.init.conversation.afterCommit(
      () => {
        this.#desk.readers.accepted(live.view);
        if (live.admitted.input.length > 0) this.#desk.readers.transcriptChanged(origin);
        this.#runner.drive();
      },
      // It never was: who waits for it must not wait for ever.
      () => {
        this.#runner.notAdmitted(turnId);
        this.#desk.forget(live);
        live.resolve({ status: "skipped", reason: "undone", streamed: false });
      }
    );
    return { turnId, requestId, settled: live.settled };
  }

  /** One transaction: the turn, and if nothing is before it, its first attempt and its place in the conversation. */
  #write(admission: Admission): LiveTurn {
    const { conversation, journal, ids } = this.#desk.init;
    return conversation.join((row) => {
      if (row.openTurns.length >= QUEUE_LIMIT) throw new QueueFullError(QUEUE_LIMIT);
      const now = this.#desk.now();
      const generation = admission.generation ?? row.generation;
      const admitted = admittedRecord({
        admission: this.#resolving(admission),
        turnId: ids.next(),
        messageId: ids.next(),
        generation,
        now
      });
      const startsNow = row.openTurns.length === 0 && this.#canStartAtOnce(admission, generation);
      const live = new LiveTurn({
        admitted,
        input: admission.input,
        origin: admission.origin,
        signal: admission.signal,
        isNested: this.#desk.nesting.isInResponse
      });
      this.#desk.add(live);
      row.failedTurn = admission.trigger === "ws-chat" ? null : row.failedTurn;
      const attempt = startsNow ? [firstAttempt(admitted.turnId, { epoch: this.#desk.epoch, now })] : [];
      journal.writer.append([admitted, ...attempt]);
      if (startsNow) {
        placeInput(this.#desk, live);
        this.#runner.startedWithAdmission(admitted.turnId);
      }
      return live;
    });
  }

  /** A caller that goes on from the newest answer runs what was allowed there and has no continuation of its own. */
  #resolving(admission: Admission): Admission {
    const { transcript, conversation } = this.#desk.init;
    const { leafId } = transcript;
    if (!admission.continuation || admission.trigger !== "programmatic" || leafId === null) return admission;
    const newest = transcript.get(leafId);
    const isArmed = conversation.row.armedContinuations.some(({ messageId }) => messageId === leafId);
    if (isArmed || !newest || isHalfAnswered(newest) || approvedCalls(newest).length === 0) return admission;
    return { ...admission, resolvesMessageId: leafId };
  }

  #canStartAtOnce(admission: Admission, generation: number): boolean {
    return (
      typeof admission.input !== "function" &&
      admission.notBeforeAt === undefined &&
      !admission.signal?.aborted &&
      generation === this.generation
    );
  }

  /** After a start: goes on with what a crash left, and with hooks that were promised. */
  resume(): void {
    for (const id of this.#desk.init.conversation.row.respondingTurns) this.#runner.responses.tellAgain(id);
    this.#runner.drive();
    this.#answers.continueIfReady();
  }

  /** An unsettled turn implies a wake. While the runner works, its keep-alive is that wake. */
  nextWake(nowMs: number, pauseMs: number): number | null {
    return this.#desk.openTurns.length > 0 && this.#runner.isIdle ? nowMs + pauseMs : null;
  }

  /** The wake came: goes on with turns that a failure left. */
  runDue(): void {
    this.#runner.drive();
    this.#answers.continueIfReady();
  }

  cancel(requestId: string, reason = "cancelled"): void {
    const live = this.#desk.findByRequest(requestId);
    if (!live) return;
    const { turnId } = live.admitted;
    this.#desk.init.journal.writer.append([
      { type: "turn-cancel-requested", turnId, at: this.#desk.now(), by: null, reason }
    ]);
    this.#desk.init.emit("message:cancel", { requestId });
    live.abort(new DOMException(reason, "AbortError"));
    const open = this.#desk.openTurns.find((turn) => turn.turnId === turnId);
    // A turn in the queue will not run: its client need not wait for the others to hear that. Its question keeps its place.
    if (open?.attempt === 0 && !live.isAnnounced) {
      const outcome: TurnOutcome = { status: "aborted", reason, streamed: false };
      live.isAnnounced = true;
      announceEnding(this.#desk, live, outcome);
      live.resolve(outcome);
    }
  }

  cancelAll(reason?: string): void {
    for (const { requestId } of this.#desk.openTurns) this.cancel(requestId, reason);
  }

  fail(requestId: string, error: unknown): void {
    const live = this.#desk.findByRequest(requestId);
    if (!live) return;
    live.failure ??= { error };
    live.abort(error);
  }

  clear(origin?: unknown): void {
    const { transcript, idempotency, emit, conversation } = this.#desk.init;
    this.#giveUp((row) => {
      // The record of the new generation says it too: they share its place.
      transcript.clear({ by: origin === undefined ? "code" : "client", place: row.clearedSequence });
      idempotency.forgetOutputs();
      row.clientTools = null;
      row.body = null;
      row.failedTurn = null;
    });
    conversation.afterCommit(() => {
      emit("message:clear", {});
      this.#desk.readers.cleared(origin);
    });
  }

  /** Gives up every turn as a clear does, and leaves the messages. */
  reset(): void {
    this.#giveUp(() => undefined);
    this.#desk.init.conversation.afterCommit(() => this.#desk.readers.reset());
  }

  /** A new generation: what runs is stopped and stores nothing, what waits never runs. */
  #giveUp(change: (row: ConversationRow) => void): void {
    const { conversation, journal } = this.#desk.init;
    const running = this.#desk.running?.live;
    const turns = this.#desk.openTurns.map((open) => this.#desk.find(open)).filter((live) => live !== undefined);
    const endings = conversation.transaction((row) => {
      const ended = turns.map((live) => {
        const ending = live === running ? CLEARED_RUNNING : CLEARED_WAITING;
        return { live, outcome: recordEnding(this.#desk, live, ending) };
      });
      const generation = row.generation + 1;
      journal.writer.append([{ type: "conversation-cleared", turnId: null, at: this.#desk.now(), generation }]);
      const armed = row.armedContinuations;
      row.armedContinuations = [];
      for (const { messageId } of armed) abandonCalls(this.#desk, messageId);
      change(row);
      return ended;
    });
    conversation.afterCommit(() => {
      this.#answers.forgetOrigins();
      for (const { live, outcome } of endings) {
        live.abort(new DOMException("The conversation was cleared.", "AbortError"));
        announceEnding(this.#desk, live, outcome);
        live.resolve(outcome);
      }
    });
  }

  answerTool(answer: ToolResultAnswer): AnswerOutcome {
    return this.#answers.answerTool(answer);
  }

  answerApproval(answer: ApprovalAnswer): AnswerOutcome {
    return this.#answers.answerApproval(answer);
  }

  /** A stored message was changed by another door. */
  announceMessage(message: UIMessage): void {
    this.#desk.readers.messageUpdated(message);
  }

  /** Messages joined or left by another door. */
  announceTranscript(): void {
    this.#desk.readers.transcriptChanged(
      this.#desk.nesting.isInTurn ? this.#desk.running?.live.view.turnId : undefined
    );
  }

  listen(listener: TurnListener): () => void {
    return this.#desk.readers.add(listener);
  }

  streaming(): TurnView | undefined {
    const { running } = this.#desk;
    return running?.attempt.hasStreamed ? running.live.view : undefined;
  }

  waiting(): TurnView | undefined {
    const streaming = this.streaming()?.turnId;
    const others = this.#desk.openTurns.filter((turn) => turn.turnId !== streaming);
    const live = others.map((turn) => this.#desk.find(turn)).findLast((turn) => turn && !turn.isAnnounced);
    return live?.view ?? this.#answers.armedView;
  }

  isBusy(): boolean {
    return this.#desk.openTurns.some((turn) => turn.generation === this.generation);
  }

  recovering(): RecoveringTurn | undefined {
    const open = this.#desk.openTurns.find((turn) => turn.recoveringSince !== undefined);
    return open?.recoveringSince === undefined ? undefined : { requestId: open.requestId, since: open.recoveringSince };
  }

  stash(data: Json): void {
    const { running, nesting, init } = this.#desk;
    if (!running || !nesting.isInTurn) throw new OutsideTurnError("stash");
    const { live } = running;
    const fact = { turnId: live.admitted.turnId, attempt: live.attempt, at: this.#desk.now() };
    init.journal.writer.append([{ ...fact, type: "turn-stashed", data }]);
  }

  failed(): FailedTurn | null {
    return this.#desk.init.conversation.row.failedTurn;
  }

  replay(requestId: string): Replay | undefined {
    const { running } = this.#desk;
    const { journal } = this.#desk.init;
    if (running?.live.view.requestId === requestId) running.stream.flush();
    const open = this.#desk.openTurns.findLast((turn) => turn.requestId === requestId);
    const live = open && this.#desk.find(open);
    if (open && live) return { turn: live.view, chunks: storedChunks(journal, open), state: "live" };
    return this.#finishedReplay(requestId);
  }

  #finishedReplay(requestId: string): Replay | undefined {
    const { journal } = this.#desk.init;
    const found = journal.reader.findTurn(requestId);
    const admitted = found && this.#desk.admissionOf(found);
    if (!found?.settled || !admitted) return undefined;
    const { outcome } = found.settled;
    return {
      turn: new LiveTurn({ admitted }).view,
      // What is left out is in the stored message, which a client is sent behind the replay.
      chunks: upTo(storedChunks(journal, found), REPLAY_CHARS),
      state: outcome === "failed" ? "error" : outcome
    };
  }

  transcript(): UIMessage[] {
    const { transcript } = this.#desk.init;
    const waiting = this.#desk.openTurns.filter((turn) => turn.attempt === 0).map((turn) => this.#desk.find(turn));
    // Stored by `admit` as the messages they are.
    const unplaced = waiting.flatMap((live) => (live?.admitted.input ?? []) as readonly unknown[] as UIMessage[]);
    const shown = new Set<string>();
    // An id that is stored, or waits already, stays where it is: placing it again changes nothing.
    const added = unplaced.filter(({ id }) => !shown.has(id) && shown.add(id) && !transcript.has(id));
    return [...transcript.path(), ...added];
  }

  get clientTools(): readonly ClientTool[] {
    // Written by `rememberClient` only.
    return (this.#desk.init.conversation.row.clientTools ?? []) as readonly unknown[] as readonly ClientTool[];
  }

  get body(): Record<string, unknown> | undefined {
    return (this.#desk.init.conversation.row.body as Record<string, unknown> | null) ?? undefined;
  }

  rememberClient(client: { tools?: readonly ClientTool[]; body?: Record<string, unknown> | null }): void {
    this.#desk.init.conversation.transaction((row) => {
      const tools = client.tools && client.tools.length > 0 ? client.tools.map((tool): Json => ({ ...tool })) : null;
      if (client.tools !== undefined && !isEqual(row.clientTools, tools)) row.clientTools = tools;
      const body = (client.body ?? null) as Json;
      if (client.body !== undefined && !isEqual(row.body, body)) row.body = body;
    });
  }

  get generation(): number {
    return this.#desk.init.conversation.row.generation;
  }
}

const CLEARED_WAITING = { status: "skipped", reason: "cleared" } as const;
const CLEARED_RUNNING = { status: "aborted", reason: "cleared", streamed: true } as const;

function isEqual(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
