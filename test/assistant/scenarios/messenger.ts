// A messenger beside the page's chat: the same conversation, the same questions, from either side.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

const panelOf = (visitor: Visitor) => visitor.page.getByRole("complementary", { name: "Messenger" });
const chatOf = (visitor: Visitor) => panelOf(visitor).getByRole("log", { name: "Telegram chat" });

async function openMessenger(visitor: Visitor): Promise<void> {
  await visitor.page.getByRole("tab", { name: "Messenger" }).click();
  await panelOf(visitor).waitFor();
}

async function say(visitor: Visitor, text: string): Promise<void> {
  const field = panelOf(visitor).getByRole("textbox", { name: "Message in Telegram" });
  await field.fill(text);
  await field.press("Enter");
}

/** Every text that the bot's newest message shows from here on. Watched inside the page: it may be over between two looks. */
async function watchNewest({ page }: Visitor): Promise<() => Promise<string[]>> {
  const seen = await page.evaluateHandle(() => {
    const texts: string[] = [];
    const note = () => {
      const text = [...document.querySelectorAll<HTMLElement>(".messenger-message:not([data-own])")].at(-1)?.innerText;
      if (text !== undefined && text !== texts.at(-1)) texts.push(text);
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  return () => seen.jsonValue();
}

export const streamsIntoTheMessenger: Scenario = {
  name: "a story asked for in the messenger grows there in one message, and in the page's chat",
  async play({ visitor }) {
    await openMessenger(visitor);
    const seen = await watchNewest(visitor);
    await say(visitor, "Tell me a long story about a lighthouse keeper.");
    await visitor.questions.getByText("Ada Lovelace in Telegram").waitFor();
    const chat = chatOf(visitor);
    await chat.getByText("lamp lit until sunrise").waitFor();
    await visitor.answerHas("lamp lit until sunrise");
    // The question and one answer, which was posted before it was whole.
    expect(await chat.getByRole("article").count()).toBe(2);
    expect((await seen()).length).toBeGreaterThan(1);
    await visitor.photograph("messenger-story");
    await visitor.reload();
    await chat.getByText("lamp lit until sunrise").waitFor();
  }
};

export const answersFromEitherSide: Scenario = {
  name: "a message in the messenger is answered there and in the page, and a question is decided from either side",
  async play({ visitor }) {
    const [first, second] = [1, 2].map((number) => `lamp ${number} of ${crypto.randomUUID().slice(0, 8)}`);
    await openMessenger(visitor);
    const chat = chatOf(visitor);
    await visitor.photograph("messenger-empty");
    await say(visitor, `Take a note that says "${first}", then publish it on the board.`);
    // The page follows the same conversation, and has the same question.
    await visitor.questions.getByText(first ?? "").waitFor();
    const buttons = chat.getByRole("button");
    await eventually(() => buttons.allInnerTexts()).toEqual(["Approve", "Reject"]);
    await visitor.tool("publish_note").getByRole("button", { name: "Approve" }).waitFor();
    await visitor.photograph("messenger-question");
    await buttons.first().click();
    await visitor.board.getByText(first ?? "").waitFor();
    await chat.getByText("Approved by Ada Lovelace.").waitFor();
    await visitor.answerHas("is on the board now");
    await chat.getByText(/is on the board now/).waitFor();
    await visitor.counts(visitor.button("Approve"), 0);
    // The other way round.
    await say(visitor, `Take a note that says "${second}", then publish it on the board.`);
    await eventually(() => buttons.count()).toBe(2);
    const card = visitor.tool("publish_note");
    await card.getByRole("textbox", { name: "Reason for rejecting" }).fill("Not today");
    await card.getByRole("button", { name: "Reject" }).click();
    await chat.getByText("Rejected elsewhere.").waitFor();
    await chat.getByText(/stays off the board/).waitFor();
    expect(await buttons.count()).toBe(0);
    await visitor.photograph("messenger-decided");
  }
};

export const messengerScenarios: readonly Scenario[] = [streamsIntoTheMessenger, answersFromEitherSide];
