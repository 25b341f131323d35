// Costs in Studio, in a real browser on the built page: the numbers of everthink costs, limits and how far they are used, all
// agents of a project together, and names that users wrote as text.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Think, usd, type BudgetContext, type BudgetLimit } from "everthink";
import { createTestHost, reply, scriptedModel, text, usage } from "everthink/testing";
import { namelessControls } from "../assistant/accessible-names.ts";
import { seriousIssues } from "./axe.ts";
import { launchBrowser } from "./browser.ts";
import { KEY, openStage, shot, type RunningCommand, type StudioStage } from "./studio-stage.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";

class Subject extends Think {
  override getModel() {
    return scriptedModel(() => reply(text("The sea is blue."), usage({ input: 90_000, output: 30_000 })), {
      provider: "openai.responses",
      modelId: "gpt-5"
    });
  }
  override getBudgets({ body }: BudgetContext): BudgetLimit[] {
    const who = body?.["who"];
    if (typeof who !== "string") return [];
    return [
      { per: { key: who, each: "day" }, limit: usd(5), then: "ask" },
      { per: "turn", limit: usd(3) }
    ];
  }
}

class Open extends Subject {
  override getBudgets(): BudgetLimit[] {
    return [
      { per: { key: "ann", each: "day" }, limit: usd(5), then: "ask" },
      { per: "day", limit: usd(1.3) }
    ];
  }
}

let stage: StudioStage;
let studio: RunningCommand;
let browser: Browser;
let page: Page;
const failures: string[] = [];

beforeAll(async () => {
  const now = Date.UTC(2026, 10, 18, 9);
  const host = createTestHost({ agents: { Subject, Open }, env: { EVERTHINK_INSPECTION_KEY: KEY }, now });
  const say = async (Agent: typeof Subject, name: string, who?: string) => {
    const agent = await host.get(Agent, name);
    await agent.saveMessages(
      [{ id: `u${host.now}`, role: "user", parts: [{ type: "text", text: "How is the sea?" }] }],
      {
        ...(who !== undefined && { body: { who } })
      }
    );
    await host.advance(60_000);
    await host.idle();
  };
  await say(Subject, "a", "ann");
  await say(Subject, "a", HOSTILE);
  await say(Subject, "b");
  await host.advance(24 * 3_600_000);
  await say(Subject, "a", "ann");
  await say(Open, "day");
  [stage, browser] = await Promise.all([openStage(host), launchBrowser()]);
  studio = await stage.open();
  page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
  page.on("pageerror", (error) => failures.push(String(error)));
  page.on("dialog", (dialog) => failures.push(`dialog: ${dialog.message()}`));
});

afterAll(async () => {
  await browser?.close();
  await stage?.close();
});

/** Of a turn: 90,000 tokens at $1.25 and 30,000 at $10 a million. */
const TURN = 0.4125;
const currency = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const dollars = (turns: number) => currency.format(turns * TURN);
const panel = (name: string) => {
  const has = page.getByRole("heading", { name: new RegExp(`^${name}`) });
  return page.locator(".panel", { has });
};
const fact = (name: string) => page.locator(".fact", { hasText: name });

test("costs of one agent are those of everthink costs, by day, turn, person and model, and a turn opens its timeline", async () => {
  await page.goto(`${studio.url}#at=subject/a&view=costs`);
  await fact("total").getByText(dollars(3)).waitFor();
  await fact("under limits").getByText(dollars(3)).waitFor();
  const people = await panel("People").textContent();
  expect(people).toContain(`ann${dollars(2)}`);
  expect(people).toContain(HOSTILE);
  expect(await panel("Models").textContent()).toContain("gpt-5");
  expect(await panel("Days").locator("tbody tr").allTextContents()).toEqual([
    expect.stringContaining("2026-11-19"),
    expect.stringContaining("2026-11-18")
  ]);
  await page.getByText("of the package: compare them with the provider's page").waitFor();
  await page.locator("summary", { hasText: "models" }).click();
  await page.locator("tr", { hasText: "openai gpt-5" }).first().getByText("2026-11-19").waitFor();
  expect(await page.locator(".costs img").count()).toBe(0);
  expect(await seriousIssues(page)).toEqual([]);
  await shot("costs-agent", page);
  await panel("Turns").locator("button.link").first().click();
  await page.getByRole("heading", { name: "How is the sea?" }).waitFor();
  expect(page.url()).toContain("view=timeline");
});

test("limits are shown with how far they are used, and what follows at their end", async () => {
  await page.goto(`${studio.url}#at=open/day&view=costs`);
  const limit = page.locator(".limit");
  await limit
    .filter({ hasText: "day 2026-11-19" })
    .getByText(`${dollars(1)} of $1.30`)
    .waitFor();
  await limit
    .filter({ hasText: "ann 2026-11-19" })
    .getByText(`${dollars(1)} of $5`)
    .waitFor();
  expect(await limit.allTextContents()).toEqual([
    expect.stringContaining("then stops"),
    expect.stringContaining("then asks")
  ]);
  await shot("costs-limits", page);
});

test("costs of all agents add up those of each, and a conversation leads to its own", async () => {
  const instances: Record<string, string[]> = { subject: ["a", "b"], open: ["day"] };
  const spoken = { changedAt: 1, sizeBytes: 1, spokenAt: 5, title: `How is the sea? ${HOSTILE}`, words: null };
  await page.route("**/__studio/instances.json?*", (route) => {
    const names = instances[new URL(route.request().url()).searchParams.get("agent") ?? ""] ?? [];
    return route.fulfill({ json: { instances: names.map((name) => ({ name, ...spoken })), isCut: false } });
  });
  await page.route("**/__studio/config.json", async (route) => {
    const config = (await (await route.fetch()).json()) as object;
    return route.fulfill({ json: { ...config, agents: ["subject", "open"].map((id) => ({ id, label: id })) } });
  });
  await page.goto("about:blank");
  await page.goto(`${studio.url}#at=subject/a&view=costs`);
  await fact("total").getByText(dollars(5)).waitFor();
  await fact("without limits").getByText(dollars(1)).waitFor();
  const conversations = panel("Conversations");
  expect(await conversations.locator("tbody tr").count()).toBe(3);
  expect(await conversations.locator("img").count()).toBe(0);
  expect(await seriousIssues(page)).toEqual([]);
  await shot("costs", page);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await seriousIssues(page)).toEqual([]);
  await shot("costs-dark", page);
  await page.setViewportSize({ width: 390, height: 844 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBe(390);
  expect(await namelessControls(page)).toEqual([]);
  await shot("costs-phone-dark", page);
  await conversations.getByRole("button", { name: "subject/b" }).click();
  await page.getByRole("button", { name: "Only subject/b" }).click();
  await fact("total").getByText(dollars(1)).waitFor();
  expect(failures).toEqual([]);
});
