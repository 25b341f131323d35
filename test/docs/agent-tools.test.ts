import { afterEach, expect, test, vi } from "vitest";
import { createTestHost, planModel, reply, scriptedModel, text, toolCall } from "everthink/testing";
import { Assistant, Critic, models, Newsroom, Researcher } from "./examples/agent-tools.ts";
import { storedMessages, user } from "../kit/messages.ts";

afterEach(() => {
  models.clear();
  vi.restoreAllMocks();
});

const open = () => createTestHost({ agents: { Assistant }, exports: [Researcher, Critic] });
const ask = async (host: ReturnType<typeof open>, question: string) =>
  (await host.get(Assistant, "ada")).saveMessages([user(question)]);

test("the researcher of the page is a tool, and clients can only open children that exist", async () => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const assistant = scriptedModel([
    reply(toolCall("research", { query: "tides" }, { id: "c1" })),
    reply(text("The moon."))
  ]);
  models.set("assistant", assistant).set("researcher", scriptedModel([reply(text("The moon pulls."))]));
  const host = open();
  await ask(host, "Why tides?");
  const [run] = await (await host.get(Assistant, "ada")).listAgentToolRuns();
  expect(run).toMatchObject({ status: "completed", agentType: "Researcher" });
  const address = (name: string) => `/agents/assistant/ada/sub/researcher/${encodeURIComponent(name)}/get-messages`;
  expect((await host.fetch(address(run!.runId))).status).toBe(200);
  expect((await host.fetch(address("another"))).status).toBe(404);
  expect(console.log).toHaveBeenCalledWith("Researcher", "completed", "The moon pulls.");
});

test("compare() runs one child per topic, and the same ones when it is called again", async () => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const researcher = planModel({
    [JSON.stringify({ query: "tides" }, null, 2)]: [{ text: "moon" }],
    [JSON.stringify({ query: "winds" }, null, 2)]: [{ text: "sun" }]
  });
  models.set("researcher", researcher);
  const assistant = await open().get(Assistant, "ada");
  expect(await assistant.compare(["tides", "winds"])).toEqual(["moon", "sun"]);
  expect(await assistant.compare(["tides", "winds"])).toEqual(["moon", "sun"]);
  expect(await assistant.listAgentToolRuns()).toHaveLength(2);
});

test("the newsroom, which has no conversation, has a report of a child, and the same one when it asks again", async () => {
  models.set("researcher", scriptedModel([reply(text("The moon pulls."))]));
  const host = createTestHost({ agents: { Newsroom }, exports: [Researcher] });
  const newsroom = await host.get(Newsroom, "daily");
  expect(await newsroom.report("tides")).toBe("The moon pulls.");
  expect(await newsroom.report("tides")).toBe("The moon pulls.");
});

test("the critic's structured output is the tool's output, and a survey reports into the chat", async () => {
  vi.spyOn(console, "log").mockImplementation(() => undefined);
  const assistant = scriptedModel([
    reply(toolCall("judge", { text: "x" }, { id: "c1" }), toolCall("survey", { query: "all" }, { id: "c2" })),
    reply(text("Judged."))
  ]);
  models
    .set("assistant", assistant)
    .set("critic", scriptedModel([reply(text(JSON.stringify({ score: 3, why: "short" })))]))
    .set("researcher", scriptedModel([reply(text("Everybody agrees."))]));
  const host = open();
  await ask(host, "Judge it.");
  await host.idle();
  const messages = await storedMessages(host, "/agents/assistant/ada");
  const outputs = messages.flatMap(({ parts }) => parts.flatMap((part) => ("output" in part ? [part.output] : [])));
  expect(outputs).toContainEqual({ score: 3, why: "short" });
  expect(JSON.stringify(messages)).toContain("Researcher: Everybody agrees.");
});
