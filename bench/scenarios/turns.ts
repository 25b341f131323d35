// Single turns on a young conversation: how long they take, and what a stream costs while it runs.
import { type Arena, connected } from "../arena.ts";
import { quantile } from "../statistics.ts";
import { pause, type Scenario, untilQuiet } from "./scenario.ts";

const WARM_UP_TURNS = 3;
const SINGLE_TURNS = 7;
const TURNS_IN_A_ROW = 20;
const TOOL_CALLS = 10;
const TOOL_TURNS = 3;
const STEERED_TURNS = 7;
const STEP_PAUSE_MS = 20;
const BURST_CHUNKS = 2_000;
const PACED_CHUNKS = 400;
const PACED_PAUSE_MS = 5;
/** Between single turns, so that one does not pay for what the one before left to do. */
const BETWEEN_TURNS_MS = 15;

async function warmUp(arena: Arena, name: string): Promise<void> {
  const client = await arena.openClient(name);
  for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) await client.ask({});
}

export const oneChunkTurn: Scenario = {
  name: "turn",
  weight: "light",
  prepare: (arena, round) => warmUp(arena, `turn-${round}`),
  run: async (arena, round) => {
    const { main } = arena;
    const connection = arena.client(`turn-${round}`);
    const firstText: number[] = [];
    const done: number[] = [];
    for (let turn = 0; turn < SINGLE_TURNS; turn += 1) {
      await pause(BETWEEN_TURNS_MS);
      const answer = await connection.ask({});
      firstText.push(answer.firstTextMs);
      done.push(answer.doneMs);
    }
    const sizeBefore = await main.databaseSize(`turn-${round}`);
    const cpuBefore = main.usage().cpuMs;
    const startedAt = performance.now();
    for (let turn = 0; turn < TURNS_IN_A_ROW; turn += 1) await connection.ask({});
    const backToBack = (performance.now() - startedAt) / TURNS_IN_A_ROW;
    await untilQuiet();
    const turnCpu = (main.usage().cpuMs - cpuBefore) / TURNS_IN_A_ROW;
    const growth = ((await main.databaseSize(`turn-${round}`)) - sizeBefore) / TURNS_IN_A_ROW;
    return {
      turnFirstText: quantile(firstText, 0.5),
      turnDone: quantile(done, 0.5),
      backToBack,
      turnCpu,
      databaseGrowth: growth / 1024
    };
  }
};

export const tools: Scenario = {
  name: "tools",
  weight: "light",
  prepare: (arena, round) => warmUp(arena, `tools-${round}`),
  run: async (arena, round) => {
    const connection = arena.client(`tools-${round}`);
    const inSteps: number[] = [];
    const atOnce: number[] = [];
    for (let turn = 0; turn < TOOL_TURNS; turn += 1) {
      await pause(BETWEEN_TURNS_MS);
      inSteps.push((await connection.ask({ callSteps: TOOL_CALLS })).doneMs);
      await pause(BETWEEN_TURNS_MS);
      atOnce.push((await connection.ask({ callSteps: 1, callsPerStep: TOOL_CALLS })).doneMs);
    }
    return { tenTools: quantile(inSteps, 0.5), tenToolsAtOnce: quantile(atOnce, 0.5) };
  }
};

/** In the middle of a turn with tools a message is given to it. Of what steers only: the others have no word for it. */
export const steering: Scenario = {
  name: "steer",
  weight: "light",
  prepare: (arena, round) => warmUp(arena, `steer-${round}`),
  run: async (arena, round) => {
    const { contender } = arena;
    if (contender.name !== "everthink" && contender.name !== "everthink-plugins") return {};
    const connection = arena.client(`steer-${round}`);
    const steps: number[] = [];
    const effects: number[] = [];
    for (let turn = 0; turn < STEERED_TURNS; turn += 1) {
      await pause(BETWEEN_TURNS_MS);
      const { stepMs, effectMs } = await connection.askAndSteer({ callSteps: TOOL_CALLS, stepPauseMs: STEP_PAUSE_MS });
      steps.push(stepMs);
      effects.push(effectMs);
    }
    return { ownStep: quantile(steps, 0.5), steer: quantile(effects, 0.5) };
  }
};

/** Chunks are counted at the model: what a contender merges on the way arrived all the same. */
export const burst: Scenario = {
  name: "burst",
  weight: "light",
  prepare: (arena, round) => warmUp(arena, `burst-${round}`),
  run: async (arena, round) => {
    const { doneMs } = await arena.client(`burst-${round}`).ask({ chunks: BURST_CHUNKS });
    return { burstRate: BURST_CHUNKS / (doneMs / 1000) };
  }
};

export const paced: Scenario = {
  name: "paced",
  weight: "heavy",
  prepare: (arena, round) => warmUp(arena, `paced-${round}`),
  run: async (arena, round) => {
    const { main } = arena;
    const before = main.usage();
    await arena.client(`paced-${round}`).ask({ chunks: PACED_CHUNKS, pauseMs: PACED_PAUSE_MS });
    await untilQuiet();
    const after = main.usage();
    return {
      pacedCpu: ((after.cpuMs - before.cpuMs) * 1000) / PACED_CHUNKS,
      pacedDisk: (after.diskBytes - before.diskBytes) / 1024
    };
  }
};

export const replay: Scenario = {
  name: "replay",
  weight: "light",
  run: ({ main }, round) =>
    connected(main, `replay-${round}`, async (asking) => {
      const id = await asking.askHeld({ chunks: BURST_CHUNKS });
      await untilQuiet();
      const startedAt = performance.now();
      const ms = await connected(main, `replay-${round}`, async (returning) => {
        await returning.resume({ chunks: BURST_CHUNKS });
        return performance.now() - startedAt;
      });
      await asking.cancel(id);
      return { replay: ms };
    })
};
