// The kill run: rounds of conversations that use every kind of durable work at once, in one process, until it was killed so
// often. `npm run chaos:work` and the test of it share this.
import { FakeTelegram } from "../../../src/testing/messengers/index.ts";
import { serveWorker } from "../../../tools/serve-worker.ts";
import { planKills } from "./kill-plan.ts";
import { Outside } from "./outside.ts";
import { auditRound, NO_TALLY, PROMISES, type Tally } from "./promises.ts";
import { Round, type PlayedRound } from "./round.ts";

const KILLS_PER_ROUND = 25;
/** The tasks of a round are due in the next minute that is not nearer than this. */
const SOON_MS = 8_000;
const MINUTE_MS = 60_000;

export interface WorkChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** A round whose tasks would be due later than this has none. Default: each has tasks, and waits for their minute. */
  readonly tasksWithinMs?: number;
  /** The build of another release: each start after a kill runs the other one of the two. */
  readonly otherBuild?: string;
  readonly log?: (line: string) => void;
}

export interface WorkChaosResult {
  readonly kills: number;
  readonly rounds: number;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Of all rounds, each with its seed. */
  readonly problems: readonly string[];
}

export async function runWorkChaos(options: WorkChaosOptions): Promise<WorkChaosResult> {
  const { kills, seed, tasksWithinMs = Number.POSITIVE_INFINITY, otherBuild, log = () => undefined } = options;
  const outside = new Outside();
  const telegram = new FakeTelegram({ token: "1:test", secretToken: "secret" });
  const effectsPort = await outside.listen();
  const telegramPort = Number(new URL(await telegram.listen()).port);
  const server = await serveWorker({
    entry: new URL("./every-kind-worker.ts", import.meta.url),
    objects: ["Everything"],
    loaderBinding: "LOADER",
    allowsPrivateNetwork: true
  });
  if (otherBuild !== undefined) server.deployInTurn([otherBuild, server.build]);
  const over = new AbortController();
  const working = outside.runWorkflows(server.url, over.signal);
  const tallies = new Map<string, Tally>();
  const problems: string[] = [];
  let done = 0;
  let round = 0;
  try {
    for (; done < kills; round += 1) {
      const at = nextMinute();
      const hasTasks = at - Date.now() <= tasksWithinMs;
      const places = { effectsPort, telegramPort, round, minute: minuteOf(hasTasks ? at : at + DAY_MS / 2) };
      const plan = planKills(seed + round, Math.min(KILLS_PER_ROUND, kills - done), hasTasks);
      const played = await new Round({ server, outside, telegram, places, kills: plan, hasTasks }).play();
      const audit = auditRound(played);
      add(tallies, audit.tallies);
      const found = [...played.problems, ...audit.problems];
      problems.push(...found.map((problem) => `seed ${seed + round}: ${problem}`));
      done += played.kills.length;
      log(describe(played, seed + round, found));
      if (found.length > 0) log(server.log.split("\n").slice(-LOG_LINES).join("\n"));
    }
  } finally {
    over.abort();
    await server.stop();
    await telegram.close();
    await outside.close();
    await working;
  }
  return { kills: done, rounds: round, tallies, problems };
}

/** Of the worker, below a round in which something was wrong. */
const LOG_LINES = 30;

const DAY_MS = 86_400_000;

function nextMinute(): number {
  return Math.ceil((Date.now() + SOON_MS) / MINUTE_MS) * MINUTE_MS;
}

/** HH:MM in UTC. */
function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}

function add(all: Map<string, Tally>, some: ReadonlyMap<string, Tally>): void {
  for (const [kind, tally] of some) {
    const sum = all.get(kind);
    if (!sum) all.set(kind, { ...tally });
    else for (const name of Object.keys(sum) as (keyof Tally)[]) sum[name] += tally[name];
  }
}

function describe(
  { kills, waves, sentAgain, durationMs }: PlayedRound,
  seed: number,
  problems: readonly string[]
): string {
  const verdict = problems.length === 0 ? "ok" : `WRONG\n  ${problems.join("\n  ")}`;
  const times = `${waves} waves, ${sentAgain} decisions and webhooks sent again, ${Math.round(durationMs / 1_000)} s`;
  return `seed ${seed}, ${times}, killed at ${kills.join("; ")}: ${verdict}`;
}

/** A Markdown table, a row per kind. */
export function formatWorkChaos({ tallies }: WorkChaosResult): string {
  const rows = Object.entries(PROMISES).map(([kind, { rule, page }]) => {
    const tally = tallies.get(kind) ?? NO_TALLY;
    const { effects, cutOff, lost, repeated, byKill, byThrow, told } = tally;
    const numbers = [effects, cutOff, lost, repeated, byKill, byThrow, told];
    return `| ${kind} | ${rule} | ${page} | ${numbers.join(" | ")} |`;
  });
  return [
    "| Kind | May happen | Promised in | Effects | Killed inside | Lost | Repeated | by a kill | by a failure | Said to be cut off |",
    "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ...rows
  ].join("\n");
}
