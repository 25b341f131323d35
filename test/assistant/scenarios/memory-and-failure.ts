// What is remembered, and what goes wrong on purpose.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually } from "../visitor.ts";

export const remembers: Scenario = {
  name: "what it was told to remember it knows in a later answer, also after the process was killed",
  async play({ visitor, server }) {
    await visitor.askAndHear("Remember that my boat is called Aurora.");
    await visitor.askAndHear("What do you remember?");
    await visitor.answer.getByRole("listitem").filter({ hasText: "my boat is called Aurora" }).waitFor();
    const pid = server.workerd();
    await visitor.pullThePlug();
    await eventually(() => server.workerd()).satisfy((now: number | undefined) => now !== undefined && now !== pid);
    await visitor.isConnected();
    await visitor.askAndHear("What do you remember?");
    await visitor.answer.getByRole("listitem").filter({ hasText: "my boat is called Aurora" }).waitFor();
  }
};

export const fails: Scenario = {
  name: "an answer that fails says why and can be tried again, and the conversation goes on",
  async play({ visitor }) {
    await visitor.suggest("Fail on purpose");
    const error = visitor.page.getByRole("group", { name: "Error" });
    await error.waitFor();
    await visitor.photograph("error");
    expect((await error.innerText()).replace(/This answer failed\.|Try again/g, "").trim()).not.toBe("");
    await visitor.button("Try again").click();
    // It fails again, sooner than a look could tell that the first error had gone.
    await visitor.counts(visitor.panel.getByText("onChatError", { exact: true }), 2);
    await error.waitFor();
    await visitor.askAndHear("Hello");
    await visitor.answerHas("Hello!");
    expect(await error.count()).toBe(0);
    await visitor.reload();
    await visitor.answerHas("Hello!");
  }
};

export const failsInTheMiddle: Scenario = {
  name: "an answer that fails in the middle keeps the words that were there",
  async play({ visitor }) {
    await visitor.ask("Please fail after a few words.");
    await visitor.button("Try again").waitFor();
    await visitor.answerHas("I begin to answer, and before this sentence is");
  }
};

export const memoryAndFailureScenarios: readonly Scenario[] = [remembers, fails, failsInTheMiddle];
