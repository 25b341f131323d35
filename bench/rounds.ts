// Runs the scenarios interleaved: in each round every contender does each scenario once, one contender at a time, and
// who begins changes from round to round. A slow minute of the machine so hits all of them alike. A contender that
// fails or is very slow in a scenario costs only its own numbers.
import type { Arena } from "./arena.ts";
import { Results } from "./results.ts";
import { pause, type Scenario } from "./scenarios/scenario.ts";

/** After this much time in one scenario a contender sits out its remaining rounds: the numbers it has must do. */
const SCENARIO_LIMIT_MS = 90_000;
const EXACT_ROUNDS = 3;

/**
 * Between connecting and asking. A client that connects is shown the conversation, and a server may be careful with
 * one whose question crosses that; users take longer.
 */
export const SETTLE_MS = 2_200;

interface Entry {
  scenario: Scenario;
  arena: Arena;
  round: number;
}

export interface Plan {
  arenas: readonly Arena[];
  scenarios: readonly Scenario[];
  rounds: number;
  isQuick: boolean;
}

export async function runRounds(plan: Plan, say: (text: string) => void): Promise<Results> {
  const results = new Results();
  const spent = new Map<string, number>();
  for (let round = 0; round < plan.rounds; round += 1) {
    const entries = plan.scenarios
      .filter((scenario) => round < roundsOf(scenario, plan))
      .flatMap((scenario) => rotated(plan.arenas, round).map((arena) => ({ scenario, arena, round })))
      .filter((entry) => (spent.get(placeOf(entry)) ?? 0) < SCENARIO_LIMIT_MS);
    const attempt = async (entry: Entry, step: "prepare" | "run") => {
      say(`round ${round + 1} of ${plan.rounds}: ${step} ${entry.scenario.name}, ${entry.arena.contender.name}`);
      const tookMs = await attemptEntry(entry, step, results);
      spent.set(placeOf(entry), (spent.get(placeOf(entry)) ?? 0) + tookMs);
      return tookMs < Number.POSITIVE_INFINITY;
    };
    const ready: Entry[] = [];
    for (const entry of entries) if (await attempt(entry, "prepare")) ready.push(entry);
    await pause(SETTLE_MS);
    for (const entry of ready) await attempt(entry, "run");
    for (const arena of plan.arenas) arena.closeClients();
  }
  return results;
}

/** Who begins in this round is last in the next one. */
export function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const from = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(from), ...items.slice(0, from)];
}

function roundsOf({ weight }: Scenario, { rounds, isQuick }: Plan): number {
  switch (weight) {
    case "light":
      return rounds;
    case "heavy":
      return isQuick ? 1 : rounds;
    case "exact":
      return Math.min(rounds, isQuick ? 1 : EXACT_ROUNDS);
    case "once":
      return 1;
  }
}

function placeOf({ scenario, arena }: Entry): string {
  return `${scenario.name}/${arena.contender.name}`;
}

/** How long it took; for ever when it failed. */
async function attemptEntry(
  { scenario, arena, round }: Entry,
  step: "prepare" | "run",
  results: Results
): Promise<number> {
  const { name } = arena.contender;
  const startedAt = performance.now();
  try {
    if (step === "prepare") await scenario.prepare?.(arena, round);
    else results.add(name, round, await scenario.run(arena, round));
    return performance.now() - startedAt;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    results.failures.push({ scenario: scenario.name, contender: name, message });
    console.error(`${scenario.name} of ${name} failed: ${message}\n${arena.main.log}${arena.spare.log}`);
    return Number.POSITIVE_INFINITY;
  }
}
