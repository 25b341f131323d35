// For everybody: by keyboard alone, in the dark, and read aloud.
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { seriousIssues } from "../../browser/axe.ts";
import { namelessControls } from "../accessible-names.ts";
import type { Scenario } from "../scenario.ts";
import { STORY } from "./whole-story.ts";

/** More than the page has. */
const MOST_STOPS = 200;

export const changesTheme: Scenario = {
  name: "the theme follows the system until it is chosen, and the choice is kept",
  device: { colorScheme: "dark" },
  async play({ visitor }) {
    const dark = await background(visitor.page);
    await visitor.suggest("Wait for a decision");
    await visitor.button("Approve").waitFor();
    await visitor.photograph("dark");
    await visitor.button("Switch to light theme").click();
    const light = await background(visitor.page);
    expect(light).not.toBe(dark);
    await visitor.reload();
    await visitor.button("Switch to dark theme").waitFor();
    expect(await background(visitor.page)).toBe(light);
    await visitor.button("Reject").click();
    await visitor.isSettled();
  }
};

function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}

export const worksByKeyboard: Scenario = {
  name: "everything can be reached and done by keyboard: Tab reaches every control, Enter sends, Escape stops",
  async play({ visitor }) {
    const { page } = visitor;
    await page.keyboard.press("/");
    await page.keyboard.type(STORY);
    await page.keyboard.press("Enter");
    await visitor.reads(80);
    await page.keyboard.press("Escape");
    await visitor.isSettled();
    await page.keyboard.type("What is 6*7?");
    await page.keyboard.press("Enter");
    await visitor.counts(visitor.answers, 2);
    await visitor.answerHas("42");
    await visitor.isSettled();
    const reached = await reachedByTab(page);
    const wanted = ["Message", "Attach images", "New conversation", "Pull the plug", "Switch to dark theme"];
    wanted.push("Hide what happens underneath", "Regenerate answer", "Edit message");
    expect(wanted.filter((name) => !reached.has(name))).toEqual([]);
    expect(await unreachable(page)).toEqual([]);
  }
};

/** Names of what Tab stops at, once round the page; each stop is marked. */
async function reachedByTab(page: Page): Promise<Set<string>> {
  const reached = new Set<string>();
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return "";
      if (element.hasAttribute("data-test-reached")) return undefined;
      element.setAttribute("data-test-reached", "");
      return element.getAttribute("aria-label") ?? element.textContent ?? "";
    });
    if (name === undefined) return reached;
    reached.add(name.trim());
  }
  throw new Error(`Tab does not come round within ${MOST_STOPS} stops.`);
}

/** Controls that are shown and can be used, and that Tab did not stop at. */
function unreachable(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, a[href], input, textarea, summary")]
      .filter((element) => element.checkVisibility() && !element.hasAttribute("data-test-reached"))
      .filter((element) => !(element instanceof HTMLButtonElement && element.disabled))
      // Tab stops at the tab that is shown; the arrow keys lead to the others.
      .filter((element) => element.getAttribute("aria-selected") !== "false")
      .map((element) => element.getAttribute("aria-label") ?? element.textContent)
  );
}

export const namesEverything: Scenario = {
  name: "every control has an accessible name, and axe-core finds nothing serious, in every state of the page",
  async play({ visitor }) {
    const { page } = visitor;
    const state = async (what: string) => {
      expect((await namelessControls(page)).map((control) => `${what}: ${control}`)).toEqual([]);
      // What moves has colours that are on their way.
      if (what !== "streaming") expect(await seriousIssues(page), what).toEqual([]);
    };
    await state("empty");
    await visitor.ask(STORY);
    await visitor.reads(60);
    await state("streaming");
    await visitor.button("Stop").click();
    await visitor.isSettled();
    await visitor.ask('Take a note that says "names", then delete it.');
    await visitor.button("Approve").waitFor();
    await state("approval");
    await visitor.button("Reject").click();
    await visitor.isSettled();
    await visitor.button("Edit message").first().click();
    await state("editing");
    await visitor.button("Cancel edit").click();
    await visitor.ask("Please fail on purpose.");
    await visitor.button("Try again").waitFor();
    await state("failed");
    await visitor.askAndWait("Show me some markdown.");
    await state("markdown");
    await page
      .getByRole("button", { name: /^Delete / })
      .first()
      .click();
    await state("dialog");
    await visitor.button("Keep it").click();
  }
};

export const accessScenarios: readonly Scenario[] = [changesTheme, worksByKeyboard, namesEverything];
