// The one runner: takes the oldest turn whose time has come, tries it, settles it, and takes the next. It is the only
// code that starts attempts. Between any two of its steps the process may die: what is recorded decides how it goes on.
import type { UIMessage } from "ai";
import type { OpenTurn } from "../journal/conversation.ts";
import type { TurnAdmitted, TurnSettled } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";
import { notesOf } from "./admitting.ts";
import { Attempt, type AttemptResult } from "./attempt.ts";
import { nextAttempt } from "./attempt-record.ts";
import type { Desk } from "./desk.ts";
import { InterruptedTurnError, LostInputError } from "./errors.ts";
import { LiveTurn } from "./live-turn.ts";
import { isAnswer, placeInput, settleTurn, type Ending } from "./settle.ts";
import { TurnStream } from "./stream.ts";
import type { TurnOutcome } from "./turn.ts";

/** Attempts that the death of the process may cost a turn before it is given up. */
export const ATTEMPT_LIMIT = 3;

export class TurnRunner {
  readonly #desk: Desk;
  /** Differs in every activation: an attempt of another epoch was cut off. */
  readonly #epoch: string;
  /** Turns whose first attempt was written with their admission, in this activation. */
  readonly #startedHere = new Set<string>();
  #driving: Promise<void> | undefined;
  #responses: Promise<void> = Promise.resolve();
  #wakeUp = Promise.withResolvers<void>();

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#epoch = desk.init.ids.next();
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

  /** A crash kept the hook of a settled turn from running, and the user was promised to hear of it. */
  respondAgain(id: string): void {
    const finished = this.#readFinished(id);
    if (finished) this.#desk.init.background(this.#respond(finished.live, finished.outcome));
    // Its records are gone: there is nothing left to tell.
    else this.#appendResponded(id);
  }

