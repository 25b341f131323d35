// Answers asked for again, and questions changed.
import { expect } from "vitest";
import { textOf } from "../tab.ts";
import { askAndWait, outline, type Scenario, untilAllShow } from "./scenario.ts";

const regenerate: Scenario = {
  name: "regenerate",
  async play(stage) {
    const asking = await stage.open();
    const watching = await stage.open();
    await askAndWait(asking, "hello", "(answer 1)");
    await watching.untilShows("(answer 1)");
    await asking.click("#regenerate");
    await untilAllShow(stage.tabs, "(answer 2)");
    expect(outline(await stage.agree())).toEqual(["user: hello", "assistant: You said: hello (answer 2)"]);
    await askAndWait(asking, "more", "You said: more");
  }
};

const edit: Scenario = {
  name: "edit an earlier message",
  async play(stage) {
    const asking = await stage.open();
    const watching = await stage.open();
    await askAndWait(asking, "first", "You said: first");
    await askAndWait(asking, "second", "You said: second");
    await watching.untilShows("You said: second");
    const { messages } = await asking.untilIdle();
    const first = messages.find((message) => textOf(message) === "first");
    await asking.edit(first!.id, "changed");
    await untilAllShow(stage.tabs, "You said: changed");
    expect(outline(await stage.agree())).toEqual(["user: changed", "assistant: You said: changed (answer 3)"]);
    await askAndWait(asking, "more", "You said: more");
  }
};

export const branchingScenarios: readonly Scenario[] = [regenerate, edit];
