// Tools the page answers, and tools the user allows or forbids.
import { expect } from "vitest";
import { textOf } from "../tab.ts";
import { askAndWait, callStates, outline, type Scenario, untilAllShow } from "./scenario.ts";

const clientTool: Scenario = {
  name: "client tool",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open();
    await asking.send("tool");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(outline(stored)).toEqual([
      "user: tool",
      expect.stringMatching(/^assistant: Looking. The tools said .*a browser/)
    ]);
    expect(callStates(stored)).toEqual(["tool-browserName output-available"]);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const clientToolByOther: Scenario = {
  name: "client tool answered in the other tab after a refresh",
  async play(stage) {
    const asking = await stage.open();
    const other = await stage.open();
    await asking.send("tool");
    await other.page.waitForSelector(".answer");
    await asking.untilIdle();
    await other.reload();
    await other.click(".answer");
    await untilAllShow(stage.tabs, "The tools said");
    expect(callStates(await stage.agree())).toEqual(["tool-browserName output-available"]);
  }
};

const toolInBothTabs: Scenario = {
  name: "client tool that two tabs answer",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open("at-once");
    await asking.send("tool");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(outline(stored)).toHaveLength(2);
    expect(textOf(stored[1]).match(/The tools said/g)).toHaveLength(1);
  }
};

const parallelTools: Scenario = {
  name: "two parallel client tools",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open();
    await asking.send("two tools");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-browserName output-available", "tool-pageTitle output-available"]);
    expect(textOf(stored[1])).toMatch(/a browser.*Chat/);
    expect(stored).toHaveLength(2);
  }
};

const parallelToolsByButton: Scenario = {
  name: "two parallel client tools, answered one by one",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("two tools");
    await asking.page.waitForSelector(".answer[data-tool=pageTitle]");
    await asking.untilIdle();
    await asking.click(".answer[data-tool=pageTitle]");
    for (const tab of stage.tabs) await tab.page.waitForSelector("[data-state=output-available]");
    await asking.click(".answer[data-tool=browserName]");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-browserName output-available", "tool-pageTitle output-available"]);
  }
};

const approvalAllowed: Scenario = {
  name: "approval allowed",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("approve");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".approve");
    await asking.untilIdle();
    await stage.photograph(asking, "approval");
    await asking.click(".approve");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-sendMail output-available"]);
    expect(await stage.conversation.sentMails()).toBe(1);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const approvalDenied: Scenario = {
  name: "approval denied",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("approve");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".deny");
    await asking.untilIdle();
    await asking.click(".deny");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-sendMail output-denied"]);
    expect(await stage.conversation.sentMails()).toBe(0);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const approvalInOtherTab: Scenario = {
  name: "approval given in the other tab after a refresh",
  async play(stage) {
    const asking = await stage.open();
    const other = await stage.open();
    await asking.send("approve");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".approve");
    await asking.untilIdle();
    await Promise.all([asking.reload(), other.reload()]);
    await other.click(".approve");
    await untilAllShow(stage.tabs, "The tools said");
    expect(callStates(await stage.agree())).toEqual(["tool-sendMail output-available"]);
    expect(await stage.conversation.sentMails()).toBe(1);
  }
};

const registeredTool: Scenario = {
  name: "client tool that only the page knows",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open();
    await asking.send("own tool");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-pageWidth output-available"]);
    expect(stored).toHaveLength(2);
  }
};

const refreshInContinuation: Scenario = {
  name: "refresh while the answer to a client tool streams",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open();
    await asking.send("slow tool");
    await stage.conversation.letGo(6);
    await untilAllShow(stage.tabs, "said ");
    await asking.reload();
    await asking.untilShows("said ");
    await stage.conversation.letGo();
    await untilAllShow(stage.tabs, "a browser");
    const stored = await stage.agree();
    expect(outline(stored)).toEqual([
      "user: slow tool",
      expect.stringMatching(/^assistant: Asking it. .*said .*a browser/)
    ]);
    expect(callStates(stored)).toEqual(["tool-browserName output-available"]);
  }
};

const lateApproval: Scenario = {
  name: "approval given after another question was answered",
  async play(stage) {
    const asking = await stage.open();
    const other = await stage.open();
    await asking.send("approve");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".approve");
    await asking.untilIdle();
    await askAndWait(other, "hello", "You said: hello");
    await stage.agree();
    await asking.click(".approve");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-sendMail output-available"]);
    expect(outline(stored).slice(-2)).toEqual([
      expect.stringMatching(/^assistant: You said: hello/),
      expect.stringMatching(/^assistant: The tools said this: .*sentTo/)
    ]);
    expect(await stage.conversation.sentMails()).toBe(1);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const lateClientTool: Scenario = {
  name: "client tool answered after another question was answered",
  async play(stage) {
    const asking = await stage.open();
    const other = await stage.open();
    await asking.send("tool");
    for (const tab of stage.tabs) await tab.page.waitForSelector(".answer");
    await asking.untilIdle();
    await askAndWait(other, "hello", "You said: hello");
    await asking.click(".answer");
    await untilAllShow(stage.tabs, "has been answered");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-browserName output-available"]);
    expect(stored).toHaveLength(5);
  }
};

const answeredForServer: Scenario = {
  name: "page that answers a tool of the server",
  async play(stage) {
    const asking = await stage.open("at-once");
    await stage.open();
    await asking.send("sum");
    await untilAllShow(stage.tabs, "The tools said");
    const stored = await stage.agree();
    expect(callStates(stored)).toEqual(["tool-add output-available"]);
    expect(textOf(stored[1])).toMatch(/"sum":5/);
    // One generation answers whatever it sees. It is notified, and shows no trace of its own answer.
    const answers = asking.frames.filter(({ text }) => text.includes('"cf_agent_tool_result"'));
    const refusals = asking.frames.filter(({ text }) => text.includes('"tool-call-runs-on-server"'));
    expect(refusals).toHaveLength(answers.length);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

export const toolScenarios: readonly Scenario[] = [
  clientTool,
  clientToolByOther,
  toolInBothTabs,
  registeredTool,
  refreshInContinuation,
  parallelTools,
  parallelToolsByButton,
  approvalAllowed,
  approvalDenied,
  approvalInOtherTab,
  lateApproval,
  lateClientTool,
  answeredForServer
];
