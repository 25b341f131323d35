// Studio on a conversation with a history: killed twice, an approval, a compaction, a child. Every view is driven in a real
// browser, against the built page and the real command; the agent runs in this process, so that its clock and its deaths
// are exact.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { seriousIssues } from "./axe.ts";
import { launchBrowser } from "./browser.ts";
import { namelessControls } from "../assistant/accessible-names.ts";
import { conversationWithHistory, HOSTILE, longConversation, type StudioHost } from "./studio-kit.ts";
import { KEY, openStage, shot as shotOf, type RunningCommand, type StudioStage } from "./studio-stage.ts";

let host: StudioHost;
let stage: StudioStage;
let studio: RunningCommand;
let browser: Browser;
let page: Page;
const failures: string[] = [];

beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  [host, browser] = await Promise.all([conversationWithHistory(), launchBrowser()]);
  stage = await openStage(host);
  studio = await stage.open("--write");
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("dialog", (dialog) => failures.push(`dialog: ${dialog.message()}`));
});

afterAll(async () => {
  await browser?.close();
  await stage?.close();
});

const shot = (name: string, of = page) => shotOf(name, of);

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

  // Decided on a page of the chat, by the person the class knows behind the connection.
  await page
    .getByRole("button", { name: /Ship the parcel/ })
    .last()
    .click();
  await rows().filter({ hasText: "approved by Ada" }).waitFor();
  await shot("timeline-approval-chat");

  await page.getByRole("button", { name: /After the compaction/ }).click();
  await page.locator(".timeline", { hasText: "Before this turn the history was compacted" }).waitFor();
  await page.locator(".facts", { hasText: "$0.0" }).waitFor();
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
  // 5 MB: what was asked for is in the page, and no more.
  const shown = await page.locator(".row-body").textContent();
  expect(Number(/of ([\d,]+) characters/.exec(shown ?? "")?.[1]?.replaceAll(",", ""))).toBeGreaterThan(5_000_000);
  for (const chars of [35_000, 55_000]) {
    await page.getByRole("button", { name: "Show more" }).last().click();
    await vi.waitFor(async () => expect((await output.textContent())?.length).toBeGreaterThan(chars));
  }
  const pages = (await output.textContent()) ?? "";
  expect(pages === HOSTILE.replaceAll("\u001b", "␛").repeat(1000).slice(0, pages.length)).toBe(true);
  expect((await page.content()).length).toBeLessThan(400_000);
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

test("j goes to the last turn and keeps it in sight; arrow keys go through the views", async () => {
  await page.setViewportSize({ width: 1280, height: 500 });
  const current = page.locator('.turn[aria-current="true"]');
  for (let key = 0; key < 12; key += 1) {
    await page.keyboard.press("j");
    await current.waitFor();
  }
  await current.filter({ hasText: "How is the sea" }).waitFor();
  const [list, turn] = await Promise.all([page.locator(".turns .list").boundingBox(), current.boundingBox()]);
  expect((turn?.y ?? Infinity) + (turn?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0) + 1);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole("tab", { name: "Why" }).focus();
  const selected = page.locator('[role="tab"][aria-selected="true"]:focus');
  for (const [key, name] of KEYS_OF_TABS) {
    await page.keyboard.press(key);
    await selected.filter({ hasText: name }).waitFor();
  }
});

const KEYS_OF_TABS: readonly (readonly [string, string])[] = [
  ["ArrowRight", "Inbox"],
  ["End", "Tools"],
  ["ArrowRight", "Timeline"],
  ["ArrowLeft", "Tools"],
  ["Home", "Timeline"]
];

test("a turn is copied as Markdown, and the button says so", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: /How is the sea/ }).click();
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^## Turn `.+` of `subject\/a`/);
  expect(copied).toContain("- `look`: output");
});

test("while the app is away the last view stays, and the page says so until it is back", async () => {
  await page.route("**/inspect/v1/**", (route) => route.fulfill({ status: 502, json: { error: "It is away." } }));
  await page.locator(".lost", { hasText: "It is away." }).waitFor();
  await rows().filter({ hasText: "look" }).waitFor();
  await page.unroute("**/inspect/v1/**");
  await page.locator(".lost").waitFor({ state: "detached" });
  await rows().filter({ hasText: "look" }).waitFor();
});

