// Lines of each module of src/, without tests: a module that outgrows its budget is a decision, not an accident.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isTest } from "../../tools/lint-imports.ts";
import budgets from "./budgets.json" with { type: "json" };

const source = fileURLToPath(new URL("../../src/", import.meta.url));
const limits: Readonly<Record<string, number>> = budgets.moduleLines;
/** Budgets of single files, where the shape of the package depends on them staying small. */
const fileLimits: Readonly<Record<string, number>> = budgets.fileLines;

const lines = new Map<string, number>();
const linesOfFile = new Map<string, number>();
for (const path of globSync("**/*.{ts,tsx}", { cwd: source })) {
  if (isTest(path)) continue;
  const count = readFileSync(source + path, "utf8").split("\n").length - 1;
  const [, module = "(root)"] = /^(features\/[^/]+|[^/]+)\//.exec(path) ?? [];
  lines.set(module, (lines.get(module) ?? 0) + count);
  linesOfFile.set(path, count);
}

test("every module has a budget, and every budget its module", () => {
  expect(Object.keys(limits).sort()).toEqual([...lines.keys()].sort());
});

test.each(Object.entries(limits))("%s has at most %i lines", (module, limit) => {
  expect(lines.get(module)).toBeLessThanOrEqual(limit);
});

test.each(Object.entries(fileLimits))("%s has at most %i lines", (path, limit) => {
  expect(linesOfFile.get(path)).toBeLessThanOrEqual(limit);
});
