// A framework project in a real browser: its agents are reached under a name, a binding and a prefix of the user's own, down
// to a sub-agent of a sub-agent, by the published hooks of both generations. Page and agents are one origin.
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameworkProject } from "../process/framework/framework-project.ts";
import type { ServeRun } from "../process/served-project.ts";
import { launchBrowser } from "./browser.ts";
import { bundlePage, type GenerationName } from "./page-bundle.ts";
import { pageHtml } from "./page-server.ts";
import { pageQuery } from "./page/settings.ts";
import { Tab, textOf, type TabView } from "./tab.ts";

const GENERATIONS: readonly GenerationName[] = ["newest", "june"];
const OFFLINE_MODEL = new URL("../../starters/shared/models/offline-model.ts", import.meta.url);

const PREFIX = "api/v1/bots";

/** Answers every question with its own class and name. */
function speaker(depth: number): string {
  const model = `${"../".repeat(depth)}models/offline-model.ts`;
  return `import { Think } from "everthink";
import { offlineModel } from "${model}";
export default class extends Think {
  override getModel() {
    const text = [this.constructor.name, this.name].join(" is ");
    return offlineModel([{ match: /./, steps: () => [{ text }] }], "0");
  }
}
`;
}

/** The agent's class and binding have names of the user's own. */
const CONFIG = {
  name: "app",
  main: "virtual:everthink/entry",
  compatibility_date: "2026-09-18",
  durable_objects: { bindings: [{ name: "FrontOffice", class_name: "HelpDesk" }] },
  migrations: [{ tag: "v1", new_sqlite_classes: ["HelpDesk"] }]
};

let browser: Browser;
let served: ServeRun;

beforeAll(async () => {
  const pages = GENERATIONS.map(async (generation) => [
    [`public/${generation}.html`, pageHtml(generation)],
    [`public/${generation}.js`, await bundlePage(generation, "chat-page.tsx")]
  ]);
  const project = new FrameworkProject({
    "wrangler.jsonc": JSON.stringify(CONFIG),
    "models/offline-model.ts": readFileSync(OFFLINE_MODEL, "utf8"),
    "agents/support/agent.ts": `export const className = "HelpDesk";\n${speaker(2)}`,
    "agents/support/agents/researcher/agent.ts": speaker(4),
    "agents/support/agents/researcher/agents/page-reader.ts": speaker(5),
    ...(Object.fromEntries((await Promise.all(pages)).flat()) as Record<string, string>)
  });
  const built = await project.build({ think: { routePrefix: PREFIX } });
  expect(built.error).toBe("");
  served = project.serve();
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  served?.child.kill("SIGTERM");
  await served?.ended;
});

interface Question {
  readonly generation: GenerationName;
  /** Below the prefix. */
  readonly path: string;
  readonly answer: string;
  /** Shown when it was answered. */
  readonly messages: number;
}

/** Asks in a new tab, and looks again after a reload: what the object has is what a new page is given. */
async function ask({ generation, path, answer, messages: count }: Question): Promise<void> {
  const url = await served.url();
  const { host } = new URL(url);
  const query = pageQuery({ host, name: "unused", answers: "by-button", basePath: `${PREFIX}/${path}` });
  const context = await browser.newContext();
  const tab = await Tab.open(context, path, `${url}/${generation}.html?${query}`);
  const isAnswered = ({ messages }: TabView) => messages.length === count && textOf(messages.at(-1)) === answer;
  await tab.until("has the history", ({ messages }) => messages.length === count - 2);
  await tab.send("Who are you?");
  await tab.until(`shows "${answer}"`, isAnswered);
  expect((await tab.untilIdle()).error).toBeUndefined();
  await tab.reload();
  await tab.until(`shows "${answer}" again`, isAnswered);
  expect(tab.complaints).toEqual([]);
  await context.close();
}

describe.each(GENERATIONS)("the hooks of the %s client reach", (generation) => {
  test("one agent by its id, its class and its binding, under the project's own prefix", async () => {
    const answer = `HelpDesk is ${generation}`;
    for (const [index, segment] of ["support", "help-desk", "front-office"].entries()) {
      await ask({ generation, path: `${segment}/${generation}`, answer, messages: (index + 1) * 2 });
    }
  });

  test("its sub-agent, and the sub-agent of that", async () => {
    const child = `front-office/${generation}/sub/researcher/one`;
    await ask({ generation, path: child, answer: "ThinkSubAgent_Support_Researcher is one", messages: 2 });
    const answer = "ThinkSubAgent_Support_Researcher_PageReader is two";
    await ask({ generation, path: `${child}/sub/page-reader/two`, answer, messages: 2 });
  });
});
