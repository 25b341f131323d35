// When the process dies during a round: chosen by a seed, spread over the time an undisturbed round takes. Some rounds
// are killed several times, some also while the process starts again, and some clients stay away for a while.
import type { WorkerServer } from "../../../tools/serve-worker.ts";
import { pause, type Round } from "./round.ts";

/** workerd needs about this long until it listens and has loaded the worker. */
const START_MS = 250;
/** How long clients may stay away after a kill. */
const AWAY_MS = 800;
const MOST_KILLS = 3;

export interface PlannedKill {
  /** After the round, or the process, began. */
  readonly afterMs: number;
  /** Killed again so long after the new process began to start. */
  readonly restartAfterMs?: number;
  readonly clientsAwayMs: number;
}

export function planKills(random: () => number, roundMs: number): PlannedKill[] {
  // Mostly one: what a single kill breaks is the easiest to understand.
  const count = random() < 0.6 ? 1 : 2 + Math.floor(random() * (MOST_KILLS - 1));
  let left = roundMs;
  return Array.from({ length: count }, () => {
    const afterMs = random() * left;
    left -= afterMs;
    const isKilledInRestart = random() < 0.2;
    const clientsAwayMs = random() < 0.3 ? random() * AWAY_MS : 0;
    return { afterMs, clientsAwayMs, ...(isKilledInRestart && { restartAfterMs: random() * START_MS }) };
  });
}

/** Kills and starts the process as planned until the round is over; the process runs when it returns. */
export async function carryOut(
  kills: readonly PlannedKill[],
  { server, round, over }: { server: WorkerServer; round: Round; over: AbortSignal }
): Promise<string[]> {
  const done: string[] = [];
  for (const { afterMs, restartAfterMs, clientsAwayMs } of kills) {
    await pause(afterMs, over);
    if (over.aborted) break;
    await server.kill();
    done.push(`${Math.round(afterMs)} ms (${round.current})`);
    if (clientsAwayMs > 0) for (const client of round.clients) client.stayAway(clientsAwayMs);
    if (restartAfterMs !== undefined) {
      // It may have been killed before it listened, and says so.
      const starting = server.start().catch(() => undefined);
      await pause(restartAfterMs);
      await server.kill();
      await starting;
      done.push(`start + ${Math.round(restartAfterMs)} ms`);
    }
    await server.start();
  }
  return done;
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
