// What became of the messages that were given to a busy conversation: one receipt each, from the records of its turn.
import type { UIMessage } from "ai";
import type { WaitingEntry } from "../journal/records.ts";
import type { TurnStore } from "./store.ts";
import { PASSED_ON, type Turn } from "./turn.ts";

export type ReceiptState =
  /** A steer that waits for the next step boundary. */
  | "accepted"
  /** A follow-up that waits for the turns before it. */
  | "queued"
  /** The running turn ended after `step`, and the model is given the message next. */
  | "applied"
  /** It is a turn of its own. */
  | "started"
  /** A sub-agent that the running turn waits for was given it. It is accepted again if that one ends without reading it. */
  | "passed"
  /** Its sender took it back. Nothing of it is stored. */
  | "withdrawn"
  /** It was cancelled, or the conversation was cleared, before it had an effect. */
  | "dropped";

/** What became of a message that was given to a busy conversation. */
export interface Receipt {
  /** Of the message, and of the turn that it is or becomes: `cancel` and the frames of its answer know it by this id. */
  readonly id: string;
  readonly kind: WaitingEntry;
  readonly state: ReceiptState;
  /** When it was accepted. */
  readonly at: number;
  readonly messageIds: readonly string[];
  /** While it waits: what it says now, and its place among those that wait, counted from 1. */
  readonly messages?: readonly UIMessage[];
  readonly place?: number;
  /** Of an applied one: the turn that ended for it, and after how many of that turn's model calls. Of a passed one: the run. */
  readonly to?: string;
  readonly step?: number;
}

/** It can still be edited and withdrawn. */
export function isWaiting({ admitted, fold, isOpen, isAnnounced }: Turn): boolean {
  const isHere = fold.attempt === 0 && fold.steered === null && fold.passedTo === null;
  return admitted.entry !== null && isOpen && isHere && !isAnnounced;
}

/** Steers first, then follow-ups, each in the order of their acceptance. */
export function waitingTurns(store: TurnStore): readonly Turn[] {
  return store.hasEntries ? store.queue.flatMap((open) => store.find(open) ?? []).filter(isWaiting) : [];
}

/** The steers that may take over from this turn. */
export function steersFor(store: TurnStore, running: Turn): readonly Turn[] {
  return waitingTurns(store).filter((steer) => mayTakeOver(steer, running));
}

/** A steer is for the conversation that it was written in: on another channel, other people read the answer. */
function mayTakeOver(steer: Turn, running: Turn): boolean {
  const { entry, generation, channel } = steer.admitted;
  const { generation: now, channel: shown } = running.admitted;
  return entry === "steer" && generation === now && channel === shown && !steer.signal.aborted;
}

export function receiptOf(store: TurnStore, turn: Turn): Receipt {
  const { admitted, fold, requestId: id } = turn;
  const { inputMessageIds: messageIds, at } = admitted;
  const kind = admitted.entry ?? "follow-up";
  const common = { id, kind, at, messageIds };
  const { steered, outcome, passedTo } = fold;
  if (steered) return { ...common, state: "applied", to: steered.fromRequestId, step: steered.step };
  if (fold.attempt > 0) return { ...common, state: "started" };
  if (passedTo !== null && (!outcome || outcome.reason === PASSED_ON)) {
    return { ...common, state: "passed", to: passedTo };
  }
  if (outcome) return { ...common, state: outcome.reason === WITHDRAWN ? "withdrawn" : "dropped" };
  if (!isWaiting(turn)) return { ...common, state: "dropped" };
  return {
    ...common,
    state: kind === "steer" ? "accepted" : "queued",
    // Stored by `admit` as the messages they are.
    messages: admitted.input as readonly unknown[] as readonly UIMessage[],
    place: waitingTurns(store).indexOf(turn) + 1
  };
}

export function announceReceipt(store: TurnStore, turn: Turn): void {
  store.listeners.receipt(receiptOf(store, turn));
}

/** Those that wait, in the order in which they will take effect. */
export function waitingReceipts(store: TurnStore): Receipt[] {
  return waitingTurns(store).map((turn) => receiptOf(store, turn));
}

/** Why a turn ended that was taken back while it waited. */
export const WITHDRAWN = "withdrawn";
