// Work that goes on without the page.
import type { Scenario } from "../scenario.ts";

export const handsOver: Scenario = {
  name: "a message handed to the background is answered without its page, and is still listed after a reload",
  async play({ visitor }) {
    const background = visitor.panel.getByRole("region", { name: "Background" });
    await visitor.field.fill("Count the primes below 1000.");
    await visitor.button("Do this in the background").click();
    await background.getByText(/^Running/).waitFor();
    await visitor.photograph("background-running");
    await visitor.page.goto("about:blank");
    await visitor.page.goBack();
    await visitor.isConnected();
    await background.getByText(/^Done/).waitFor();
    await visitor.answerHas(/168/);
    await visitor.reload();
    await background.getByText(/^Done/).waitFor();
  }
};

export const runsTasks: Scenario = {
  name: "a task is started, says when it runs next in the visitor's time, runs now, and is paused, also after a reload",
  device: { timezoneId: "Asia/Tokyo", locale: "en-GB" },
  async play({ visitor }) {
    const tasks = visitor.panel.getByRole("region", { name: "Background" }).getByRole("list", { name: "Tasks" });
    const notes = tasks.getByRole("listitem").filter({ hasText: "Every day at 08:30" });
    await notes.getByText(/paused$/).waitFor();
    await notes.getByRole("button", { name: "Start" }).click();
    await notes.getByText(/next (\w+,? )?08:30/).waitFor();
    await notes.getByRole("button", { name: "Run now" }).click();
    await notes.getByText(/handed over/).waitFor();
    await visitor.isSettled();
    await visitor.photograph("background-tasks");
    await visitor.reload();
    await notes.getByText(/next (\w+,? )?08:30 · last .*, handed over/).waitFor();
    await notes.getByRole("button", { name: "Pause" }).click();
    await notes.getByText(/paused$/).waitFor();
  }
};

export const backgroundScenarios = [handsOver, runsTasks];
