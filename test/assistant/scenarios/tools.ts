// Tools at work: thoughts, input, progress, output, and the tool that runs in the page.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

export const thinksAndCalculates: Scenario = {
  name: "thoughts are shown, and each tool is a card with what went in and what came out",
  async play({ visitor }) {
    await visitor.suggest("Think it through");
    await visitor.answer
      .locator("details")
      .filter({ hasText: /^Reasoning/ })
      .first()
      .waitFor();
    await visitor.answerHas(/days? (is|are) left/);
    await visitor.isSettled();
    for (const [tool, input, output] of [
      ["now", "{}", /"date": "\d{4}-\d\d-\d\d"/],
      ["calculate", "expression", /"value": \d+/]
    ] as const) {
      const card = visitor.tool(tool);
      expect(await card.getAttribute("data-state")).toBe("output-available");
      await card.locator("summary").click();
      await card.getByLabel("Input", { exact: true }).getByText(input).waitFor();
      await card.getByLabel("Output", { exact: true }).getByText(output).waitFor();
    }
    await visitor.answer.locator("summary").filter({ hasText: "Reasoning" }).click();
    await visitor.answer.getByText("The clock tool gives me the date").waitFor();
    await visitor.photograph("tools");
  }
};

const showsProgress: Scenario = {
  name: "a slow tool shows its progress moving before its result is there",
  async play({ visitor }) {
    const values = await progressOf(visitor);
    await visitor.suggest("Use a slow tool");
    await visitor.answerHas("17,984");
    await visitor.isSettled();
    expect(await visitor.page.getByRole("progressbar").count()).toBe(0);
    const seen = await values();
    expect(new Set(seen).size).toBeGreaterThanOrEqual(3);
    expect(seen).toEqual(seen.toSorted((left, right) => left - right));
  }
};

/** Every value that the progress bar shows from here on. Watched inside the page: a fast tool may be done between two looks. */
async function progressOf({ page }: Visitor): Promise<() => Promise<number[]>> {
  const seen = await page.evaluateHandle(() => {
    const values: number[] = [];
    const note = () => {
      const bar = document.querySelector('[role=progressbar][aria-label="Progress of count_primes"]');
      const value = Number(bar?.getAttribute("aria-valuenow"));
      if (bar && value !== values.at(-1)) values.push(value);
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true });
    return values;
  });
  return () => seen.jsonValue();
}

export const asksThePage: Scenario = {
  name: "a tool that runs in the page answers with the real size of the window",
  device: { viewport: { width: 1234, height: 777 }, timezoneId: "Europe/Oslo" },
  async play({ visitor }) {
    await visitor.suggest("Look at this browser");
    await visitor.answerHas("1234 × 777");
    await visitor.answerHas("Europe/Oslo");
    await visitor.isSettled();
    await eventually(() => visitor.tool("browser_info").getAttribute("data-state")).toBe("output-available");
  }
};

export const toolScenarios: readonly Scenario[] = [thinksAndCalculates, showsProgress, asksThePage];
