// The smallest scenario, for measuring.
import { type Scenario, untilAllShow } from "./scenario.ts";

/** The smallest one, for measuring. */
export const oneTurn: Scenario = {
  name: "one turn",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("hello");
    await untilAllShow(stage.tabs, "You said: hello");
    for (const tab of stage.tabs) await tab.untilIdle();
  }
};
