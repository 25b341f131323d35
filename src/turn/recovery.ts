// The shell around recovery: reads what an interrupted turn left, records interruptions, asks the user's hooks, and gives
// up in one way whatever the cause. What to do is decided by classify.ts, how far by budget.ts, from where by salvage.ts.
import type { UIMessage } from "ai";
import { beforeDeadline } from "../host/deadline.ts";
import { awaitedCalls, NO_CALLS } from "../journal/folds/calls-fold.ts";
import type { TurnFold } from "../journal/folds/turn-fold.ts";
import type { OpenTurn } from "../journal/conversation.ts";
import type { AttemptEnded, JournalRecord } from "../journal/records.ts";
import { epochId, turnId } from "../util/ids.ts";
import { evaluateBudget, OUT_OF_MEMORY_LIMIT, pauseAfterDeath, type Budget, type ExhaustionReason } from "./budget.ts";
import type { Desk } from "./desk.ts";
import { RecoveryHookTimeoutError } from "./errors.ts";
import type { TurnHooks } from "./hooks.ts";
import {
  eventOfIncident,
  incidentId,
  incidentOf,
  type IncidentEvent,
  type RecoveryChoice,
  type RecoveryIncident
} from "./incident.ts";
import type { LiveTurn } from "./live-turn.ts";
import { outlineTurn, wholeTurn } from "./outline.ts";
import { storedChunks } from "./replay.ts";
import { salvage, type Salvage } from "./salvage.ts";
import { announceEnding, continuedMessages, settleTurn, type Ending } from "./settle.ts";
import { storableAnswer } from "./stream.ts";
import type { TurnOutcome } from "./turn.ts";

/** How long `onChatRecovery` may think. A later answer is ignored. */
export const RECOVERY_HOOK_MS = 10_000;

/** What an attempt that was told to begin anew leaves behind; the code of its end. */
export const DROPS_PARTIAL = "partial-dropped";

/** Above this, a partial answer is read only after that was recorded: a process that dies of it is counted. */
const LARGE_BYTES = 1024 * 1024;

/** What is read of a partial answer, whatever the class allows: it has to fit into memory several times over. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** What the records say about a turn that was attempted before, without what was written in it. */
export interface Outline {
  /** Inputs and outcomes of its calls are left out. */
  readonly turn: TurnFold;
  /** Undefined: it was never interrupted. */
  readonly budget: Budget | undefined;
  /** Why it must not be tried again. */
  readonly exhausted: ExhaustionReason | undefined;
  /** The newest attempt handed over by itself: nobody has to be asked again. */
  readonly isHandover: boolean;
}

/** Everything the records say about it. */
export interface Examined extends Outline {
  readonly salvage: Salvage;
  /** What was written could not be read, and the store has an answer from earlier, which stays as it is. */
  readonly isStored?: boolean;
}

export class Recovery {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Needs little memory, whatever the turn has written. */
  outline(open: OpenTurn): Outline {
    return this.#outlineOf(outlineTurn(this.#desk.init, open));
  }

  #outlineOf(turn: TurnFold): Outline {
    const last = turn.attempts.at(-1);
    const isHandover = last?.end === "restarted" || last?.end === "overflow";
    const budget = this.#budget(turn);
    // One that reads it now is alive.
    const readingDeaths = turn.readBy.filter((epoch) => epoch !== this.#desk.epoch).length;
    // Also while a person is waited for: every start of the object would be its end.
    const exhausted = readingDeaths >= OUT_OF_MEMORY_LIMIT ? "out_of_memory" : budget?.exhausted;
    return { turn, budget, exhausted, isHandover };
  }

  /**
   * Reads what was written, up to a limit. Before much is read, that is on disk, and so is the death that came before: a
   * process that runs out of memory here loses what the platform has not yet stored.
   */
  async read(open: OpenTurn, live: LiveTurn): Promise<Examined> {
    if (this.#isLarge(open)) {
      this.#recordReading(open);
      await this.#desk.init.durable();
    }
    return this.#examine(open, live);
  }

