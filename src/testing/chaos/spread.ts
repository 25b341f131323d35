// Choosing some of many, the same ones every time.
import { SeededIds } from "../inprocess/seeded-ids.ts";

/** At most `limit` of the items, evenly spread. */
export function spread<T>(items: readonly T[], limit: number): T[] {
  if (items.length <= limit) return [...items];
  const at = (index: number) => Math.floor((index * limit) / items.length);
  return items.filter((_, index) => at(index) !== at(index - 1));
}

/** Numbers from 0 to 1 that a seed decides. */
export function seededRandom(seed: number): () => number {
  const ids = new SeededIds(seed);
  return () => ids.random();
}
