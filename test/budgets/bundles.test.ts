// Bytes of a Worker by what its class names. A build of esbuild takes about a second each.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test, vi } from "vitest";
import surface from "../package/surface.json" with { type: "json" };
import budgets from "./budgets.json" with { type: "json" };
import { bundleOf, CHAT_AGENTS, coreAgentWith, PLAIN_AGENT, type SourceBundle } from "./bundles.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const KIB = 1024;
/** What a page may say although the code has moved on a little. */
const DOCUMENTED_WITHIN_KIB = 4;
/** Exports of these subpaths that are no capability. */
const FUNCTIONS: readonly string[] = ["action", "isAction", "PRICES", "tokens", "usd"];

const capabilities = Object.entries(surface).flatMap(([subpath, { values }]) =>
  subpath.startsWith("./core/")
    ? values.filter((name) => !FUNCTIONS.includes(name)).map((name) => ({ subpath: subpath.slice(2), name }))
    : []
);
const page = readFileSync(new URL("../../docs/core.md", import.meta.url), "utf8");
const bundles: Partial<Record<keyof typeof budgets.bundleKiB, SourceBundle>> = {};

beforeAll(async () => {
  bundles.core = await bundleOf(CHAT_AGENTS.core);
  bundles.think = await bundleOf(CHAT_AGENTS.think);
  bundles.agent = await bundleOf(PLAIN_AGENT);
});

/** The number of KiB in the row of docs/core.md that begins with these words. */
function documentedKiB(row: string): number {
  const line = page.split("\n").find((text) => text.startsWith(`| ${row} |`));
  if (line === undefined) throw new Error(`docs/core.md has no row "${row}". Add it with its KiB.`);
  return Number(line.match(/([\d,]+) KiB/)?.[1]?.replace(",", ""));
}

describe.each(["core", "think", "agent"] as const)("%s", (name) => {
  test("a bundle is within its budget, and the budget follows when it gets smaller", () => {
    const kib = (bundles[name]?.sizeBytes ?? NaN) / KIB;
    const budget = budgets.bundleKiB[name];
    expect(kib, "larger than budgets.json allows").toBeLessThanOrEqual(budget);
    expect(kib, "a twentieth below the budget: lower it in budgets.json").toBeGreaterThan(budget * 0.95);
  });

  test("docs/core.md says its size", () => {
    const kib = (bundles[name]?.sizeBytes ?? NaN) / KIB;
    expect(Math.abs(documentedKiB(`\`${name}\``) - kib)).toBeLessThanOrEqual(DOCUMENTED_WITHIN_KIB);
  });
});

test("a core agent carries no capability, no package of one, and no isolate", () => {
  const foreign = [...(bundles.core?.ours.keys() ?? [])].filter((path) =>
    // The wakes of sub-agents are items of `work`.
    /^(features|takeover|sandbox)\//.test(path)
  );
  expect(foreign).toEqual([]);
  for (const name of ["acorn", "croner", "yaml", "@modelcontextprotocol/client", "just-bash", "sucrase"]) {
    expect(bundles.core?.packages.has(name), name).toBe(false);
  }
});

test("a plain agent carries neither the AI SDK nor zod", () => {
  expect([...(bundles.agent?.packages.keys() ?? [])].filter((name) => name !== "croner")).toEqual([]);
});

test.each(capabilities)("docs/core.md says what $name of $subpath adds", async ({ subpath, name }) => {
  const added = (await bundleOf(coreAgentWith(subpath, name))).sizeBytes - (bundles.core?.sizeBytes ?? NaN);
  expect(Math.abs(documentedKiB(`\`everthink/${subpath}\` | \`${name}\``) - added / KIB)).toBeLessThanOrEqual(
    DOCUMENTED_WITHIN_KIB
  );
});
