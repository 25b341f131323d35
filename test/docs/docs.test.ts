// What the documentation shows is code that is compiled and run: every block stands, word for word, in a file of
// examples/, and each of those is exercised below.
import { existsSync } from "node:fs";
import type { UIMessage } from "ai";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { prerender } from "react-dom/static";
import { afterEach, expect, test, vi } from "vitest";
import { createTestHost } from "everthink/testing";
import { reply, scriptedModel, stall, text, toolCall } from "everthink/testing";
import { Assistant } from "./examples/assistant.ts";
import { Companion } from "./examples/memory.ts";
import { Patient } from "./examples/recovery.ts";
import { Chat } from "./examples/lighthouse/page.tsx";
import readmeWorker, { Lighthouse } from "./examples/readme-worker.ts";
import { Concierge } from "./examples/hooks.ts";
import { Ours } from "../clients/newest/connect/ours.tsx";
import { OverHttp } from "../clients/newest/connect/http.tsx";
import { Published } from "../clients/newest/connect/published.tsx";
import { OverSocket } from "../clients/newest/connect/socket.tsx";
import { askFromAnywhere, Desk, Expert, Poll } from "./examples/agent.ts";
import counterWorker, { Counter } from "./examples/counter.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { exampleOf, missingImports, pages, read, samples } from "./samples.ts";

const root = new URL("../../", import.meta.url);

test.each(samples)("$page, example $index, is code that the tests compile and run", (sample) => {
  expect(exampleOf(sample)).toBeDefined();
});

/** Their text says in which file a sample stands, or shows parts of a file. */
const CONTINUED = [
  "README.md",
  "docs/getting-started.md",
  "docs/architecture.md",
  "docs/custom-servers.md",
  "docs/framework.md"
];

test.each(samples.filter(({ code, page }) => /^export /m.test(code) && !CONTINUED.includes(page)))(
  "$page, example $index, imports what it uses",
  (sample) => {
    const example = exampleOf(sample);
    expect(example && missingImports(sample, example)).toEqual([]);
  }
);

/** What a provider calls its models stands in samples; names of a gateway only where the page is about gateways. */
const ABOUT_GATEWAYS = ["docs/models.md"];

