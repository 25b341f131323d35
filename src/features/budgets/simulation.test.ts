// The promise of budgets, simulated: whatever providers report, whoever dies and wherever the clock jumps, what was charged
// stays below every limit, but for what a provider charges beyond what it reports. A failure is printed with its seed, shrunk.
// `npm run budgets:simulate` runs it 100,000 times.
import fc from "fast-check";
import { expect, test } from "vitest";
import { events, newTally, SimulatedWorld } from "./simulation.test-support.ts";

const RUNS = Number(process.env["EVERTHINK_BUDGET_RUNS"] ?? 400);
const SEED = Number(process.env["EVERTHINK_BUDGET_SEED"] ?? Date.now() % 2 ** 31);

test(
  `Must hold 1 and 2: no limit is exceeded, and no reservation left, in ${RUNS} simulated runs (seed ${SEED})`,
  { timeout: 6 * 3_600_000 },
  () => {
    const tally = newTally();
    fc.assert(
      fc.property(events, (all) => new SimulatedWorld(tally).play(all)),
      { numRuns: RUNS, seed: SEED }
    );
    // The long mode is run for its numbers.
    if (RUNS > 1_000) process.stdout.write(`${JSON.stringify({ seed: SEED, ...tally })}\n`);
    // The runs came to something: calls were made, refused, lost and reported late.
    for (const count of Object.values(tally)) expect(count).toBeGreaterThan(0);
  }
);
