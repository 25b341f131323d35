// A program of the model that waits for a person in the middle, and goes on where it stood.
import { expect } from "vitest";
import { crowded } from "../rhythm.ts";
import type { Scenario } from "../scenario.ts";
import { eventually } from "../visitor.ts";

const waits: Scenario = {
  name: "a program calls two tools, waits for a person over the death of its process, and publishes once",
  async play({ visitor, server }) {
    // Of its own, so that the board is not asked about another try.
    const nights = 100 + Math.floor(Math.random() * 900_000);
    const text = `Oil for ${nights} nights: ${nights * 7} litres`;
    await visitor.ask(
      `Write a program that works out the oil for ${nights} nights at 7 litres, notes it, and publishes it.`
    );
    const card = visitor.tool("execute");
    await card.getByText("Publish this note on the board").waitFor();
    await card.getByLabel("Program", { exact: true }).getByText("tools.calculate").waitFor();
    // What would be published is shown before it is.
    await card.getByText(`text: ${text}`).waitFor();
    const calls = card.getByRole("list", { name: "Calls of the program" }).getByRole("listitem");
    await eventually(() => calls.allInnerTexts()).satisfy(
      (texts: string[]) => texts.length === 3 && /done/.test(texts[0] ?? "") && /waits/.test(texts[2] ?? "")
    );
    await visitor.answerHas("Before the note goes on the board, somebody has to agree.");
    // In the same place as actions that wait.
    await visitor.panel
      .getByText(/waits for a decision/)
      .first()
      .waitFor();
    await visitor.photograph("program-waits");
    expect(await crowded(visitor)).toEqual([]);

    const pid = server.workerd();
    await visitor.pullThePlug();
    await eventually(() => server.workerd()).satisfy((now: number | undefined) => now !== undefined && now !== pid);
    await visitor.isConnected();
    expect(await visitor.board.getByText(text).count()).toBe(0);
    await card.getByRole("button", { name: "Approve" }).click();
    await visitor.board.getByText(text).waitFor();
    await visitor.answerHas("The program has ended");
    await visitor.isSettled();
    await eventually(() => calls.allInnerTexts()).satisfy((texts: string[]) => /done/.test(texts[2] ?? ""));
    await visitor.photograph("program-ended");
    await visitor.askAndWait("List my notes");
    await visitor.answerHas(text);
    expect(await visitor.board.getByText(text).count()).toBe(1);
  }
};

export const programScenarios: readonly Scenario[] = [waits];
