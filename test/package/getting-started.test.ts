// The project of the README, taken further by following docs/getting-started.md word for word, up to its page in a
// browser and its own tests. OpenAI is a server here.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchBrowser } from "../browser/browser.ts";
import { FakeOpenAi } from "./fake-openai.ts";
import { Follower } from "./follower.ts";
import { PackedProject, repository } from "./packed-project.ts";
import { headingsWithSteps, pageSteps, type PageStep } from "./page-steps.ts";

const PAGE = "docs/getting-started.md";
const READY = "/agents/keeper/ada/get-messages";
let packed: PackedProject;
let openAi: FakeOpenAi;
let person: Follower;
let browser: Browser | undefined;

beforeAll(async () => {
  packed = new PackedProject();
  openAi = await FakeOpenAi.start();
  person = await Follower.begin(packed);
});
afterAll(async () => {
  await browser?.close();
  await person?.leave();
  openAi?.stop();
  await packed?.remove();
});

/** The steps up to the last commands, and those. */
function apart(steps: readonly PageStep[], count: number): { before: PageStep[]; commands: string[] } {
  const commands = steps.slice(-count).flatMap((step) => (step.do === "run" ? step.commands : []));
  return { before: steps.slice(0, -count), commands };
}

describe("a project made by following the first steps word for word", () => {
  test("asks before it acts, has a page, is tested and checked", { timeout: 600_000 }, async () => {
    expect(headingsWithSteps(repository, PAGE)).toEqual([
      // Followed by starters.test.ts and first-day.test.ts.
      "From a starter",
      "Types",
      "Hooks, memory, an action",
      "A page",
      "A test that kills it"
    ]);
    await person.follow(apart(pageSteps(repository, "README.md", "Your own agent"), 2).before);
    const dotenv = ["OPENAI_API_KEY=sk-...", `OPENAI_BASE_URL=${openAi.url}`, ""].join("\n");
    appendFileSync(join(person.folder, ".dev.vars"), dotenv);
    await person.follow(pageSteps(repository, PAGE, "Types"));

    const agent = apart(pageSteps(repository, PAGE, "Hooks, memory, an action"), 2);
    await person.follow(agent.before);
    const development = await person.start(agent.commands[0] ?? "", READY);
    expect(await person.run(agent.commands[1] ?? "")).toBe(
      'completed parked\napproved: soundHorn { seconds: 9 }\n{"sounded":9}\n'
    );
    await person.stop(development);

    const page = apart(pageSteps(repository, PAGE, "A page"), 1);
    await person.follow(page.before);
    await person.start(page.commands[0] ?? "", READY);
    await usePage();

    await person.follow(pageSteps(repository, PAGE, "A test that kills it"));
  });
});

/** What a person does with the page: reads, asks, approves. */
async function usePage(): Promise<void> {
  browser = await launchBrowser();
  const tab = await browser.newPage();
  tab.setDefaultTimeout(30_000);
  await tab.goto(`http://localhost:${person.port}/`);
  // The conversation is the one that was had in the terminal.
  await tab.getByText("Sound the horn for 9 seconds.").waitFor();
  await tab.getByLabel("Message").fill("Sound the horn for 7 seconds.");
  await tab.getByRole("button", { name: "Send" }).click();
  await tab.getByRole("button", { name: "Approve" }).click();
  await tab.getByText('{"sounded":7}').waitFor();
  await tab.close();
}
