// The one runner: takes the oldest turn whose time has come, does what is decided over it, and takes the next. It is the
// only code that starts attempts, and has no state of its own: between any two of its steps the process may die, and what
// is recorded decides how it goes on.
import type { FailureClass } from "../model/failure-classifier.ts";
import { isPlatformTransient } from "../host/platform-errors.ts";
import type { OpenTurn } from "../journal/conversation.ts";
import type { AttemptEnded } from "../journal/records.ts";
import { assertNever } from "../util/assert-never.ts";
import { errorMessage, failureDetails, ThinkError } from "../util/errors.ts";
import { decideRead, decideUnread, type Circumstances, type TurnState } from "./decide.ts";
import { AnswerTooLargeError, type StreamStalledError, TurnEndError, turnErrors } from "./errors.ts";
import type { FailureContext } from "./hooks.ts";
import {
  askHook,
  collectOutcomes,
  countedOf,
  DROPS_PARTIAL,
  endAttempt,
  eventOf,
  eventOfIncident,
  giveUp,
  incidentFor,
  keptCalls,
  leftOf,
  mayGoOn,
  noteDeath,
  readInterrupted,
  logRetry,
  retryAfter,
  silenceEnd,
  shorten,
  unreadInterrupted,
  type Interrupted,
  type RecoveryChoice
} from "./recovery.ts";
import {
  exhaustionOf,
  hookFailuresInARow,
  hookPauseMs,
  RECOVERY_HOOK_FAILED,
  retryAtOf,
  type ExhaustionReason
} from "./retry-policy.ts";
import {
  findRefused,
  isAnswer,
  respond,
  settleTurn,
  settleUnreadable,
  type Ending,
  type RefusedFiles
} from "./settle.ts";
import { decideNext, switchEnd } from "./next-model.ts";
import { beginFirst, beginNext, runAttempt, storePartial, type Tried } from "./start-attempt.ts";
import type { TurnStore } from "./store.ts";
import { storableAnswer } from "./stream.ts";
import { announceReceipt } from "./receipts.ts";
import { isMerged, STOPPED_AFTER_STEP, successorOf } from "./steering.ts";
import { STEERED, SUPERSEDED, type Turn, type TurnOutcome } from "./turn.ts";
import { announceStart, emitFinish, emitRecovered } from "./turn-events.ts";

/** A message that a sub-agent has is looked at again after this, though its return is announced. */
const PASSED_MS = 60_000;

export class TurnRunner {
  readonly #store: TurnStore;
  #driving: Promise<void> | undefined;
  #wakeUp = Promise.withResolvers<void>();

  constructor(store: TurnStore) {
    this.#store = store;
  }