test.each(pages.filter((page) => !ABOUT_GATEWAYS.includes(page)))(
  "%s has no model by a gateway's name in a sample",
  (page) => {
    const shown = [...read(page).matchAll(/^```[\s\S]*?^```/gm)].join("\n");
    expect(shown.match(/["'](?:openai|anthropic|google|@cf)\/[\w./-]+["']/g) ?? []).toEqual([]);
  }
);

test("each of the four ways to connect takes 15 lines at most", () => {
  const ways = ["Ours", "Published", "OverSocket", "OverHttp"];
  const lines = ways.map((way) => samples.find(({ code }) => code.includes(`export function ${way}()`))?.code.trim());
  for (const code of lines) expect(code?.split("\n").length ?? Infinity).toBeLessThanOrEqual(15);
});

test("there are examples to check", () => {
  expect(samples.length).toBeGreaterThan(5);
});

test("every link between pages leads somewhere", () => {
  for (const page of pages) {
    for (const [, target] of read(page).matchAll(/\]\(((?!https?:)[^)#]+)/g)) {
      expect(existsSync(new URL(target ?? "", new URL(page, root))), `${page} -> ${target}`).toBe(true);
    }
  }
});

test.each([Ours, OverHttp, OverSocket])("a page of the connect page shows its messages: %o", (page) => {
  vi.stubGlobal("location", new URL("http://localhost/"));
  expect(renderToString(createElement(page))).toContain("messages");
});

test("the published page of the connect page is rendered with the messages that the agent has", async () => {
  class Scripted extends Assistant {
    override getModel() {
      return scriptedModel([reply(text("Hello, Ada."))]);
    }
  }
  const host = createTestHost({ agents: { Assistant: Scripted } });
  const question = user("u1", "Hello");
  await (await host.get(Scripted, "ada")).saveMessages([question]);
  vi.stubGlobal("window", { location: new URL("http://localhost/") });
  vi.stubGlobal("fetch", (url: string) => host.fetch(new URL(url).pathname));
  const { prelude } = await prerender(createElement(Published));
  expect(await new Response(prelude).text()).toBe("<button>2<!-- --> messages</button>");
});

test("the counter of the agent page counts, reminds and answers through its worker", async () => {
  const host = createTestHost({ agents: { Counter }, worker: counterWorker });
  const socket = await host.connect("/agents/counter/main");
  expect(await socket.next("cf_agent_state")).toMatchObject({ state: { count: 0 } });
  socket.send({ type: "rpc", id: "1", method: "increment", args: [2] });
  expect(await socket.next("rpc")).toMatchObject({ result: 2 });
  socket.send({ type: "rpc", id: "2", method: "remind", args: [60] });
  await socket.next("rpc");
  await host.restart();
  await host.advance(61_000);
  expect(await (await host.get(Counter, "main")).increment(0)).toBe(12);
  expect((await host.fetch("/elsewhere")).status).toBe(404);
});

test("the poll of the agent page votes, streams and refuses viewers", async () => {
  const host = createTestHost({ agents: { Poll, Desk }, exports: [Expert] });
  const viewer = await host.connect("/agents/poll/p?role=viewer");
  const voter = await host.connect("/agents/poll/p");
  voter.send({ type: "rpc", id: "1", method: "vote", args: ["tea"] });
  expect(await voter.next("rpc")).toMatchObject({ result: 1 });
  viewer.send({ type: "cf_agent_state", state: { votes: {} } });
  expect(await viewer.next("cf_agent_state_error")).toMatchObject({ error: "Connection is readonly" });
  voter.send({ type: "rpc", id: "2", method: "countdown", args: [2] });
  await host.idle();
  expect(voter.frames.slice(-3)).toMatchObject([{ result: 2 }, { result: 1 }, { result: "go", done: true }]);
});

test("the desk of the agent page schedules, imports through a crash and asks its experts", async () => {
  const host = createTestHost({ agents: { Poll, Desk }, exports: [Expert], now: Date.UTC(2026, 0, 5, 8, 59) });
  const desk = await host.get(Desk, "front");
  await desk.order("pen");
  await host.advance(61_000);
  expect(await desk.log()).toEqual(["mail pen", "confirm pen"]);
  await desk.importAll(3);
  await host.idle();
  expect(await desk.pages()).toEqual([0, 1, 2]);
  // The stub's class is the one this host binds.
  expect(await askFromAnywhere(host.env as unknown as Parameters<typeof askFromAnywhere>[0])).toBe(
    "About tax: ask front."
  );
});

test("the import of the agent page, killed twice, does no finished page again", async () => {
  const cutOff = new Set([2, 4]);
  class Mortal extends Desk {
    override async importPage(page: number) {
      if (cutOff.delete(page)) await new Promise(() => undefined);
      await super.importPage(page);
    }
  }
  const host = createTestHost({ agents: { Desk: Mortal } });
  await (await host.get(Mortal, "front")).importAll(6);
  for (const left of [1, 0]) {
    await host.advance(60_000);
    expect(cutOff.size).toBe(left);
    await host.restart();
  }
  await host.advance(60_000);
  const desk = await host.get(Mortal, "front");
  expect(await desk.pages()).toEqual([0, 1, 2, 3, 4, 5]);
  expect(await desk.inspectFiberByKey("import")).toMatchObject({ status: "completed" });
  expect(host.sql(Mortal, "front", "SELECT name FROM cf_fibers")).toEqual([{ name: "import" }]);
});

test("the lighthouse of the README answers through its worker and keeps a log", async () => {
  const model = scriptedModel([reply(toolCall("log", { line: "lamp lit" })), reply(text("Line 1."))]);
  class Scripted extends Lighthouse {
    override getModel() {
      return model as never;
    }
  }
  const host = createTestHost({ agents: { Lighthouse: Scripted }, worker: readmeWorker });
  const lighthouse = await host.get(Scripted, "ada");
  const question = user("u1", "The lamp is lit.");
  expect(await lighthouse.saveMessages([question])).toMatchObject({ status: "completed" });
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain("Line 1 of the log");
  expect(await storedMessages(host, "/agents/lighthouse/ada")).toHaveLength(2);
  expect((await host.fetch("/elsewhere")).status).toBe(404);
});

afterEach(() => vi.unstubAllGlobals());

test("the page of the first steps shows a form before it is connected", () => {
  vi.stubGlobal("location", { origin: "http://localhost:8787" });
  expect(renderToString(createElement(Chat, { name: "north" }))).toContain('aria-label="Message"');
});

test("the assistant of the chat page answers, uses its tool and remembers", async () => {
  const model = scriptedModel([reply(toolCall("remember", { note: "dentist" })), reply(text("Noted."))]);
  class Scripted extends Assistant {
    override getModel() {
      return model;
    }
  }
  const host = createTestHost({ agents: { Scripted } });
  const assistant = await host.get(Scripted, "me");
  const question = user("u1", "Remember the dentist");
  expect(await assistant.saveMessages([question])).toMatchObject({ status: "completed" });
  expect(host.sql(Scripted, "me", "SELECT note FROM notes")).toEqual([{ note: "dentist" }]);
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain("You help people plan their week");
});

test("the concierge of the chat page adds to the prompt and hears of its answers", async () => {
  const model = scriptedModel([reply(text("Good day."))]);
  class Scripted extends Concierge {
    override getModel() {
      return model;
    }
    log() {
      return this.answered;
    }
  }
  const host = createTestHost({ agents: { Scripted } });
  const concierge = await host.get(Scripted, "c");
  const question = user("u1", "Hello");
  await concierge.saveMessages([question], { body: { mood: "sunny" } });
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain("Today is a sunny day");
  expect(await concierge.log()).toHaveLength(1);
});

test("the patient of the durability page goes on after a death, and says when it gave up", async () => {
  class Tested extends Patient {
    override getModel() {
      return model;
    }
  }
  const model = scriptedModel([reply(text("Half "), stall()), reply(text("and half."))]);
  const host = createTestHost({ agents: { Tested } });
  const patient = await host.get(Tested, "p");
  void patient.saveMessages([user("u1", "hi")]).catch(() => undefined);
  await host.advance(2_000);
  await host.restart();
  await host.advance(60_000);
  const messages: UIMessage[] = await (await host.get(Tested, "p")).getMessages();
  expect(messages.at(-1)?.parts.filter(({ type }) => type === "text")).toMatchObject([{ text: "Half and half." }]);
});

test("the companion of the memory page remembers, finds and explains its prompt", async () => {
  class Tested extends Companion {
    override getModel() {
      return model;
    }
  }
  const remember = toolCall("set_context", { label: "memory", content: "Likes tea." }, { id: "c1" });
  const model = scriptedModel([reply(remember), reply(text("Noted.")), reply(text("Tea."))]);
  const host = createTestHost({ agents: { Tested } });
  const companion = await host.get(Tested, "c");
  const say = (id: string, words: string) => companion.saveMessages([user(id, words)]);
  await say("u1", "I like tea.");
  await say("u2", "What do I like?");
  expect(await companion.find("tea")).toContainEqual({ id: "u1", content: "I like tea." });
  const { sections } = await companion.promptCost();
  expect(sections.join("\n")).toMatch(/persona: \d+ bytes[^]*memory: \d+ bytes[^]*library: \d+ bytes/);
});

/** Sentences with these need a second reading. Decisions are notes of their time. */
const HARD_WORDINGS =
  /\bin words\b|\bknown by\b|\b(?:tool|name|text|one) of yours\b|\bhas had its say\b|\bThose that are\b|\bOne that (?:is|cannot|was)\b/g;

test.each(pages.filter((page) => page !== "docs/decisions.md"))(
  "%s says things in words that are read once",
  (page) => {
    const prose = read(page).replaceAll(/^```[\s\S]*?^```/gm, "");
    expect(prose.match(HARD_WORDINGS) ?? []).toEqual([]);
  }
);
