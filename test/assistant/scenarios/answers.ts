// Asking and being answered.
import { expect } from "vitest";
import { SUGGESTIONS } from "../../../examples/assistant/shared/suggestions.ts";
import type { Scenario } from "../scenario.ts";
import { textIn, type Visitor } from "../visitor.ts";
import { storedAnswers, STORY, wholeStory } from "./whole-story.ts";

export const answersASuggestion: Scenario = {
  name: "an empty conversation proposes what to ask, and the answer to a proposal is stored and shown after a reload",
  async play({ visitor, server }) {
    await visitor.photograph("empty");
    expect(await visitor.log.getByRole("button").count()).toBe(SUGGESTIONS.length);
    await visitor.suggest("Tell a long story");
    await visitor.answer.getByRole("heading", { name: "The Keeper of Gull Rock" }).waitFor();
    await visitor.photograph("streaming");
    await visitor.isSettled();
    const shown = await textIn(visitor.answer);
    await visitor.reload();
    await visitor.answer.getByRole("heading", { name: "The Keeper of Gull Rock" }).waitFor();
    expect(await textIn(visitor.answer)).toBe(shown);
    expect(await visitor.questions.innerText()).toContain(STORY);
    expect(await storedAnswers(server, visitor.conversationId)).toHaveLength(1);
  }
};

export const stops: Scenario = {
  name: "Stop ends a long answer and keeps the part that was there",
  async play(stage) {
    const { visitor, server } = stage;
    const whole = await wholeStory(stage);
    const seen = await statusesOf(visitor);
    await visitor.ask(STORY);
    await visitor.reads(200);
    await visitor.button("Stop").click();
    await visitor.isSettled();
    const part = await textIn(visitor.answer);
    expect(part.length).toBeGreaterThanOrEqual(200);
    expect(whole.shown.length).toBeGreaterThan(part.length);
    const [stored = ""] = await storedAnswers(server, visitor.conversationId);
    expect(whole.stored.startsWith(stored)).toBe(true);
    expect(await visitor.button("Stop").count()).toBe(0);
    const statuses = await seen();
    expect(statuses).toContain("running");
    expect(statuses.at(-1)).toBe("settled");
    await visitor.reload();
    await visitor.answer.waitFor();
    expect(await textIn(visitor.answer)).toBe(part);
  }
};

/** Every status the page shows from here on. */
async function statusesOf({ page }: Visitor): Promise<() => Promise<string[]>> {
  const seen = await page.evaluateHandle(() => {
    const pill = document.querySelector("[role=status][data-status]")!;
    const statuses = [pill.getAttribute("data-status") ?? ""];
    const note = () => statuses.push(pill.getAttribute("data-status") ?? "");
    new MutationObserver(note).observe(pill, { attributeFilter: ["data-status"] });
    return statuses;
  });
  return () => seen.jsonValue();
}

export const rendersMarkdown: Scenario = {
  name: "an answer in Markdown is shown as table, code, quote, list and link, and nothing of its marks is left",
  async play({ visitor, server }) {
    const answer = await visitor.askAndWait("Show me some markdown.");
    await answer.getByRole("heading", { name: "The light characteristics of three towers" }).waitFor();
    expect(await answer.getByRole("row").count()).toBe(4);
    expect(await answer.getByRole("blockquote").count()).toBe(1);
    expect(await answer.getByRole("link", { name: "an encyclopedia" }).getAttribute("rel")).toContain("noopener");
    expect(await textIn(answer)).not.toMatch(/\*\*|~~|```|\| :---/);
    await answer.getByRole("button", { name: "Copy code" }).click();
    expect(await storedAnswers(server, visitor.conversationId)).toEqual([expect.stringContaining("```ts")]);
    await visitor.photograph("markdown");
  }
};

export const showsUsage: Scenario = {
  name: "what an answer took stands below it for a visitor who wants it, also after a reload",
  async play({ visitor }) {
    await visitor.askAndWait("What is 6*7?");
    const usage = visitor.answer.getByText(/^[\d,]+ in · [\d,]+ out$/);
    expect(await usage.count()).toBe(0);
    await visitor
      .button("Show what happens underneath")
      .or(visitor.button("Hide what happens underneath"))
      .first()
      .waitFor();
    if ((await visitor.panel.count()) === 0) await visitor.button("Show what happens underneath").click();
    await visitor.panel.getByRole("checkbox", { name: "Show what each answer took" }).check();
    await usage.waitFor();
    await visitor.photograph("usage");
    await visitor.reload();
    await usage.waitFor();
  }
};

export const queues: Scenario = {
  name: "a question asked during an answer that has no further step waits above the field, and is answered after it",
  async play({ visitor }) {
    const chips = await chipsOf(visitor);
    await visitor.ask(STORY);
    await visitor.button("Stop").waitFor();
    await visitor.ask("What is 6*7?");
    await visitor.photograph("queued");
    await visitor.counts(visitor.answers, 2);
    await visitor.answerHas("42");
    await visitor.isSettled();
    await visitor.answers.first().getByRole("heading", { name: "The Keeper of Gull Rock" }).waitFor();
    await visitor.questions.last().getByText("Became a turn").waitFor();
    expect(await chips()).toEqual(
      expect.arrayContaining(["What is 6*7? waiting 1 of 1", "What is 6*7? became a turn"])
    );
  }
};

/** Every message that is shown as waiting from here on. Watched inside the page: its turn may come between two looks. */
async function chipsOf({ page }: Visitor): Promise<() => Promise<string[]>> {
  const seen = await page.evaluateHandle(() => {
    const texts = new Set<string>();
    const note = () => {
      for (const chip of document.querySelectorAll<HTMLElement>(".think-waiting li")) {
        texts.add(chip.innerText.replaceAll(/\s+/g, " ").trim());
      }
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  return () => seen.evaluate((texts) => [...texts]);
}

export const answerScenarios: readonly Scenario[] = [answersASuggestion, stops, rendersMarkdown, showsUsage, queues];
