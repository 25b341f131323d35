// When the process of a round is killed: at moments that a seed chooses, and at the moment an effect arrives outside, before or
// after it is answered.
import { seededRandom } from "../../chaos/process/kills.ts";
import { PROMISES } from "./promises.ts";

export type PlannedKill =
  | { readonly afterMs: number; readonly restartAfterMs?: number }
  | {
      readonly at: string;
      readonly phase: "begin" | "end";
      readonly isAnswered: boolean;
      readonly restartAfterMs?: number;
    };

const TARGETED = 0.75;
const MOST_MS = 1_500;
/** Some are killed again while they start. */
const IN_RESTART = 0.1;
const START_MS = 400;

/** It waits for its minute: the last kill of a round that has tasks is at this one. */
export const TASK_KIND = "scheduled task";

/** The same for the same seed. The kinds at which the process is killed come in turn. */
export function planKills(seed: number, count: number, hasTasks = true): PlannedKill[] {
  const random = seededRandom(seed);
  const others = Object.keys(PROMISES).filter((kind) => kind !== TASK_KIND);
  const kinds = shuffled(others, random);
  let next = 0;
  const target = (at: string) => ({ at, phase: random() < 0.6 ? "begin" : "end", isAnswered: random() < 0.4 }) as const;
  return Array.from({ length: count }, (_, index) => {
    if (hasTasks && index === count - 1) return target(TASK_KIND);
    const again = random() < IN_RESTART ? { restartAfterMs: random() * START_MS } : {};
    if (random() >= TARGETED) return { afterMs: random() * MOST_MS, ...again };
    return { ...target(kinds[next++ % kinds.length] ?? ""), ...again };
  });
}

function shuffled<Item>(items: Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

export function describeKill(kill: PlannedKill): string {
  const again = kill.restartAfterMs === undefined ? "" : ", again in the restart";
  if (!("at" in kill)) return `${Math.round(kill.afterMs)} ms${again}`;
  return `${kill.at} ${kill.phase}${kill.isAnswered ? ", answered" : ""}${again}`;
}
