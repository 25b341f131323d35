// Runs of code in a process that is killed again and again. EVERTHINK_KILLS sets how often; `npm run chaos:execute` kills
// 50 times.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import type { RunFacts } from "./coder-plan.ts";
import { countEffects, type EffectCounter } from "./effects.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 3);
/** Of one run: more in a row without progress end it, which would test little else. */
const KILLS_PER_RUN = 3;
const QUIET_MS = 40;

/** Undefined while the process is down. */
async function asked(url: string): Promise<RunFacts | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return response.ok ? ((await response.json()) as RunFacts) : undefined;
  } catch {
    return undefined;
  }
}

/** A client, and a human who looks outside before repeating what may have been done. */
async function followed(agent: string, run: string, effects: EffectCounter): Promise<RunFacts> {
  for (;;) {
    const facts = (await asked(`${agent}/begin`)) ?? { runs: [], pending: [], isSaid: false };
    const isOver = facts.runs.every(({ status, isPlaced }) => !OPEN.includes(status) && isPlaced === 1);
    if (facts.isSaid && isOver && facts.pending.length === 0) return facts;
    for (const { executionId, mayHaveRun } of facts.pending) {
      const isDone = mayHaveRun === true && effects.of(run, "gated").length > 0;
      await asked(`${agent}/${isDone ? "reject" : "approve"}?id=${executionId}`);
    }
    await delay(QUIET_MS);
  }
}

const OPEN = ["running", "paused"];

/** At moments spread over a run, from its first call to its last. */
async function kill(server: WorkerServer, kills: number): Promise<void> {
  for (let count = 0; count < kills; count++) {
    await delay(60 + ((count * 7919 + kills * 104_729) % 6) * 70 + Math.random() * 60);
    await server.kill();
    await server.start();
  }
}

test(
  `through ${KILLS} kills each call of the code has the effects that its rule allows, and each run has one end`,
  async () => {
    const effects = await countEffects();
    const entry = new URL("./coder-worker.ts", import.meta.url);
    const server = await startWorker({
      entry,
      objects: ["Coder"],
      loaderBinding: "LOADER",
      allowsPrivateNetwork: true
    });
    const ends: string[] = [];
    for (let left = KILLS, round = 0; left > 0; left -= KILLS_PER_RUN, round++) {
      const run = `${effects.port}-${round}`;
      const kills = kill(server, Math.min(left, KILLS_PER_RUN));
      const { runs } = await followed(`${server.url}/agents/coder/${run}`, run, effects);
      await kills;
      const facts = (await asked(`${server.url}/agents/coder/${run}/facts`)) ?? { runs: [] };
      // The same end after the kills that came later.
      expect(facts.runs).toEqual(runs);
      const [status = "never recorded"] = runs.map((one) => one.status);
      ends.push(status);
      expect(runs.length, run).toBeLessThanOrEqual(1);
      expect(effects.of(run, "once").length, `${run} once`).toBeLessThanOrEqual(1);
      expect(effects.of(run, "gated").length, `${run} gated`).toBeLessThanOrEqual(1);
      expect(new Set(effects.of(run, "keyed").map(({ key }) => key)).size, `${run} keys`).toBeLessThanOrEqual(2);
      if (status === "completed") {
        expect(effects.of(run, "gated"), `${run} gated`).toHaveLength(1);
        expect(new Set(effects.of(run, "keyed").map(({ key }) => key)).size).toBe(2);
      }
    }
    console.log(`${KILLS} kills, ${ends.length} runs: ${ends.join(", ")}`);
    expect(ends.every((status) => ["completed", "rejected", "error", "never recorded"].includes(status))).toBe(true);
    // A kill inside the call that a human decides ends a run as rejected: one run may.
    if (ends.length > 3) expect(ends).toContain("completed");
    await server.stop();
  },
  60_000 + KILLS * 10_000
);
