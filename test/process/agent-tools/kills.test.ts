// Hooks that are called at the end of runs of agent tools, in a process that is killed again and again: a hook is called
// once by a process, again only by one that comes after a kill inside of it, and never not. EVERTHINK_KILLS sets how often.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { countEffects, type EffectCounter } from "../effects.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import type { BossReport } from "./boss-plan.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 3);
const KILLS_PER_ROUND = 4;
/** The second is longer than a process lives while it is killed. */
const HOOKS_MS = [1_500, 4_000];
const QUIET_MS = 60;
const HOOKS = ["finish", "survey"];

const server = () =>
  startWorker({
    entry: new URL("./boss-worker.ts", import.meta.url),
    objects: ["Boss"],
    allowsPrivateNetwork: true
  });

/** Undefined while the process is down. */
async function asked(url: string): Promise<BossReport | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return response.ok ? ((await response.json()) as BossReport) : undefined;
  } catch {
    return undefined;
  }
}

/** A client that sends its question again and again, until nothing is open. */
async function followed(agent: string): Promise<BossReport> {
  for (;;) {
    const report = await asked(`${agent}/begin`);
    const isOver = report?.runs.every(({ status, isReported }) => status !== "running" && isReported) ?? false;
    if (report?.isSaid && isOver && report.runs.length === 3) return report;
    await delay(QUIET_MS);
  }
}

/** At moments spread over the turn and the hooks. */
async function kill(one: WorkerServer, kills: number): Promise<void> {
  for (let count = 0; count < kills; count++) {
    await delay(300 + Math.random() * 1_700);
    await one.kill();
    await one.start();
  }
}

/** By hook and end: the processes that began it, and those that saw it return. */
function callsOf(effects: EffectCounter, run: string): { hook: string; begins: string[]; ends: number }[] {
  return HOOKS.flatMap((hook) => {
    const begins = effects.of(run, `${hook} begins`).map(({ key }) => key.split(" "));
    const ends = effects.of(run, `${hook} ends`).map(({ key }) => key.split(" "));
    const known = new Set(begins.map(([runId, status]) => `${runId} ${status}`));
    return [...known].map((end) => {
      const isOf = ([runId, status]: string[]) => `${runId} ${status}` === end;
      return {
        hook: `${hook} ${end}`,
        begins: begins.filter(isOf).map(([, , life]) => life ?? ""),
        ends: ends.filter(isOf).length
      };
    });
  });
}

test("without a kill each hook of 1.5 s is called once", async () => {
  const effects = await countEffects();
  const one = await server();
  const run = `${effects.port}-${HOOKS_MS[0]}-calm`;
  const { runs } = await followed(`${one.url}/agents/boss/${run}`);
  expect(runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  const calls = callsOf(effects, run);
  expect(calls.map(({ begins, ends }) => [begins.length, ends])).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [1, 1]
  ]);
  expect(effects.of(run, "work")).toHaveLength(3);
  await one.stop();
}, 60_000);

test(
  `through ${KILLS} kills no hook is called twice by a process, and none is lost`,
  async () => {
    const effects = await countEffects();
    const one = await server();
    const seen = { rounds: 0, hooks: 0, again: 0 };
    for (let left = KILLS, round = 0; left > 0; left -= KILLS_PER_ROUND, round++) {
      const run = `${effects.port}-${HOOKS_MS[round % HOOKS_MS.length]}-${round}`;
      const count = Math.min(left, KILLS_PER_ROUND);
      const kills = kill(one, count);
      const { runs } = await followed(`${one.url}/agents/boss/${run}`);
      await kills;
      const calls = callsOf(effects, run);
      for (const { hook, begins, ends } of calls) {
        expect(new Set(begins).size, `${run} ${hook}: once per process`).toBe(begins.length);
        expect(begins.length, `${run} ${hook}: once more per kill at most`).toBeLessThanOrEqual(1 + count);
        expect(ends, `${run} ${hook}: returned`).toBeGreaterThanOrEqual(1);
        seen.again += begins.length - 1;
      }
      // One end per run, and the method of the background run beside.
      for (const { runId } of runs) {
        expect(calls.filter(({ hook }) => hook.startsWith(`finish ${runId}`)).length, `${run} ${runId}`).toBe(1);
      }
      expect(calls.filter(({ hook }) => hook.startsWith("survey")).length, `${run} survey`).toBe(1);
      seen.rounds += 1;
      seen.hooks += calls.length;
    }
    console.log(`${KILLS} kills, ${seen.rounds} rounds, ${seen.hooks} hooks, ${seen.again} called again after a kill`);
    await one.stop();
  },
  60_000 + KILLS * 15_000
);
