// Actions that need a person: asked in the answer, or parked until a person decides.
import { expect } from "vitest";
import { crowded } from "../rhythm.ts";
import type { Scenario } from "../scenario.ts";
import { eventually } from "../visitor.ts";

const approves: Scenario = {
  name: "an approved action runs once: the note it deletes is gone",
  async play({ visitor }) {
    await visitor.suggest("Ask before deleting");
    const card = visitor.tool("delete_note");
    await card.getByText("Delete this note for good").waitFor();
    await visitor.status("parked");
    await visitor.photograph("approval-inline");
    await card.getByRole("button", { name: "Approve" }).click();
    await visitor.answerHas("is deleted");
    await visitor.isSettled();
    expect(await visitor.answers.count()).toBe(1);
    expect(await card.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await visitor.askAndWait("List my notes");
    await visitor.answerHas("There are no notes yet.");
  }
};

const approvesChanged: Scenario = {
  name: "an action is approved with another input: the schema refuses what does not fit, and what runs is what was written",
  async play({ visitor }) {
    const mark = crypto.randomUUID().slice(0, 8);
    await visitor.askAndWait(`Take a note that says "first ${mark}".`);
    await visitor.ask(`Take a note that says "second ${mark}", then publish it on the board.`);
    const card = visitor.tool("publish_note");
    await card.getByRole("button", { name: "Change input" }).click();
    const id = card.getByRole("textbox", { name: "id" });
    await id.fill("1.5");
    await card.getByRole("button", { name: "Approve with changes" }).click();
    await card.getByText("the changed input is not valid").waitFor();
    expect(await id.inputValue()).toBe("1.5");
    await id.fill("1");
    await card.getByRole("textbox", { name: "text" }).fill(`first ${mark}`);
    await visitor.photograph("approval-changed");
    await card.getByRole("button", { name: "Approve with changes" }).click();
    await visitor.board.getByText(`first ${mark}`).waitFor();
    await visitor.isSettled();
    expect(await visitor.board.getByText(`second ${mark}`).count()).toBe(0);
  }
};

export const rejects: Scenario = {
  name: "a rejected action does not run: the note stays",
  async play({ visitor }) {
    await visitor.suggest("Ask before deleting");
    await visitor.tool("delete_note").getByRole("button", { name: "Reject" }).click();
    await visitor.answerHas("was not deleted");
    await visitor.isSettled();
    await visitor.askAndWait("List my notes");
    await visitor.answerHas("buy oil for the lamp");
  }
};

const parks: Scenario = {
  name: "a parked action outlives its tab and its process, is approved by another person, and takes effect exactly once",
  async play({ visitor, server, anotherVisitor }) {
    const text = `the lamp of ${crypto.randomUUID().slice(0, 8)} is lit`;
    await visitor.ask(`Take a note that says "${text}", then publish it on the board.`);
    await visitor.tool("publish_note").getByRole("button", { name: "Approve" }).waitFor();
    await visitor.answerHas("waits for somebody's decision");
    await visitor.panel.getByText("publish_note waits for a decision").waitFor();
    const path = new URL(visitor.page.url()).pathname;
    const observer = await anotherVisitor();
    await observer.newConversation();
    await visitor.page.close();

    const pid = server.workerd();
    await observer.pullThePlug();
    await eventually(() => server.workerd()).satisfy((now: number | undefined) => now !== undefined && now !== pid);
    await observer.isConnected();
    // The conversation that waits is in no one's way.
    await observer.askAndWait("What is 6*7?");
    await observer.answerHas("42");
    expect(await observer.board.getByText(text).count()).toBe(0);

    const decider = await anotherVisitor();
    await decider.page.goto(server.url + path);
    const card = decider.tool("publish_note");
    await card.getByText("Publish this note on the board").waitFor();
    await decider.photograph("parked");
    await card.getByRole("button", { name: "Approve" }).click();
    await decider.board.getByText(text).waitFor();
    await observer.board.getByText(text).waitFor();
    await decider.answerHas("is on the board now");
    await decider.isSettled();
    await decider.photograph("parked-board");
    expect(await decider.answers.count()).toBe(2);
    expect(await crowded(decider)).toEqual([]);
    await decider.reload();
    await decider.board.getByText(text).first().waitFor();
    expect(await decider.board.getByText(text).count()).toBe(1);
    expect(await decider.button("Approve").count()).toBe(0);
  }
};

export const rejectsParked: Scenario = {
  name: "a parked action that is rejected with a reason leaves the board alone",
  async play({ visitor }) {
    const text = `nobody reads ${crypto.randomUUID().slice(0, 8)}`;
    await visitor.ask(`Take a note that says "${text}", then publish it on the board.`);
    const card = visitor.tool("publish_note");
    await card.getByRole("textbox", { name: "Reason for rejecting" }).fill("Not today");
    await card.getByRole("button", { name: "Reject" }).click();
    await visitor.answerHas("stays off the board");
    await visitor.isSettled();
    expect(await visitor.board.getByText(text).count()).toBe(0);
  }
};

const waitsInLine: Scenario = {
  name: "questions out of sight have a line each, and those beyond two share one",
  device: { viewport: { width: 900, height: 560 } },
  async play({ visitor }) {
    for (const text of ["one", "two", "three"]) {
      const before = await visitor.answers.count();
      await visitor.ask(`Take a note that says "${text}", then publish it on the board.`);
      await visitor.counts(visitor.answers, before + 1);
      await visitor.answerHas("waits for somebody's decision");
    }
    await visitor.askAndWait("What is 6*7?");
    const bar = visitor.page.getByRole("list", { name: "Waiting for your decision" });
    const others = bar.getByRole("button", { name: "1 more decision waits" });
    await others.waitFor();
    await visitor.photograph("decisions");
    expect(await bar.getByRole("listitem").count()).toBe(3);
    await others.click();
    await others.waitFor({ state: "detached" });
  }
};

export const approvalScenarios: readonly Scenario[] = [
  approves,
  approvesChanged,
  rejects,
  parks,
  rejectsParked,
  waitsInLine
];
