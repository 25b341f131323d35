// The turn engine: one entry (`admit`), one runner behind it, many listeners. Everything it accepts is durable before it
// returns, and reaches exactly one outcome.
import type { UIMessage } from "ai";
import type { ConversationRow, FailedTurn } from "../journal/conversation.ts";
import type { TurnFold } from "../journal/folds/turn-fold.ts";
import type { RecordedClientTool, StepUsage, TurnAdmitted } from "../journal/records.ts";
import type { Json } from "../util/json.ts";
import type { MaybePromise } from "../util/maybe-promise.ts";
import { admittedRecord, ofQuestion, type Admission, type TurnTicket } from "./admit.ts";
import { Answers, type AnswerOutcome, type ApprovalAnswer, type ToolResultAnswer } from "./answers.ts";
import { turnErrors } from "./errors.ts";
import type { TurnListener } from "./listener.ts";
import { shownTranscript } from "./shown-transcript.ts";
import { replayOf, type Replay } from "./replay.ts";
import { awaitedRetry, recoveringSince, type AwaitedRetry } from "./retry-policy.ts";
import { TurnRunner } from "./runner.ts";
import {
  abandonCalls,
  announceEnding,
  cancelTurn,
  endedOutcome,
  placeInput,
  recordEnding,
  respondAgain
} from "./settle.ts";
import { firstAttempt } from "./start-attempt.ts";
import { TurnStore, type EngineInit } from "./store.ts";
import { approvedCalls, isHalfAnswered } from "./tool-answer.ts";
import { announceReceipt } from "./receipts.ts";
import { checkEntry, Steering } from "./steering.ts";
import { rootOf, Turn, type TurnOutcome, type TurnView } from "./turn.ts";

/** Turns that may wait in one conversation. */
export const QUEUE_LIMIT = 1_000;

/** Entries whose callers wait for the turn. */
const BLOCKING = new Set<Admission["trigger"]>(["rpc", "programmatic"]);

/** A turn that was interrupted and is not over. */
export interface RecoveringTurn {
  readonly requestId: string;
  /** When that was first noticed. */
  readonly since: number;
  /** It waits to ask the model again. */
  readonly retry?: AwaitedRetry | undefined;
}

export class TurnEngine {
  readonly #store: TurnStore;
  readonly #runner: TurnRunner;
  readonly #answers: Answers;
  /** Messages that wait, and what is asked of the running turn. */
  readonly steering: Steering;

  constructor(init: EngineInit) {
    this.#store = new TurnStore(init);
    this.#runner = new TurnRunner(this.#store);
    this.steering = new Steering(this.#store, () => this.#runner.drive());
    this.#answers = new Answers(this.#store, this);
    // In its own tick: the turn that ends is still being put away.
    this.#store.listeners.add({ settled: () => queueMicrotask(() => this.#answers.continueIfReady()) });
  }

  /** Throws NestedTurnError inside a turn: a caller that waits for another turn would wait for itself. */
  refuseNested(): void {
    if (this.#store.nesting.isInTurn) throw turnErrors.NestedTurnError();
  }

  /** Durable when it returns. Under a known key: the turn that was started under it. Throws what `refuseNested` throws. */
  admit(admission: Admission): TurnTicket {
    if (BLOCKING.has(admission.trigger) && !admission.entry) this.refuseNested();
    return this.#findKeyed(admission) ?? this.#begin(this.#write(admission), admission);
  }

  requestOf(id: string): string | undefined {
    return this.#openKeyed(id)?.requestId ?? this.#store.init.idempotency.turn(id)?.requestId;
  }

  /** The turn that an earlier call under the same key started, unless it failed. */
  #findKeyed({ idempotencyId: id, signal }: Admission): TurnTicket | undefined {
    if (id === undefined) return undefined;
    const { idempotency, transcript } = this.#store.init;
    const open = this.#openKeyed(id);
    if (open) {
      open.follow(signal);
      if (this.#store.nesting.isInResponse) open.isNested = true;
      return { turnId: open.turnId, requestId: open.requestId, isFound: true, settled: open.settled };
    }
    const kept = idempotency.turn(id);
    if (!kept) return undefined;
    const { turnId, requestId, messageId, ...ended } = kept;
    const message = messageId === undefined ? undefined : transcript.get(messageId);
    const outcome: TurnOutcome = { ...ended, message, streamed: true };
    return { turnId, requestId, isFound: true, settled: Promise.resolve(outcome) };
  }

  #openKeyed(id: string): Turn | undefined {
    return this.#store.turns.findLast(
      ({ admitted, fold }) => admitted.idempotencyId === id || fold.steered?.idempotencyId === id
    );
  }

