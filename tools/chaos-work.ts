// SIGKILLs of a real process whose conversations use every kind of durable work at once: `node tools/chaos-work.ts [kills] [seed]`
// prints a line per round and a table per kind, and exits 1 if anything was lost or repeated beyond what the kind's page says.
// `dist/` must have been built.
import { formatWorkChaos, runWorkChaos } from "../test/process/work/run.ts";

const DEFAULT_KILLS = 300;

const [kills = DEFAULT_KILLS, seed = 1] = process.argv.slice(2).map(Number);
const startedAt = performance.now();
const result = await runWorkChaos({ kills, seed, log: console.log });
const seconds = Math.round((performance.now() - startedAt) / 1_000);
console.log(`\n${formatWorkChaos(result)}\n`);
console.log(
  `Seed ${seed}: ${result.kills} kills in ${result.rounds} rounds, ${result.problems.length} problems, ${seconds} s`
);
if (result.problems.length > 0) process.exitCode = 1;
