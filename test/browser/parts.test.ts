// The parts of everthink/react in Chromium: what is shown can be operated by everybody, what is pressed reaches the client
// once and whole, and nothing of the model's text is run.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { mkdirSync } from "node:fs";
import { build } from "rolldown";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { partStyles } from "../../tools/build-parts.ts";
import { namelessControls } from "../assistant/accessible-names.ts";
import { seriousIssues } from "./axe.ts";
import { launchBrowser } from "./browser.ts";

const PARTS = ["markdown", "tools", "approvals", "welcome", "busy", "steering", "budget", "silent", "trouble", "list"];
const SIZES = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 }
];
const SCHEMES = ["light", "dark"] as const;

let browser: Browser;
let server: Server;
let url = "";

beforeAll(async () => {
  const { output } = await build({
    input: join(import.meta.dirname, "parts", "page.tsx"),
    platform: "browser",
    write: false,
    transform: { define: { "process.env.NODE_ENV": '"production"' }, target: "es2024", jsx: "react-jsx" },
    output: { format: "esm", entryFileNames: "page.js" }
  });
  const files = new Map(output.flatMap((file) => (file.type === "chunk" ? [[`/${file.fileName}`, file.code]] : [])));
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Parts</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<style>${partStyles()}
:root { color-scheme: light dark } html, body, #root { height: 100% } body { margin: 0; background: var(--think-paper) }
.gallery-list { max-width: 280px; padding: 12px }</style>
<div id="root"></div><script type="module" src="/page.js"></script></html>`;
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://page");
    const script = files.get(pathname);
    const type = script === undefined ? "text/html" : "text/javascript";
    response.setHeader("content-type", `${type}; charset=utf-8`).end(script ?? html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address of this kind.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
});

type Look = Parameters<Browser["newPage"]>[0];

async function open(part: string, look: Look = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...look });
  page.on(
    "pageerror",
    (error) => void page.evaluate((text) => void (document.body.dataset["failed"] = text), String(error))
  );
  await page.goto(`${url}/?part=${part}`);
  await page.locator("#root > *").first().waitFor();
  return page;
}

const sent = async (page: Page) =>
  JSON.parse((await page.evaluate(() => document.body.dataset["sent"])) ?? "[]") as string[];

async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env["EVERTHINK_SCREENSHOTS"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `parts-${name}.png`), animations: "disabled" });
}

/** Buttons that stand outside of what can be seen without scrolling sideways. */
function clipped(): string[] {
  return [...document.querySelectorAll("button")].flatMap((button) => {
    const { left, right } = button.getBoundingClientRect();
    return left < 0 || right > innerWidth ? [button.ariaLabel ?? button.innerText] : [];
  });
}

test.each(PARTS)(
  "%s: everybody can use it, in light and dark, on a phone and on a desk",
  async (part) => {
    for (const viewport of SIZES) {
      for (const colorScheme of SCHEMES) {
        const page = await open(part, { viewport, colorScheme, reducedMotion: "reduce" });
        // Code has its colours, and the banner has waited for a short interruption to end.
        if (part === "markdown") await page.locator("[data-token]").first().waitFor();
        if (part === "trouble") await page.getByText("There is no connection.").waitFor();
        await photograph(page, `${part}-${colorScheme}-${viewport.width}`);
        expect(await seriousIssues(page), `${colorScheme} ${viewport.width}`).toEqual([]);
        expect(await namelessControls(page)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        expect(await page.evaluate(clipped)).toEqual([]);
        expect(await page.evaluate(() => document.body.dataset["failed"])).toBeUndefined();
        await page.close();
      }
    }
  },
  120_000
);

test("a decision is sent with the whole question that was shown, so that it decides no other", async () => {
  const page = await open("approvals");
  const pay = page.getByRole("group", { name: "Decision: Pay 400 to Grace" });
  // All that is decided about is there to be read.
  await pay.getByText("Grace", { exact: true }).waitFor();
  await pay.getByText("400", { exact: true }).waitFor();
  await pay.getByText("high risk").waitFor();
  await pay.getByRole("textbox", { name: "Reason for rejecting" }).fill("Too dear");
  await pay.getByRole("button", { name: "Reject" }).click();
  const remove = page.getByRole("group", { name: "Decision: Delete /a.ts" });
  await remove.getByText("approve it only if it did not run").waitFor();
  expect(await pay.getByText("approve it only if it did not run").count()).toBe(0);
  await remove.getByRole("button", { name: "Approve" }).click();
  expect(await sent(page)).toEqual([
    'reject {"callId":"pay","executionId":"exec-1","toolName":"pay","input":{"to":"Grace","amount":400},"inputHash":"h"} "Too dear"',
    'approve {"callId":"delete","approvalId":"a-1","toolName":"delete_file","input":{"path":"/a.ts"},"mayHaveRun":true}'
  ]);
  await page.close();
});

test("a call is approved with a changed input, written field by field; what cannot be read is not sent, and an extension is not changed", async () => {
  const page = await open("approvals");
  const pay = page.getByRole("group", { name: "Decision: Pay 400 to Grace" });
  await pay.getByRole("button", { name: "Change input" }).click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await pay.getByRole("textbox", { name: "amount" }).fill("forty");
  await pay.getByRole("button", { name: "Approve with changes" }).click();
  await pay.getByRole("alert").getByText("This must be a number.").waitFor();
  await photograph(page, "approval-change-light-1280");
  expect(await seriousIssues(page)).toEqual([]);
  expect(await sent(page)).toEqual([]);
  await pay.getByRole("textbox", { name: "amount" }).fill("40");
  await page.keyboard.press("Enter");
  const asked =
    '"callId":"pay","executionId":"exec-1","toolName":"pay","input":{"to":"Grace","amount":400},"inputHash":"h"';
  expect(await sent(page)).toEqual([`approve {${asked}} {"input":{"to":"Grace","amount":40}}`]);
  // A refusal is said, and what was written is still there.
  await pay.getByText("Nothing was done: amount: Too small").waitFor();
  expect(await pay.getByRole("textbox", { name: "amount" }).inputValue()).toBe("40");
  await page.keyboard.press("Escape");
  await pay.getByRole("button", { name: "Approve", exact: true }).click();
  expect((await sent(page)).at(-1)).toBe(`approve {${asked}}`);
  // What may have run already, and what is approved as it is, offers no change.
  const fixed = page.getByRole("group", { name: /Decision: (Delete|Load)/ });
  expect([await fixed.count(), await fixed.getByRole("button", { name: "Change input" }).count()]).toEqual([2, 0]);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.emulateMedia({ colorScheme: "dark" });
  await pay.getByRole("button", { name: "Change input" }).click();
  await photograph(page, "approval-change-dark-390");
  expect(await seriousIssues(page)).toEqual([]);
  await page.close();
});

test("a turn without budget says what it needs and what was spent, and a person grants that, another amount, or nothing", async () => {
  const page = await open("budget");
  const card = page.getByRole("group", { name: "Decision: the answer needs $0.40 more" });
  await card.getByText("Spent $2.10 of $2.50 by ann today.").waitFor();
  const amount = card.getByRole("textbox", { name: "US dollars" });
  const grant = card.getByRole("button", { name: "Grant and go on" });
  await grant.click();
  for (const wrong of ["", "-1", "much"]) {
    await amount.fill(wrong);
    expect(await grant.isDisabled()).toBe(true);
  }
  await amount.fill("5");
  await page.keyboard.press("Enter");
  await card.getByRole("button", { name: "Reject" }).click();
  const question = expect.stringContaining('"executionId":"budget_1","inputHash":"h"');
  const lines = await sent(page);
  expect(lines).toEqual([question, question, question]);
  expect(lines.map((line) => `${line.split(" ")[0]} ${line.split("} ")[1] ?? ""}`)).toEqual([
    "grant 0.3971",
    "grant 5",
    "reject "
  ]);
  await page.close();
});

test("a model that says nothing is shown with since when, and a press stops the turn", async () => {
  const page = await open("silent", { timezoneId: "UTC", locale: "en-GB" });
  await page.getByText("said nothing since 12:34").waitFor();
  await page.getByRole("log").getByRole("button", { name: "Stop" }).click();
  await page.keyboard.press("Escape");
  expect(await sent(page)).toEqual(["stop", "stop"]);
  await page.close();
});

test("a retry is shown with its reason, its wait and its number", async () => {
  const page = await open("busy");
  await page.getByText(/try in \d+ s, attempt 2 of 5/).waitFor();
  await page.close();
});

/** As assistive technology reads them. */
const chips = (page: Page) => page.getByRole("list", { name: "Waiting messages" }).getByRole("listitem");

test("messages that wait stand above the field with state and place, and what became of one is said there and with it", async () => {
  const page = await open("steering");
  const texts = () => chips(page).allInnerTexts();
  const words = async () => (await texts()).map((text) => text.replaceAll(/\s+/g, " ").trim());
  expect(await words()).toEqual([
    "Only the western ones. waiting 1 of 4",
    expect.stringMatching(/^Only the lights that can .* waiting 2 of 4$/),
    "And the fog signals? waiting 3 of 4",
    "In feet, please. waiting 4 of 4",
    "Thank you. sending"
  ]);
  await page.getByRole("button", { name: "Next step" }).click();
  await page.getByRole("button", { name: "Next turn" }).click();
  expect((await words()).slice(0, 3)).toEqual([
    "Only the western ones. applied at step 3",
    "And the fog signals? became a turn",
    expect.stringMatching(/waiting 1 of 2$/)
  ]);
  const said = page.locator("[aria-live=polite]").filter({ hasText: "And the fog signals?: became a turn" });
  await said.waitFor({ state: "attached" });
  const log = page.getByRole("log");
  await log.getByText("Applied at step 3").waitFor();
  await log.getByText("Became a turn").waitFor();
  await photograph(page, "steering-ended-light-1280");
  expect(await seriousIssues(page)).toEqual([]);
  // They have been read, and make room.
  await chips(page).filter({ hasText: "applied at step 3" }).waitFor({ state: "detached" });
  await page.close();
});

test("a waiting message is edited and taken back by keyboard, and words that came too late are in the field", async () => {
  const page = await open("steering");
  const focused = () => page.evaluate(() => document.activeElement?.ariaLabel);
  await page.getByRole("button", { name: "Edit “And the fog signals?”" }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await expect.poll(focused).toBe("Edit “And the fog signals?”");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Edited waiting message" }).fill("And the horns?");
  await photograph(page, "steering-edit-light-1280");
  expect(await seriousIssues(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("Edit “And the fog signals?”");
  await page.keyboard.press("Tab");
  expect(await focused()).toBe("Take back “And the fog signals?”");
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("Message");
  expect(await chips(page).count()).toBe(4);
  await page.getByRole("button", { name: "Edit “In feet, please.”" }).click();
  await page.keyboard.type(" Or yards.");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => page.getByRole("textbox", { name: "Message" }).inputValue())
    .toBe("In feet, please. Or yards.");
  expect(await sent(page)).toEqual([
    'edit waiting "f1" [{"type":"text","text":"And the horns?"}]',
    'withdraw "f1"',
    'edit waiting "f2" [{"type":"text","text":"In feet, please. Or yards."}]'
  ]);
  await page.close();
});

test("while an answer is written Enter steers, Alt+Enter asks after it, and each is a button too; a press ends it after its step", async () => {
  const page = await open("steering");
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("one");
  await page.keyboard.press("Enter");
  await page.keyboard.type("two");
  await page.keyboard.press("Alt+Enter");
  await page.keyboard.type("three");
  await page.getByRole("button", { name: "Steer the answer" }).click();
  await field.fill("four");
  await page.getByRole("button", { name: "Ask after this answer" }).click();
  expect(await field.inputValue()).toBe("");
  await page.getByRole("button", { name: "Stop after this step" }).click();
  expect(await page.getByRole("button", { name: "Stops after this step" }).isDisabled()).toBe(true);
  const words = (text: string) => `[{"type":"text","text":"${text}"}]`;
  expect(await sent(page)).toEqual([
    `steer ${words("one")}`,
    `follow up ${words("two")}`,
    `steer ${words("three")}`,
    `follow up ${words("four")}`,
    "stop after step"
  ]);
  await page.close();
});

test("without a connection, and where nothing is answered, what is written is sent: the outbox keeps it", async () => {
  for (const part of ["offline", "welcome"]) {
    const page = await open(part);
    const field = page.getByRole("textbox", { name: "Message" });
    await field.fill("one");
    await field.press("Alt+Enter");
    expect(await sent(page)).toEqual(['send [{"type":"text","text":"one"}]']);
    expect(await page.getByRole("button", { name: "Steer the answer" }).count()).toBe(0);
    await page.close();
  }
});

test("Enter sends the text once, Shift+Enter starts a line, / leads to the field, and a suggestion is sent as it stands", async () => {
  const page = await open("welcome");
  await page.getByText("How can we help?").click();
  await page.keyboard.press("/");
  await page.keyboard.type("one");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("two");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Where is order 1002?" }).click();
  expect(await sent(page)).toEqual([
    'send [{"type":"text","text":"one\\ntwo"}]',
    'send [{"type":"text","text":"Where is order 1002?"}]'
  ]);
  await page.close();
});

test("messages are edited, answered anew and paged through; a list is opened, renamed and deleted by keyboard", async () => {
  const page = await open("markdown");
  await page.getByRole("button", { name: "Previous version" }).click();
  await page.getByRole("button", { name: "Regenerate answer" }).click();
  await page.getByRole("button", { name: "Edit message" }).click();
  await page.getByRole("textbox", { name: "Edited message" }).fill("Which?");
  await page.keyboard.press("Enter");
  expect(await sent(page)).toEqual(['version "a0"', 'regenerate "a1"', 'edit "q1" [{"type":"text","text":"Which?"}]']);
  await page.goto(`${url}/?part=list`);
  await page.getByRole("link", { name: "Lights of the coast" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Rename Pay Grace" }).click();
  await page.getByRole("textbox", { name: "New title" }).fill("Pay Ada");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete Pay Grace" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete Pay Grace" }).click();
  await page.getByRole("button", { name: "Delete conversation" }).click();
  expect(await sent(page)).toEqual(['open "c1"', 'rename "c1" "Pay Ada"', 'delete "c1"']);
  await page.close();
});

test("what an answer took stands below it where the page wants it, and nowhere else", async () => {
  for (const [part, count] of [
    ["markdown", 1],
    ["unasked", 0]
  ] as const) {
    const page = await open(part);
    expect(await page.getByText("1,511 in · 17 out · $0.0021").count()).toBe(count);
    await page.close();
  }
});

test("HTML of a model is shown as text, and a link leads to http, https and mailto only", async () => {
  const page = await open("markdown");
  await page.getByText("<script>document.body.dataset.attacked").waitFor();
  expect(await page.evaluate(() => document.body.dataset["attacked"])).toBeUndefined();
  const links = await page
    .getByRole("log")
    .getByRole("link")
    .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(links).toEqual(["https://example.org/lights"]);
  await page.close();
});

test("the theme that was chosen is there after a reload, before anything is painted in the other one", async () => {
  const page = await open("welcome", { colorScheme: "light" });
  await page.getByRole("button", { name: "Switch to dark theme" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Switch to light theme" }).waitFor();
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(20, 23, 28)");
  await page.close();
});