test("on a phone nothing is wider than the screen, how attempts ended is said, and all controls have names", async () => {
  const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  await phone.goto(studio.url);
  await phone.getByRole("button", { name: /Count to three/ }).click();
  await phone.locator(".row-note:visible", { hasText: "process died" }).first().waitFor();
  for (const view of ["Timeline", "Why", "Inbox", "State", "Agents", "Costs", "Tools"]) {
    await phone.getByRole("tab", { name: view }).click();
    await phone.getByRole("tab", { name: view, selected: true }).waitFor();
    await phone.locator(".content h3").first().waitFor();
    await shot(`phone-${view.toLowerCase()}`, phone);
    const width = await phone.evaluate(() => {
      const content = document.querySelector(".content");
      return Math.max(document.documentElement.scrollWidth, content?.scrollWidth ?? Infinity);
    });
    expect([view, width]).toEqual([view, 390]);
    expect(await namelessControls(phone)).toEqual([]);
  }
  await phone.close();
});

test("why shows the prompt by sections, the compaction, the tools by layer and the decisions", async () => {
  await page.getByRole("tab", { name: "Why" }).click();
  await page.getByRole("button", { name: /After the compaction/ }).click();
  await page.locator(".turns .badge", { hasText: "compacted" }).waitFor();
  await page.getByText("This is the prompt the model was given").waitFor();
  await page.locator(".why .section", { hasText: "Compacted" }).waitFor();
  await page.locator(".window-row", { hasText: "compacted" }).waitFor();
  expect(await page.locator("tr", { hasText: "actions" }).first().textContent()).toContain("pay");
  await shot("why");
});

test("a fork with changes runs beside the original and changes nothing", async () => {
  const before = host.counts.writes;
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("button", { name: /How is the sea/ }).click();
  await page.getByRole("button", { name: "Try again with changes" }).click();
  await page.getByLabel("Result of look").fill("seen fog");
  const question = page.getByRole("group", { name: "History" }).getByLabel(/How is the sea/);
  await question.uncheck();
  await page.getByText("1 left out").waitFor();
  await question.check();
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
  await page.getByRole("button", { name: "assistant_messages", exact: true }).click();
  const rowsOf = page.getByRole("region", { name: "Rows of assistant_messages" });
  await rowsOf.getByText("How is the sea today?").first().waitFor();
  expect(await page.locator("tr", { hasText: "assistant_messages" }).textContent()).toContain("Messages of the conv");
  // A tool's output of another site's page, as it is stored.
  expect(await rowsOf.locator("img, script").count()).toBe(0);
  await shot("state-rows");
  await page.getByRole("button", { name: "think_config", exact: true }).click();
  await page.getByRole("region", { name: "Rows of think_config" }).getByText("eu").waitFor();
  expect(await page.locator(".state").textContent()).not.toContain("very-secret-value");
  expect(await seriousIssues(page)).toEqual([]);
});

test("an exported conversation opens as a file, with every view and without the agent", async () => {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click()
  ]);
  const path = await download.path();
  const exported: object = JSON.parse(readFileSync(path, "utf8"));
  expect(exported).toMatchObject({ format: "everthink-conversation", version: 1 });
  await openText("{}");
  await page.getByRole("alert").filter({ hasText: "not a conversation that Studio exported" }).waitFor();
  await page.locator("input[type=file]").setInputFiles(path);
  await page.getByRole("button", { name: "Close file" }).waitFor();
  await page.keyboard.press("1");
  await page.getByRole("button", { name: /Count to three/ }).click();
  await rows().filter({ hasText: "process died" }).first().waitFor();
  await openText(JSON.stringify({ ...exported, state: { memory: 5 } }));
  await page.keyboard.press("4");
  await page.getByText("This view cannot be drawn").waitFor();
  await page.keyboard.press("1");
  await rows().filter({ hasText: "process died" }).first().waitFor();
  await page.getByRole("button", { name: "Close file" }).click();
});

async function openText(text: string): Promise<void> {
  const file = { name: "conversation.json", mimeType: "application/json", buffer: Buffer.from(text) };
  await page.locator("input[type=file]").setInputFiles(file);
}

