// Taking part from Studio, in a real browser on the built page: a chat that streams, steers, queues and takes back, and tools that are
// run by hand with their approvals. What agents and schemas say is text.
import { jsonSchema, tool } from "ai";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { action, Think, type ActionSet } from "everthink";
import {
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  waitFor,
  type RecordedCall,
  type TestHost
} from "everthink/testing";
import { namelessControls } from "../assistant/accessible-names.ts";
import { seriousIssues } from "./axe.ts";
import { launchBrowser } from "./browser.ts";
import { KEY, openStage, shot, type RunningCommand, type StudioStage } from "./studio-stage.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";
const effects: string[] = [];
const gates = new Map<string, PromiseWithResolvers<void>>();

function gate(name: string): PromiseWithResolvers<void> {
  const known = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, known);
  return known;
}

class Subject extends Think {
  override getModel() {
    return scriptedModel((call) => answer(call));
  }
  override getTools() {
    return {
      look: tool({
        description: `Looks at a place. ${HOSTILE}`,
        inputSchema: z.object({
          at: z.string().describe(`Where to look. ${HOSTILE}`),
          times: z.number().int().optional(),
          how: z.enum(["far", "near"])
        }),
        execute: async ({ at, how }) => {
          effects.push(`look ${at} ${how}`);
          return `seen ${at} ${HOSTILE}`;
        }
      }),
      anything: tool({
        inputSchema: jsonSchema<unknown>({ anyOf: [{ type: "object" }] }),
        execute: async (input) => `given ${JSON.stringify(input)}`
      })
    };
  }
  override getActions(): ActionSet {
    return {
      ship: action({
        description: "Ships a parcel.",
        inputSchema: z.object({ to: z.string() }),
        approval: true,
        approvalSummary: "Ship the parcel?",
        execute: async ({ to }: { to: string }) => {
          effects.push(`ship ${to}`);
          return `shipped to ${to}`;
        }
      })
    };
  }
}

/** Its tools are found before they are offered. */
class Many extends Subject {
  override toolDiscovery = { keep: ["anything"] };
  override getTools() {
    const inputSchema = z.object({ what: z.string().describe("What it is about, in as many words as it takes.") });
    const others = Array.from({ length: 40 }, (_, index) => {
      const description = `Does the work number ${index} of the many that nobody asks for every day.`;
      return [`work_${index}`, tool({ description, inputSchema, execute: async () => "done" })] as const;
    });
    return { ...super.getTools(), ...Object.fromEntries(others) };
  }
}

function answer({ prompt }: RecordedCall) {
  const words = JSON.stringify(prompt.filter(({ role }) => role === "user").at(-1) ?? "");
  if (words.includes("slowly"))
    return reply(
      text("The sea "),
      waitFor(() => gate("slow").promise),
      text(`is blue. ${HOSTILE}`)
    );
  if (words.includes("Find"))
    return prompt.at(-1)?.role === "tool"
      ? reply(text("Found."))
      : reply(toolCall("search_tools", { query: "look at a place" }));
  if (words.includes("and the sky")) return reply(text("The sky is grey."));
  return reply(text("Hello."));
}

let host: TestHost<{ Subject: DurableObjectNamespace<Subject> }>;
let stage: StudioStage;
let studio: RunningCommand;
let browser: Browser;
let page: Page;
const failures: string[] = [];

beforeAll(async () => {
  const env = { EVERTHINK_INSPECTION_KEY: KEY, EVERTHINK_DEVELOPMENT: "1" };
  host = createTestHost({ agents: { Subject, Many }, env }) as typeof host;
  [stage, browser] = await Promise.all([openStage(host), launchBrowser()]);
  studio = await stage.open("--write");
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("dialog", (dialog) => failures.push(`dialog: ${dialog.message()}`));
});

afterAll(async () => {
  await browser?.close();
  await stage?.close();
});

const field = () => page.getByLabel("Message to the agent");
const said = (words: string) => page.locator(".said-agent", { hasText: words });

test("a question is answered while one looks; a steer waits as a chip and takes effect; what waits is taken back", async () => {
  await page.goto(`${studio.url}#at=subject/a&view=chat`);
  await field().fill("Tell me slowly how the sea is.");
  await field().press("Enter");
  await said("The sea").waitFor();
  expect(await said("is blue").count()).toBe(0);
  await field().fill("Not this after all.");
  await field().press("Alt+Enter");
  const chip = page.locator(".chip", { hasText: "Not this after all." });
  await chip.waitFor();
  expect(await page.locator(".message", { hasText: "Not this after all." }).count()).toBe(0);
  await field().fill("No: and the sky?");
  await page.getByRole("button", { name: "Steer" }).click();
  await page.locator(".chip", { hasText: "at the next step" }).waitFor();
  expect(await seriousIssues(page)).toEqual([]);
  await shot("chat-running", page);
  await chip.getByRole("button", { name: "Take back" }).click();
  await chip.waitFor({ state: "detached" });
  gate("slow").resolve();
  await said("The sky is grey.").waitFor();
  await page.locator(".chip").first().waitFor({ state: "detached" });
  expect(await page.locator(".chat-messages img").count()).toBe(0);
  expect(await page.locator(".message", { hasText: "Not this after all." }).count()).toBe(0);
  await shot("chat", page);
});

test("the timeline of a steer shows its receipt with state and step", async () => {
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Timeline" }).click();
  await page.getByRole("button", { name: /and the sky/ }).click();
  await page.locator(".decision", { hasText: "Accepted as a steer" }).waitFor();
  await shot("timeline-receipts", page);
});

