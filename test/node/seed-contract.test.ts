// Sentences of the original's documents that code of its users relies on, as a class of theirs sees them.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { agentTool, Think, type ChatErrorContext, type ChunkContext, type ToolCallDecision } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  fail,
  failInBand,
  reasoning,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step
} from "../../src/testing/index.ts";
import { user } from "../kit/messages.ts";

let script: Script;
let seen: unknown[] = [];

beforeEach(() => {
  seen = [];
  for (const level of ["error", "warn"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

class Assistant extends Think {
  override workspaceTools = false;
  override getModel() {
    return scriptedModel(script);
  }
  async messagesNow() {
    return this.getMessages();
  }
}

const question = (words = "Hello"): UIMessage => user("u1", words);

/** What is stored when the turn is over. */
async function asked(agentClass: typeof Assistant, steps: Step[]): Promise<UIMessage[]> {
  script = createScript(steps);
  const host = createTestHost({ agents: { Agent: agentClass } });
  const agent = await host.get(agentClass, "main");
  await agent.saveMessages([question()]);
  await host.idle();
  return agent.messagesNow();
}

// ── beforeToolCall ──

test("an input that beforeToolCall substitutes is passed to the tool as it is", async () => {
  const inputSchema = z.object({ limit: z.string().transform(Number) });
  class Clamping extends Assistant {
    override getTools() {
      const execute = ({ limit }: { limit: number }) => void seen.push(limit);
      return { search: { description: "Searches.", inputSchema, execute } } as never;
    }
    override beforeToolCall({ input }: { input: unknown }): ToolCallDecision {
      // What the schema made of the model's text: it would not take it again.
      return { action: "allow", input: { limit: Math.min((input as { limit: number }).limit, 50) } };
    }
  }
  await asked(Clamping, [reply(toolCall("search", { limit: "900" })), reply(text("Found."))]);
  expect(seen).toEqual([50]);
});

// ── onChatError, onChatResponse ──

class Failing extends Assistant {
  override onChatError(error: unknown, context?: ChatErrorContext) {
    seen.push(["error", this.messages.map(({ role, parts }) => [role, parts.at(-1)]), context?.stage]);
    return error;
  }
  override onChatResponse({ status, message }: { status: string; message: UIMessage }) {
    seen.push(["response", status, message.parts.length > 0]);
  }
}

const QUESTION = ["user", { type: "text", text: "Hello" }];

test("the partial answer is one of this.messages when onChatError runs, and as it is stored", async () => {
  const stored = await asked(Failing, [
    reply(text("Half an ans"), failInBand(new Error("bad request"), { statusCode: 400 }))
  ]);
  const partial = ["assistant", { type: "text", text: "Half an ans", state: "done" }];
  expect(seen).toEqual([
    ["error", [QUESTION, partial], "stream"],
    ["response", "error", true]
  ]);
  expect(stored.map(({ role, parts }) => [role, parts.at(-1)])).toEqual([QUESTION, partial]);
});

test("a turn that fails before any part has onChatError and no onChatResponse", async () => {
  for (const step of [
    fail(new Error("no"), { statusCode: 401 }),
    reply(failInBand(new Error("no"), { statusCode: 401 }))
  ]) {
    seen = [];
    await asked(Failing, [step]);
    expect(seen).toEqual([["error", [QUESTION], "stream"]]);
  }
});

// ── onChunk ──

const DOCUMENTED = [
  "text-delta",
  "reasoning-delta",
  "source",
  "tool-call",
  "tool-input-start",
  "tool-input-delta",
  "tool-result",
  "raw"
];

test("onChunk is given chunks of the documented kinds and no others", async () => {
  class Chunky extends Assistant {
    override getTools() {
      const inputSchema = z.object({ city: z.string() });
      return { weather: { description: "Looks.", inputSchema, execute: () => "sunny" } } as never;
    }
    override onChunk({ chunk }: ChunkContext) {
      seen.push(chunk.type);
    }
  }
  await asked(Chunky, [reply(reasoning("Hm."), toolCall("weather", { city: "Rome" })), reply(text("It is sunny."))]);
  expect(seen.filter((type) => !DOCUMENTED.includes(String(type)))).toEqual([]);
  expect(new Set(seen)).toEqual(
    new Set(["reasoning-delta", "tool-input-start", "tool-input-delta", "tool-call", "tool-result", "text-delta"])
  );
});

// ── classifyChatError ──

describe("classifyChatError of the class", () => {
  class Classifying extends Assistant {
    override contextOverflow = { reactive: true };
    override classifyChatError(error: unknown) {
      seen.push(error);
      return "fatal" as const;
    }
  }

  test.each([
    ["an Error", new Error("prompt is too long"), "prompt is too long"],
    ["an object", { type: "overloaded_error", message: "busy" }, '{"type":"overloaded_error","message":"busy"}'],
    ["a text", "too long", "too long"]
  ])("is given the text of %s that a provider sends in its stream", async (_kind, error, expected) => {
    await asked(Classifying, [reply(text("a"), failInBand(error))]);
    expect(seen).toEqual([expected]);
  });

  test("is given the error itself that a call throws", async () => {
    await asked(Classifying, [fail(new Error("no"), { statusCode: 401 })]);
    expect(seen).toEqual([expect.objectContaining({ name: "AI_APICallError", statusCode: 401 })]);
  });
});

// ── The capability block ──

test("the capability block names the agents that a turn can delegate to, and only those", async () => {
  class Researcher extends Assistant {}
  class Lead extends Assistant {
    override getTools() {
      const options = { description: "Researches.", inputSchema: z.object({ query: z.string() }) };
      return { research: agentTool(Researcher, options), write_up: agentTool(Researcher, options) };
    }
    override beforeTurn() {
      return { activeTools: ["research"] };
    }
  }
  await asked(Lead, [reply(text("Hello."))]);
  const [system] = script.calls[0]?.prompt ?? [];
  expect(JSON.stringify(system)).toContain("each by the tool of its name: research");
  await asked(Assistant, [reply(text("Hello."))]);
  expect(JSON.stringify(script.calls[0]?.prompt[0])).not.toContain("another agent");
});

// ── chat() ──

test("a child's chat() that is cancelled ends with onError, while it waits and while it streams", async () => {
  const gate = createGate();
  class Child extends Assistant {}
  class Parent extends Assistant {
    async run(stopsAtStart: boolean): Promise<unknown[]> {
      const child = await this.subAgent(Child, stopsAtStart ? "one" : "two");
      const calls: unknown[] = [];
      let requestId = "";
      await child.chat("Hello", {
        onStart: async (event) => {
          ({ requestId } = event);
          if (stopsAtStart) await child.cancelChat(requestId, "not needed");
        },
        onEvent: async (json) => {
          if (!stopsAtStart && json.includes("text-delta")) await child.cancelChat(requestId, "enough");
        },
        onDone: () => void calls.push("done"),
        onError: (error) => void calls.push(error)
      });
      return calls;
    }
  }
  script = createScript([reply(text("On and"), gate.wait(), text(" on")), reply(text("never"))]);
  const host = createTestHost({ agents: { Parent, Child } });
  const parent = await host.get(Parent, "main");
  expect(await parent.run(false)).toEqual(["The turn was cancelled."]);
  expect(await parent.run(true)).toEqual(["The turn was cancelled."]);
});
