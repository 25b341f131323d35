// The shell around recovery: reads what an interrupted turn left, records interruptions, asks the user's hooks, and gives
// up in one way whatever the cause. What to do is decided by classify.ts, how far by budget.ts, from where by salvage.ts.
import type { UIMessage } from "ai";
import { beforeDeadline } from "../host/deadline.ts";
import { awaitedCalls } from "../journal/folds/calls-fold.ts";
import { emptyTurn, foldTurn, type TurnFold } from "../journal/folds/turn-fold.ts";
import type { OpenTurn } from "../journal/conversation.ts";
import type { AttemptEnded, JournalRecord } from "../journal/records.ts";
import { turnId } from "../util/ids.ts";
import { evaluateBudget, pauseAfterDeath, type Budget, type ExhaustionReason } from "./budget.ts";
import type { Desk } from "./desk.ts";
import { RecoveryHookTimeoutError } from "./errors.ts";
import {
  eventOfIncident,
  incidentId,
  incidentOf,
  type IncidentEvent,
  type RecoveryChoice,
  type RecoveryIncident
} from "./incident.ts";
import type { LiveTurn } from "./live-turn.ts";
import { storedChunks } from "./replay.ts";
import { salvage, type Salvage } from "./salvage.ts";
import { announceEnding, continuedMessages, settleTurn, type Ending } from "./settle.ts";
import { storableAnswer } from "./stream.ts";
import type { TurnOutcome } from "./turn.ts";

/** How long `onChatRecovery` may think. A later answer is ignored. */
export const RECOVERY_HOOK_MS = 10_000;

/** What an attempt that was told to begin anew leaves behind; the code of its end. */
export const DROPS_PARTIAL = "partial-dropped";

/** Everything the records say about a turn that was attempted before. */
export interface Examined {
  readonly turn: TurnFold;
  readonly salvage: Salvage;
  /** Undefined: it was never interrupted. */
  readonly budget: Budget | undefined;
  /** The newest attempt handed over by itself: nobody has to be asked again. */
  readonly isHandover: boolean;
}

export class Recovery {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  examine(open: OpenTurn, live: LiveTurn): Examined {
    const turn = this.#read(open);
    const last = turn.attempts.at(-1);
    const isHandover = last?.end === "restarted" || last?.end === "overflow";
    const dropsPartial = last?.end === "restarted" && last.errorCode === DROPS_PARTIAL;
    const { init } = this.#desk;
    const left = salvage({
      turn,
      messageId: live.admitted.messageId,
      ...continuedMessages(this.#desk, live),
      chunks: dropsPartial ? [] : [...storedChunks(init.journal, open)],
      repairPart: (part) => init.hooks.repairPart(part, live.view.requestId),
      annotate: (chunk) => init.hooks.annotateRepair?.(chunk) ?? chunk,
      wholeSteps: isHandover
    });
    return { turn, salvage: left, budget: this.#budget(turn), isHandover };
  }

  /** The process that ran the newest attempt is gone. */
  noteDeath(live: LiveTurn, { turn }: Examined): void {
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
    const examined = this.examine(open, live);
    const incident = this.incident(live, examined);
    if (incident) {
      const event = eventOfIncident(incident);
      const { emit } = this.#desk.init;
      if (examined.budget?.detections === 1) emit("chat:recovery:detected", event);
      emit("chat:recovery:attempt", event);
      if (!examined.budget?.exhausted) emit("chat:recovery:scheduled", event);
    }
    this.#desk.readers.interrupted(live.view);
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
    const ending: Ending = { ...leftOf(examined), status: "error", reason, error: hooks.recovery.terminalMessage };
    try {
      return settleTurn(this.#desk, live, ending);
    } catch (error) {
      // People learn of it even if the disk does not; the turn stays open and is given up again.
      announceEnding(this.#desk, live, { status: "error", error: hooks.recovery.terminalMessage, streamed: true });
      throw error;
    }
  }

  /** What events tell of the incident of an open turn; undefined when there is none, or nothing is recovered. */
  eventOf(live: LiveTurn): IncidentEvent | undefined {
    const { recovery } = this.#desk.init.hooks;
    const open = this.#desk.openTurnOf(live);
    if (!recovery.enabled || open?.recoveringSince === undefined) return undefined;
    const turn = this.#read(open);
    const { requestId, inputMessageIds, continuation } = live.view;
    return {
      incidentId: incidentId(requestId, inputMessageIds),
      requestId,
      attempt: this.#budget(turn)?.attempt ?? 1,
      maxAttempts: recovery.maxAttempts,
      recoveryKind: !continuation && isRetry(turn) ? "retry" : "continue"
    };
  }

  /** The attempts of an open turn. */
  attemptsOf(live: LiveTurn): TurnFold["attempts"] {
    const open = this.#desk.openTurnOf(live);
    return open ? this.#read(open).attempts : [];
  }

  #budget(turn: TurnFold): Budget | undefined {
    return evaluateBudget({
      attempts: turn.attempts,
      limits: this.#desk.init.hooks.recovery,
      nowMs: this.#desk.now(),
      isAwaiting: awaitedCalls(turn.calls).length > 0
    });
  }

  #read(open: OpenTurn): TurnFold {
    const id = turnId(open.turnId);
    let turn = emptyTurn(id);
    const options = { after: open.firstSequence - 1, turnId: id, outline: true };
    for (const page of this.#desk.init.journal.reader.pages(options)) turn = foldTurn(turn, page.entries);
    return turn;
  }
}

/** The newest attempt went on from nothing, or the only one left nothing. */
function isRetry({ attempts, contentSequence }: TurnFold): boolean {
  const kind = attempts.at(-1)?.kind;
  return kind === "retry" || (kind === "first" && contentSequence === 0);
}

/** What a turn that ends between attempts leaves in the conversation. */
export function leftOf({ turn, salvage: left }: Examined): Pick<Ending, "left" | "streamed"> {
  const answer: UIMessage | undefined = storableAnswer(left.fold.message);
  const earlier = left.changedEarlier;
  return {
    left: { answer, chunkCount: turn.nextChunk, ...(earlier && { earlier }) },
    streamed: turn.contentSequence > 0
  };
}

/** What the provider counted for the last call of an answer that was complete when the process died. */
export function countedOf({ turn }: Examined): Pick<Ending, "lastUsage"> {
  const { inputTokens, outputTokens } = turn.steps.lastUsage;
  return { lastUsage: { inputTokens: inputTokens ?? undefined, outputTokens: outputTokens ?? undefined } };
}
