// Several conversations, in several tabs.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";

export const keepsConversations: Scenario = {
  name: "conversations are made, renamed and deleted with a question first, in every tab, and the back button goes back",
  async play({ visitor, anotherTab }) {
    const firstTitle = `What is 1+1? ${crypto.randomUUID().slice(0, 8)}`;
    await visitor.askAndWait(firstTitle);
    const first = visitor.conversationId;
    await visitor.conversations.getByRole("link", { name: firstTitle }).waitFor();
    const other = await anotherTab();
    const second = await visitor.newConversation();
    expect(second).not.toBe(first);
    await visitor.page.goBack();
    await visitor.page.waitForURL(`**/c/${first}`);
    await visitor.answerHas("2");

    const renamed = `Sums ${crypto.randomUUID().slice(0, 8)}`;
    await visitor.conversations.getByRole("link", { name: firstTitle }).hover();
    await visitor.button(`Rename ${firstTitle}`).click();
    await visitor.page.getByRole("textbox", { name: "New title" }).fill(renamed);
    await visitor.page.keyboard.press("Enter");
    await visitor.page.getByRole("heading", { level: 1, name: renamed }).waitFor();
    await other.conversations.getByRole("link", { name: renamed }).waitFor();

    const dialog = visitor.page.getByRole("dialog", { name: "Delete this conversation?" });
    await visitor.conversations.getByRole("link", { name: renamed }).hover();
    await visitor.button(`Delete ${renamed}`).click();
    await visitor.photograph("delete");
    await dialog.getByRole("button", { name: "Keep it" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await visitor.conversations.getByRole("link", { name: renamed }).count()).toBe(1);

    await visitor.button(`Delete ${renamed}`).click();
    await dialog.getByRole("button", { name: "Delete conversation" }).click();
    await visitor.counts(visitor.conversations.getByRole("link", { name: renamed }), 0);
    await other.counts(other.conversations.getByRole("link", { name: renamed }), 0);
    for (const each of [visitor, other]) await each.page.waitForURL((url) => !url.pathname.endsWith(first));
  }
};

export const reusesTheUnused: Scenario = {
  name: "a new conversation that was not used yet is used by every visitor who wants one, and is listed once",
  async play({ visitor, anotherTab, anotherVisitor }) {
    const unused = visitor.conversations.getByRole("link", { name: "New conversation", exact: true });
    const empty = visitor.conversationId;
    expect(await visitor.newConversation()).toBe(empty);
    const other = await anotherTab("/");
    expect(other.conversationId).toBe(empty);
    expect(await other.newConversation()).toBe(empty);
    expect(await unused.count()).toBe(1);

    await visitor.askAndWait(`What is 3+4? ${crypto.randomUUID().slice(0, 8)}`);
    await visitor.counts(unused, 0);
    const next = await visitor.newConversation();
    expect(next).not.toBe(empty);
    // A visitor whose conversation is in use is led to the one that is not.
    await other.answer.waitFor();
    expect(await other.newConversation()).toBe(next);
    const stranger = await anotherVisitor();
    expect(await stranger.newConversation()).toBe(next);
    await visitor.counts(unused, 1);
  }
};

export const showsTheUnderneath: Scenario = {
  name: "the panel lists hooks and records while a turn runs and its tokens afterwards, and can be hidden",
  async play({ visitor }) {
    const records = visitor.panel.getByRole("list", { name: "Records, newest first" }).getByRole("listitem");
    const notes = visitor.panel.getByRole("list", { name: "Hooks and events, newest first" });
    await visitor.suggest("Tell a long story");
    await notes.getByText("beforeTurn").waitFor();
    await records.first().waitFor();
    expect(await visitor.answer.getAttribute("aria-busy")).toBe("true");
    await visitor.button("Stop").click();
    await visitor.isSettled();
    await visitor.askAndWait("What is 6*7?");
    for (const hook of ["beforeStep", "beforeToolCall", "afterToolCall", "onStepFinish", "onChatResponse"]) {
      await notes.getByText(hook, { exact: true }).first().waitFor();
    }
    await visitor.panel
      .getByText(/\d+ in · \d+ out/)
      .first()
      .waitFor();
    await visitor.photograph("panel");
    await visitor.button("Hide what happens underneath").click();
    await visitor.panel.waitFor({ state: "detached" });
    await visitor.reload();
    await visitor.button("Show what happens underneath").click();
    await visitor.panel.waitFor();
  }
};

export const conversationScenarios: readonly Scenario[] = [keepsConversations, reusesTheUnused, showsTheUnderneath];