  /** The turn is durable: listeners are notified, and the runner may take it. */
  #begin(turn: Turn, { isUnseen = false }: Admission): TurnTicket {
    const { turnId, requestId } = turn;
    const origin = isUnseen ? undefined : turn.origin;
    // The caller's own transaction may be around this one.
    this.#store.init.conversation.afterCommit(
      () => {
        this.#store.listeners.accepted(turn.view());
        if (turn.admitted.entry !== null) announceReceipt(this.#store, turn);
        if (turn.admitted.input.length > 0) this.#store.listeners.transcriptChanged(origin);
        this.#runner.drive();
      },
      // It never was: its caller must not wait for ever.
      () => {
        this.#store.forget(turn);
        turn.resolve({ status: "skipped", reason: "undone", streamed: false });
      }
    );
    return { turnId, requestId, settled: turn.settled };
  }

  /** One transaction: the turn, and if nothing is before it, its first attempt and its place in the conversation. */
  #write(admission: Admission): Turn {
    const { conversation, journal, ids } = this.#store.init;
    return conversation.join((row) => {
      if (row.openTurns.length >= QUEUE_LIMIT) throw turnErrors.QueueFullError(QUEUE_LIMIT);
      if (admission.entry) checkEntry(this.#store, admission);
      const now = this.#store.now();
      const generation = admission.generation ?? row.generation;
      const asked = ofQuestion(this.#resolving(admission), this.#store.init.transcript);
      const admitted = admittedRecord(asked, { turnId: ids.next(), messageId: ids.next(), generation }, now);
      const isUntried = row.openTurns.length === 0 && this.#canStartAtOnce(admission, generation);
      row.failedTurn = admission.trigger === "ws-chat" ? null : row.failedTurn;
      journal.writer.append([admitted, ...(isUntried ? [firstAttempt(admitted.turnId, now)] : [])]);
      const { input, origin, signal } = admission;
      const isNested = this.#store.nesting.isInResponse;
      const turn = new Turn({ admitted, folds: journal.folds, input, origin, signal, isNested, isUntried });
      this.#store.add(turn);
      if (isUntried) placeInput(this.#store, turn);
      return turn;
    });
  }

  /** A caller that goes on from the newest answer runs what was allowed there and has no continuation of its own. */
  #resolving(admission: Admission): Admission {
    const { transcript, conversation } = this.#store.init;
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
    for (const id of this.#store.init.conversation.row.respondingTurns) respondAgain(this.#store, id);
    this.#runner.drive();
    this.#answers.continueIfReady();
  }

  /** An unsettled turn implies a wake. While the runner works, its keep-alive is that wake. */
  nextWake(nowMs: number, pauseMs: number): number | null {
    return this.#store.openTurns.length > 0 && this.#runner.isIdle ? nowMs + pauseMs : null;
  }

  /** The wake came: goes on with turns that a failure left. */
  runDue(): void {
    this.#runner.drive();
    this.#answers.continueIfReady();
  }

  /** A turn of this name is running or waiting, also one that cannot be read any more. */
  isOpen(requestId: string): boolean {
    const isItself = this.#store.openTurns.some((open) => open.requestId === requestId);
    return isItself || this.#store.findChain(requestId) !== undefined;
  }

  /** What the records of a submission's turn say, while it is running or waiting. */
  openSubmission(requestId: string): TurnFold | undefined {
    if (!this.isOpen(requestId)) return undefined;
    return this.#store.turns.findLast((turn) => {
      const root = rootOf(turn.view());
      return root.trigger === "submission" && root.requestId === requestId;
    })?.fold;
  }

  /** Ends a running or waiting turn; an unknown request is nothing. */
  cancel(requestId: string, reason = "cancelled"): void {
    const turn = this.#store.findChain(requestId);
    if (turn) cancelTurn(this.#store, turn, reason);
  }

  cancelAll(reason?: string): void {
    for (const { requestId } of this.#store.openTurns) this.cancel(requestId, reason);
  }

  /** A listener that the turn cannot do without has failed: it ends like a stream that broke. */
  fail(requestId: string, error: unknown): void {
    const turn = this.#store.findChain(requestId);
    if (!turn) return;
    turn.failure ??= { error };
    turn.abort(error);
  }

  /** Empties the conversation. `origin` is left out of the announcement. */
  clear(origin?: unknown): void {
    const { transcript, idempotency, emit, conversation } = this.#store.init;
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
      this.#store.listeners.cleared(origin);
    });
  }

  /** Gives up every turn as a clear does, and leaves the messages. */
  reset(): void {
    this.#giveUp(() => undefined);
    this.#store.init.conversation.afterCommit(() => this.#store.listeners.reset());
  }

  /** A new generation: what runs is stopped and stores nothing, what waits never runs. */
  #giveUp(change: (row: ConversationRow) => void): void {
    const { conversation, journal } = this.#store.init;
    const { turns, running } = this.#store;
    const endings = conversation.transaction((row) => {
      const ended = turns.map((turn) => ({
        turn,
        outcome: recordEnding(this.#store, turn, turn === running?.turn ? CLEARED_RUNNING : endingOfWaiting(turn))
      }));
      const generation = row.generation + 1;
      journal.writer.append([{ type: "conversation-cleared", turnId: null, at: this.#store.now(), generation }]);
      const armed = row.armedContinuations;
      row.armedContinuations = [];
      for (const { messageId } of armed) abandonCalls(this.#store, messageId);
      this.#store.init.onGiveUp?.();
      change(row);
      return ended;
    });
    conversation.afterCommit(() => {
      this.#answers.forgetOrigins();
      // Its turn is over: what is not stored yet never will be.
      running?.stream.stop();
      for (const { turn, outcome } of endings) {
        turn.abort(new DOMException("The conversation was cleared.", "AbortError"));
        if (!turn.isAnnounced) announceEnding(this.#store, turn, outcome);
        turn.resolve(outcome);
      }
    });
  }

  /** Of a call that only a client can run. The first result wins; any other changes nothing. */
  answerTool(answer: ToolResultAnswer): MaybePromise<AnswerOutcome> {
    return this.#answers.answerTool(answer);
  }

  /** Of a call that was asked about and not answered; any other is refused. */
  answerApproval(answer: ApprovalAnswer): MaybePromise<AnswerOutcome> {
    return this.#answers.answerApproval(answer);
  }

  /** A stored message was changed through another entry. The turn that extends it goes on from what it is now. */
  announceMessage(message: UIMessage): void {
    const { running, listeners } = this.#store;
    listeners.messageUpdated(running?.stream.rebase(message) ?? message);
  }

  /** Messages joined or left through another entry. */
  announceTranscript(): void {
    this.#store.listeners.transcriptChanged(undefined);
  }

  listen(listener: TurnListener): () => void {
    return this.#store.listeners.add(listener);
  }

  /** The turn whose stream is open now. */
  streaming(): TurnView | undefined {
    const { running } = this.#store;
    return running?.attempt.hasStreamed ? running.turn.view() : undefined;
  }

  /** The turn whose model has said nothing for so long that clients are shown it, and since when. */
  silent(): { readonly turn: TurnView; readonly sinceMs: number } | undefined {
    const { running } = this.#store;
    const sinceMs = running?.attempt.silentSinceMs;
    return running && sinceMs !== undefined ? { turn: running.turn.view(), sinceMs } : undefined;
  }

  /** The newest turn that is accepted and not streaming yet, a continuation that waits for its start included. */
  waiting(): TurnView | undefined {
    const streaming = this.streaming()?.turnId;
    const waiting = this.#store.turns.findLast((turn) => turn.turnId !== streaming && !turn.isAnnounced);
    return waiting?.view() ?? this.#answers.armedView;
  }

  /** The open turn that answers this message. */
  answering(messageId: string): TurnView | undefined {
    const isAsked = ({ inputMessageIds }: TurnAdmitted) => inputMessageIds.some((id) => id === messageId);
    return this.#store.turns.findLast((turn) => !turn.isAnnounced && isAsked(turn.admitted))?.view();
  }

  /** The turn that goes on from this answer: open, or not admitted yet because something is in its way. */
  continuationOf(messageId: string): TurnView | undefined {
    const open = this.#store.turns.findLast(
      ({ admitted, isAnnounced }) =>
        !isAnnounced &&
        (admitted.resolvesMessageId === messageId || (admitted.extendsAnswer && admitted.messageId === messageId))
    );
    return open?.view() ?? this.#answers.armedOf(messageId);
  }

  /** The id that the answer of the newest turn has, if that turn is over and its records are kept. */
  lastAnswerId(): string | undefined {
    const found = this.#store.init.journal.folds.newestEnded();
    const fold = found && this.#store.readTurn(found.turnId, found.firstSequence);
    return fold?.outcome ? fold.admission?.messageId : undefined;
  }

  /** Any turn of this generation is running or queued. */
  isBusy(): boolean {
    return this.#store.openTurns.some((turn) => turn.generation === this.generation);
  }

  /** The interrupted turn that is being continued or retried. */
  recovering(): RecoveringTurn | undefined {
    for (const { fold, requestId } of this.#store.turns) {
      const since = recoveringSince(fold);
      if (since !== undefined) return { requestId, since, retry: awaitedRetry(fold) };
    }
    return undefined;
  }

  /** The turn that the calling code is part of. */
  current(): TurnView | undefined {
    const { running, nesting } = this.#store;
    return nesting.isInTurn && running ? running.turn.view() : undefined;
  }

  isTurnOpen(turnId: string): boolean {
    return this.#store.openTurns.some((open) => open.turnId === turnId);
  }

  /** The turn, or one that took over from it. */
  isChainOpen(turnId: string): boolean {
    if (this.isTurnOpen(turnId)) return true;
    return this.#store.hasEntries && this.#store.turns.some(({ fold }) => fold.steered?.rootTurnId === turnId);
  }

  get openTurnIds(): string[] {
    return this.#store.openTurns.map(({ turnId }) => turnId);
  }

  /** It is over, or about to be: a cancel, a clear or a failure stops it. */
  isStopped(turnId: string): boolean {
    const open = this.#store.openTurns.find((one) => one.turnId === turnId);
    return (open && this.#store.find(open)?.signal.aborted) ?? true;
  }

  /** Something works for the running turn, and its model has nothing to say meanwhile. */
  beat(turnId: string): void {
    const { running } = this.#store;
    if (running?.turn.turnId === turnId) running.attempt.beat();
  }

  /** What the running attempt of a turn may still use; undefined when none is running. */
  tokensLeft(turnId: string): number | undefined {
    const { running } = this.#store;
    return running?.turn.turnId === turnId ? running.attempt.tokensLeft : undefined;
  }

  /** What the model calls of a turn, and of those that took over from it, have used so far. */
  usedTokens(requestId: string): number {
    const { running } = this.#store;
    if (running?.turn.requestId === requestId) return running.attempt.usedTokens;
    const steeredBy = this.#store.endedFold(requestId)?.outcome?.steeredBy;
    return (this.usageOf(requestId)?.totalTokens ?? 0) + (steeredBy === undefined ? 0 : this.usedTokens(steeredBy));
  }

  /** The same by kind, as far as it is recorded; undefined when the turn is not known. */
  usageOf(requestId: string): StepUsage | undefined {
    return (this.#store.findByRequest(requestId)?.fold ?? this.#store.endedFold(requestId))?.steps.usage;
  }

  /** How many chunks of a turn are in the journal; undefined when its records are gone. */
  storedChunks(requestId: string): number | undefined {
    return (this.#store.findByRequest(requestId)?.fold ?? this.#store.endedFold(requestId))?.nextChunk;
  }

  /** How a turn ended; undefined while it is open, and when its records are gone. */
  outcomeOf(requestId: string): TurnOutcome | undefined {
    const fold = this.#store.endedFold(requestId);
    const steeredBy = fold?.outcome?.steeredBy;
    if (steeredBy !== undefined) return this.outcomeOf(steeredBy);
    return fold && endedOutcome(this.#store, fold);
  }

  /** The turn that has begun, whether its stream is open or not. */
  started(): TurnView | undefined {
    return this.#store.started?.view();
  }

  /** Keeps data of the running turn for its recovery; the newest replaces the others. Throws outside a turn. */
  stash(data: Json): void {
    const { running, nesting, init } = this.#store;
    if (!running || !nesting.isInTurn) throw turnErrors.OutsideTurnError("stash");
    const { admitted, fold } = running.turn;
    const stashed = { turnId: admitted.turnId, attempt: fold.attempt, at: this.#store.now() };
    init.journal.writer.append([{ ...stashed, type: "turn-stashed", data }]);
  }

  failed(): FailedTurn | null {
    return this.#store.init.conversation.row.failedTurn;
  }

  /** What is kept of a request's stream; undefined when nothing is known of it any more. */
  replay(requestId: string): Replay | undefined {
    return replayOf(this.#store, requestId);
  }

  /** The active branch as clients show it, accepted messages not yet placed last. */
  transcript(): UIMessage[] {
    return shownTranscript(this.#store);
  }

  /** The tools the client last described, and the custom fields of its last request. */
  get clientTools(): readonly RecordedClientTool[] {
    // Written by `rememberClient` only.
    return (this.#store.init.conversation.row.clientTools ?? []) as readonly unknown[] as readonly RecordedClientTool[];
  }

  get body(): Record<string, unknown> | undefined {
    return (this.#store.init.conversation.row.body as Record<string, unknown> | null) ?? undefined;
  }

  rememberClient(client: { tools?: readonly RecordedClientTool[]; body?: Record<string, unknown> | null }): void {
    this.#store.init.conversation.transaction((row) => {
      const tools = client.tools && client.tools.length > 0 ? client.tools.map((tool): Json => ({ ...tool })) : null;
      if (client.tools !== undefined && !isEqual(row.clientTools, tools)) row.clientTools = tools;
      const body = (client.body ?? null) as Json;
      if (client.body !== undefined && !isEqual(row.body, body)) row.body = body;
    });
  }

  get generation(): number {
    return this.#store.init.conversation.row.generation;
  }
}

/** A cancel that was recorded before stays the outcome: listeners were notified of it. */
function endingOfWaiting({ fold }: Turn) {
  const isCancelled = fold.cancel !== null && fold.attempt === 0;
  return isCancelled
    ? ({ status: "aborted", reason: "cancelled" } as const)
    : ({ status: "skipped", reason: "cleared" } as const);
}

const CLEARED_RUNNING = { status: "aborted", reason: "cleared", streamed: true } as const;

function isEqual(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
