// The one runner: takes the oldest turn whose time has come, tries it, settles it, and takes the next. It is the only
// code that starts attempts. Between any two of its steps the process may die: what is recorded decides how it goes on.
import { isPlatformTransient } from "../host/platform-errors.ts";
import type { OpenTurn } from "../journal/conversation.ts";
import type { AttemptEnded } from "../journal/records.ts";
import { errorMessage, failureDetails, ThinkError } from "../util/errors.ts";
import { notesOf } from "./admitting.ts";
import { hookFailuresInARow, RECOVERY_HOOK_FAILED, type ExhaustionReason } from "./budget.ts";
import { classify, type TurnState } from "./classify.ts";
import type { Desk } from "./desk.ts";
import {
  AnswerTooLargeError,
  AttemptFailedError,
  RecoveryDisabledError,
  RecoveryExhaustedError,
  type StreamStalledError
} from "./errors.ts";
import type { FailureClass, FailureContext } from "./hooks.ts";
import { eventOfIncident, type IncidentEvent, type RecoveryChoice } from "./incident.ts";
import type { LiveTurn } from "./live-turn.ts";
import { countedOf, DROPS_PARTIAL, leftOf, Recovery, type Examined, type Outline } from "./recovery.ts";
import { findRefused, type RefusedFiles } from "./refused-files.ts";
import { Responses } from "./responses.ts";
import { hookPauseMs, Retries } from "./retries.ts";
import { isAnswer, settleTurn, settleUnreadable, type Ending } from "./settle.ts";
import { beginFirst, beginNext, runAttempt, storePartial, type Tried } from "./try-turn.ts";
import type { TurnOutcome } from "./turn.ts";

