// Models that fail and processes that die.
import { expect } from "vitest";
import { SHOWN_FAILURE } from "../reply-plan.ts";
import { askAndWait, callStates, outline, type Scenario, untilAllShow } from "./scenario.ts";

/** A client waits three seconds before it connects again. */
const RECONNECT_DEADLINE_MS = 30_000;

const serverError: Scenario = {
  name: "server error",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    for (const question of ["fail", "refuse"]) {
      await asking.send(question);
      await asking.until("shows the error", ({ status, error }) => status === "error" && error === SHOWN_FAILURE);
      await stage.agree();
      // The tab has been reloaded meanwhile, and still says what happened.
      await asking.until("shows the error", ({ status, error }) => status === "error" && error === SHOWN_FAILURE);
      await askAndWait(asking, "hello", "You said: hello");
    }
    const texts = outline(await stage.agree());
    expect(texts.filter((text) => text.startsWith("user: "))).toEqual([
      "user: fail",
      "user: hello",
      "user: refuse",
      "user: hello"
    ]);
  }
};

const killed: Scenario = {
  name: "SIGKILL mid-stream",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(3);
    await untilAllShow(stage.tabs, "one two three ");
    await stage.server.kill();
    await stage.server.start();
    for (const tab of stage.tabs) await tab.fence(RECONNECT_DEADLINE_MS);
    await stage.conversation.letGo();
    for (const tab of stage.tabs) {
      await tab.untilShows("six", RECONNECT_DEADLINE_MS);
      await tab.untilIdle(RECONNECT_DEADLINE_MS);
    }
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two three four five six"]);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const killedAfterRefresh: Scenario = {
  name: "SIGKILL mid-stream, with part of the answer stored",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(3);
    await untilAllShow(stage.tabs, "one two three ");
    // What is replayed to a client has been stored before.
    await asking.reload();
    await asking.untilShows("one two three ");
    await stage.server.kill();
    await stage.server.start();
    for (const tab of stage.tabs) await tab.fence(RECONNECT_DEADLINE_MS);
    await stage.conversation.letGo();
    await untilAllShow(stage.tabs, "six", RECONNECT_DEADLINE_MS);
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two three four five six"]);
  }
};

const killedBeforeApproval: Scenario = {
  name: "SIGKILL while an approval is open",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("approve");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".approve");
    await asking.untilIdle();
    await stage.server.kill();
    await stage.server.start();
    for (const tab of stage.tabs) await tab.fence(RECONNECT_DEADLINE_MS);
    await asking.click(".approve");
    await untilAllShow(stage.tabs, "The tools said");
    expect(callStates(await stage.agree())).toEqual(["tool-sendMail output-available"]);
    expect(await stage.conversation.sentMails()).toBe(1);
  }
};

export const failureScenarios: readonly Scenario[] = [serverError, killed, killedAfterRefresh, killedBeforeApproval];