  #examine(open: OpenTurn, live: LiveTurn): Examined {
    const { init } = this.#desk;
    const outline = this.#outlineOf(wholeTurn(init, open));
    const { turn, isHandover } = outline;
    const last = turn.attempts.at(-1);
    const dropsPartial = last?.end === "restarted" && last.errorCode === DROPS_PARTIAL;
    const left = salvage({
      turn,
      messageId: live.admitted.messageId,
      ...continuedMessages(this.#desk, live),
      chunks: dropsPartial ? [] : storedChunks(init.journal, open, turn.kept),
      repairPart: (part) => init.hooks.repairPart(part, live.view.requestId),
      annotate: (chunk) => init.hooks.annotateRepair?.(chunk) ?? chunk,
      wholeSteps: isHandover,
      limits: { answerBytes: Math.min(answerLimit(init.hooks), MAX_READ_BYTES), heldChars: MAX_READ_BYTES }
    });
    return { ...outline, salvage: left };
  }

  /** The same of a turn whose content nobody can read. */
  unread(live: LiveTurn, outline: Outline): Examined {
    const { messageId } = live.admitted;
    const isStored = this.#desk.init.transcript.has(messageId);
    const nothing = { turn: { calls: NO_CALLS }, messageId, base: undefined, chunks: [], clientTools: NO_TOOLS };
    return { ...outline, salvage: salvage({ ...nothing, repairPart: (part) => part }), isStored };
  }

