// Messages for a conversation that is busy. Each is an admitted turn like any other, so it is durable when it is accepted and
// reaches exactly one outcome. A steer goes before all other turns that wait, and ends the running one at its next step
// boundary: one record says that it takes over, and after that record it can neither be edited nor withdrawn.
import type { UIMessage } from "ai";
import type { JournalRecord, SteerApplied } from "../journal/records.ts";
import { byteLength } from "../util/bytes.ts";
import type { TurnId } from "../util/ids.ts";
import type { Json } from "../util/json.ts";
import type { Admission } from "./admit.ts";
import { turnErrors } from "./errors.ts";
import { Passing } from "./passing.ts";
import { announceReceipt, isWaiting, receiptOf, steersFor, waitingTurns, WITHDRAWN, type Receipt } from "./receipts.ts";
import { announceEnding, recordEnding } from "./settle.ts";
import type { TurnStore } from "./store.ts";
import { PASSED_ON, STEERED, SUPERSEDED, Turn, type TurnOutcome, type TurnView } from "./turn.ts";

/** Steers and follow-ups that may wait in one conversation. */
export const WAITING_LIMIT = 32;
/** Of one of them, as JSON. */
export const WAITING_LIMIT_BYTES = 256 * 1024;

/** Throws when one more, or one as large as this, is not taken. */
export function checkEntry(store: TurnStore, { input }: Pick<Admission, "input">): void {
  if (waitingTurns(store).length >= WAITING_LIMIT) throw turnErrors.WaitingFullError(WAITING_LIMIT);
  checkSize(input);
}

function checkSize(input: unknown): void {
  if (byteLength(JSON.stringify(input)) > WAITING_LIMIT_BYTES) {
    throw turnErrors.WaitingTooLargeError(WAITING_LIMIT_BYTES);
  }
}

/** Why a turn ended that was to end after a step. */
export const STOPPED_AFTER_STEP = "stopped-after-step";

/** What clients and code may do with messages that wait, and with the running turn. */
export class Steering {
  readonly #store: TurnStore;
  readonly #drive: () => void;
  /** Messages that sub-agents of the running turn are given. */
  readonly passing: Passing;

  constructor(store: TurnStore, drive: () => void) {
    this.#store = store;
    this.#drive = drive;
    this.passing = new Passing(store, drive);
  }

