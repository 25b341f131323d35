// What axe-core finds on a page: every rule it has, of the issues that keep people from using the page.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rule and element of each serious or critical issue. */
export async function seriousIssues(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const results = await page.evaluate<AxeResults>("axe.run()");
  if (results.passes.length === 0) throw new Error("axe-core looked at nothing.");
  return results.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${String(target)} ${failureSummary}`));
}
