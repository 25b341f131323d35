// Every suggestion of the demo, through the real client, the real agent and the offline model.
import { expect, test } from "vitest";
import { SUGGESTIONS } from "../../examples/assistant/shared/suggestions.ts";
import { Assistant, directoryState, openHost, Page, promptOf, paragraphsOf, states, toolsOf } from "./assistant-kit.ts";
import { textOf } from "../kit/messages.ts";

async function asked(title: string, settings: ConstructorParameters<typeof Page>[1] = {}) {
  const host = openHost();
  const page = new Page(host, settings);
  await page.ask(promptOf(title));
  return { host, page };
}

test("the long story is a heading and several paragraphs, and ends well", async () => {
  const { page } = await asked("Tell a long story");
  expect(page.snapshot.status).toBe("settled");
  expect(page.text).toMatch(/^# The Keeper/);
  expect(page.text.split("\n\n").length).toBeGreaterThan(6);
  expect(page.text.split(/\s+/).length).toBeGreaterThan(400);
});

test("thinking it through shows thoughts, the clock, the calculator and an answer from both", async () => {
  const { page } = await asked("Think it through");
  expect(page.last.parts.find(({ type }) => type === "reasoning")).toMatchObject({
    text: expect.stringMatching(/clock/)
  });
  expect(states(page.last)).toEqual(["now output-available", "calculate output-available"]);
  const { value } = toolsOf(page.last)[1]!.output as { value: number };
  expect(Number.isInteger(value) && value >= 1 && value <= 366).toBe(true);
  expect(page.text).toContain(`**${value} day`);
});

test("the slow tool reports its progress and then its result", async () => {
  const host = openHost();
  const page = new Page(host);
  const seen = new Set<string>();
  page.client.subscribe(() => {
    for (const message of page.snapshot.messages) {
      for (const { output } of toolsOf(message)) seen.add(JSON.stringify(output));
    }
  });
  await page.ask(promptOf("Use a slow tool"));
  expect([...seen].filter((output) => output?.includes("progress")).length).toBeGreaterThan(0);
  expect(toolsOf(page.last)[0]).toMatchObject({ output: { count: 17_984, largest: 199_999 } });
  expect(page.text).toContain("**17,984** primes below 200,000");
});

test.each([
  [true, "is deleted", [] as string[]],
  [false, "was not deleted: it was not allowed", ["buy oil for the lamp"]]
])("a deletion is asked about; approved: %s, and the answer says what came of it", async (isApproved, words, left) => {
  const { host, page } = await asked("Ask before deleting");
  expect(page.snapshot).toMatchObject({
    status: "parked",
    pendingApprovals: [
      {
        toolName: "delete_note",
        input: { id: 1, text: "buy oil for the lamp" },
        descriptor: { summary: "Delete this note for good", risk: "medium", kind: "approval-gated" }
      }
    ]
  });
  const { callId } = page.snapshot.pendingApprovals[0]!;
  await (isApproved ? page.client.approve(callId) : page.client.reject(callId));
  await page.settle();
  expect(page.snapshot.status).toBe("settled");
  expect(page.text).toContain(words);
  expect(host.sql(Assistant, "a", "SELECT text FROM notes").map(({ text }) => text)).toEqual(left);
});

test.each([
  [true, "It is decided: note 1 (“the lamp is lit”) is on the board now."],
  [false, "stays off the board: it was not allowed. The reason given: Too bright"]
])("a publication waits, other questions are answered meanwhile; approved: %s", async (isApproved, words) => {
  const { host, page } = await asked("Wait for a decision");
  expect(page.snapshot.status).toBe("parked");
  expect(page.text).toContain("waits for somebody's decision");
  await page.ask("What is 12*(3+4)?");
  expect(page.text).toContain("**84**");
  await host.restart();
  const later = new Page(host);
  await later.settle();
  const [parked] = later.snapshot.pendingApprovals;
  expect(parked).toMatchObject({ toolName: "publish_note", descriptor: { kind: "durable-pause", risk: "low" } });
  const decided = isApproved ? later.client.approve(parked!.callId) : later.client.reject(parked!.callId, "Too bright");
  await later.settle();
  await decided;
  await later.settle();
  expect(later.text).toContain(words);
  expect((await directoryState(host)).board.map(({ text }) => text)).toEqual(isApproved ? ["the lamp is lit"] : []);
});

test("files are written, corrected, searched and sorted, and the answer says what came of it", async () => {
  const { page } = await asked("Work with files");
  expect(states(page.last)).toEqual(["write", "edit", "grep", "bash"].map((name) => `${name} output-available`));
  expect(toolsOf(page.last)[3]).toMatchObject({
    output: { stdout: "5\n", changedFiles: { created: ["/voyage/sorted.txt"] } }
  });
  expect(page.text).toContain("2 lines of it are about oil. Sorted, it has **5** lines");
  await page.ask("Run `head -1 /voyage/sorted.txt`");
  expect(page.text).toContain("- bread");
  await page.ask("Which files are there?");
  expect(page.text).toContain("- `/voyage/packing.md`");
});

test("a passage is planned with a skill, which stays active; without a loader the answer says why its script did not run", async () => {
  const { host, page } = await asked("Use a skill");
  expect(states(page.last)).toEqual(["activate_skill output-available", "run_skill_script output-available"]);
  expect(toolsOf(page.last)[0]?.output).toContain("# Planning a passage");
  expect(page.text).toContain("cannot run here");
  expect(host.sql(Assistant, "a", "SELECT name FROM cf_active_skills")).toEqual([{ name: "passage-plan" }]);
  await page.ask("Write an entry into the log.");
  expect(toolsOf(page.last)[0]?.output).toContain("references/abbreviations.md");
  expect(page.text).toContain("Watch relieved.");
});

test("the browser is looked at by the page's own tool", async () => {
  const info = { width: 800, height: 600, timeZone: "Europe/Oslo", language: "nb", theme: "dark" };
  const { page } = await asked("Look at this browser", {
    tools: { browser_info: { description: "The window.", execute: () => info } }
  });
  expect(states(page.last)).toEqual(["browser_info output-available"]);
  expect(page.text).toContain("**800 × 600**");
  expect(page.text).toContain("**Europe/Oslo**");
});

test("a page without that tool is told so", async () => {
  const { page } = await asked("Look at this browser");
  expect(states(page.last)).toEqual([]);
  expect(page.text).toContain("offers me no tool");
});

test("what is remembered is known in the next question, and after a restart", async () => {
  const { host, page } = await asked("Remember something");
  expect(states(page.last)).toEqual(["set_context output-available"]);
  await page.ask("What do you remember?");
  expect(page.text).toContain("- my boat is called Aurora.");
  await host.restart();
  const later = new Page(host);
  await later.settle();
  await later.ask("What do you remember about me?");
  expect(later.text).toContain("- my boat is called Aurora.");
});

test.each([
  ["Please fail on purpose, so that I see an error.", ""],
  ["Please fail after a few words.", "I begin to answer, and before this sentence is"]
])("%s fails at once, in words for people, and is not tried again", async (question, partial) => {
  const host = openHost();
  const page = new Page(host);
  await page.ask(question);
  expect(page.snapshot).toMatchObject({ status: "settled", error: "The offline model failed, as you asked." });
  const answer = page.snapshot.messages.find(({ role }) => role === "assistant");
  expect(textOf(answer)).toBe(partial);
  await page.ask("hello");
  expect(page.snapshot.error).toBeUndefined();
});

test("nothing that is suggested ends in the answer for what it does not know", async () => {
  for (const { prompt } of SUGGESTIONS) {
    const page = new Page(openHost());
    await page.ask(prompt);
    expect(JSON.stringify(page.snapshot.messages), prompt).not.toContain("no understanding of language");
  }
});

test("the panel hears of hooks, events and tokens, and may read the journal", async () => {
  const { page } = await asked("Use a slow tool");
  const names = page.notes.map(({ kind, name }) => `${kind} ${name}`);
  for (const name of [
    "beforeTurn",
    "beforeStep",
    "beforeToolCall",
    "afterToolCall",
    "onStepFinish",
    "onChatResponse"
  ]) {
    expect(names).toContain(`hook ${name}`);
  }
  expect(names).toContain("event chat:turn:start");
  expect(names).toContain("event chat:turn:finish");
  const used = page.notes.flatMap(({ usage }) => (usage ? [usage] : []));
  expect(used).toHaveLength(2);
  for (const { inputTokens, outputTokens } of used) expect(Math.min(inputTokens, outputTokens)).toBeGreaterThan(0);
  const journal = page.client.call("readJournal", [{ limit: 500 }]);
  await page.settle();
  const { entries, more } = await journal;
  expect(entries.map(({ type }) => type)).toContain("turn-settled");
  expect(more).toBe(false);
});

test("a team is asked at the same time, and the answer is made of what both reported", async () => {
  const { host, page } = await asked("Ask a team");
  expect(states(page.last)).toEqual(["ask_researcher output-available", "ask_critic output-available"]);
  expect(page.snapshot.agentRuns.map(({ agentType, status }) => `${agentType} ${status}`)).toEqual([
    "Researcher completed",
    "Critic completed"
  ]);
  expect(page.text).toContain("the coast and the tower do");
  expect(page.text).toContain("nobody has yet measured");
  const unknown = await host.fetch("/agents/assistant/a/sub/researcher/made-up/get-messages");
  expect(unknown.status).toBe(404);
});

test("two publications that are decided at once are both told, and nothing is left waiting", async () => {
  const host = openHost();
  const page = new Page(host);
  await page.ask('Take a note that says "one", then publish it.');
  await page.ask('Take a note that says "two", then publish it.');
  const decisions = page.snapshot.pendingApprovals.map(({ callId }) => page.client.approve(callId));
  expect(decisions).toHaveLength(2);
  await page.settle();
  await Promise.all(decisions);
  await page.settle();
  expect(page.snapshot).toMatchObject({ status: "settled", pendingApprovals: [], error: undefined });
  const shownText = page.snapshot.messages.map(paragraphsOf).join("\n");
  for (const [id, text] of [
    [1, "one"],
    [2, "two"]
  ]) {
    expect(shownText.split(`note ${id} (“${text}”) is on the board now`)).toHaveLength(2);
  }
  expect(page.snapshot.messages.every(({ parts }) => parts.length > 0)).toBe(true);
});

test("the web is read without an internet: found, fetched, and not obeyed", async () => {
  const { page } = await asked("Read the web");
  expect(states(page.last)).toEqual(["web_search output-available", "fetch_url output-available"]);
  expect(page.text).toContain("High water: 04:12 and 16:40");
});

test("one of forty tools is found before it is called", async () => {
  const { page } = await asked("Find a tool");
  expect(states(page.last)).toEqual(["search_tools output-available", "harbour_berth_haugesund output-available"]);
  expect(page.text).toContain("Berth 7 is free in Haugesund");
});
