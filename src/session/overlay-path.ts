// Which of the summaries of a path its histories show, and where two paths part. Pure over headers.
import type { MessageHeader } from "./message-rows.ts";
import type { Overlay } from "./overlay-rows.ts";

/**
 * Of summaries whose both ends are on one path, those that are shown, by position. Read from the root: where several
 * start at one message the newest stands for them, and what starts inside of a shown one is not seen.
 */
export function shownOf<Item extends Overlay>(onPath: readonly Item[]): Item[] {
  const newest = new Map<number, Item>();
  for (const overlay of onPath) {
    const rival = newest.get(overlay.fromSequence);
    if (rival === undefined || rival.sequence < overlay.sequence) newest.set(overlay.fromSequence, overlay);
  }
  const shown: Item[] = [];
  let coveredThrough = Number.NEGATIVE_INFINITY;
  for (const overlay of [...newest.values()].sort((first, second) => first.fromSequence - second.fromSequence)) {
    if (overlay.fromSequence <= coveredThrough) continue;
    shown.push(overlay);
    coveredThrough = overlay.toSequence;
  }
  return shown;
}

/** Where a path leaves the active one. */
export interface Meeting {
  /** Order of writing of the newest message on both; negative if there is none, or none that matters. */
  readonly sequence: number;
  /** Messages of the path that are not on the active one. */
  readonly apart: ReadonlySet<string>;
}

export const NO_MEETING: Meeting = { sequence: Number.NEGATIVE_INFINITY, apart: new Set() };

/** Walks both paths up until they meet, or until nothing at or after `downTo` is left: short when they parted lately. */
export function meetingOf(path: Iterable<MessageHeader>, activePath: Iterable<MessageHeader>, downTo: number): Meeting {
  const apart = new Set<string>();
  const active = activePath[Symbol.iterator]();
  let other = active.next();
  for (const header of path) {
    if (header.sequence < downTo) break;
    while (!other.done && other.value.sequence > header.sequence) other = active.next();
    if (!other.done && other.value.id === header.id) return { sequence: header.sequence, apart };
    apart.add(header.id);
  }
  return { ...NO_MEETING, apart };
}

export function isOnPathOf(overlay: Overlay, { sequence, apart }: Meeting): boolean {
  return (overlay.isOnPath === 1 && overlay.toSequence <= sequence) || apart.has(overlay.toId);
}
