// What a scenario is: one thing done to one contender in one round, giving the numbers it found. Clients are connected
// before the round begins, as users are before they ask.
import type { Arena } from "../arena.ts";
import type { Sample } from "../metrics.ts";

export interface Scenario {
  name: string;
  /**
   * "light" runs in every round; "heavy" too, but only once in a quick run; "exact" gives counts that do not vary much
   * and runs in three rounds at most; "once" runs in one.
   */
  weight: "light" | "heavy" | "exact" | "once";
  /** Left out of quick runs. */
  isSlow?: true;
  /** Before the round: gives objects their past and opens the clients that `run` uses. Not measured. */
  prepare?(arena: Arena, round: number): Promise<void>;
  run(arena: Arena, round: number): Promise<Sample>;
}

/** What an object does after an answer is done (notes, clean-up, alarms) belongs to the turn it came from. */
const QUIET_MS = 100;

export function untilQuiet(): Promise<void> {
  return pause(QUIET_MS);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
