// What is remembered, and what goes wrong on purpose.
import { expect } from "vitest";
import type { Scenario } from "../scenario.ts";
import { eventually, type Visitor } from "../visitor.ts";

export const remembers: Scenario = {
  name: "what it was told to remember it knows in a later answer, also after the process was killed",
  async play({ visitor, server }) {
    await visitor.askAndWait("Remember that my boat is called Aurora.");
    await visitor.askAndWait("What do you remember?");
    await visitor.answer.getByRole("listitem").filter({ hasText: "my boat is called Aurora" }).waitFor();
    const pid = server.workerd();
    await visitor.pullThePlug();
    await eventually(() => server.workerd()).satisfy((now: number | undefined) => now !== undefined && now !== pid);
    await visitor.isConnected();
    // No tokens are counted for a page that was not open.
    await visitor.reload();
    await visitor.counts(visitor.panel.getByText("none since opened"), 2);
    await visitor.askAndWait("What do you remember?");
    await visitor.answer.getByRole("listitem").filter({ hasText: "my boat is called Aurora" }).waitFor();
  }
};

const FAILURE_ALOUD = "This answer failed. The offline model failed, as you asked.";

/** Everything that is read aloud from here on. */
async function announcementsOf({ page }: Visitor): Promise<() => Promise<string[]>> {
  const said = await page.evaluateHandle(() => {
    const texts: string[] = [];
    const voice = document.querySelector("main > [aria-live=polite]")!;
    const note = () => texts.push(voice.textContent ?? "");
    new MutationObserver(note).observe(voice, { subtree: true, childList: true, characterData: true });
    return texts;
  });
  return () => said.jsonValue();
}

export const fails: Scenario = {
  name: "an answer that fails says why, on the page and once aloud, can be tried again, and the conversation goes on",
  async play({ visitor }) {
    const said = await announcementsOf(visitor);
    await visitor.suggest("Fail on purpose");
    const error = visitor.page.getByRole("group", { name: "Error" });
    await error.getByText("The offline model failed, as you asked.").waitFor();
    await visitor.photograph("error");
    await eventually(said).toContain(FAILURE_ALOUD);
    await visitor.button("Try again").click();
    // It fails again, sooner than a look could tell that the first error had gone.
    await visitor.counts(visitor.panel.getByText("onChatError", { exact: true }), 2);
    await error.waitFor();
    await eventually(async () => (await said()).filter((text) => text === FAILURE_ALOUD).length).toBe(2);
    await visitor.askAndWait("Hello");
    await visitor.answerHas("Hello!");
    expect(await error.count()).toBe(0);
    await eventually(async () => (await said()).at(-1)).toMatch(/^Hello!/);
    expect((await said()).filter((text) => text === FAILURE_ALOUD)).toHaveLength(2);
    await visitor.reload();
    await visitor.answerHas("Hello!");
  }
};

export const failsInTheMiddle: Scenario = {
  name: "an answer that fails in the middle keeps the words that were there",
  async play({ visitor }) {
    await visitor.ask("Please fail after a few words.");
    await visitor.button("Try again").waitFor();
    await visitor.answerHas("I begin to answer, and before this sentence is");
  }
};

/** From the next load on, the page's sockets go to an address that has none, and its requests are answered so. */
async function shutOut({ page }: Visitor): Promise<void> {
  await page.addInitScript(() => {
    const Original = window.WebSocket;
    window.WebSocket = class extends Original {
      constructor(url: string | URL) {
        super(sessionStorage.getItem("letIn") ? url : String(url).replace("/agents/", "/nowhere/"));
      }
    };
  });
  await page.route("**/get-messages*", (route) => route.fulfill({ status: 403, body: "Visitors only until six" }));
}

async function letIn({ page }: Visitor): Promise<void> {
  await page.evaluate(() => sessionStorage.setItem("letIn", "yes"));
  await page.unroute("**/get-messages*");
}

export const saysWhyNotConnected: Scenario = {
  name: "a page that is not let in says why, in the server's words, and goes on when it is",
  async play({ visitor }) {
    await visitor.askAndWait("Hello");
    await shutOut(visitor);
    // The browser complains about sockets that do not open, as about a server that is gone.
    visitor.hasPulledThePlug = true;
    await visitor.page.reload();
    const line = visitor.page.getByRole("alert");
    await line.getByText("The server refused the connection: 403 Visitors only until six").waitFor();
    await visitor.photograph("no-connection");
    await letIn(visitor);
    await visitor.button("Try now").click();
    await visitor.isConnected();
    await visitor.counts(line, 0);
    // The list of conversations is back as well.
    await visitor.conversations.getByRole("link").first().waitFor();
    await visitor.askAndWait("Hello again");
  }
};

export const memoryAndFailureScenarios: readonly Scenario[] = [remembers, fails, failsInTheMiddle, saysWhyNotConnected];