  /** Those that wait, in the order in which they will take effect. */
  waiting(): Receipt[] {
    return waitingTurns(this.#store).map((turn) => receiptOf(this.#store, turn));
  }

  /** Of a steer or a follow-up, as long as its records are kept. */
  receipt(id: string): Receipt | undefined {
    const turn = this.#store.findByRequest(id) ?? this.#findEnded(id);
    return turn && turn.admitted.entry !== null ? receiptOf(this.#store, turn) : undefined;
  }

  #findEnded(id: string): Turn | undefined {
    const fold = this.#store.endedFold(id);
    const { folds } = this.#store.init.journal;
    return fold?.admission ? new Turn({ admitted: fold.admission, fold, folds }) : undefined;
  }

  /** The open turn that answers what this one was asked, which is over: it took over, or has its messages. */
  answererOf({ turnId, steered }: TurnView, outcome: TurnOutcome): TurnView | undefined {
    if (outcome.reason === PASSED_ON) return this.#store.started?.view();
    const from =
      outcome.reason === STEERED ? turnId : steered && outcome.reason === SUPERSEDED ? steered.from : undefined;
    // Brand of an id that the engine gave.
    return from === undefined ? undefined : lastHeir(this.#store, from as TurnId)?.view();
  }

  /** The message that was given under this key is answered by a turn that was given under another. */
  isAnsweredElsewhere(key: string): boolean {
    return this.#store.init.idempotency.turn(key)?.reason === STEERED;
  }

  /** The last turn that took over from this one; the request itself, if none did or its records are gone. */
  endOfChain(requestId: string): string {
    const steeredBy = this.#store.endedFold(requestId)?.outcome?.steeredBy;
    return steeredBy === undefined ? requestId : this.endOfChain(steeredBy);
  }

  /** Replaces what a waiting message says. It keeps its id and its place. Throws NotWaitingError after it took effect. */
  edit(id: string, parts: UIMessage["parts"]): Receipt {
    const { conversation, journal } = this.#store.init;
    const turn = this.#findWaiting(id);
    const [first] = turn.admitted.input as readonly unknown[] as readonly UIMessage[];
    if (!first) throw turnErrors.NotWaitingError();
    const input = [{ ...first, parts }];
    checkSize(input);
    const edited = input as readonly unknown[] as readonly Json[];
    journal.writer.append([{ type: "input-edited", turnId: turn.turnId, at: this.#store.now(), input: edited }]);
    conversation.afterCommit(() => {
      this.#store.listeners.transcriptChanged(undefined);
      announceReceipt(this.#store, turn);
    });
    return receiptOf(this.#store, turn);
  }

  /** Takes a waiting message back: it never becomes part of the conversation. Throws NotWaitingError after it took effect. */
  withdraw(id: string): Receipt {
    const { listeners, init } = this.#store;
    const turn = this.#findWaiting(id);
    const { place: _place, messages: _messages, ...known } = receiptOf(this.#store, turn);
    const receipt: Receipt = { ...known, state: "withdrawn" };
    const outcome = recordEnding(this.#store, turn, { status: "skipped", reason: WITHDRAWN });
    init.conversation.afterCommit(() => {
      announceEnding(this.#store, turn, outcome);
      listeners.receipt(receipt);
      listeners.transcriptChanged(undefined);
      this.#store.forget(turn);
      turn.resolve(outcome);
      this.#drive();
    });
    return receipt;
  }

  /** Ends a turn before its next model call, with what it has. Without an id: the one that runs. False: there is none. */
  stopAfterStep(requestId?: string): boolean {
    const turn = requestId === undefined ? this.#store.started : this.#store.findChain(requestId);
    if (!turn?.isOpen || turn.fold.attempt === 0) return false;
    if (turn.fold.stops) return true;
    this.#store.init.journal.writer.append([
      { type: "turn-stop-requested", turnId: turn.turnId, at: this.#store.now() }
    ]);
    return true;
  }

  #findWaiting(id: string): Turn {
    const turn = this.#store.findByRequest(id);
    if (!turn || !isWaiting(turn)) throw turnErrors.NotWaitingError();
    return turn;
  }
}

/** What a turn has used at a step boundary. */
export interface Boundary {
  /** Model calls of this turn. */
  readonly step: number;
  /** Tokens of this turn and of those that it took over from. */
  readonly tokens: number;
  /** What is not written yet. */
  readonly unwritten: readonly JournalRecord[];
}

/**
 * Whether the turn ends at this boundary. Steers that wait take over with it: all of them, because the model is to read
 * them together. Durable when it returns.
 */
export function endsHere(store: TurnStore, turn: Turn, boundary: () => Boundary): boolean {
  const steers = steersFor(store, turn);
  if (steers.length === 0) return turn.fold.stops;
  const { conversation, journal } = store.init;
  const { step, tokens, unwritten } = boundary();
  const root = turn.fold.steered;
  const at = store.now();
  const taken = {
    type: "steer-applied",
    at,
    from: turn.turnId,
    fromRequestId: turn.requestId,
    rootTurnId: root?.rootTurnId ?? turn.turnId,
    rootRequestId: root?.rootRequestId ?? turn.requestId,
    rootTrigger: root?.rootTrigger ?? turn.admitted.trigger,
    idempotencyId: root ? root.idempotencyId : turn.admitted.idempotencyId,
    step,
    steps: (root?.steps ?? 0) + step,
    tokens
  } as const satisfies Omit<SteerApplied, "turnId">;
  journal.writer.append([...unwritten, ...steers.map(({ turnId }) => ({ ...taken, turnId }))]);
  conversation.afterCommit(() => {
    for (const steer of steers) announceReceipt(store, steer);
  });
  return true;
}

/** The turn that takes over from this one. */
export function successorOf(store: TurnStore, { turnId }: Turn): Turn | undefined {
  return lastHeir(store, turnId);
}

/** A steer that another one follows at the same boundary: that one answers both. */
export function isMerged(store: TurnStore, turn: Turn): boolean {
  const { steered, attempt } = turn.fold;
  return steered !== null && attempt === 0 && lastHeir(store, steered.from) !== turn;
}

/** Of several that take over, the last that is not cancelled: the others only put their messages before it. */
function lastHeir(store: TurnStore, from: TurnId): Turn | undefined {
  const heirs = store.turns.filter(({ fold }) => fold.steered?.from === from);
  return heirs.findLast(({ signal }) => !signal.aborted) ?? heirs.at(-1);
}