  #readFinished(id: string): { live: LiveTurn; outcome: TurnOutcome } | undefined {
    const { journal, transcript } = this.#desk.init;
    let admitted: TurnAdmitted | undefined;
    let settled: TurnSettled | undefined;
    for (const page of journal.reader.pages({ turnId: turnId(id), outline: true })) {
      for (const { record } of page.entries) {
        if (record.type === "turn-admitted") admitted = record;
        if (record.type === "turn-settled") settled = record;
      }
    }
    if (!admitted || !settled) return undefined;
    const message = settled.messageStored ? transcript.get(admitted.messageId) : undefined;
    const status = settled.outcome === "failed" ? "error" : settled.outcome;
    const error = settled.error && { error: settled.error.message };
    return {
      live: new LiveTurn({ admitted }),
      outcome: { status, ...error, ...(message && { message }), streamed: true }
    };
  }

  async #work(): Promise<void> {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      if (typeof next === "number") await this.#waitUntil(next);
      else await this.#desk.nesting.inTurn(() => this.#run(next));
    }
  }

  /** The turn to run now, or when one may be. Turns that wait out a quiet period let others pass. */
  #next(): OpenTurn | number | undefined {
    let earliest: number | undefined;
    for (const open of this.#desk.openTurns) {
      const notBefore = this.#desk.find(open)?.admitted.notBeforeAt ?? 0;
      if (notBefore <= this.#desk.now()) return open;
      earliest = Math.min(earliest ?? notBefore, notBefore);
    }
    return earliest;
  }

  async #waitUntil(atMs: number): Promise<void> {
    this.#wakeUp = Promise.withResolvers();
    const timer = new AbortController();
    const due = this.#desk.init.clock.sleep(atMs - this.#desk.now(), timer.signal).catch(() => undefined);
    await Promise.race([due, this.#wakeUp.promise]);
    timer.abort();
  }

  async #run(open: OpenTurn): Promise<void> {
    const live = this.#desk.find(open);
    if (!live) return this.#dropUnreadable(open);
    const refusal = this.#refusal(open, live);
    if (refusal) return this.#finish(live, settleTurn(this.#desk, live, refusal), refusal);
    const startedAt = this.#desk.now();
    this.#desk.init.emit("chat:turn:start", eventOf(live));
    const ending = await this.#attempt(open, live);
    // A clear has already settled it.
    if (!this.#isOpen(live)) return this.#desk.forget(live);
    const outcome = settleTurn(this.#desk, live, ending);
    this.#emitFinish(live, outcome, startedAt);
    this.#finish(live, outcome, ending);
  }

  /** Its admission cannot be read: nobody knows what was asked. It must not hold up the queue. */
  #dropUnreadable(open: OpenTurn): void {
    this.#desk.init.journal.writer.append([
      {
        type: "turn-settled",
        turnId: turnId(open.turnId),
        attempt: null,
        at: this.#desk.now(),
        outcome: "failed",
        reason: "unreadable",
        error: { code: "turn-unreadable", message: "The request could not be read." },
        output: null,
        messageStored: false,
        chunkCount: 0,
        responds: false
      }
    ]);
  }

  /** Why a turn must not reach the model at all. */
  #refusal(open: OpenTurn, live: LiveTurn): Ending | undefined {
    const { row } = this.#desk.init.conversation;
    if (open.generation !== row.generation) return { status: "skipped", reason: "cleared" };
    if (live.signal.aborted) return { status: "aborted", reason: "cancelled", placesInput: open.attempt === 0 };
    if (notesOf(live.admitted).supersedable && this.#hasSuccessor(open)) {
      return { status: "skipped", reason: "superseded", placesInput: true };
    }
    if (open.attempt >= ATTEMPT_LIMIT && !this.#isOurs(open)) {
      const error = new InterruptedTurnError(open.attempt);
      return { status: "error", reason: "attempts", error: this.#describe(live, error, "recovery") };
    }
    return undefined;
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

  get epoch(): string {
    return this.#epoch;
  }

  async #attempt(open: OpenTurn, live: LiveTurn): Promise<Ending> {
    const { init } = this.#desk;
    try {
      await this.#begin(open, live);
    } catch (error) {
      return { status: "error", error: this.#describe(live, error, "turn") };
    }
    const fence = this.#desk.openTurns.find((turn) => turn.turnId === open.turnId);
    if (!fence) return { status: "aborted", reason: "cleared" };
    live.attempt = fence.attempt;
    const turn = live.context(fence.attempt);
    const base = notesOf(live.admitted).extends ? init.transcript.get(live.admitted.messageId) : undefined;
    const stream = new TurnStream({
      turnId: turnId(turn.turnId),
      attempt: turn.attempt,
      firstChunk: fence.firstChunk,
      messageId: turn.messageId,
      extends: base,
      clock: init.clock,
      append: (segments) => void init.journal.writer.append(segments)
    });
    const attempt = new Attempt({
      turn,
      view: live.view,
      history: init.transcript.prompt(base?.id ?? live.admitted.parentMessageId ?? undefined, {
        clientTools: turn.clientTools.map(({ name }) => name),
        isUserTurn: live.admitted.inputMessageIds.length > 0
      }),
      stream,
      sdk: init.sdk,
      hooks: init.hooks,
      journal: init.journal,
      readers: this.#desk.readers,
      clock: init.clock,
      storeAnswer: (message) => this.#storeAnswer(message)
    });
    this.#desk.running = { live, stream, attempt };
    return this.#ending(live, await attempt.run(), { stream, streamed: attempt.hasStreamed });
  }

  /** The attempt is charged before it does anything, and its messages join the conversation with it. */
  async #begin(open: OpenTurn, live: LiveTurn): Promise<void> {
    if (this.#isOurs(open)) {
      this.#startedHere.delete(open.turnId);
      return;
    }
    const { init } = this.#desk;
    const made = await this.#deferredInput(live);
    init.conversation.transaction(() => {
      init.journal.writer.append([nextAttempt(open, init.journal, { epoch: this.#epoch, now: this.#desk.now() })]);
      placeInput(this.#desk, live);
      for (const message of made) init.transcript.append(message);
    });
    // The others were told when they were accepted.
    if (made.length > 0) this.#desk.readers.transcriptChanged(live.view.origin);
  }

  async #deferredInput(live: LiveTurn): Promise<readonly UIMessage[]> {
    if (!notesOf(live.admitted).deferred) return [];
    const make = live.inputFunction;
    if (!make) throw new LostInputError();
    return make(this.#desk.init.transcript.path());
  }

  #ending(live: LiveTurn, result: AttemptResult, shown: Pick<Ending, "stream" | "streamed">): Ending {
    switch (result.kind) {
      case "answered":
        return { ...shown, status: "completed", output: result.output };
      case "aborted":
        if (live.failure)
          return { ...shown, status: "error", error: this.#describe(live, live.failure.error, "stream") };
        return { ...shown, status: "aborted", reason: "cancelled" };
      case "failed":
        if (result.stage === "turn") return { status: "error", error: this.#describe(live, result.error, "turn") };
        return { ...shown, status: "error", error: this.#describe(live, result.error, "stream") };
    }
  }

  #describe(live: LiveTurn, error: unknown, stage: "turn" | "stream" | "recovery"): string {
    const { requestId } = live.view;
    const turn = live.context(live.attempt);
    const text = this.#desk.init.hooks.describeFailure(error, { requestId, stage, messagesPersisted: true, turn });
    this.#desk.init.emit("chat:request:failed", { requestId, stage, messagesPersisted: true, error: text });
    return text;
  }

  #isOpen(live: LiveTurn): boolean {
    return this.#desk.openTurns.some((turn) => turn.turnId === live.admitted.turnId);
  }

  #storeAnswer(message: UIMessage): void {
    this.#desk.init.transcript.update(message);
    this.#desk.readers.messageUpdated(message);
  }

  /** The turn is over and the next may run; its hook runs beside it. */
  #finish(live: LiveTurn, outcome: TurnOutcome, ending: Ending): void {
    this.#desk.forget(live);
    if (isAnswer(ending)) this.#desk.init.background(this.#respond(live, outcome));
    else live.resolve(outcome);
  }

  /** In turn order, except for a turn that a hook itself started and may be waiting for. */
  async #respond(live: LiveTurn, outcome: TurnOutcome): Promise<void> {
    const before = live.isNested ? Promise.resolve() : this.#responses;
    const done = before.then(() => this.#desk.init.keepAlive(() => this.#callHook(live, outcome)));
    if (!live.isNested) this.#responses = done;
    await done;
    live.resolve(outcome);
  }

  async #callHook(live: LiveTurn, outcome: TurnOutcome): Promise<void> {
    const { hooks, conversation } = this.#desk.init;
    // The turn is over, and so is what could stop it.
    const turn = { ...live.context(live.attempt), signal: new AbortController().signal };
    try {
      await this.#desk.nesting.inResponse(() => hooks.runIn(turn, () => hooks.respond(turn, outcome)));
    } catch (error) {
      console.error("The response hook failed:", error);
    }
    if (conversation.row.respondingTurns.includes(turn.turnId)) this.#appendResponded(turn.turnId);
  }

  #appendResponded(id: string): void {
    const { journal } = this.#desk.init;
    journal.writer.append([{ type: "turn-responded", turnId: turnId(id), at: this.#desk.now(), error: null }]);
  }

  #emitFinish(live: LiveTurn, outcome: TurnOutcome, startedAt: number): void {
    const durationMs = this.#desk.now() - startedAt;
    const { status, error } = outcome;
    this.#desk.init.emit("chat:turn:finish", { ...eventOf(live), status, durationMs, ...(error && { error }) });
  }
}

function eventOf(live: LiveTurn) {
  const { requestId, trigger, continuation } = live.view;
  const { generation } = live.admitted;
  return { requestId, trigger, admission: "queue" as const, ...(continuation && { continuation }), generation };
}
