// What axe-core finds on a page: every rule it has, of the issues that keep people from using the page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What is judged is how the page looks at rest: between two colours nothing is legible. What never ends, such as a pulse, is not
 * waited for.
 */
async function atRest(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    await frame();
    await frame();
    const ending = document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY);
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
}

/** Rule and element of each serious or critical issue. */
export async function seriousIssues(page: Page): Promise<string[]> {
  await atRest(page);
  await page.evaluate(source);
  const results = await page.evaluate<AxeResults>("axe.run()");
  if (results.passes.length === 0) throw new Error("axe-core looked at nothing.");
  return results.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${String(target)} ${failureSummary}`));
}
