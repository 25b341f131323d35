// Turns that are started from inside a turn: refused at once where the caller would wait for itself, and the advice of the
// refusal works.
import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { Think, type ChatResponseResult } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script
} from "../../src/testing/index.ts";
import { linesOf, message, storedMessages, user } from "../kit/messages.ts";

let script: Script;
let inTool: (agent: Chat) => Promise<unknown> = async () => undefined;
let inResponse: (agent: Chat, result: ChatResponseResult) => Promise<unknown> = async () => undefined;
let thrown: unknown;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return {
      nest: tool({
        inputSchema: z.object({}),
        execute: async () => {
          try {
            await inTool(this);
          } catch (error) {
            thrown = error;
          }
          return "ok";
        }
      })
    };
  }
  override async onChatResponse(result: ChatResponseResult) {
    await inResponse(this, result);
  }
  async ask(words: string) {
    await this.saveMessages([user(words)]);
  }
  continues() {
    return this.continueLastTurn();
  }
}

const callback = { onStart() {}, onEvent() {}, onDone() {}, onError() {} };

/** A turn whose tool does this, and what the conversation holds when everything it led to is over. */
async function run(work: typeof inTool): Promise<string[]> {
  thrown = undefined;
  inTool = work;
  script = createScript([reply(toolCall("nest", {})), reply(text("done")), reply(text("again")), reply(text("more"))]);
  const host = createTestHost({ agents: { Chat } });
  const chat = await host.get(Chat, "a");
  await chat.ask("hi");
  await host.advance(60_000);
  return linesOf(await storedMessages(host));
}

test.each<[string, typeof inTool]>([
  ["saveMessages", (agent) => agent.saveMessages([user("no")])],
  ["chat", (agent) => agent.chat("no", callback)],
  ["continueLastTurn", (agent) => agent.continues()],
  ["runTurn with input", (agent) => agent.runTurn({ input: "no" })],
  ["runTurn with a continuation", (agent) => agent.runTurn({ continuation: true })],
  ["runTurn with a stream", (agent) => agent.runTurn({ mode: "stream", input: "no", callback })]
])("%s is refused inside a turn, and nothing is stored", async (_what, work) => {
  expect(await run(work)).toEqual(["user:hi", "assistant:done"]);
  expect(thrown).toMatchObject({ code: "nested-turn" });
  expect(String(thrown)).toMatch(/cannot be called from inside an active turn/);
});

test("a nested continuation is also refused when the last word is the assistant's", async () => {
  const messages = await run(async (agent) => {
    await agent.addMessages([message("assistant", "note", "note")]);
    await agent.runTurn({ continuation: true });
  });
  expect(thrown).toMatchObject({ code: "nested-turn" });
  expect(messages.filter((message) => message.startsWith("user"))).toEqual(["user:hi"]);
});

test("as the refusal says, schedule() starts the turn after this one", async () => {
  await run((agent) => agent.runTurn({ continuation: true }));
  expect(String(thrown)).toContain("schedule() or queue()");
  expect(await run((agent) => agent.schedule(0, "ask", "later"))).toEqual([
    "user:hi",
    "assistant:done",
    "user:later",
    "assistant:again"
  ]);
  expect(thrown).toBeUndefined();
});

test.each<[string, typeof inTool]>([
  ["queue()", (agent) => agent.queue("ask", "later")],
  ["startFiber()", (agent) => agent.startFiber("later", () => agent.ask("later"))]
])("what %s starts inside a turn runs outside of it, and may start the next turn", async (_what, work) => {
  expect(await run(work)).toEqual(["user:hi", "assistant:done", "user:later", "assistant:again"]);
  expect(thrown).toBeUndefined();
});

test("a fiber that the turn waits for is part of the turn: it would wait for itself", async () => {
  let refusal: unknown;
  const work = (agent: Chat) => agent.ask("no").catch((error: unknown) => void (refusal = error));
  await run((agent) => agent.startFiber("now", () => work(agent), { waitForCompletion: true }));
  expect(refusal).toMatchObject({ code: "nested-turn" });
  refusal = undefined;
  await run((agent) => agent.runFiber("now", () => work(agent)));
  expect(refusal).toMatchObject({ code: "nested-turn" });
});

test("as the refusal says, onChatResponse() may start a turn and wait for it", async () => {
  await run((agent) => agent.runTurn({ continuation: true }));
  expect(String(thrown)).toContain("onChatResponse()");
  let asked = false;
  inResponse = async (agent) => {
    if (asked) return;
    asked = true;
    await agent.runTurn({ input: "later" });
  };
  expect(await run(async () => undefined)).toEqual(["user:hi", "assistant:done", "user:later", "assistant:again"]);
  inResponse = async () => undefined;
});

test("as the refusal says, addMessages() adds to the transcript", async () => {
  await run((agent) => agent.runTurn({ continuation: true }));
  expect(String(thrown)).toContain("addMessages()");
  const messages = await run((agent) => agent.addMessages([user("note")]));
  expect(messages).toContain("user:note");
  expect(thrown).toBeUndefined();
});
