// A short kill run of conversations that use every kind of durable work at once; `npm run chaos:work` kills 300 times.
import { expect, test } from "vitest";
import { formatWorkChaos, runWorkChaos } from "./run.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 10);
/** The minute of scheduled tasks is waited for if it is near: the whole run takes less than one. */
const TASKS_WITHIN_MS = 35_000;
const SEED = Number(process.env["EVERTHINK_SEED"] ?? 1);

test(
  `through ${KILLS} kills of a process that does every kind of work at once, nothing is lost or repeated beyond what its page says`,
  async () => {
    const result = await runWorkChaos({ kills: KILLS, seed: SEED, tasksWithinMs: TASKS_WITHIN_MS });
    console.log(`seed ${SEED}, ${result.kills} kills\n${formatWorkChaos(result)}`);
    expect(result.problems).toEqual([]);
    expect(result.kills).toBeGreaterThanOrEqual(KILLS);
  },
  // What is lost is waited for.
  300_000 + KILLS * 10_000
);
