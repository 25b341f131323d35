// Studio on a conversation with a history: killed twice, an approval, a compaction, a child. Every view is driven in a real
// browser, against the built page and the real command; the agent runs in this process, so that its clock and its deaths
// are exact.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { launchBrowser } from "./browser.ts";
import { conversationWithHistory, KEY, type StudioHost } from "./studio-kit.ts";

const cli = fileURLToPath(new URL("../../dist/serve/cli.js", import.meta.url));
const shots = process.env["EVERTHINK_SCREENSHOTS"];

let host: StudioHost;
let app: Server;
let studio: { readonly url: string; readonly child: ChildProcess };
let browser: Browser;
let page: Page;
const failures: string[] = [];

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  [host, browser] = await Promise.all([conversationWithHistory(), launchBrowser()]);
  app = createServer((request, response) => {
    void (async () => {
      const isPost = request.method === "POST";
      const body = isPost ? await textOf(request) : undefined;
      const headers = { Authorization: request.headers.authorization ?? "", "Content-Type": "application/json" };
      const init = { method: request.method ?? "GET", headers, ...(body !== undefined && { body }) };
      const answer = await host.fetch(`http://localhost${request.url}`, init);
      response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
      if (isPost) await host.advance(1000);
    })();
  }).listen(0, "127.0.0.1");
  await once(app, "listening");
  studio = await openStudio("--write");
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("dialog", (dialog) => failures.push(`dialog: ${dialog.message()}`));
});

afterAll(async () => {
  studio?.child.kill("SIGTERM");
  if (studio) await once(studio.child, "exit");
  await browser?.close();
  app?.closeAllConnections();
  app?.close();
});

async function openStudio(...options: string[]): Promise<typeof studio> {
  const { port } = app.address() as AddressInfo;
  const args = [cli, "studio", "Subject", "a", "--url", `http://127.0.0.1:${port}`, "--port", "0", ...options];
  const child = spawn(process.execPath, args, { env: { ...process.env, EVERTHINK_INSPECTION_KEY: KEY } });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { url: /http:\S+/.exec(String(line))?.[0] ?? "", child };
}

async function shot(name: string): Promise<void> {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `studio-${name}.png`) });
}

const rows = () => page.locator(".timeline .row-head");

test("the timeline shows the deaths, what recovery decided, the calls, the child and the approval", async () => {
  await page.goto(studio.url);
  await page.getByRole("button", { name: /Count to three/ }).click();
  await rows().filter({ hasText: "process died" }).first().waitFor();
  expect(await rows().filter({ hasText: "process died" }).count()).toBe(2);
  expect(await page.locator(".decision").count()).toBe(2);
  await shot("timeline-killed");

  await page.getByRole("button", { name: /Ask the reader/ }).click();
  await rows().filter({ hasText: "Reader (child)" }).click();
  await shot("timeline-child");
  await page.getByRole("button", { name: "Open its own timeline" }).click();
  await page.getByRole("button", { name: /The tide is high/ }).waitFor();
  await page.goBack();

  await page.getByRole("button", { name: /Pay Ada/ }).click();
  await rows().filter({ hasText: "approved by Grace" }).waitFor();
  await shot("timeline-approval");
});

test("what agents and models wrote is text, and nothing of it runs", async () => {
  await page.getByRole("button", { name: /hostile/ }).click();
  await rows().filter({ hasText: "look" }).click();
  const output = page.locator(".row-body pre").last();
  await output.waitFor();
  expect(await output.textContent()).toContain("<img src=x onerror=alert(1)>");
  expect(await output.textContent()).toContain("␛[31m");
  expect(await page.locator(".row-body img").count()).toBe(0);
  expect((await output.textContent())?.length).toBeLessThan(25_000);
  await page.getByRole("button", { name: "Show more" }).last().click();
  await vi.waitFor(async () => expect((await output.textContent())?.length).toBeGreaterThan(35_000));
});

test("a link leads to a turn and a view, and the keyboard goes through both", async () => {
  await page.keyboard.press("2");
  await page.getByRole("heading", { name: /^Prompt/ }).waitFor();
  const link = page.url();
  await page.keyboard.press("j");
  await vi.waitFor(() => expect(page.url()).not.toBe(link));
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("heading", { name: /hostile/ }).waitFor();
});

test("why shows the prompt by sections, the compaction, the tools by layer and the decisions", async () => {
  await page.getByRole("button", { name: /After the compaction/ }).click();
  await page.locator(".turns .badge", { hasText: "compacted" }).waitFor();
  await page.getByText("This is the prompt the model was given").waitFor();
  await page.locator(".why .section", { hasText: "Compacted" }).waitFor();
  expect(await page.locator(".window-row", { hasText: "compacted" }).count()).toBe(1);
  expect(await page.locator("tr", { hasText: "actions" }).first().textContent()).toContain("pay");
  await shot("why");
});

