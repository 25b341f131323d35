// The smallest scenario, for measuring what a turn sends to a tab that has followed everything before it.
import type { Tab } from "../tab.ts";
import { until } from "../until.ts";
import { type Scenario, untilAllShow } from "./scenario.ts";

/** For two seconds after a transcript was sent to it, a tab that asks is sent it again: it may have crossed the question. */
const CROSSING_MS = 2_000;

export const oneTurn: Scenario = {
  name: "one turn",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await untilSettledIn(asking);
    for (const tab of stage.tabs) tab.startCounting();
    await asking.send("hello");
    await untilAllShow(stage.tabs, "You said: hello");
    for (const tab of stage.tabs) await tab.untilIdle();
  }
};

async function untilSettledIn(tab: Tab): Promise<void> {
  await until({
    what: `${tab.label} was sent no transcript for a while`,
    look: async () => tab.lastSnapshotAgeMs(),
    fits: (ageMs) => ageMs > CROSSING_MS,
    tell: (ageMs) => `${ageMs} ms`
  });
}
