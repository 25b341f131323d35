// Runs of code in a process that is killed again and again, mostly inside approved calls, while the clients that decided send
// their decisions again after every reconnect. EVERTHINK_KILLS sets how often; `npm run chaos:execute` kills 50 times.
import { setTimeout as delay } from "node:timers/promises";
import WebSocket from "ws";
import { createThinkClient, type ThinkClient } from "../../../src/client/index.ts";
import { expect, test } from "vitest";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import type { RunState } from "./coder-plan.ts";
import { countEffects, type EffectCounter } from "../effects.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 3);
/** Of one run: more in a row without progress end it, which would test little else. */
const KILLS_PER_RUN = 3;
const QUIET_MS = 40;

/** Undefined while the process is down. */
async function asked(url: string, init?: RequestInit): Promise<unknown> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5_000) });
    return response.ok ? ((await response.json()) as unknown) : undefined;
  } catch {
    return undefined;
  }
}

interface Pressed {
  readonly executionId: string;
  readonly inputHash: string;
  readonly isApproved: boolean;
}

/** Everything that was ever decided about a run, sent again by scripts and by clients of before. */
async function repeat(agent: string, pressed: readonly Pressed[]): Promise<number> {
  for (const { executionId, inputHash, isApproved } of pressed) {
    const body = JSON.stringify({ decision: isApproved ? "approve" : "reject", inputHash });
    const headers = { "content-type": "application/json" };
    await asked(`${agent}/approvals/${executionId}`, { method: "POST", headers, body });
    if (isApproved) await asked(`${agent}/approve?id=${executionId}`);
  }
  return 2 * pressed.length;
}

interface Followed {
  readonly runs: RunState["runs"];
  /** Decisions, and how often they were sent again. */
  readonly decided: number;
  readonly repeated: number;
}

/** A page, and a human who looks outside before repeating what may have been done. */
async function followed(agent: string, run: string, effects: EffectCounter): Promise<Followed> {
  const page: ThinkClient = createThinkClient({ url: agent, WebSocket });
  const pressed: Pressed[] = [];
  let repeated = 0;
  try {
    for (;;) {
      const state = (await asked(`${agent}/begin`)) as RunState | undefined;
      if (state) {
        const isOver = state.runs.every(({ status, isPlaced }) => !OPEN.includes(status) && isPlaced === 1);
        if (state.isSaid && isOver && state.pending.length === 0)
          return { runs: state.runs, decided: pressed.length, repeated };
        for (const { executionId, method, mayHaveRun, inputHash = "" } of state.pending) {
          if (pressed.some((one) => one.inputHash === inputHash)) continue;
          const isApproved = mayHaveRun !== true || effects.of(run, method).length === 0;
          pressed.push({ executionId, inputHash, isApproved });
          // Not waited for: the page sends it again by itself on its next connection.
          const question = { executionId, inputHash };
          void (isApproved ? page.approve(question) : page.reject(question, "done already")).catch(() => undefined);
        }
      }
      repeated += await repeat(agent, pressed);
      await delay(QUIET_MS);
    }
  } finally {
    page.close();
  }
}

const OPEN = ["running", "paused"];

/** At moments spread over a run; `inCall`: the first one inside an approved call that has had its effect. */
async function kill(
  server: WorkerServer,
  kills: number,
  { inCall, effects }: { inCall: boolean; effects: EffectCounter }
): Promise<void> {
  for (let count = 0; count < kills; count++) {
    const moment = delay(60 + ((count * 7919 + kills * 104_729) % 6) * 70 + Math.random() * 60);
    await (inCall && count === 0 ? Promise.race([delay(WAITS_MS), effects.next("gated", "last")]) : moment);
    await server.kill();
    await server.start();
  }
}

/** A run whose code is not approved in this time is killed all the same. */
const WAITS_MS = 5_000;

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
    const sum = { decided: 0, repeated: 0, inCalls: 0 };
    for (let left = KILLS, round = 0; left > 0; left -= KILLS_PER_RUN, round++) {
      const run = `${effects.port}-${round}`;
      const inCall = round % 2 === 0;
      const kills = kill(server, Math.min(left, KILLS_PER_RUN), { inCall, effects });
      const agent = `${server.url}/agents/coder/${run}`;
      const { runs, decided, repeated } = await followed(agent, run, effects);
      sum.decided += decided;
      sum.repeated += repeated;
      sum.inCalls += inCall ? 1 : 0;
      await kills;
      const state = (await asked(`${agent}/state`)) as RunState | undefined;
      // The same end after the kills that came later.
      expect(state?.runs).toEqual(runs);
      const [status = "never recorded"] = runs.map((one) => one.status);
      ends.push(status);
      expect(runs.length, run).toBeLessThanOrEqual(1);
      for (const name of ["once", "gated", "last"])
        expect(effects.of(run, name).length, `${run} ${name}`).toBeLessThanOrEqual(1);
      expect(new Set(effects.of(run, "keyed").map(({ key }) => key)).size, `${run} keys`).toBeLessThanOrEqual(2);
      if (status === "completed") {
        for (const name of ["gated", "last"]) expect(effects.of(run, name), `${run} ${name}`).toHaveLength(1);
        expect(new Set(effects.of(run, "keyed").map(({ key }) => key)).size).toBe(2);
      }
    }
    const { decided, repeated, inCalls } = sum;
    console.log(
      `${KILLS} kills, ${inCalls} inside approved calls, ${ends.length} runs, ${decided} decisions sent again ${repeated} times: ${ends.join(", ")}`
    );
    expect(ends.every((status) => ["completed", "rejected", "error", "never recorded"].includes(status))).toBe(true);
    // A kill inside a call that a human decides ends a run as rejected; without one it completes.
    if (ends.length > 5) expect(ends).toContain("completed");
    expect(ends).toContain("rejected");
    await server.stop();
  },
  60_000 + KILLS * 10_000
);
