// A starter's page in a real browser: it shows its greeting, takes a press on a suggestion and a typed question, shows the
// answers, has them again after a reload, and no exception or printed error on the way. Everybody can use it, empty and with
// a conversation, in light and dark, on a phone and on a desk.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { seriousIssues } from "../browser/axe.ts";
import { repository } from "./packed-project.ts";

/** What a starter says about itself. */
export interface StarterTalk {
  readonly name: string;
  readonly questions: readonly string[];
  /** Part of an answer to them. */
  readonly answered: string;
  readonly greeting: string;
  readonly suggestions: readonly string[];
}

export async function readStarter(name: string): Promise<StarterTalk> {
  const folder = join(repository, "starters", name);
  const [talk, page] = await Promise.all([
    import(join(folder, "test", "questions.ts")) as Promise<Pick<StarterTalk, "questions" | "answered">>,
    import(join(folder, "page", "suggestions.ts")) as Promise<Pick<StarterTalk, "greeting" | "suggestions">>
  ]);
  return { name, ...talk, ...page };
}

export interface Person {
  readonly user: string;
  readonly password: string;
}

/** In a conversation of its own; by a person who logs in with the form where there is one. `url` is without a trailing slash. */
export async function talkOnPage(browser: Browser, starter: StarterTalk, url: string, person?: Person): Promise<void> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  // An exception ends it at once: a page that React has taken down shows nothing that could be waited for.
  const uncaught = new Promise<never>((_, reject) => void page.on("pageerror", reject));
  if (person) {
    await logIn(page, url, person);
    expect(complaints.splice(0)).toEqual([expect.stringContaining("401")]);
  } else await page.goto(`${url}/?name=on-page`);
  await Promise.race([talk(page, starter), uncaught]);
  expect(complaints).toEqual([]);
  await page.close();
}

async function logIn(page: Page, url: string, { user, password }: Person): Promise<void> {
  // The page sends a person without a session there.
  await page.goto(url);
  await page.waitForURL(`${url}/login`);
  await page.getByLabel("E-mail").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

async function talk(page: Page, { questions, answered, greeting, suggestions }: StarterTalk): Promise<void> {
  const answers = page.getByRole("article", { name: "Assistant said" });
  const field = page.getByRole("textbox", { name: "Message" });
  // The turn before has ended, or waits for a decision.
  const rest = page.locator('[role="status"]:is([data-status="settled"], [data-status="parked"])');
  await page.getByRole("heading", { name: greeting }).waitFor();
  await page.getByRole("button", { name: suggestions[0] ?? "", exact: true }).click();
  for (const [index, question] of questions.entries()) {
    await answers.nth(index).waitFor();
    await rest.waitFor();
    await field.fill(question);
    await field.press("Enter");
  }
  await answers.nth(questions.length).waitFor();
  await rest.waitFor();
  await page.getByText(answered).last().waitFor();
  await page.reload();
  await page.getByText(answered).last().waitFor();
  expect(await answers.count()).toBe(questions.length + 1);
}

/**
 * A person makes a second conversation, goes from one to the other, names and deletes one, and finds each at its address. Another
 * person who opens such an address is shown nothing of it.
 */
export async function keepsConversations(
  browser: Browser,
  { name, greeting, questions, answered }: StarterTalk,
  { url, people }: { readonly url: string; readonly people: readonly [Person, Person] }
): Promise<void> {
  const [owner, stranger] = people;
  const page = await browser.newPage();
  const [question = ""] = questions;
  const conversations = page.getByRole("navigation", { name: "Conversations" });
  const title = (text: string) => conversations.getByRole("link", { name: text, exact: true });
  const beginning = page.getByRole("heading", { name: greeting });
  await logIn(page, url, owner);
  await beginning.waitFor();
  await page.waitForURL(/\/c\/[\w-]+$/);
  const first = page.url();
  for (const text of questions) {
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
    await page.locator('[role="status"][data-status="settled"]').waitFor();
  }
  await page.getByText(answered).last().waitFor();
  await title(question).waitFor();
  await page.getByRole("button", { name: "New conversation" }).click();
  await beginning.waitFor();
  const second = page.url();
  expect(second).not.toBe(first);
  await title(question).click();
  await page.getByText(answered).last().waitFor();
  expect(page.url()).toBe(first);
  await page.goBack();
  await beginning.waitFor();
  await page.getByRole("button", { name: "Rename New conversation" }).click();
  await page.getByRole("textbox", { name: "New title" }).fill("Kept");
  await page.keyboard.press("Enter");
  await title("Kept").waitFor();
  await photograph(page, `${name}-conversations`);

  const context = await browser.newContext();
  const other = await context.newPage();
  await logIn(other, url, stranger);
  await other.waitForURL(/\/c\/[\w-]+$/);
  await other.goto(first);
  await other.getByRole("heading", { name: greeting }).waitFor();
  expect(await other.getByText(answered).count()).toBe(0);
  const own = `${url}/agents/assistant/${owner.user}:${first.split("/").at(-1)}/get-messages`;
  const read = (by: Page) => by.evaluate(async (address) => (await fetch(address)).status, own);
  expect([await read(page), await read(other)]).toEqual([200, 403]);
  const list = (by: Page) =>
    by.evaluate(async (address) => (await fetch(address)).status, `${url}/agents/conversations/${owner.user}`);
  expect(await list(other)).toBe(403);
  await context.close();

  await page.goto(first);
  await page.getByRole("button", { name: `Delete ${question}` }).click();
  await page.getByRole("button", { name: "Delete conversation" }).click();
  // The newest of the others takes its place.
  await page.waitForURL(second);
  await title(question).waitFor({ state: "detached" });
  await expect.poll(async () => (await page.evaluate(async (at) => (await fetch(at)).text(), own)).trim()).toBe("[]");
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole("button", { name: "Show conversations" }).click();
  await title("Kept").waitFor();
  await photograph(page, `${name}-conversations-phone`);
  expect(await seriousIssues(page)).toEqual([]);
  await page.close();
}

const LOOKS = [390, 1280].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme }))
);

/** Empty, and with the conversation that `talkOnPage` had; and the form with which a person logs in. */
export async function isForEverybody(
  browser: Browser,
  { name, greeting, answered }: StarterTalk,
  { url, password }: { readonly url: string; readonly password: string }
): Promise<void> {
  const isFit = async (page: Page, subject: string) => {
    for (const { width, colorScheme } of LOOKS) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const look = `${subject}-${colorScheme}-${width}`;
      await photograph(page, `${name}-${look}`);
      expect(await seriousIssues(page), look).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), look).toBe(true);
    }
  };
  const visited = async (user: string, subject: string, shown: (page: Page) => Locator) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await logIn(page, url, { user, password });
    await shown(page).waitFor();
    await isFit(page, subject);
    await context.close();
  };
  await visited("on-page", "talk", (page) => page.getByText(answered).last());
  // Where people share an agent, the second one is shown what the first one said.
  const beginning = (page: Page) => page.getByRole("heading", { name: greeting }).or(page.getByText(answered)).last();
  await visited("empty", "empty", beginning);
  const form = await browser.newPage();
  await form.goto(`${url}/login`);
  await isFit(form, "login");
  await form.close();
}

/** Only when EVERTHINK_SCREENSHOTS names a folder. */
async function photograph(page: Page, subject: string): Promise<void> {
  const folder = process.env["EVERTHINK_SCREENSHOTS"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `starter-${subject}.png`), animations: "disabled" });
}
