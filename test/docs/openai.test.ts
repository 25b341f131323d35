import { expect, test } from "vitest";
import { createTestHost, reply, scriptedModel, text } from "everthink/testing";
import worker, { askAssistant, Assistant as Example, type Env } from "./examples/openai.ts";
import { remoteAssistant } from "./examples/ai-sdk-agent.ts";
import { socketClass } from "../node/plain-kit.ts";

class Assistant extends Example {
  override getModel() {
    return scriptedModel([reply(text("Hello, Ada."))]);
  }
}

test("the OpenAI client of the connect page asks the conversation its header names, with the key it needs", async () => {
  const host = createTestHost({
    agents: { Assistant },
    env: { API_KEY: "secret" },
    worker: { fetch: (request, env: object) => worker.fetch(request, env as Env) }
  });
  const fetch = (url: unknown, init: unknown) => host.fetch(new Request(url as string, init as RequestInit));
  const options = { baseURL: "http://localhost/v1", fetch, maxRetries: 0 };
  await expect(askAssistant("Hi", { ...options, apiKey: "wrong" })).rejects.toMatchObject({ status: 401 });
  expect(await askAssistant("Hi", { ...options, apiKey: "secret" })).toBe("Hello, Ada.");
  const headers = { Authorization: "Bearer secret" };
  const stored = await host.fetch("/agents/assistant/ada/get-messages", { headers });
  expect(await stored.json()).toHaveLength(2);
  await expect(host.connect("/agents/assistant/ada")).rejects.toThrow();
});

test("the agent of the connect page has the assistant's tools and its own", async () => {
  const host = createTestHost({ agents: { Assistant } });
  const url = "http://localhost/agents/assistant/ada/chat";
  const agent = remoteAssistant({ url, webSocket: socketClass(host) as never });
  expect((await agent.generate({ prompt: "Hi" })).text).toBe("Hello, Ada.");
  expect(Object.keys(agent.tools)).toEqual(["clock"]);
});