test("a fork with changes runs beside the original and changes nothing", async () => {
  const before = host.counts.writes;
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("button", { name: /How is the sea/ }).click();
  await page.getByRole("button", { name: "Try again with changes" }).click();
  await page.getByLabel("Result of look").fill("seen fog");
  await page.getByRole("button", { name: "Run the fork" }).click();
  await page
    .locator(".side-by-side .card", { hasText: "With changes" })
    .getByText("changed", { exact: true })
    .waitFor();
  const cards = await page.locator(".side-by-side .card").allTextContents();
  expect(cards[0]).toContain("The sea is blue.");
  expect(cards[1]).toContain("In the fork: seen fog");
  await page.locator(".side-by-side").scrollIntoViewIfNeeded();
  await shot("try-again");
  expect(host.counts.writes).toBe(before);
  await page.getByRole("button", { name: "Try again with changes" }).click();
});

test("the state has memory, files with their history, schedules and masked settings", async () => {
  await page.keyboard.press("4");
  await page.getByRole("button", { name: "/notes.md" }).click();
  await page.getByText("version 1").waitFor();
  expect(await page.locator(".state").textContent()).toContain("likes tea");
  expect(await page.locator(".state").textContent()).not.toContain("very-secret-value");
  await shot("state");
});

test("an exported conversation opens as a file, with every view and without the agent", async () => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click()
  ]);
  const path = await download.path();
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ format: "everthink-conversation", version: 1 });
  await page.locator("input[type=file]").setInputFiles(path);
  await page.getByRole("button", { name: "Close file" }).waitFor();
  await page.keyboard.press("1");
  await page.getByRole("button", { name: /Count to three/ }).click();
  await rows().filter({ hasText: "process died" }).first().waitFor();
  await page.getByRole("button", { name: "Close file" }).click();
});

test("the inbox asks in words, and approving runs the action once", async () => {
  await page.keyboard.press("3");
  await page.getByRole("heading", { name: "Pay this sum?" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("inbox-dark");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Nothing waits").waitFor();
  expect(host.effects).toEqual(["pay 5", "pay 7"]);
  await page.keyboard.press("1");
  await rows().first().waitFor();
  await shot("timeline-dark");
  expect(failures).toEqual([]);
});

test("without --write the server passes on nothing that changes, and no path leads out of its folder", async () => {
  const readonly = await openStudio();
  const post = {
    method: "POST",
    headers: { "X-Everthink-Studio": "1", "Content-Type": "application/json" },
    body: "{}"
  };
  const decide = "__studio/agents/subject/a/inspect/v1/decide";
  expect((await fetch(readonly.url + decide, post)).status).toBe(403);
  // A page of another site cannot send the header.
  expect((await fetch(studio.url + decide, { method: "POST", body: "{}" })).status).toBe(403);
  for (const path of ["%2e%2e%2fserve%2fcli.js", "..%2f..%2fpackage.json", "%", "__studio/none", "none.js"]) {
    expect((await fetch(readonly.url + path)).status, path).toBe(404);
  }
  expect((await fetch(`${readonly.url}any/page`)).headers.get("content-type")).toContain("text/html");
  const config = await fetch(`${readonly.url}__studio/config.json`);
  expect(config.headers.get("cache-control")).toBe("no-store");
  const answer = await config.text();
  expect(JSON.parse(answer)).toMatchObject({ canWrite: false, agents: [{ id: "subject" }] });
  expect(answer).not.toContain(KEY);
  readonly.child.kill("SIGINT");
  expect((await once(readonly.child, "exit"))[0]).toBe(0);
});

test("500 turns open with less than a second of script, and only what is in sight is in the page", async () => {
  const summary = { requestId: null, trigger: "rpc", status: "completed", reason: null, errorCode: null, attempts: 1 };
  const rest = { deaths: 0, steps: 1, calls: 0, models: [], usage: { inputTokens: 1, outputTokens: 1 }, startedAt: 0 };
  const turn = (position: number) => ({
    ...{ ...summary, ...rest, turnId: `t${position}`, position, admittedAt: position, settledAt: position },
    ...{ question: `Question ${position}`, answer: "x".repeat(160) }
  });
  const tab = await browser.newPage();
  await tab.route("**/inspect/v1/turns?*", (route) => {
    const before = Number(new URL(route.request().url()).searchParams.get("before") ?? 501);
    const turns = Array.from({ length: Math.min(100, before - 1) }, (_, index) => turn(before - 1 - index));
    const next = turns.at(-1)?.position ?? 1;
    return route.fulfill({ json: { head: 1, turns, changes: [], ...(next > 1 && { next }) } });
  });
  await tab.goto(studio.url);
  await tab.getByText("Question 500").waitFor();
  const list = tab.locator(".turns .list");
  for (let page = 0; page < 12; page += 1) await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await vi.waitFor(
    async () => {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      expect(await tab.getByText("Question 1", { exact: true }).count()).toBe(1);
    },
    { timeout: 10_000 }
  );
  const session = await tab.context().newCDPSession(tab);
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? Infinity;
  expect(metric("ScriptDuration")).toBeLessThan(1);
  expect(await tab.locator(".turn").count()).toBeLessThan(40);
  await tab.close();
});
