// The turns of a conversation that have no outcome yet, in the order of their admission, each with its own fold.
// It is the queue, the answer to "is anything pending?", and what a wake has to look at. The conversation's row
// lists the same turns without reading the journal; this fold is what that list must agree with.
import type { TurnId } from "../../util/ids.ts";
import type { JournalEntry } from "../records.ts";
import { emptyTurn, foldTurnEntry, type TurnFold } from "./turn-fold.ts";

export type QueueFold = ReadonlyMap<TurnId, TurnFold>;

export const EMPTY_QUEUE: QueueFold = new Map();

export function foldQueue(queue: QueueFold, entries: Iterable<JournalEntry>): QueueFold {
  const turns = new Map(queue);
  for (const entry of entries) {
    const { turnId, type } = entry.record;
    if (turnId === null) continue;
    const known = turns.get(turnId);
    // A record of a turn that is not here belongs to one that has settled: only an admission opens a turn.
    if (!known && type !== "turn-admitted") continue;
    const turn = foldTurnEntry(known ?? emptyTurn(turnId), entry);
    if (turn.phase === "settled") turns.delete(turnId);
    else turns.set(turnId, turn);
  }
  return turns;
}

/** The turn whose turn it is: the oldest that does not wait for somebody else. */
export function headOfQueue(queue: QueueFold): TurnFold | undefined {
  for (const turn of queue.values()) if (turn.phase !== "parked") return turn;
  return undefined;
}
