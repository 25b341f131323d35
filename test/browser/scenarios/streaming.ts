// Answers while they stream: in other tabs, over a refresh, stopped, cleared.
import { expect } from "vitest";
import { askAndWait, outline, type Scenario, untilAllShow } from "./scenario.ts";

const sendAndStream: Scenario = {
  name: "send and stream",
  async play(stage) {
    const asking = await stage.open();
    const watching = await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await stage.photograph(asking, "mid-stream");
    await stage.conversation.letGo(5);
    await untilAllShow(stage.tabs, "one two three four five six");
    await asking.untilIdle();
    await watching.untilIdle();
    await askAndWait(watching, "hello", "You said: hello");
    await askAndWait(asking, "ponder", "I see.");
    await askAndWait(asking, "sum", `"sum":5`);
    await askAndWait(watching, "long", "word399");
    expect(outline(await stage.agree())).toHaveLength(10);
  }
};

const refresh: Scenario = {
  name: "refresh mid-stream",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(3);
    await untilAllShow(stage.tabs, "one two three ");
    await asking.reload();
    await asking.untilShows("one two three ");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two three four five ");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "six");
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two three four five six"]);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const secondTab: Scenario = {
  name: "a tab opened mid-stream beside one open from the start",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await stage.open();
    await untilAllShow(stage.tabs, "one two ");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two three four ");
    await stage.conversation.letGo(3);
    await untilAllShow(stage.tabs, "six");
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two three four five six"]);
  }
};

const stop: Scenario = {
  name: "stop",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await asking.click("#stop");
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two "]);
    await askAndWait(asking, "hello", "You said: hello");
  }
};

const stopAfterRefresh: Scenario = {
  name: "stop after a refresh",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await asking.reload();
    await asking.untilShows("one two ");
    await asking.click("#stop");
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two "]);
  }
};

const clear: Scenario = {
  name: "clear",
  async play(stage) {
    const asking = await stage.open();
    await stage.open();
    await askAndWait(asking, "hello", "You said: hello");
    await asking.click("#clear");
    for (const tab of stage.tabs) await tab.until("is empty", ({ messages }) => messages.length === 0);
    await stage.agree();
    expect(await stage.conversation.messages()).toEqual([]);
    await askAndWait(asking, "again", "You said: again");
  }
};

const clearWhileStreaming: Scenario = {
  name: "clear while an answer streams",
  async play(stage) {
    const asking = await stage.open();
    const watching = await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await watching.click("#clear");
    for (const tab of stage.tabs) await tab.until("is empty", ({ messages }) => messages.length === 0);
    await stage.agree();
    expect(await stage.conversation.messages()).toEqual([]);
  }
};

const refreshOfAll: Scenario = {
  name: "refresh of every tab mid-stream",
  async play(stage) {
    const asking = await stage.open();
    const watching = await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await Promise.all([asking.reload(), watching.reload()]);
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two three four ");
    await stage.conversation.letGo(3);
    await untilAllShow(stage.tabs, "six");
    expect(outline(await stage.agree())).toEqual(["user: slow", "assistant: one two three four five six"]);
  }
};

const queued: Scenario = {
  name: "a message sent in another tab while an answer streams, and a refresh while it waits",
  async play(stage) {
    const asking = await stage.open();
    const other = await stage.open();
    await asking.send("slow");
    await stage.conversation.letGo(2);
    await untilAllShow(stage.tabs, "one two ");
    await other.send("me too");
    await other.until("shows its question", ({ messages }) => outline(messages).includes("user: me too"));
    await other.fence();
    await other.reload();
    await stage.conversation.letGo();
    await untilAllShow(stage.tabs, "You said: me too");
    const texts = outline(await stage.agree());
    expect(texts.toSorted()).toEqual([
      "assistant: You said: me too (answer 2)",
      "assistant: one two three four five six",
      "user: me too",
      "user: slow"
    ]);
  }
};

export const streamingScenarios: readonly Scenario[] = [
  sendAndStream,
  refresh,
  refreshOfAll,
  secondTab,
  stop,
  stopAfterRefresh,
  queued,
  clear,
  clearWhileStreaming
];
