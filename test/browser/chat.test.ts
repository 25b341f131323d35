// The published `useAgentChat` of both generations in a real browser, against a real workerd process. After everything
// a user does, the message list in every tab equals the server's.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type WorkerServer } from "../process/workerd-process.ts";
import { launchBrowser } from "./browser.ts";
import { isKnownGap } from "./known-gaps.ts";
import type { GenerationName } from "./page-bundle.ts";
import { PageServer } from "./page-server.ts";
import { scenarios } from "./scenarios/all-scenarios.ts";
import { oneTurn } from "./scenarios/one-turn.ts";
import type { Scenario } from "./scenarios/scenario.ts";
import { Stage } from "./stage.ts";
import type { Received } from "./tab.ts";

const GENERATIONS: readonly GenerationName[] = ["newest", "june"];
const SHORT_HISTORY = 10;
const LONG_HISTORY = 200;
/** Bytes by which two turns with the same text may differ: ids and counters vary in length. */
const VARIATION_BYTES = 100;

let browser: Browser;
let pages: PageServer;
let server: WorkerServer;

interface Play {
  generation: GenerationName;
  scenario: Scenario;
  /** Messages before the scenario begins. */
  history: number;
  /** A failure is expected: not worth a report. */
  isGap?: boolean;
}

interface Measured extends Play {
  asking: Received;
  following: Received;
}

const measured: Measured[] = [];

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

let plays = 0;

async function play(given: Play): Promise<Measured> {
  const { generation, scenario, history } = given;
  plays += 1;
  const stage = await Stage.set({ browser, pages, server, generation, name: `${generation}-${plays}`, history });
  try {
    await scenario.play(stage);
    const [asking, following] = stage.tabs.map((tab) => tab.received());
    const result = { ...given, asking: asking!, following: following! };
    measured.push(result);
    await stage.agree();
    return result;
  } catch (error) {
    if (!given.isGap) console.error(`${generation}: ${scenario.name}\n${stage.report()}`);
    throw error;
  } finally {
    await stage.strike();
  }
}

describe.each(GENERATIONS)("with the %s clients every tab ends with the stored messages:", (generation) => {
  for (const scenario of scenarios) {
    const isGap = isKnownGap(generation, scenario.name);
    const declare = isGap ? test.fails : test;
    declare(scenario.name, async () => {
      await play({ generation, scenario, history: SHORT_HISTORY, isGap });
    });
    // The same in a long conversation, for the numbers; slow, so only when they are asked for.
    if (isGap || !process.env["EVERTHINK_LONG_HISTORY"]) continue;
    test(`${scenario.name} (long history)`, async () => {
      await play({ generation, scenario, history: LONG_HISTORY });
    });
  }
});

describe.each(GENERATIONS)("with the %s clients a turn in a long conversation", (generation) => {
  test("costs the asking tab what it costs in a short one, and brings other tabs the transcript once", async () => {
    const short = await play({ generation, scenario: oneTurn, history: SHORT_HISTORY });
    const long = await play({ generation, scenario: oneTurn, history: LONG_HISTORY });
    for (const { asking, following } of [short, long]) {
      expect(asking.snapshots).toBe(0);
      // Clients know no frame that adds another client's question to their list; only a transcript does.
      expect(following.snapshots).toBe(1);
    }
    expect(Math.abs(long.asking.bytes - short.asking.bytes)).toBeLessThan(VARIATION_BYTES);
  });
});

function printBytes(): void {
  console.info(
    "Received in a scenario, by messages before it (following: the second tab; snapshots: whole transcripts):"
  );
  console.table(
    measured.map(({ generation, scenario, history, asking, following }) => ({
      generation,
      scenario: scenario.name,
      history,
      "following bytes": following.bytes,
      "following snapshots": following.snapshots,
      // Most scenarios reload the asking tab, which then is sent everything.
      "asking bytes": scenario === oneTurn ? asking.bytes : ""
    }))
  );
}
