// The examples of docs/models.md, run.
import { expect, test, vi } from "vitest";
import { createTestHost, fail, reply, scriptedModel, text } from "everthink/testing";
import { Assistant } from "./examples/models/assistant.ts";
import { Careful } from "./examples/models/careful.ts";
import { Lean } from "./examples/models/lean.ts";
import { OnWorkersAI } from "./examples/models/workers-ai.ts";

const overloaded = () => fail(new Error("Overloaded"), { statusCode: 529 });

test.each([Assistant, Lean])("the next model of %o answers for the first", async (Example) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  class Scripted extends Example {
    override getModel() {
      return [
        scriptedModel([overloaded()], { provider: "one" }),
        scriptedModel([reply(text("Hello."))], { provider: "two" })
      ];
    }
  }
  const agent = await createTestHost({ agents: { Scripted } }).get(Scripted, "a");
  expect(await agent.runTurn({ input: "Hi" })).toMatchObject({ status: "completed" });
  expect(warn.mock.calls.flat().join()).toContain("two/scripted-model is asked");
  warn.mockRestore();
});

test("the class that decides itself fails a turn whose prompt is too long, and says who wrote the others", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const tooLong = fail(new Error("prompt is too long"), { statusCode: 400 });
  const first = scriptedModel([tooLong, reply(text("Hello."))], { provider: "one" });
  class Scripted extends Careful {
    override getModel() {
      return [first, scriptedModel([], { provider: "two" })];
    }
  }
  const agent = await createTestHost({ agents: { Scripted } }).get(Scripted, "a");
  expect(await agent.runTurn({ input: "Hi" })).toMatchObject({ status: "error" });
  expect(await agent.runTurn({ input: "Hi" })).toMatchObject({
    message: { metadata: { models: ["one/scripted-model"] } }
  });
  log.mockRestore();
});

test("an id of Workers AI goes through the binding, and its answer is streamed", async () => {
  const calls: unknown[] = [];
  const chunk = { choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
  const run = async (call: unknown) => {
    calls.push(call);
    const headers = { "content-type": "text/event-stream" };
    return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, { headers });
  };
  const env = { AI: { gateway: (id: string) => ({ run: (call: object) => run({ id, ...call }) }) } };
  const agent = await createTestHost({ agents: { OnWorkersAI }, env }).get(OnWorkersAI, "a");
  expect(await agent.runTurn({ input: "Hi" })).toMatchObject({ message: { parts: [{}, { text: "Hello." }] } });
  expect(calls).toMatchObject([
    {
      id: "assistant",
      provider: "workers-ai",
      query: { model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast", stream: true }
    }
  ]);
});
