// Context blocks and their full-text index in workerd's own SQLite.
import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { AgentSearchProvider, Session } from "../../src/session/index.ts";
import { env, inside, rawStub, uniqueName } from "./world.ts";

test("blocks, the frozen prompt and searchable entries survive an eviction in workerd", async () => {
  const stub = rawStub(env.Talker, uniqueName());
  // Starts the agent, and with it its tables.
  await stub.getMessages();
  const configure = (agent: ConstructorParameters<typeof Session>[0]) =>
    Session.create(agent)
      .withContext("memory", { maxTokens: 100 })
      .withContext("docs", { provider: new AgentSearchProvider(agent) })
      .withCachedPrompt();
  const prompt = await inside(stub, async (agent) => {
    const session = configure(agent);
    const { set_context } = await session.tools();
    await session.replaceContextBlock("memory", "likes tea");
    const write = (title: string, content: string) =>
      set_context?.execute({ label: "docs", content, metadata: { title } });
    expect(await write("deploy", "old words")).toBe('Indexed "deploy" in docs.');
    await write("deploy", "We deploy on Friday.");
    await write("other", "Friday is a day.");
    return session.freezeSystemPrompt();
  });
  expect(prompt).toContain("likes tea");
  await evictDurableObject(stub);
  await stub.getMessages();
  await inside(stub, async (agent) => {
    const session = configure(agent);
    expect(await session.freezeSystemPrompt()).toBe(prompt);
    const { search_context } = await session.tools();
    const search = (query: string) => search_context?.execute({ label: "docs", query });
    expect(await search("friday deploying")).toBe("[deploy]\nWe deploy on Friday.");
    expect(await search('old OR "')).toBe("No results found.");
    await session.clearMessages();
    expect(await session.freezeSystemPrompt()).toBe(prompt);
  });
});