test("the inbox asks in words, and approving runs the action once", async () => {
  await page.keyboard.press("3");
  await page.getByRole("heading", { name: "Pay this sum?" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await shot("inbox-dark");
  await page.locator(".decided li", { hasText: "ship by Ada" }).waitFor();
  await page.getByLabel("Your name, recorded with your decisions").fill("Lin");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("Nothing waits").waitFor();
  expect(host.effects).toEqual(["pay 5", "pay 7"]);
  await page.locator(".decided li", { hasText: "pay by Lin" }).waitFor();
  await shot("inbox-empty-dark");
  await page.keyboard.press("1");
  await rows().first().waitFor();
  await shot("timeline-dark");
  expect(failures).toEqual([]);
});

test("without --write the server passes on nothing that changes, and no path leads out of its folder", async () => {
  const readonly = await stage.open();
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

test("the agents view has the conversations, and an honest text where the data is elsewhere", async () => {
  await page.keyboard.press("5");
  await page.getByText("The one without a name").waitFor();
  await page.getByText("Which instances there are is known where their data is").waitFor();
  await page.route("**/instances.json?*", (route) => route.fulfill({ json: { instances: INSTANCES, isCut: false } }));
  await page.reload();
  await page.getByText("300 instances").waitFor();
  expect(await page.locator(".instance").count()).toBeLessThan(40);
  await page.getByLabel("Find an instance of subject").fill("<b>");
  await shot("agents-dark");
  await page.getByLabel("Find an instance of subject").fill("four o\u2019clock");
  await page.getByText("When is tea?").waitFor();
  await shot("agents-words");
  expect(await page.locator(".instance").count()).toBe(1);
  await page.getByLabel("Find an instance of subject").fill("<b>");
  await page.locator(".instance").click();
  await vi.waitFor(() => expect(page.url()).toContain(encodeURIComponent(encodeURIComponent("<b>bold</b>"))));
  await page.goBack();
  expect(failures).toEqual([]);
});

const INSTANCES = ["<b>bold</b>", ...Array.from({ length: 299 }, (_, index) => `user-${index}`)].map((name) => ({
  ...{ name, changedAt: Date.UTC(2026, 10, 16, 9), sizeBytes: 32_768, spokenAt: null },
  ...(name === "user-7" ? { title: "When is tea?", words: "At four o\u2019clock." } : { title: null, words: null })
}));

/** All of it for real takes minutes; the page is given the same answers either way. */
const REAL_TURNS = process.env["EVERTHINK_LONG_TESTS"] === "1" ? 500 : 2;

test("10,000 messages and 500 turns: less than a second of script, bounded memory, only what is in sight", async () => {
  await longConversation(host, { messages: 10_000, turns: REAL_TURNS });
  const tab = await browser.newPage();
  if (REAL_TURNS < 500) await answerTurns(tab);
  const session = await tab.context().newCDPSession(tab);
  // Counts from here on.
  await session.send("Performance.enable");
  await tab.goto(`${studio.url}#at=subject/long`);
  const list = tab.locator(".turns .list");
  await tab
    .locator(".turn", { hasText: /^Question/ })
    .first()
    .waitFor();
  await vi.waitFor(
    async () => {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      const height = await list.evaluate((element) => element.scrollHeight);
      expect(height).toBeGreaterThanOrEqual(500 * 74);
    },
    { timeout: 20_000 }
  );
  await list.evaluate((element) => element.scrollTo(0, 0));
  await tab.locator(".turn").first().click();
  await tab.keyboard.press("2");
  await tab.getByText(/of 1[01],\d{3} stored/).waitFor();
  await tab.keyboard.press("4");
  await tab.locator(".state").waitFor();
  await tab.keyboard.press("1");
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? Infinity;
  if (process.env["EVERTHINK_SCREENSHOTS"] !== undefined)
    console.info({ script: metric("ScriptDuration"), heap: metric("JSHeapUsedSize") });
  expect(metric("ScriptDuration")).toBeLessThan(1);
  expect(metric("JSHeapUsedSize")).toBeLessThan(40 * 1024 * 1024);
  expect(await tab.locator(".turn").count()).toBeLessThan(40);
  await tab.close();
});

/** The pages of a list of 500 turns, of which the agent has the newest. */
async function answerTurns(tab: Page): Promise<void> {
  await tab.route("**/inspect/v1/turns?*", async (route) => {
    const { turns: real } = (await (await route.fetch()).json()) as { turns: Record<string, unknown>[] };
    const before = Number(new URL(route.request().url()).searchParams.get("before") ?? 501);
    const turns = Array.from({ length: Math.min(100, before - 1) }, (_, index) => {
      const position = before - 1 - index;
      const known = position === 500 ? real[0] : { turnId: `t${position}`, question: `Question ${position}` };
      return { ...real[0], answer: "x".repeat(160), ...known, position };
    });
    const next = turns.at(-1)?.position ?? 1;
    return route.fulfill({ json: { head: 1, turns, changes: [], ...(next > 1 && { next }) } });
  });
}