  #isLarge(open: OpenTurn): boolean {
    return this.#desk.init.journal.reader.bytesSince(open) > LARGE_BYTES;
  }

  #recordReading(open: OpenTurn): void {
    const { init, epoch } = this.#desk;
    const id = turnId(open.turnId);
    init.journal.writer.append([{ type: "recovery-started", turnId: id, at: this.#desk.now(), epoch: epochId(epoch) }]);
  }

  /** The process that ran the newest attempt is gone. */
  noteDeath(live: LiveTurn, { turn }: Outline): void {
    const { maxInterruptedAttempts } = this.#desk.init.hooks.recovery;
    this.handOver(live, {
      reason: "interrupted",
      error: null,
      retryAt: pauseAfterDeath({ attempts: turn.attempts, nowMs: this.#desk.now(), maxInterruptedAttempts })
    });
  }

  /** The attempt is over and the turn goes on. `records` are what it had not written yet. */
  handOver(
    live: LiveTurn,
    end: Pick<AttemptEnded, "reason" | "error" | "retryAt">,
    records: readonly JournalRecord[] = []
  ): void {
    const { journal } = this.#desk.init;
    const id = turnId(live.admitted.turnId);
    const attempt = this.#desk.openTurnOf(live)?.attempt ?? live.attempt;
    journal.writer.append([...records, { type: "attempt-ended", turnId: id, attempt, at: this.#desk.now(), ...end }]);
    if (end.reason === "restarted" || end.reason === "overflow") return;
    this.#tell(live);
  }

  #tell(live: LiveTurn): void {
    const open = this.#desk.openTurnOf(live);
    // A turn that is not recovered ends at once: there is nothing to wait for.
    if (!open || !this.#desk.init.hooks.recovery.enabled) return;
    const { budget, exhausted } = this.outline(open);
    const event = this.#eventOfOpen(open, live);
    if (budget && event) {
      const { emit } = this.#desk.init;
      if (budget.detections === 1) emit("chat:recovery:detected", event);
      emit("chat:recovery:attempt", event);
      if (!exhausted) emit("chat:recovery:scheduled", event);
    }
    this.#desk.readers.interrupted(live.view);
  }

  /** Whether there is something to continue is read, unless that is large: then there is. */
  #eventOfOpen(open: OpenTurn, live: LiveTurn): IncidentEvent | undefined {
    if (this.#isLarge(open)) return this.eventOf(live);
    const incident = this.incident(live, this.#examine(open, live));
    return incident && eventOfIncident(incident);
  }

  incident(live: LiveTurn, { turn, salvage: left, budget }: Examined): RecoveryIncident | undefined {
    if (!budget) return undefined;
    const policy = this.#desk.init.hooks.recovery;
    return incidentOf({ live, turn, salvage: left, budget, policy, nowMs: this.#desk.now() });
  }

  /** The user's policy, from the second interruption on. */
  async mayGoOn(live: LiveTurn, examined: Examined): Promise<boolean> {
    const incident = this.incident(live, examined);
    if (!incident || examined.isHandover || (examined.budget?.detections ?? 0) < 2) return true;
    return this.#desk.init.hooks.keepsRecovering(live.context(live.attempt), incident);
  }

  /** What becomes of the partial answer, and of the turn. Throws what the hook throws. */
  async ask(live: LiveTurn, examined: Examined): Promise<RecoveryChoice> {
    const incident = this.incident(live, examined);
    if (!incident || examined.isHandover) return { persist: true, continue: true };
    const { hooks, clock } = this.#desk.init;
    const turn = live.context(live.attempt);
    const answer = hooks.runIn(turn, () => hooks.recover(turn, incident));
    const late = () => new RecoveryHookTimeoutError(RECOVERY_HOOK_MS);
    return beforeDeadline(answer, { clock, timeoutMs: RECOVERY_HOOK_MS, late });
  }

  /** The same for every cause: the event, the user's hook, the outcome with the configured text. */
  async giveUp(live: LiveTurn, examined: Examined, reason: ExhaustionReason): Promise<TurnOutcome> {
    const { hooks, emit } = this.#desk.init;
    const incident = this.incident(live, examined);
    if (incident) {
      emit("chat:recovery:exhausted", { ...eventOfIncident(incident), reason });
      await hooks.exhausted(live.context(live.attempt), { ...incident, reason });
    }
    const told = { status: "error", reason, error: hooks.recovery.terminalMessage, givenUp: true } as const;
    const ending: Ending = { ...leftOf(examined), ...told };
    try {
      return settleTurn(this.#desk, live, ending);
    } catch (error) {
      // People learn of it even if the disk does not; the turn stays open and is given up again.
      announceEnding(this.#desk, live, { ...told, streamed: true });
      throw error;
    }
  }

  /** What events tell of the incident of an open turn; undefined when there is none, or nothing is recovered. */
  eventOf(live: LiveTurn): IncidentEvent | undefined {
    const { recovery } = this.#desk.init.hooks;
    const open = this.#desk.openTurnOf(live);
    if (!recovery.enabled || open?.recoveringSince === undefined) return undefined;
    const { turn, budget } = this.outline(open);
    const { requestId, inputMessageIds, continuation } = live.view;
    return {
      incidentId: incidentId(requestId, inputMessageIds),
      requestId,
      attempt: budget?.attempt ?? 1,
      maxAttempts: recovery.maxAttempts,
      recoveryKind: !continuation && isRetry(turn) ? "retry" : "continue"
    };
  }

  /** The attempts of an open turn. */
  attemptsOf(live: LiveTurn): TurnFold["attempts"] {
    const open = this.#desk.openTurnOf(live);
    return open ? this.outline(open).turn.attempts : [];
  }

  #budget(turn: TurnFold): Budget | undefined {
    return evaluateBudget({
      attempts: turn.attempts,
      limits: this.#desk.init.hooks.recovery,
      nowMs: this.#desk.now(),
      isAwaiting: awaitedCalls(turn.calls).length > 0
    });
  }
}

/** What the class allows; a number that is no limit is none. */
function answerLimit({ maxAnswerBytes }: Pick<TurnHooks, "maxAnswerBytes">): number {
  return maxAnswerBytes > 0 ? maxAnswerBytes : Infinity;
}

const NO_TOOLS: ReadonlySet<string> = new Set();

/** The newest attempt went on from nothing, or the only one left nothing. */
function isRetry({ attempts, contentSequence }: TurnFold): boolean {
  const kind = attempts.at(-1)?.kind;
  return kind === "retry" || (kind === "first" && contentSequence === 0);
}

/** What a turn that ends between attempts leaves in the conversation. */
export function leftOf({ turn, salvage: left, isStored = false }: Examined): Pick<Ending, "left" | "streamed"> {
  const answer: UIMessage | undefined = storableAnswer(left.fold.message);
  const earlier = left.changedEarlier;
  return {
    left: { answer, isStored, ...(earlier && { earlier }) },
    streamed: turn.contentSequence > 0
  };
}

/** What the provider counted for the last call of an answer that was complete when the process died. */
export function countedOf({ turn }: Examined): Pick<Ending, "lastUsage"> {
  const { inputTokens, outputTokens } = turn.steps.lastUsage;
  return { lastUsage: { inputTokens: inputTokens ?? undefined, outputTokens: outputTokens ?? undefined } };
}
