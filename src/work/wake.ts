// A wake of a kind whose items are claimed by wakes only (`byWake`): it lasts as long as the runs that it has begun.
import { happensWithin } from "../host/deadline.ts";
import type { Clock } from "../host/ports.ts";
import type { Work } from "./work.ts";

export interface Wake {
  readonly clock: Clock;
  /** How long it takes on what becomes due while earlier runs go on. */
  readonly pickupMs: number;
}

/** Runs what is due. Resolves when all runs have ended that began meanwhile, slow and cancelled ones included. */
export async function runInWake<Payload>(work: Work<Payload>, { clock, pickupMs }: Wake): Promise<void> {
  const before = new Set(work.running());
  let lookedAt = clock.now();
  const closesAt = lookedAt + pickupMs;
  await work.runDue();
  while (work.running().some((run) => !before.has(run))) {
    const now = clock.now();
    const at = Math.max(work.nextWake() ?? Infinity, now + 1);
    if (at > closesAt) await work.changed();
    else await happensWithin(at - now, work.changed(), clock);
    // Only after time has passed: a run that adds an item for now must go through the next wake, or one without I/O, for
    // which time stands still, would never let this one end.
    if (clock.now() > closesAt || (clock.now() === lookedAt && !work.isBehind)) continue;
    lookedAt = clock.now();
    await work.runDue();
  }
}
