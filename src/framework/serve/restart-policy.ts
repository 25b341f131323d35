// What follows when workerd has ended by itself: a restart after a pause, or giving up. Pure.
import { backoffMs, type Backoff } from "../../util/backoff.ts";

/** A run at least this long counts as healthy: the next death is the first again. */
export const STABLE_MS = 60_000;
/** Deaths in a row, each within STABLE_MS of its start, after which the supervisor gives up. */
export const QUICK_DEATH_LIMIT = 10;
const PAUSES: Backoff = { baseMs: 500, maxMs: 30_000 };

export type AfterDeath =
  { do: "restart"; afterMs: number; quickDeaths: number } | { do: "give-up"; quickDeaths: number };

/** `quickDeaths` are those in a row before this one. */
export function afterDeath(quickDeaths: number, ranMs: number): AfterDeath {
  if (ranMs >= STABLE_MS) return { do: "restart", afterMs: 0, quickDeaths: 0 };
  const deaths = quickDeaths + 1;
  if (deaths >= QUICK_DEATH_LIMIT) return { do: "give-up", quickDeaths: deaths };
  // The first one is most often a single accident: clients should hardly notice.
  const afterMs = deaths === 1 ? 0 : backoffMs(deaths - 2, PAUSES);
  return { do: "restart", afterMs, quickDeaths: deaths };
}
