// Which records tell of a recovery: an attempt that ended before its turn did, and the attempt that took over. Pure.
import type { JournalEntry } from "everthink";

/** Takes the records newest first, as they are shown. */
export function recoveryPositions(entries: readonly JournalEntry[]): ReadonlySet<number> {
  const found = new Set<number>();
  entries.forEach(({ position, type, turnId }, index) => {
    const earlier = entries[index + 1];
    if (type !== "attempt-started" || earlier?.type !== "attempt-ended" || earlier.turnId !== turnId) return;
    found.add(position).add(earlier.position);
  });
  return found;
}
