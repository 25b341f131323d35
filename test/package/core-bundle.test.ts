// What a Worker of the built package carries: the chunks of dist/ are cut so that a class without capabilities has no code of one.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { bundleContender } from "../../bench/bundle.ts";
import { CONTENDERS } from "../../bench/contenders.ts";
import budgets from "../budgets/budgets.json" with { type: "json" };

const NAMES_OF_CAPABILITIES = [
  "addMcpServer",
  "getSkills",
  "runAgentTool",
  "runWorkflow",
  "scheduleEvery",
  "startFiber",
  "submitMessages"
];

const folder = mkdtempSync(join(tmpdir(), "everthink-core-bundle-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The benchmark's Worker, which has zod as well. */
async function built(name: string) {
  const contender = CONTENDERS.find((one) => one.name === name);
  if (!contender) throw new Error(`There is no contender "${name}".`);
  const file = join(folder, `${name}.js`);
  const { minifiedBytes } = await bundleContender(contender, file);
  return { kib: minifiedBytes / 1024, code: readFileSync(file, "utf8") };
}

test("a core agent has no name of a capability, also beside a function of everthink/agent", async () => {
  const { kib, code } = await built("everthink-core");
  // The route and the conversation are there: the bundle is the agent's.
  expect(["saveMessages", "cf_agent_use_chat_request"].filter((name) => !code.includes(name))).toEqual([]);
  expect(NAMES_OF_CAPABILITIES.filter((name) => code.includes(`${name}(`))).toEqual([]);
  expect(kib).toBeLessThanOrEqual(budgets.benchmarkKiB.core);
});

test("a Think is within its budget", async () => {
  expect((await built("everthink")).kib).toBeLessThanOrEqual(budgets.benchmarkKiB.think);
});
