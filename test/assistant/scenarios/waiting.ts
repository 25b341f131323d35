// Questions that wait over all conversations: one number, wherever the visitor is.
import type { Scenario } from "../scenario.ts";
import type { Visitor } from "../visitor.ts";

/** Other scenarios may have left questions: what counts is the difference. */
async function countIn({ page }: Visitor): Promise<number> {
  return Number(/^\((\d+)\)/.exec(await page.title())?.[1] ?? 0);
}

function badge({ page }: Visitor, count: number) {
  const name = count === 1 ? "1 question waits for you" : `${count} questions wait for you`;
  return page.getByRole("status").getByRole("button", { name, exact: true });
}

const counts: Scenario = {
  name: "a badge counts the questions that wait over all conversations, leads to one of them, and follows the decisions",
  async play({ visitor }) {
    const before = await countIn(visitor);
    await visitor.suggest("Ask before deleting");
    await badge(visitor, before + 1).waitFor();
    const asking = visitor.page.url();
    await visitor.newConversation();
    const text = `the lamp of ${crypto.randomUUID().slice(0, 8)} is lit`;
    await visitor.ask(`Take a note that says "${text}", then publish it on the board.`);
    await badge(visitor, before + 2).waitFor();
    await visitor.conversations.getByRole("img", { name: "1 waiting" }).nth(1).waitFor();
    await visitor.page.waitForFunction((start) => document.title.startsWith(start), `(${before + 2}) `);
    await visitor.photograph("waiting");
    await visitor.tool("publish_note").getByRole("button", { name: "Reject" }).click();
    await badge(visitor, before + 1).waitFor();
    await badge(visitor, before + 1).click();
    await visitor.page.getByRole("button", { name: "Approve" }).first().waitFor();
    await visitor.page.goto(asking);
    await visitor.tool("delete_note").getByRole("button", { name: "Reject" }).click();
    await visitor.counts(badge(visitor, before + 1), 0);
    if (before > 0) await badge(visitor, before).waitFor();
  }
};

export const waitingScenarios: readonly Scenario[] = [counts];
