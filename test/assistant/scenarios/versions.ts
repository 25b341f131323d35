// Several answers to one question, several wordings of one question.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";

const regenerates: Scenario = {
  name: "a regenerated answer stands beside the first, and the conversation goes on from the version that is chosen",
  async play({ visitor }) {
    const first = await visitor.askAndWait("List my notes");
    await visitor.answerHas("There are no notes yet.");
    const firstId = await first.getAttribute("data-message-id");
    await visitor.askAndWait('Take a note that says "two lamps".');
    await visitor.answers.first().getByRole("button", { name: "Regenerate answer" }).click();
    await visitor.answers.first().getByText("2 of 2").waitFor();
    await visitor.isSettled();
    await visitor.answerHas("two lamps");
    await visitor.photograph("versions");

    await visitor.button("Previous version").click();
    await visitor.answers.first().getByText("1 of 2").waitFor();
    expect(await visitor.answers.first().getAttribute("data-message-id")).toBe(firstId);
    await visitor.answers.first().getByText("There are no notes yet.").waitFor();

    const before = await visitor.answers.count();
    await visitor.askAndWait("What is 6*7?");
    await visitor.answerHas("42");
    expect(await visitor.answers.count()).toBe(before + 1);
    expect(await visitor.answers.first().getAttribute("data-message-id")).toBe(firstId);
    await visitor.reload();
    await visitor.answers.first().getByText("1 of 2").waitFor();
    await visitor.answerHas("42");
  }
};

export const edits: Scenario = {
  name: "an edited question is a second version of it, and the first can be read again with its answer",
  async play({ visitor }) {
    await visitor.askAndWait("Hello there");
    await visitor.questions.first().hover();
    await visitor.button("Edit message").click();
    const form = visitor.page.getByRole("textbox", { name: "Edited message" });
    await form.fill("Never sent");
    await visitor.button("Cancel edit").click();
    await visitor.questions.first().getByText("Hello there").waitFor();

    await visitor.button("Edit message").click();
    await form.fill("What is 2+3?");
    await visitor.button("Save and send").click();
    await visitor.questions.first().getByText("2 of 2").waitFor();
    await visitor.isSettled();
    await visitor.answerHas("5");
    expect(await visitor.questions.count()).toBe(1);

    await visitor.button("Previous version").click();
    await visitor.questions.first().getByText("Hello there").waitFor();
    await visitor.answerHas("Hello!");
    await visitor.button("Next version").click();
    await visitor.questions.first().getByText("What is 2+3?").waitFor();
    expect(await visitor.questions.count()).toBe(1);
  }
};

export const versionScenarios: readonly Scenario[] = [regenerates, edits];
