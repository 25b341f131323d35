// The demo's star: the process dies in the middle of an answer, and the answer ends as if nothing had been.
import { expect } from "vitest";
import type { Scenario, Stage } from "../scenario.ts";
import { eventually, textIn, type Visitor } from "../visitor.ts";
import { storedAnswers, STORY, wholeStory } from "./whole-story.ts";

/** Characters the answer grows between two pulls. */
const GROWTH = 350;
/** Think spaces out the attempts of a turn whose process dies again and again. */
const PAUSES_MS = 45_000;

export const survivesThePlug: Scenario = {
  name: "an answer whose process is killed goes on in the new process and ends word for word as without the plug",
  async play(stage) {
    const { visitor, server } = stage;
    await wholeStory(stage);
    const other = await stage.anotherTab();
    await visitor.ask(STORY);
    await visitor.reads(GROWTH);
    const pid = server.workerd();
    await visitor.pullThePlug();
    if (server.mode === "production") await followsTheStory(visitor);
    await server.isBack();
    await eventually(() => server.workerd()).satisfy((now: number | undefined) => now !== undefined && now !== pid);
    await expectWholeStory(stage, [visitor, other]);
    if (server.mode === "production") await visitor.photograph("recovered");
  }
};

/** What the page tells about it, in the header and in the answer. */
async function followsTheStory(visitor: Visitor): Promise<void> {
  await visitor.page.locator("[data-plug=pulled]").waitFor();
  await visitor.answer.locator("[data-recovering]").waitFor();
  await visitor.photograph("plug");
  await visitor.page.locator("[data-plug=over]").waitFor();
}

export const survivesThreePlugs: Scenario = {
  name: "an answer whose process is killed three times ends word for word as without the plug",
  async play(stage) {
    const { visitor } = stage;
    await wholeStory(stage);
    await visitor.ask(STORY);
    for (let pull = 1; pull <= 3; pull += 1) {
      await visitor.reads(pull * GROWTH);
      await visitor.pullThePlug();
      await visitor.page.locator("[data-plug=pulled]").waitFor();
      await visitor.page.locator("[data-plug=over]").waitFor({ timeout: PAUSES_MS });
    }
    await expectWholeStory(stage, [visitor]);
  }
};

async function expectWholeStory(stage: Stage, visitors: readonly Visitor[]): Promise<void> {
  const whole = await wholeStory(stage);
  for (const visitor of visitors) {
    await eventually(() => textIn(visitor.answer)).toBe(whole.shown);
    await visitor.isSettled();
    expect(await visitor.answers.count()).toBe(1);
  }
  expect(await storedAnswers(stage.server, stage.visitor.conversationId)).toEqual([whole.stored]);
}

export const plugScenarios: readonly Scenario[] = [survivesThePlug, survivesThreePlugs];
