// SIGKILL at random points of a real workerd process: rounds of one conversation, each compared with a round that was not
// disturbed. `runProcessChaos` is for tests and for the chaos tool; by itself `node tools/chaos-process.ts [kills] [seed]`
// prints a line per round and exits 1 on any difference. `dist/` must have been built.
import { fileURLToPath } from "node:url";
import { carryOut, planKills, seededRandom } from "../test/chaos/process/kills.ts";
import { Round, type RoundRecord } from "../test/chaos/process/round.ts";
import { judge } from "../test/chaos/process/verdict.ts";
import { serveWorker, type WorkerServer } from "./serve-worker.ts";

/** Processes that are killed beside each other. Recovery waits between quick deaths, so one alone would mostly wait. */
const DEFAULT_LANES = 3;
const DEFAULT_KILLS = 100;

export interface ProcessChaosOptions {
  /** SIGKILLs in all; the round in which the last one falls is played to its end. */
  kills: number;
  seed: number;
  log?: (line: string) => void;
  lanes?: number;
  /** The build of another release: each start after a kill runs the other one of the two. */
  otherBuild?: string;
}

export interface ProcessRound {
  seed: number;
  kills: string[];
  differences: string[];
  /** Calls whose outcome was lost with the process, and is shown as such. */
  cutOffCalls: number;
  durationMs: number;
}

export interface ProcessChaosResult {
  rounds: ProcessRound[];
  kills: number;
  /** Of all rounds, each with its seed. */
  differences: string[];
}

export async function runProcessChaos(options: ProcessChaosOptions): Promise<ProcessChaosResult> {
  const { kills, seed, log = () => undefined, lanes = DEFAULT_LANES, otherBuild } = options;
  const tally = { kills: 0, next: seed };
  const rounds: ProcessRound[] = [];
  const lane = async () => {
    const server = await serveWorker({ entry: ENTRY, objects: ["Survivor"] });
    try {
      const expected = await playUndisturbed(server);
      let { durationMs } = expected;
      if (otherBuild !== undefined) server.deployInTurn([otherBuild, server.build]);
      while (tally.kills < kills) {
        const round = await playKilled(server, { ...expected, durationMs }, tally.next++);
        tally.kills += round.kills.length;
        rounds.push(round);
        log(describe(round));
        // It was over before its time: the machine has become faster.
        if (round.kills.length === 0) durationMs = round.durationMs;
      }
    } finally {
      await server.stop();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const differences = rounds.flatMap((round) => round.differences.map((text) => `seed ${round.seed}: ${text}`));
  return { rounds, kills: tally.kills, differences };
}

const ENTRY = new URL("../test/chaos/process/survivor-worker.ts", import.meta.url);

/** Twice: a conversation that differs from itself proves nothing, and the first is slower than all others. */
async function playUndisturbed(server: WorkerServer): Promise<RoundRecord> {
  const first = await new Round(agentUrl(server, "undisturbed-1")).play();
  const second = await new Round(agentUrl(server, "undisturbed-2")).play();
  const problems = judge(first, second);
  if (problems.length > 0) throw new Error(`Without any kill: ${problems.join("; ")}`);
  return second;
}

async function playKilled(server: WorkerServer, expected: RoundRecord, seed: number): Promise<ProcessRound> {
  const plan = planKills(seededRandom(seed), expected.durationMs);
  const over = new AbortController();
  const round = new Round(agentUrl(server, `round-${seed}`));
  const killing = carryOut(plan, { server, round, over: over.signal });
  const record = await round.play();
  over.abort();
  const kills = await killing;
  const { cutOff, durationMs } = record;
  return { seed, kills, differences: judge(expected, record), cutOffCalls: cutOff.size, durationMs };
}

function agentUrl(server: WorkerServer, name: string): string {
  return `${server.url}/agents/survivor/${name}`;
}

function describe({ seed, kills, differences, cutOffCalls }: ProcessRound): string {
  const cutOff = cutOffCalls > 0 ? `, ${cutOffCalls} calls cut off` : "";
  const verdict = differences.length === 0 ? `ok${cutOff}` : `DIFFERENT\n  ${differences.join("\n  ")}`;
  return `seed ${seed}, killed at ${kills.join(", ") || "no time"}: ${verdict}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [kills = DEFAULT_KILLS, seed = 1] = process.argv.slice(2).map(Number);
  const startedAt = performance.now();
  const result = await runProcessChaos({ kills, seed, log: console.log });
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const { rounds, differences } = result;
  console.log(`${result.kills} kills in ${rounds.length} rounds, ${differences.length} differences, ${seconds} s`);
  if (differences.length > 0) process.exitCode = 1;
}
