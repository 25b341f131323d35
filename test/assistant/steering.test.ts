// Messages for an answer that is being written, in the example and in a real browser, with a model that writes slowly enough for
// people to change their minds: two tabs, a reload, and a phone.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seriousIssues } from "../browser/axe.ts";
import { launchBrowser } from "../browser/browser.ts";
import { type ExampleServer, startProduction, storedText } from "./example-server.ts";
import { STORY } from "./scenarios/whole-story.ts";
import { eventually, Visitor } from "./visitor.ts";

/** Counting primes takes seventy times as long, and the story longer than any test. */
const PACE_MS = "150";
const COUNTING = "Count the primes below 200000 and show your progress.";
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

let server: ExampleServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startProduction({ OFFLINE_PACE_MS: PACE_MS }), launchBrowser()]);
});
afterAll(() => browser?.close());

const words = async ({ waiting }: Visitor) =>
  (await waiting.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim());

async function questionsStored({ conversationId }: Visitor): Promise<string[]> {
  const messages = await server.storedMessages(conversationId);
  return messages.filter(({ role }) => role === "user").map(storedText);
}

test("two tabs steer, edit and withdraw, one of them is reloaded, and the model reads what the chips said at the boundary", async () => {
  const first = await Visitor.arrive(browser, server);
  await first.newConversation();
  await first.ask(COUNTING);
  await first.tool("count_primes").waitFor();
  const second = await first.anotherTab();

  await first.ask("What is 6*7?");
  await eventually(() => words(second)).toEqual(["What is 6*7? waiting 1 of 1"]);
  await second.field.fill("What is 2+3?");
  await second.field.press("Alt+Enter");
  const both = ["What is 6*7? waiting 1 of 2", "What is 2+3? waiting 2 of 2"];
  await eventually(() => words(first)).toEqual(both);
  await first.reload();
  await eventually(() => words(first)).toEqual(both);
  await first.photograph("steering");

  await first.button("Edit “What is 6*7?”").click();
  await first.page.getByRole("textbox", { name: "Edited waiting message" }).fill("What is 6*8?");
  await first.page.keyboard.press("Enter");
  await eventually(() => words(second)).toEqual(["What is 6*8? waiting 1 of 2", both[1]]);
  await second.button("Take back “What is 2+3?”").click();
  await eventually(() => words(first)).toEqual(["What is 6*8? waiting 1 of 1"]);

  await Promise.all(
    [first, second].map(async (visitor) => {
      await visitor.waiting.filter({ hasText: "applied at step 1" }).waitFor();
      await visitor.answerHas("48");
      await visitor.isSettled();
      await visitor.questions.last().getByText("Applied at step 1").waitFor();
    })
  );
  await first.photograph("steered");
  // The tool that was running was not cut off, nor run again.
  await first.tool("count_primes").getByText("done").waitFor();
  expect(await first.log.getByRole("group", { name: "Tool count_primes", exact: true }).count()).toBe(1);
  expect(await questionsStored(first)).toEqual([COUNTING, "What is 6*8?"]);
  await eventually(() => words(first)).toEqual([]);
  expect([...first.complaints(), ...second.complaints()]).toEqual([]);
  await first.leave();
});

test("a press ends the answer after its step, and what it has stays", async () => {
  const visitor = await Visitor.arrive(browser, server);
  await visitor.newConversation();
  await visitor.ask(COUNTING);
  await visitor.tool("count_primes").waitFor();
  await visitor.button("Stop after this step").click();
  await visitor.isSettled();
  await visitor.tool("count_primes").getByText("done").waitFor();
  expect(await visitor.answer.getByText("The largest of them").count()).toBe(0);
  expect(visitor.complaints()).toEqual([]);
  await visitor.leave();
});

test("on a phone both ways are buttons, the chips fit, and what waits is asked when the answer is stopped", async () => {
  const visitor = await Visitor.arrive(browser, server, PHONE);
  await visitor.button("Show conversations").tap();
  await visitor.newConversation();
  await visitor.field.fill(STORY);
  await visitor.button("Send").tap();
  await visitor.reads(20);
  await visitor.field.fill("What is 6*7, if you please, and then nothing else for a while?");
  await visitor.button("Steer the answer").tap();
  await visitor.field.fill("What is 2+3?");
  await visitor.button("Ask after this answer").tap();
  await visitor.counts(visitor.waiting, 2);
  for (const colorScheme of ["light", "dark"] as const) {
    await visitor.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await visitor.photograph(`steering-phone-${colorScheme}`);
    expect(await seriousIssues(visitor.page)).toEqual([]);
  }
  expect(await visitor.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  const boxes = await Promise.all((await visitor.waiting.getByRole("button").all()).map((one) => one.boundingBox()));
  expect(boxes.map((box) => Math.round(Math.min(box?.width ?? 0, box?.height ?? 0)) >= 40)).toEqual(
    boxes.map(() => true)
  );
  await visitor.button("Stop").tap();
  await visitor.counts(visitor.answers, 3);
  await visitor.isSettled();
  await visitor.answerHas("5");
  expect(visitor.complaints()).toEqual([]);
  await visitor.leave();
});
