// The published `useAgentChat` of both generations in a real browser, against a real workerd process. After everything
// a user does, the message list in every tab equals the server's.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type WorkerServer } from "../process/workerd-process.ts";
import { launchBrowser } from "./browser.ts";
import { KNOWN_GAPS } from "./known-gaps.ts";
import type { GenerationName } from "./page-bundle.ts";
import { PageServer } from "./page-server.ts";
import { oneTurn, type Scenario, scenarios } from "./scenarios.ts";
import { Stage } from "./stage.ts";

const GENERATIONS: readonly GenerationName[] = ["newest", "june"];
const SHORT_HISTORY = 10;
const LONG_HISTORY = 200;
/** Ids and counters in frames vary a little in length. */
const TOLERATED_GROWTH = 1.05;

let browser: Browser;
let pages: PageServer;
let server: WorkerServer;

/** Bytes that the following tab received, by generation, scenario and length of the history. */
const followerBytes = new Map<string, number>();

beforeAll(async () => {
  server = await startWorker({ entry: new URL("./chat-worker.ts", import.meta.url), objects: ["ChatAgent"] });
  pages = await PageServer.start(GENERATIONS);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await pages?.stop();
  printBytes();
});

interface Play {
  generation: GenerationName;
  scenario: Scenario;
  history: number;
  /** A failure is expected: not worth a report. */
  isGap?: boolean;
}

let plays = 0;

async function play({ generation, scenario, history, isGap }: Play): Promise<void> {
  const name = `${generation}-${(plays += 1)}`;
  const stage = await Stage.set({ browser, pages, server, generation, name, history });
  try {
    await scenario.play(stage);
    const [, follower] = stage.tabs;
    followerBytes.set(`${generation} ${scenario.name} ${history}`, follower?.receivedBytes() ?? 0);
    await stage.agree();
  } catch (error) {
    if (!isGap) console.error(`${generation}: ${scenario.name}\n${stage.report()}`);
    throw error;
  } finally {
    await stage.strike();
  }
}

describe.each(GENERATIONS)("with the %s clients every tab ends with the stored messages:", (generation) => {
  for (const scenario of scenarios) {
    const isGap = isKnownGap(generation, scenario.name);
    const declare = isGap ? test.fails : test;
    declare(scenario.name, () => play({ generation, scenario, history: SHORT_HISTORY, isGap }));
    // The same in a long conversation, for the numbers; slow, so only when they are asked for.
    if (!isGap && process.env["EVERTHINK_LONG_HISTORY"]) {
      test(`${scenario.name} (long history)`, () => play({ generation, scenario, history: LONG_HISTORY }));
    }
  }
});

describe.each(GENERATIONS)("with the %s clients", (generation) => {
  const name = "a turn costs a following tab no more in a long conversation than in a short one";
  const isGap = isKnownGap(generation, name);
  (isGap ? test.fails : test)(name, async () => {
    const scenario = oneTurn;
    for (const history of [SHORT_HISTORY, LONG_HISTORY]) await play({ generation, scenario, history, isGap });
    const [short, long] = [SHORT_HISTORY, LONG_HISTORY].map((history) => bytesOf(generation, scenario, history));
    expect(long).toBeLessThan(short! * TOLERATED_GROWTH);
  });
});

function isKnownGap(generation: GenerationName, scenario: string): boolean {
  return KNOWN_GAPS.some((gap) => gap.generation === generation && gap.scenario === scenario);
}

function bytesOf(generation: GenerationName, scenario: Scenario, history: number): number | undefined {
  return followerBytes.get(`${generation} ${scenario.name} ${history}`);
}

function printBytes(): void {
  const rows = GENERATIONS.flatMap((generation) =>
    [oneTurn, ...scenarios].map((scenario) => ({
      generation,
      scenario: scenario.name,
      [`after ${SHORT_HISTORY}`]: bytesOf(generation, scenario, SHORT_HISTORY),
      [`after ${LONG_HISTORY}`]: bytesOf(generation, scenario, LONG_HISTORY)
    }))
  );
  console.info("Bytes received by the following tab, after so many messages:");
  console.table(rows);
}