export class TurnRunner {
  readonly #desk: Desk;
  readonly #recovery: Recovery;
  readonly #retries: Retries;
  readonly responses: Responses;
  /** Turns whose first attempt was written with their admission, in this activation. */
  readonly #startedHere = new Set<string>();
  #driving: Promise<void> | undefined;
  #wakeUp = Promise.withResolvers<void>();

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#recovery = new Recovery(desk);
    this.#retries = new Retries(desk, this.#recovery);
    this.responses = new Responses(desk);
  }

  /** Makes sure somebody works on the open turns. */
  drive(): void {
    this.#wakeUp.resolve();
    if (this.#driving || this.#desk.openTurns.length === 0) return;
    this.#driving = this.#desk.init
      .keepAlive(() => this.#work())
      .finally(() => {
        this.#driving = undefined;
      });
    // A turn admitted while the last one was being put away. Not after a failure: `isIdle` asks for a wake then.
    this.#desk.init.background(this.#driving.then(() => this.drive()));
  }

  /** Nobody works on the open turns now. */
  get isIdle(): boolean {
    return this.#driving === undefined;
  }

  async #work(): Promise<void> {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      if (typeof next === "number") await this.#waitUntil(next);
      else await this.#desk.nesting.inTurn(() => this.#run(next));
    }
  }

  /**
   * The turn to run now, or when one may be. Turns that wait out a quiet period let others pass; one that waits for its
   * next attempt does not: what was asked after it is to be answered after it.
   */
  #next(): OpenTurn | number | undefined {
    const now = this.#desk.now();
    let earliest: number | undefined;
    for (const open of this.#desk.openTurns) {
      const live = this.#desk.find(open);
      const isCancelled = live?.signal.aborted ?? false;
      const retryAt = isCancelled ? 0 : (open.retryAt ?? 0);
      if (retryAt > now) return Math.min(earliest ?? retryAt, retryAt);
      const notBefore = live?.admitted.notBeforeAt ?? 0;
      if (notBefore <= now) return open;
      earliest = Math.min(earliest ?? notBefore, notBefore);
    }
    return earliest;
  }

  async #waitUntil(atMs: number): Promise<void> {
    this.#wakeUp = Promise.withResolvers();
    const timer = new AbortController();
    // Who stops a turn that waits need not wait with it. Those that are stopped already have had their say.
    const stops = this.#desk.openTurns.flatMap((open) => this.#desk.find(open)?.signal ?? []);
    const until = AbortSignal.any([timer.signal, ...stops.filter(({ aborted }) => !aborted)]);
    const due = this.#desk.init.clock.sleep(atMs - this.#desk.now(), until).catch(() => undefined);
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
    const live = this.#desk.find(open);
    if (!live) return settleUnreadable(this.#desk, open);
    if (open.attempt > 0 && !this.#isOurs(open)) return this.#runAgain(open, live);
    const decision = classify(this.#stateOf(open, live));
    if (decision.do === "start") return this.#tryFirst(open, live);
    if (decision.do !== "settle") return;
    this.#end(live, { ...decision, placesInput: open.attempt === 0 && decision.reason !== "cleared" });
  }

  /** An attempt of the past: what can be decided without reading what it wrote is decided first. */
  async #runAgain(open: OpenTurn, live: LiveTurn): Promise<void> {
    const outline = this.#recovery.outline(open);
    const decision = classify(this.#stateOf(open, live, outline));
    switch (decision.do) {
      case "note-death":
        return this.#recovery.noteDeath(live, outline);
      case "give-up":
        return this.#giveUp(live, this.#recovery.unread(live, outline), decision.reason);
      case "settle":
      case "examine": {
        const isTooMuch = outline.exhausted === "out_of_memory";
        const examined = isTooMuch ? this.#recovery.unread(live, outline) : await this.#recovery.read(open, live);
        // Reading takes its time.
        if (!this.#isOpen(live)) return this.#desk.forget(live);
        if (decision.do === "settle") return this.#end(live, { ...decision, ...leftOf(examined) });
        if (!live.signal.aborted) await this.#recover(open, live, examined);
      }
    }
  }

  async #recover(open: OpenTurn, live: LiveTurn, examined: Examined): Promise<void> {
    const { salvage } = examined;
    const decision = classify({ ...this.#stateOf(open, live, examined), progress: salvage.progress });
    switch (decision.do) {
      case "complete":
        if (salvage.isTooLarge) return this.#endTooLarge(open, live, examined);
        return this.#end(live, { ...leftOf(examined), ...countedOf(examined), status: "completed" }, decision.reason);
      case "settle":
        return this.#end(live, { ...leftOf(examined), ...decision });
      case "give-up":
        return this.#giveUp(live, examined, decision.reason);
      case "retry":
      case "continue":
        if (salvage.isTooLarge) return this.#endTooLarge(open, live, examined);
        return this.#tryAgain(open, live, examined);
    }
  }

  #endTooLarge(open: OpenTurn, live: LiveTurn, examined: Examined): void {
    live.attempt = open.attempt;
    const error = new AnswerTooLargeError(this.#desk.init.hooks.maxAnswerBytes);
    this.#fail(live, { error, stage: "stream", examined });
  }

  #stateOf(open: OpenTurn, live: LiveTurn, outline?: Outline): TurnState {
    return {
      refused: this.#refusal(open, live),
      attempts: open.attempt,
      isOurs: this.#isOurs(open),
      isCutOff: open.attemptOpen,
      // Handing over is part of a healthy attempt.
      recovers: this.#desk.init.hooks.recovery.enabled || (outline?.isHandover ?? false),
      exhausted: outline?.exhausted,
      progress: "unread",
      retryAt: open.retryAt ?? null,
      nowMs: this.#desk.now()
    };
  }

  async #tryFirst(open: OpenTurn, live: LiveTurn): Promise<void> {
    this.#announceStart(live);
    try {
      if (this.#isOurs(open)) this.#startedHere.delete(open.turnId);
      else await beginFirst(this.#desk, open, live);
    } catch (error) {
      return this.#fail(live, { error, stage: "turn" });
    }
    await this.#try(live, undefined);
  }

  async #tryAgain(open: OpenTurn, live: LiveTurn, examined: Examined): Promise<void> {
    live.attempt = open.attempt;
    if (!(await this.#recovery.mayGoOn(live, examined))) return this.#giveUp(live, examined, "recovery_aborted");
    // The user's policy took its time.
    if (!this.#isOpen(live) || live.signal.aborted) return;
    this.#announceStart(live);
    beginNext(this.#desk, live, examined);
    live.attempt = open.attempt + 1;
    let choice: RecoveryChoice;
    try {
      choice = await this.#recovery.ask(live, examined);
    } catch (error) {
      return this.#postpone(live, examined, error);
    }
    if (!this.#isOpen(live)) return this.#desk.forget(live);
    const drops = !choice.persist && !examined.salvage.hasResults;
    if (!choice.continue) return this.#endDisabled(live, examined, drops);
    if (drops && examined.salvage.progress !== "nothing") {
      const error = { code: DROPS_PARTIAL, message: "The partial answer is not kept." };
      return this.#recovery.handOver(live, { reason: "restarted", error, retryAt: null });
    }
    storePartial(this.#desk, live, examined);
    await this.#try(live, examined);
  }

  /** The hook failed: the attempt is spent, and the next one comes later. */
  #postpone(live: LiveTurn, examined: Examined, error: unknown): void {
    console.error("onChatRecovery failed; the answer is recovered later.", error);
    const incident = this.#recovery.incident(live, examined);
    const reason = errorMessage(error);
    if (incident) this.#desk.init.emit("chat:recovery:failed", { ...eventOfIncident(incident), reason });
    if (!this.#isOpen(live)) return;
    this.#recovery.handOver(live, {
      reason: "failed",
      error: { code: RECOVERY_HOOK_FAILED, message: "The decision over an interrupted answer failed." },
      retryAt: this.#desk.now() + hookPauseMs(hookFailuresInARow(examined.turn.attempts))
    });
  }

  #endDisabled(live: LiveTurn, examined: Examined, drops: boolean): void {
    const { left, streamed } = leftOf(examined);
    const kept = drops ? { answer: undefined } : left;
    const error = new RecoveryDisabledError();
    this.#log(live, error);
    const ending = { status: "error", reason: "continue_disabled", error: error.message } as const;
    this.#end(live, { ...ending, ...(kept && { left: kept }), ...(streamed && { streamed }) }, ending.reason);
  }

  async #try(live: LiveTurn, examined: Examined | undefined): Promise<void> {
    live.attempt = Math.max(live.attempt, 1);
    const tried = await runAttempt(this.#desk, live, examined);
    // A clear has already settled it.
    if (!this.#isOpen(live)) return this.#desk.forget(live);
    const { result, stream, streamed } = tried;
    switch (result.kind) {
      case "answered":
        return this.#end(live, {
          stream,
          streamed,
          status: "completed",
          output: result.output,
          lastUsage: result.lastUsage
        });
      case "aborted":
        if (live.failure) return this.#fail(live, { error: live.failure.error, stage: "stream", tried });
        return this.#end(live, { stream, streamed, status: "aborted", reason: "cancelled" });
      case "restart":
        return this.#handOver(live, tried, { reason: "restarted", error: null, retryAt: null });
      case "stalled":
        return this.#stalled(live, tried, result.error);
      case "failed":
        return this.#failed(live, examined, tried);
    }
  }

  #stalled(live: LiveTurn, tried: Tried, error: StreamStalledError): void {
    const { hooks, emit } = this.#desk.init;
    emit("chat:stream:stalled", { requestId: live.view.requestId, timeoutMs: error.timeoutMs });
    if (!hooks.recovery.enabled) return this.#fail(live, { error, stage: "stream", tried });
    this.#handOver(live, tried, {
      reason: "stalled",
      error: { code: error.code, message: error.message },
      retryAt: this.#retries.afterStall(live, tried.stream)
    });
  }

  async #failed(live: LiveTurn, examined: Examined | undefined, tried: Tried): Promise<void> {
    const { hooks } = this.#desk.init;
    if (tried.result.kind !== "failed") return;
    const { error, stage } = tried.result;
    // Our own limit: asking again would reach it again.
    if (error instanceof AnswerTooLargeError) return this.#fail(live, { error, stage, tried });
    const classification = hooks.classifyFailure(error, this.#failureContext(live, stage));
    if (classification === "context_overflow" && (await this.#retries.shorten(live, tried.stream.message))) {
      if (!this.#isOpen(live)) return this.#desk.forget(live);
      return this.#handOver(live, tried, { reason: "overflow", error: null, retryAt: null });
    }
    if (!this.#isOpen(live)) return this.#desk.forget(live);
    const retry = this.#retries.after(live, { error, classification, stream: tried.stream });
    if (retry) return this.#handOver(live, tried, { reason: "failed", ...retry });
    const isRecoveryOwn = stage === "turn" && examined !== undefined && !examined.isHandover;
    if (!isRecoveryOwn) return this.#fail(live, { error, stage, tried, ...(classification && { classification }) });
    live.failure ??= { error };
    await this.#giveUp(live, examined, "recovery_error");
  }

  /** The attempt is over and the turn goes on. */
  #handOver(live: LiveTurn, { stream }: Tried, end: Pick<AttemptEnded, "reason" | "error" | "retryAt">): void {
    stream.stop();
    const unwritten = stream.takeUnflushed();
    this.#desk.running = undefined;
    this.#recovery.handOver(live, end, unwritten);
  }

  async #giveUp(live: LiveTurn, examined: Examined, reason: ExhaustionReason): Promise<void> {
    this.#log(live, new RecoveryExhaustedError(reason, live.failure?.error));
    const open = this.#desk.openTurnOf(live);
    // What the last attempt left counts too.
    const isNewer = open && examined.turn.attempt < open.attempt;
    const left = isNewer ? await this.#recovery.read(open, live) : examined;
    const outcome = await this.#recovery.giveUp(live, { ...left, budget: examined.budget }, reason);
    this.#emitFinish(live, outcome);
    this.#finish(live, outcome, true);
  }

  #fail(
    live: LiveTurn,
    failure: {
      error: unknown;
      stage: "turn" | "stream";
      classification?: FailureClass;
      tried?: Tried;
      /** What earlier attempts left, when none is running. */
      examined?: Examined;
    }
  ): void {
    const { error, stage, tried, classification, examined } = failure;
    const text = this.#describe(live, error, { stage, ...(classification && { classification }) });
    // Before the stream there is nothing to store, unless an earlier attempt left it.
    const isBare = stage === "turn" && tried !== undefined && !tried.streamed;
    const streamed = tried && !isBare ? { stream: tried.stream, streamed: tried.streamed } : {};
    const shown = examined ? leftOf(examined) : streamed;
    const reason = error instanceof AnswerTooLargeError ? { reason: "answer_too_large" } : {};
    this.#end(live, { ...shown, ...reason, status: "error", error: text, refused: this.#refusedFiles(live, error) });
  }

  #refusedFiles(live: LiveTurn, error: unknown): readonly RefusedFiles[] {
    const { hooks, transcript } = this.#desk.init;
    const refusal = hooks.fileRefusal?.(error);
    return refusal === undefined ? [] : findRefused(transcript, live.view, refusal);
  }

  /**
   * Something threw that must not: the turn fails here, or every wake would meet the same again. What the platform will
   * mend by itself, and a turn that cannot even be ended, stay open for the next wake.
   */
  #endBroken(open: OpenTurn, thrown: unknown): void {
    const live = isPlatformTransient(thrown) ? undefined : this.#desk.find(open);
    if (!live || !this.#isOpen(live)) throw thrown;
    const { running } = this.#desk;
    const error = thrown instanceof ThinkError ? thrown : new AttemptFailedError(thrown);
    const text = this.#describe(live, error, { stage: running?.live === live ? "stream" : "turn" });
    const ending = { status: "error", error: text } as const;
    try {
      if (running?.live !== live) return this.#end(live, ending);
      return this.#end(live, { ...ending, stream: running.stream, streamed: running.attempt.hasStreamed });
    } catch {
      // The answer itself may be what cannot be stored. What is logged is the first failure.
      if (!this.#isOpen(live)) throw thrown;
      this.#end(live, ending);
    }
  }

  /** Records the outcome, tells everybody, and lets the next turn run. */
  #end(live: LiveTurn, ending: Ending, recoveryReason?: string): void {
    // Read while the turn is open.
    const incident = this.#recovery.eventOf(live);
    const outcome = settleTurn(this.#desk, live, ending);
    if (incident) this.#emitRecovered(incident, outcome, recoveryReason);
    this.#emitFinish(live, outcome);
    this.#finish(live, outcome, isAnswer(ending));
  }

  /** Why a turn must not reach the model at all. */
  #refusal(open: OpenTurn, live: LiveTurn): TurnState["refused"] {
    const { row } = this.#desk.init.conversation;
    if (open.generation !== row.generation) return "cleared";
    if (live.signal.aborted) return "cancelled";
    const isSuperseded = open.attempt === 0 && notesOf(live.admitted).supersedable && this.#hasSuccessor(open);
    return isSuperseded ? "superseded" : undefined;
  }

  #hasSuccessor(open: OpenTurn): boolean {
    const { openTurns } = this.#desk;
    return openTurns.slice(openTurns.indexOf(open) + 1).some((later) => {
      const live = this.#desk.find(later);
      return live !== undefined && notesOf(live.admitted).supersedable;
    });
  }

  /** Admitted and started in one breath by this activation. */
  #isOurs(open: OpenTurn): boolean {
    return open.attempt === 1 && open.attemptOpen && this.#startedHere.has(open.turnId);
  }

  /** `admit` wrote the first attempt together with the admission. */
  startedWithAdmission(id: string): void {
    this.#startedHere.add(id);
  }

  /** The admission was undone with a transaction around it. */
  notAdmitted(id: string): void {
    this.#startedHere.delete(id);
  }

  #describe(live: LiveTurn, error: unknown, failure: Pick<FailureContext, "stage" | "classification">): string {
    const { requestId } = live.view;
    const context = { ...this.#failureContext(live, failure.stage), ...failure };
    const text = this.#textOf(error, context);
    const { stage } = failure;
    const told = { requestId, stage, messagesPersisted: true, error: text };
    this.#desk.init.emit("chat:request:failed", { ...told, ...failureDetails(error) });
    return text;
  }

  #textOf(error: unknown, context: FailureContext): string {
    try {
      return this.#desk.init.hooks.describeFailure(error, context);
    } catch (thrown) {
      // It must not throw. Were it believed, a bug there would leave the turn without an end.
      console.error("A failure could not be described:", thrown);
      return new AttemptFailedError(thrown).message;
    }
  }

  /** For ends whose text is not made of an error. */
  #log(live: LiveTurn, error: unknown): void {
    this.#desk.init.hooks.logFailure?.(error, this.#failureContext(live, "recovery"));
  }

  #failureContext(live: LiveTurn, stage: FailureContext["stage"]): FailureContext {
    return { requestId: live.view.requestId, stage, messagesPersisted: true, turn: live.context(live.attempt) };
  }

  #isOpen(live: LiveTurn): boolean {
    return this.#desk.openTurnOf(live) !== undefined;
  }

  /** The turn is over and the next may run; its hook runs beside it. */
  #finish(live: LiveTurn, outcome: TurnOutcome, reachedModel: boolean): void {
    this.#desk.forget(live);
    if (reachedModel) this.#desk.init.background(this.responses.tell(live, outcome));
    else live.resolve(outcome);
  }

  #announceStart(live: LiveTurn): void {
    if (live.startedAt !== undefined) return;
    live.startedAt = this.#desk.now();
    this.#desk.init.emit("chat:turn:start", eventOf(live));
  }

  #emitFinish(live: LiveTurn, outcome: TurnOutcome): void {
    if (live.startedAt === undefined) return;
    const durationMs = this.#desk.now() - live.startedAt;
    const { status, error } = outcome;
    this.#desk.init.emit("chat:turn:finish", { ...eventOf(live), status, durationMs, ...(error && { error }) });
  }

  #emitRecovered(event: IncidentEvent, outcome: TurnOutcome, reason: string | undefined): void {
    const { emit } = this.#desk.init;
    if (reason !== undefined) emit("chat:recovery:skipped", { ...event, reason });
    else if (outcome.status === "completed") emit("chat:recovery:completed", event);
    else if (outcome.status === "error") emit("chat:recovery:failed", { ...event, reason: outcome.error ?? "error" });
    else emit("chat:recovery:skipped", { ...event, reason: outcome.reason ?? outcome.status });
  }
}

function eventOf(live: LiveTurn) {
  const { requestId, trigger } = live.view;
  const { generation, continuation } = live.admitted;
  return { requestId, trigger, admission: "queue" as const, continuation, generation };
}
