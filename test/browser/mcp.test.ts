// The published `useAgent` of both generations in a real browser: it shows the agent's MCP servers, and a person logs in
// to one in a window of its own.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveProtected } from "../process/mcp/protected-server.ts";
import { startWorker, type WorkerServer } from "../process/workerd-process.ts";
import { launchBrowser } from "./browser.ts";
import type { GenerationName } from "./page-bundle.ts";
import { PageServer } from "./page-server.ts";
import { pageQuery } from "./page/settings.ts";

const GENERATIONS: readonly GenerationName[] = ["newest", "june"];
const PATIENCE_MS = 30_000;

let browser: Browser;
let pages: PageServer;
let server: WorkerServer;

beforeAll(async () => {
  const entry = new URL("../process/mcp/reader-worker.ts", import.meta.url);
  server = await startWorker({ entry, objects: ["Reader"], allowsPrivateNetwork: true });
  pages = await PageServer.start(GENERATIONS, "mcp-page.tsx");
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await pages?.stop();
});

describe.each(GENERATIONS)("with the %s client", (generation) => {
  test("a server that wants a login is shown with its page; after the login its tools are there and work", async () => {
    const { mcpUrl } = await serveProtected();
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const host = new URL(server.url).host;
    await page.goto(pages.url(generation, pageQuery({ host, name: generation, answers: "by-button" })));
    await page.getByLabel("Address").fill(mcpUrl);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByText("mine is authenticating").waitFor();
    const [login] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("button", { name: "Log in" }).click()
    ]);
    // From the login page to the agent, and from there to the agent's own origin.
    await login.waitForURL(`${server.url}/`);
    await page.getByText("mine is ready").waitFor();
    await page.getByRole("list", { name: "Tools" }).getByText("whoami").waitFor();
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByLabel("Answer").getByText("You are you.").waitFor();
    expect(await page.getByLabel("Answer").textContent()).toContain('"text":"you"');
    await login.close();
    await page.close();
  });
});
