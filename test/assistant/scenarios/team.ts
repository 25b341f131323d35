// Colleagues as tools: two at once, each with its own progress, and their conversations beside the one that asked.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

const atWork = (visitor: Visitor, name: string) => visitor.log.getByRole("group", { name: `${name} at work` });
const conversationOf = (visitor: Visitor, name: string) =>
  visitor.page.getByRole("complementary", { name: `Conversation of ${name}` });

export const asksTheTeam: Scenario = {
  name: "two colleagues work side by side through a pulled plug, and can be opened and talked to",
  async play({ visitor }) {
    const seen = await watchCards(visitor);
    await visitor.suggest("Ask a team");
    const [researcher, critic] = [atWork(visitor, "Researcher"), atWork(visitor, "Critic")];
    await Promise.all([researcher, critic].map((card) => card.waitFor()));
    await visitor.photograph("team-at-work");
    await visitor.button("Open the conversation of Researcher").click();
    const opened = conversationOf(visitor, "Researcher");
    await opened.getByText("Research this: a lighthouse still needs a keeper").waitFor();
    await opened.getByText("The light itself needs nobody.").waitFor();
    await visitor.photograph("team-opened");
    // Both were at work at the same time.
    expect(await seen()).toContain("Researcher running, Critic running");
    await visitor.pullThePlug();
    await visitor.answerHas("the coast and the tower do");
    await visitor.answerHas("nobody has yet measured");
    await visitor.isSettled();
    for (const card of [researcher, critic]) {
      expect(await card.count()).toBe(1);
      await eventually(() => card.getAttribute("data-status")).toBe("completed");
    }
    await opened.getByText("In short: the lamp does not need a keeper").waitFor();
    const field = visitor.page.getByRole("textbox", { name: "Ask Researcher" });
    await field.fill("Hello!");
    await field.press("Enter");
    await opened.getByText("Hello!").waitFor();
    await visitor.photograph("team-done");
    await visitor.button("Close the conversation of Researcher").click();
    await visitor.panel.waitFor();
    await visitor.reload();
    await eventually(() => critic.getAttribute("data-status")).toBe("completed");
  }
};

/** Every state of the cards from here on. Watched inside the page: it may be over between two looks. */
async function watchCards({ page }: Visitor): Promise<() => Promise<string[]>> {
  const seen = await page.evaluateHandle(() => {
    const states: string[] = [];
    const note = () => {
      const cards = [...document.querySelectorAll<HTMLElement>(".think-run")];
      const state = cards
        .map((card) => `${card.querySelector(".think-run-name")?.textContent} ${card.dataset["status"]}`)
        .join(", ");
      if (state !== states.at(-1)) states.push(state);
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, attributes: true });
    return states;
  });
  return () => seen.jsonValue();
}

export const teamScenarios: readonly Scenario[] = [asksTheTeam];