  /** Makes sure that the open turns are worked on. */
  drive(): void {
    this.#wakeUp.resolve();
    if (this.#driving || this.#store.openTurns.length === 0) return;
    this.#driving = this.#store.init
      .keepAlive(() => this.#work())
      .finally(() => {
        this.#driving = undefined;
      });
    // A turn admitted while the last one was being put away. Not after a failure: `isIdle` asks for a wake then.
    this.#store.init.background(this.#driving.then(() => this.drive()));
  }

  /** The open turns are not worked on now. */
  get isIdle(): boolean {
    return this.#driving === undefined;
  }

  async #work(): Promise<void> {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      if (typeof next === "number") {
        await this.#waitUntil(next);
        continue;
      }
      await this.#store.nesting.inTurn(() => this.#run(next));
      this.#store.init.turnEnded?.();
      // A thousand turns may end without waiting for anything: a death would undo all of them, and other agents would wait
      // for them.
      const { openTurns } = this.#store;
      if (openTurns.length > 0 && !openTurns.includes(next)) await this.#store.init.durable();
    }
  }

  /**
   * The turn to run now, or when one may be. Turns that wait out a quiet period let others pass; one that waits for its
   * next attempt does not: what was asked after it is to be answered after it.
   */
  #next(): OpenTurn | number | undefined {
    const now = this.#store.now();
    let earliest: number | undefined;
    for (const open of this.#store.queue) {
      const turn = this.#store.find(open);
      const retryAt = turn && !turn.signal.aborted ? (retryAtOf(turn.fold) ?? 0) : 0;
      if (retryAt > now) return Math.min(earliest ?? retryAt, retryAt);
      const isPassed = turn !== undefined && turn.fold.passedTo !== null;
      const notBefore = isPassed ? now + PASSED_MS : (turn?.admitted.notBeforeAt ?? 0);
      if (notBefore <= now) return open;
      earliest = Math.min(earliest ?? notBefore, notBefore);
    }
    return earliest;
  }

  async #waitUntil(atMs: number): Promise<void> {
    this.#wakeUp = Promise.withResolvers();
    const timer = new AbortController();
    // A cancel ends the wait at once. Signals that were already aborted are left out: they would end it immediately.
    const stops = this.#store.turns.map(({ signal }) => signal);
    const until = AbortSignal.any([timer.signal, ...stops.filter(({ aborted }) => !aborted)]);
    const due = this.#store.init.clock.sleep(atMs - this.#store.now(), until).catch(() => undefined);
    await Promise.race([due, this.#wakeUp.promise]);
    timer.abort();
  }

  async #run(open: OpenTurn): Promise<void> {
    try {
      await this.#advance(open);
    } catch (error) {
      this.#endBroken(open, error);
    }
  }

  async #advance(open: OpenTurn): Promise<void> {
    const turn = this.#store.find(open);
    if (!turn) return settleUnreadable(this.#store, open);
    const decision = decideUnread(turn.fold, this.#circumstances(turn));
    switch (decision.do) {
      case "start":
        return this.#tryFirst(turn);
      case "note-death":
        return noteDeath(this.#store, turn);
      case "give-up":
        return this.#giveUp(turn, unreadInterrupted(this.#store, turn), decision.reason);
      case "settle":
        return this.#end(turn, {
          ...decision,
          placesInput: turn.fold.attempt === 0 && staysAsked(turn, decision.reason)
        });
      case "examine":
        return this.#examine(turn);
      default:
        return assertNever(decision);
    }
  }

  async #read(turn: Turn): Promise<Interrupted> {
    const { epoch, init } = this.#store;
    const exhausted = exhaustionOf(turn.fold, { limits: init.hooks.recovery, epoch, nowMs: this.#store.now() });
    // Reading is what there is not enough memory for.
    return exhausted === "out_of_memory" ? unreadInterrupted(this.#store, turn) : readInterrupted(this.#store, turn);
  }

  async #examine(turn: Turn): Promise<void> {
    const found = await this.#read(turn);
    // Reading takes its time.
    if (!turn.isOpen) return this.#store.forget(turn);
    const { partial } = found;
    const decision = decideRead(turn.fold, partial.progress, this.#circumstances(turn));
    switch (decision.do) {
      case "complete":
        if (partial.isTooLarge) return this.#endTooLarge(turn, found);
        return this.#complete(turn, { ...leftOf(turn, found), ...countedOf(turn) }, decision.reason);
      case "settle":
        return this.#end(turn, { ...leftOf(turn, found), ...decision });
      case "give-up":
        return this.#giveUp(turn, found, decision.reason);
      case "try-again":
        if (partial.isTooLarge) return this.#endTooLarge(turn, found);
        // With what came of its calls it is looked at again.
        if (await collectOutcomes(this.#store, turn)) return;
        return this.#tryAgain(turn, found);
      default:
        return assertNever(decision);
    }
  }

  #endTooLarge(turn: Turn, found: Interrupted): void {
    const error = new AnswerTooLargeError(this.#store.init.hooks.maxAnswerBytes);
    this.#fail(turn, { error, stage: "stream", found });
  }

  #circumstances(turn: Turn): Circumstances {
    const { init, epoch } = this.#store;
    return {
      refused: this.#refusal(turn),
      isUntried: turn.isUntried,
      policy: init.hooks.recovery,
      epoch,
      nowMs: this.#store.now(),
      awaitsOutcome: keptCalls(this.#store, turn).length > 0,
      isSteered: this.#successorOf(turn) !== undefined
    };
  }

  async #tryFirst(turn: Turn): Promise<void> {
    announceStart(this.#store, turn);
    try {
      if (turn.isUntried) turn.isUntried = false;
      else await beginFirst(this.#store, turn);
    } catch (error) {
      return this.#fail(turn, { error, stage: "turn" });
    }
    // It was taken back.
    if (!turn.isOpen) return this.#store.forget(turn);
    if (turn.admitted.entry !== null && turn.fold.steered === null) announceReceipt(this.#store, turn);
    await this.#try(turn, undefined);
  }

  async #tryAgain(turn: Turn, found: Interrupted): Promise<void> {
    if (!(await mayGoOn(this.#store, turn, found))) return this.#giveUp(turn, found, "recovery_aborted");
    // The user's policy took its time.
    if (!turn.isOpen || turn.signal.aborted) return;
    announceStart(this.#store, turn);
    beginNext(this.#store, turn, found);
    let choice: RecoveryChoice;
    try {
      choice = await askHook(this.#store, turn, found);
    } catch (error) {
      return this.#postpone(turn, found, error);
    }
    if (!turn.isOpen) return this.#store.forget(turn);
    const drops = !choice.persist && !found.partial.hasResults;
    if (!choice.continue) return this.#endDisabled(turn, found, drops);
    if (drops && found.partial.progress !== "nothing") {
      const error = { code: DROPS_PARTIAL, message: "The partial answer is not kept." };
      return endAttempt(this.#store, turn, { reason: "restarted", error, retryAt: null });
    }
    storePartial(this.#store, turn, found);
    await this.#try(turn, found);
  }

  /** The hook failed: the attempt is spent, and the next one comes later. */
  #postpone(turn: Turn, found: Interrupted, error: unknown): void {
    console.error("onChatRecovery failed; the answer is recovered later.", error);
    const incident = incidentFor(this.#store, turn, found);
    const reason = errorMessage(error);
    if (incident) this.#store.init.emit("chat:recovery:failed", { ...eventOfIncident(incident), reason });
    if (!turn.isOpen) return;
    // The newest is the attempt that this failure ends.
    const failuresBefore = hookFailuresInARow(turn.fold.attempts.slice(0, -1));
    endAttempt(this.#store, turn, {
      reason: "failed",
      error: { code: RECOVERY_HOOK_FAILED, message: "The decision over an interrupted answer failed." },
      retryAt: this.#store.now() + hookPauseMs(failuresBefore)
    });
  }

  #endDisabled(turn: Turn, found: Interrupted, drops: boolean): void {
    const { left, streamed } = leftOf(turn, found);
    const error = turnErrors.RecoveryDisabledError();
    this.#log(turn, error);
    const ending = { status: "error", reason: "continue_disabled", error: error.message } as const;
    this.#end(turn, { ...ending, left: drops ? { answer: undefined } : left, streamed }, ending.reason);
  }

  async #try(turn: Turn, found: Interrupted | undefined): Promise<void> {
    const tried = await runAttempt(this.#store, turn, found);
    // A clear has already settled it.
    if (!turn.isOpen) return this.#store.forget(turn);
    const { result, stream, streamed } = tried;
    switch (result.kind) {
      case "answered": {
        const { output, lastUsage } = result;
        return this.#complete(turn, { stream, streamed, output, lastUsage });
      }
      case "aborted":
        if (turn.failure) return this.#fail(turn, { error: turn.failure.error, stage: "stream", tried });
        return this.#end(turn, { stream, streamed, status: "aborted", reason: "cancelled" });
      case "ended":
        return this.#complete(turn, { stream, streamed });
      case "restart":
        return this.#handOver(turn, tried, { reason: "restarted", error: null, retryAt: null });
      case "stalled":
        return this.#stalled(turn, tried, result.error);
      case "failed":
        return this.#failed(turn, found, { ...tried, ...result });
      default:
        return assertNever(result);
    }
  }

  async #stalled(turn: Turn, tried: Tried, error: StreamStalledError): Promise<void> {
    const { hooks, emit } = this.#store.init;
    emit("chat:stream:stalled", { requestId: turn.requestId, timeoutMs: error.timeoutMs });
    const { choice, stream } = tried;
    const silence = { error, classification: "transient", isSilence: true, choice, stream } as const;
    const next = await decideNext(this.#store, turn, silence);
    if (!turn.isOpen) return this.#store.forget(turn);
    if (next?.do === "switch") return this.#handOver(turn, tried, switchEnd(next));
    if (next?.do === "fail" || !hooks.recovery.enabled) return this.#fail(turn, { error, stage: "stream", tried });
    this.#handOver(turn, tried, silenceEnd(this.#store, turn, { error, stream, next }));
    logRetry(this.#store, turn, error);
  }

  async #failed(
    turn: Turn,
    found: Interrupted | undefined,
    tried: Tried & { readonly error: unknown; readonly stage: "turn" | "stream" }
  ): Promise<void> {
    const { hooks } = this.#store.init;
    const { error, stage, stream, choice } = tried;
    // Our own limits: asking again would reach them again.
    if (error instanceof TurnEndError) return this.#fail(turn, { error, stage: "stream", tried });
    const classification = hooks.classifyFailure(error, this.#failureContext(turn, stage));
    if (classification === "context_overflow" && (await shorten(this.#store, turn, stream.message))) {
      if (!turn.isOpen) return this.#store.forget(turn);
      return this.#handOver(turn, tried, { reason: "overflow", error: null, retryAt: null });
    }
    if (!turn.isOpen) return this.#store.forget(turn);
    const next = await decideNext(this.#store, turn, { error, classification, isSilence: false, choice, stream });
    if (!turn.isOpen) return this.#store.forget(turn);
    if (next?.do === "switch") return this.#handOver(turn, tried, switchEnd(next));
    const retry = retryAfter(this.#store, turn, { error, classification, stream, next });
    if (retry) {
      this.#handOver(turn, tried, { reason: "failed", ...retry });
      return logRetry(this.#store, turn, error);
    }
    const isRecoveryOwn = stage === "turn" && found !== undefined && !found.isHandover;
    if (!isRecoveryOwn) return this.#fail(turn, { error, stage, tried, classification });
    turn.failure ??= { error };
    // What the last attempt left counts too.
    const { partial } = await readInterrupted(this.#store, turn);
    await this.#giveUp(turn, { ...found, partial }, "recovery_error");
  }

  /** The attempt is over and the turn goes on. */
  #handOver(
    turn: Turn,
    { stream }: Pick<Tried, "stream">,
    end: Pick<AttemptEnded, "reason" | "error" | "retryAt" | "next">
  ): void {
    stream.stop();
    const records = stream.takeUnflushed();
    this.#store.running = undefined;
    endAttempt(this.#store, turn, { ...end, records });
  }

  async #giveUp(turn: Turn, found: Interrupted, reason: ExhaustionReason): Promise<void> {
    this.#log(turn, turnErrors.RecoveryExhaustedError(reason, turn.failure?.error));
    const outcome = await giveUp(this.#store, turn, { ...found, reason });
    emitFinish(this.#store, turn, outcome);
    this.#finish(turn, outcome, true);
  }

  #fail(
    turn: Turn,
    failure: {
      error: unknown;
      stage: "turn" | "stream";
      classification?: FailureClass;
      tried?: Pick<Tried, "stream" | "streamed">;
      /** What earlier attempts left, when none is running. */
      found?: Interrupted;
    }
  ): void {
    const { error, stage, tried, classification, found } = failure;
    // Before the stream there is nothing to store, unless an earlier attempt left it.
    const isBare = stage === "turn" && tried !== undefined && !tried.streamed;
    const streamed = tried && !isBare ? { stream: tried.stream, streamed: tried.streamed } : {};
    const shown: Pick<Ending, "left" | "stream" | "streamed"> = found ? leftOf(turn, found) : streamed;
    const partial = shown.left?.answer ?? (shown.stream && storableAnswer(shown.stream.message));
    const reason = error instanceof TurnEndError ? error.reason : undefined;
    if (error instanceof TurnEndError && error.status === "completed")
      return this.#end(turn, { ...shown, reason, status: "completed" });
    const text = this.#describe(turn, error, { stage, classification, partial });
    this.#end(turn, { ...shown, reason, status: "error", error: text, refused: this.#refusedFiles(turn, error) });
  }

  #refusedFiles(turn: Turn, error: unknown): readonly RefusedFiles[] {
    const { hooks, transcript } = this.#store.init;
    const refusal = hooks.fileRefusal?.(error);
    return refusal === undefined ? [] : findRefused(transcript, turn.view(), refusal);
  }

  /**
   * Something threw that must not: the turn fails here, or every wake would meet the same again. What the platform will
   * mend by itself, and a turn that cannot even be ended, stay open for the next wake.
   */
  #endBroken(open: OpenTurn, thrown: unknown): void {
    const turn = isPlatformTransient(thrown) ? undefined : this.#store.find(open);
    if (!turn?.isOpen) throw thrown;
    const { running } = this.#store;
    const error = thrown instanceof ThinkError ? thrown : turnErrors.AttemptFailedError(thrown);
    const text = this.#describe(turn, error, { stage: running?.turn === turn ? "stream" : "turn" });
    const ending = { status: "error", error: text } as const;
    try {
      if (running?.turn !== turn) return this.#end(turn, ending);
      return this.#end(turn, { ...ending, stream: running.stream, streamed: running.attempt.hasStreamed });
    } catch {
      // The answer itself may be what cannot be stored. What is logged is the first failure.
      if (!turn.isOpen) throw thrown;
      this.#end(turn, ending);
    }
  }

  #successorOf(turn: Turn): Turn | undefined {
    return this.#store.hasEntries ? successorOf(this.#store, turn) : undefined;
  }

  /** The answer is as it will be: to its end, or to the step boundary at which another turn takes over. */
  #complete(turn: Turn, ending: Omit<Ending, "status">, recoveryReason?: string): void {
    const steeredBy = this.#successorOf(turn);
    if (steeredBy) turn.handOver(steeredBy);
    const reason = steeredBy ? STEERED : turn.fold.stops ? STOPPED_AFTER_STEP : undefined;
    this.#end(turn, { ...ending, status: "completed", reason, steeredBy }, recoveryReason);
  }

  /** Records the outcome, notifies the listeners, and lets the next turn run. */
  #end(turn: Turn, ending: Ending, recoveryReason?: string): void {
    // Read while the turn is open.
    const incident = eventOf(this.#store, turn);
    const outcome = settleTurn(this.#store, turn, ending);
    if (incident) emitRecovered(this.#store, incident, { outcome, reason: recoveryReason });
    emitFinish(this.#store, turn, outcome);
    this.#finish(turn, outcome, isAnswer(ending));
  }

  /** Why a turn must not reach the model at all. */
  #refusal(turn: Turn): TurnState["refused"] {
    const { row } = this.#store.init.conversation;
    if (turn.admitted.generation !== row.generation) return "cleared";
    if (turn.signal.aborted) return "cancelled";
    const isSuperseded = turn.fold.attempt === 0 && turn.admitted.supersedable && this.#hasSuccessor(turn);
    const isJoined = turn.fold.steered !== null && isMerged(this.#store, turn);
    return isSuperseded || isJoined ? SUPERSEDED : undefined;
  }

  #hasSuccessor(turn: Turn): boolean {
    const { openTurns } = this.#store;
    // From the newest on: a queue of any length is mostly answered by its last turn.
    const newest = openTurns.findLast((open) => this.#store.find(open)?.admitted.supersedable);
    return newest !== undefined && newest.turnId !== turn.turnId;
  }

  #describe(turn: Turn, error: unknown, failure: Pick<FailureContext, "stage" | "classification" | "partial">): string {
    const { requestId } = turn;
    const context = { ...this.#failureContext(turn, failure.stage), ...failure };
    const text = this.#textOf(error, context);
    const { stage } = failure;
    const failed = { requestId, stage, messagesPersisted: true, error: text };
    this.#store.init.emit("chat:request:failed", { ...failed, ...failureDetails(error) });
    return text;
  }

  #textOf(error: unknown, context: FailureContext): string {
    try {
      return this.#store.init.hooks.describeFailure(error, context);
    } catch (thrown) {
      // It must not throw. Were it believed, a bug there would leave the turn without an end.
      console.error("A failure could not be described:", thrown);
      return turnErrors.AttemptFailedError(thrown).message;
    }
  }

  /** For ends whose text is not made of an error. */
  #log(turn: Turn, error: unknown): void {
    this.#store.init.hooks.logFailure?.(error, this.#failureContext(turn, "recovery"));
  }

  #failureContext(turn: Turn, stage: FailureContext["stage"]): FailureContext {
    return { requestId: turn.requestId, stage, messagesPersisted: true, turn: turn.view() };
  }

  /** The turn is over and the next may run; its hook runs beside it. */
  #finish(turn: Turn, outcome: TurnOutcome, reachedModel: boolean): void {
    this.#store.forget(turn);
    if (reachedModel) this.#store.init.background(respond(this.#store, turn, outcome));
    else turn.resolve(outcome);
  }
}

/** What a client has asked stays in the conversation though it is not answered. A submission that never ran leaves nothing. */
function staysAsked({ admitted }: Turn, reason: string): boolean {
  return reason !== "cleared" && admitted.trigger !== "submission";
}