test("a tool is run by hand with a form of its schema, and is recorded as that", async () => {
  await page.getByRole("tab", { name: "Tools" }).click();
  await page.locator(".tool", { hasText: "look" }).click();
  await page.getByLabel(/^at/).fill("sea");
  await page.getByLabel(/^how/).selectOption('"near"');
  await page.getByRole("button", { name: "Run by hand" }).click();
  await page.locator(".outcome", { hasText: "seen sea" }).waitFor();
  expect(effects).toEqual(["look sea near"]);
  expect(await page.locator(".tool-runner img").count()).toBe(0);
  expect(await seriousIssues(page)).toEqual([]);
  await shot("tools", page);
  await page.getByLabel(/^times/).fill("1.5");
  await page.getByRole("button", { name: "Run by hand" }).click();
  await page.getByRole("alert").getByText("times: it is not a whole number").waitFor();
  await page.getByRole("button", { name: "As JSON" }).click();
  await page.getByLabel("Input, as JSON").fill('{"at":5}');
  await page.getByRole("button", { name: "Run by hand" }).click();
  await page.getByRole("alert").getByText("This is not what").waitFor();
  expect(effects).toEqual(["look sea near"]);
  await page.locator(".tool", { hasText: "anything" }).click();
  await page.getByLabel("Input, as JSON").fill('{"a":[1]}');
  await page.getByRole("button", { name: "Run by hand" }).click();
  await page.locator(".outcome", { hasText: 'given {"a":[1]}' }).waitFor();
});

test("a tool that asks waits for its approval, which the chat shows as well", async () => {
  await page.locator(".tool", { hasText: "ship" }).click();
  await page.getByLabel(/^to/).fill("Rome");
  await page.getByRole("button", { name: "Run by hand" }).click();
  await page.locator(".outcome", { hasText: "waits for an approval" }).waitFor();
  expect(effects).not.toContain("ship Rome");
  await shot("tools-waits", page);
  await page.getByRole("tab", { name: "Chat" }).click();
  await page.getByRole("heading", { name: "Ship the parcel?" }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await seriousIssues(page)).toEqual([]);
  await shot("chat-approval-dark", page);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect.poll(() => effects).toContain("ship Rome");
  await said("ship").last().getByText("done").waitFor();
  await page.getByRole("heading", { name: "Ship the parcel?" }).waitFor({ state: "detached" });
});

test("why shows which tools were deferred, which were found, and what that saves", async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto(`${studio.url}#at=many/a&view=chat`);
  for (const times of [1, 2]) {
    await field().fill("Find what looks.");
    await field().press("Enter");
    await expect.poll(() => said("Found.").count()).toBe(times);
  }
  await page.getByRole("tab", { name: "Why" }).click();
  const deferred = page.locator(".section", { hasText: "saved in each prompt" });
  await deferred.getByText("42 deferred").click();
  expect(await deferred.textContent()).toMatch(/[\d,]+ tokens instead of [\d,]+: [\d,]+ saved in each prompt/);
  await deferred.locator(".badge", { hasText: "look" }).waitFor();
  expect(await seriousIssues(page)).toEqual([]);
  await shot("why-deferred", page);
  await page.goto(`${studio.url}#at=many/a&view=tools`);
  await page.locator(".tool", { hasText: "ship" }).getByText("deferred").waitFor();
  await page.goto(`${studio.url}#at=subject/a&view=tools`);
  await page.emulateMedia({ colorScheme: "dark" });
});

test("on a phone chat and tools fit the screen, and all controls have names", async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  for (const view of ["Chat", "Tools"]) {
    await page.getByRole("tab", { name: view }).click();
    await page.locator(view === "Chat" ? ".content.chat" : ".tool-runner").waitFor();
    if (view === "Tools") await page.locator(".tool", { hasText: "look" }).click();
    const width = await page.evaluate(() => {
      const content = document.querySelector(".content");
      return Math.max(document.documentElement.scrollWidth, content?.scrollWidth ?? Infinity);
    });
    expect([view, width]).toEqual([view, 390]);
    expect(await namelessControls(page)).toEqual([]);
    expect(await seriousIssues(page)).toEqual([]);
    await shot(`phone-${view.toLowerCase()}-dark`, page);
  }
  expect(failures).toEqual([]);
});

test("without --write nothing can be asked or run, and the page says so", async () => {
  const readonly = await stage.open();
  const before = [...effects];
  await page.goto(`${readonly.url}#at=subject/a&view=chat`);
  await page.getByText("start Studio with --write to take part").last().waitFor();
  expect(await field().isDisabled()).toBe(true);
  for (const path of ["ask", "run", "stop", "withdraw"]) {
    const answer = await fetch(`${readonly.url}__studio/agents/subject/a/inspect/v1/${path}`, {
      method: "POST",
      headers: { "X-Everthink-Studio": "1", "Content-Type": "application/json" },
      body: JSON.stringify({ text: "x", tool: "look", input: { at: "x", how: "far" }, id: "x" })
    });
    expect(answer.status, path).toBe(403);
    // A page of another site cannot send the header.
    const forged = await fetch(`${studio.url}__studio/agents/subject/a/inspect/v1/${path}`, {
      method: "POST",
      body: "{}"
    });
    expect(forged.status, path).toBe(403);
  }
  expect(effects).toEqual(before);
});
