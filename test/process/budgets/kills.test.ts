// A purse over a tree of sub-agents, in a process that is killed again and again while it spends, asks and is granted more. What
// was charged is counted outside: it stays below what was allowed, every question is answered once, and the work is done once.
// EVERTHINK_KILLS sets how often.
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { countEffects } from "../effects.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { GRANT, HANDS, LIMIT, PRICE_OF_CALL, type PurseReport } from "./purse-plan.ts";

const KILLS = Number(process.env["EVERTHINK_KILLS"] ?? 3);
const KILLS_PER_ROUND = 3;
const QUIET_MS = 100;

/** Undefined while the process is down. */
async function asked<T>(url: string, init?: RequestInit): Promise<T | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5_000) });
    return response.ok ? ((await response.json()) as T) : undefined;
  } catch {
    return undefined;
  }
}

/** Approves whatever waits in the tree, each question as often as it is seen. */
async function approve(agent: string, { runs }: PurseReport, seen: Set<string>): Promise<void> {
  for (const url of [agent, ...runs.map(({ runId }) => `${agent}/sub/hand/${encodeURIComponent(runId)}`)]) {
    for (const { executionId } of (await asked<{ executionId: string }[]>(`${url}/approvals`)) ?? []) {
      seen.add(executionId);
      await asked(`${url}/approvals/${executionId}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve" })
      });
    }
  }
}

async function followed(agent: string, seen: Set<string>, check: (report: PurseReport) => void): Promise<PurseReport> {
  for (;;) {
    const report = await asked<PurseReport>(`${agent}/begin`);
    if (report) {
      check(report);
      if (report.said > 0 && report.open === 0) return report;
      await approve(agent, report, seen);
    }
    await delay(QUIET_MS);
  }
}

/** At moments spread over the calls, the questions and the grants. */
async function kill(one: WorkerServer, kills: number): Promise<void> {
  for (let count = 0; count < kills; count++) {
    await delay(300 + Math.random() * 1_500);
    await one.kill();
    await one.start();
  }
}

test(
  `through ${KILLS} kills a tree is charged no more than its limit and its grants, and each grant goes on once`,
  async () => {
    const effects = await countEffects();
    const one = await startWorker({
      entry: new URL("./purse-worker.ts", import.meta.url),
      objects: ["Purser"],
      allowsPrivateNetwork: true
    });
    const totals = { rounds: 0, charged: 0, questions: 0 };
    for (let left = KILLS, round = 0; left > 0; left -= KILLS_PER_ROUND, round++) {
      const run = `${effects.port}-${round}`;
      const charged = () => effects.of(run, "charge").length * PRICE_OF_CALL;
      const seen = new Set<string>();
      const kills = kill(one, Math.min(left, KILLS_PER_ROUND));
      const report = await followed(`${one.url}/agents/purser/${run}`, seen, ({ granted }) =>
        expect(charged(), run).toBeLessThanOrEqual(LIMIT + Math.max(granted, seen.size * GRANT) + 1e-9)
      );
      await kills;
      // What a call of a dead process may have cost is counted with all that it had reserved: never less than the truth.
      expect(report.spent, run).toBeGreaterThanOrEqual(charged() - 1e-9);
      expect(report.spent, run).toBeLessThanOrEqual(LIMIT + report.granted);
      expect(report.granted, run).toBeLessThanOrEqual(seen.size * GRANT);
      expect(report.said, run).toBe(1);
      expect(report.runs, run).toHaveLength(HANDS);
      expect(report.open, run).toBe(0);
      totals.rounds += 1;
      totals.charged += charged();
      totals.questions += seen.size;
    }
    console.log(`${KILLS} kills: ${JSON.stringify(totals)}`);
    await one.stop();
  },
  120_000 + KILLS * 20_000
);
