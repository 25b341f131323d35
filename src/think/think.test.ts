import { getCurrentAgent } from "../agent-class/index.ts";
import { Output, tool, type LanguageModel, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Session } from "../session/session.ts";
import {
  createScript,
  createTestHost,
  failInBand,
  json,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Steps
} from "../testing/index.ts";
import { user } from "../turn/engine.test-support.ts";
import type { ChunkContext, ToolCallContext, ToolCallDecision, TurnConfig, TurnContext } from "../feature/hooks.ts";
import type { SaveMessagesResult, TurnResult } from "./programmatic.ts";
import type { StreamCallback } from "../feature/stream-callback.ts";
import { Think } from "./think.ts";

/** What the agent under test did, and what its model says. Outlives restarts. */
interface World {
  script: Script;
  trace: string[];
  decide?: (context: ToolCallContext) => ToolCallDecision | undefined;
  config?: (context: TurnContext) => TurnConfig | undefined;
  inTool?: (agent: Assistant) => Promise<unknown>;
  onResponse?: (agent: Assistant) => Promise<unknown>;
}

let world: World;

function playing(steps: Steps): void {
  world = { script: createScript(steps), trace: [] };
}

class Assistant extends Think {
  override getModel(): LanguageModel {
    return scriptedModel(world.script);
  }
  override getTools() {
    const execute = async ({ q }: { q: string }) => {
      world.trace.push(`execute ${q} in ${getCurrentAgent().agent?.name}`);
      return (await world.inTool?.(this)) ?? "found";
    };
    return { search: tool({ inputSchema: z.object({ q: z.string() }), execute }) };
  }
  override beforeTurn(context: TurnContext) {
    world.trace.push(`beforeTurn ${getCurrentAgent().agent?.name}`);
    return world.config?.(context);
  }
  override beforeStep({ stepNumber }: { stepNumber: number }) {
    world.trace.push(`beforeStep ${stepNumber}`);
  }
  override beforeToolCall(context: ToolCallContext) {
    world.trace.push(`beforeToolCall ${context.toolName} step ${context.stepNumber}`);
    return world.decide?.(context);
  }
  override afterToolCall({ success }: { success: boolean }) {
    world.trace.push(`afterToolCall ${success}`);
  }
  override onStepFinish({ stepNumber }: { stepNumber: number }) {
    world.trace.push(`onStepFinish ${stepNumber}`);
  }
  override onChunk({ chunk }: ChunkContext) {
    const isContent = chunk.type === "text-delta" || chunk.type === "tool-call";
    if (isContent && world.trace.at(-1) !== "onChunk") world.trace.push("onChunk");
  }
  override async onChatResponse({ status }: { status: string }) {
    world.trace.push(`onChatResponse ${status}`);
    await world.onResponse?.(this);
  }
  override onChatError(error: unknown) {
    world.trace.push("onChatError");
    return error instanceof Error ? new Error(`Sorry: ${error.message}`) : error;
  }
  say(words: string): Promise<SaveMessagesResult> {
    return this.saveMessages([user(`u-${words}`, words)]);
  }
  ask(words: string): Promise<TurnResult> {
    return this.runTurn({ input: words });
  }
  goOn(): Promise<SaveMessagesResult> {
    return this.continueLastTurn();
  }
}

const texts = (messages: readonly UIMessage[]) =>
  messages.map(
    ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : part.type)).join("|")}`
  );

async function open() {
  const host = createTestHost({ agents: { Assistant } });
  return { host, agent: await host.get(Assistant, "main") };
}

beforeEach(() => playing([reply(text("Hello"))]));
afterEach(() => void vi.restoreAllMocks());

const TWO_STEPS = [reply(toolCall("search", { q: "x" })), reply(text("Done"))];
const TWO_STEP_TRACE = [
  "beforeTurn main",
  "beforeStep 0",
  "onChunk",
  "beforeToolCall search step 0",
  "execute x in main",
  "afterToolCall true",
  "onStepFinish 0",
  "beforeStep 1",
  "onChunk",
  "onStepFinish 1",
  "onChatResponse completed"
];

describe("hooks of a two-step turn", () => {
  test.each<[string, (agent: DurableObjectStub<Assistant>) => Promise<unknown>]>([
    ["saveMessages", (agent) => agent.say("Hi")],
    ["runTurn", (agent) => agent.ask("Hi")],
    ["chat", (agent) => agent.chat("Hi", silent())]
  ])("fire in order through %s", async (_entry, start) => {
    playing(TWO_STEPS);
    const { agent } = await open();
    await start(agent);
    expect(world.trace).toEqual(TWO_STEP_TRACE);
    world.script.assertDone();
  });

  test("fire in order for a continuation", async () => {
    playing([reply(text("Part one")), ...TWO_STEPS]);
    const { agent } = await open();
    await agent.say("Hi");
    world.trace.length = 0;
    expect(await agent.goOn()).toMatchObject({ status: "completed" });
    expect(world.trace).toEqual(TWO_STEP_TRACE);
  });
});

function silent(): StreamCallback {
  return { onStart() {}, onEvent() {}, onDone() {}, onError() {} };
}

describe("tool decisions", () => {
  test("a block keeps the tool from running, and the model reads the reason", async () => {
    playing(TWO_STEPS);
    world.decide = () => ({ action: "block", reason: "Not today." });
    const { agent } = await open();
    expect(await agent.say("Hi")).toMatchObject({ status: "completed" });
    expect(world.trace).not.toContain("execute x in main");
    expect(world.trace).toContain("afterToolCall true");
    expect(JSON.stringify(world.script.calls[1]?.prompt)).toContain("Not today.");
  });

  test("a throw is the call's error, and the turn goes on", async () => {
    playing(TWO_STEPS);
    world.decide = () => {
      throw new Error("no judge");
    };
    const { agent } = await open();
    expect(await agent.say("Hi")).toMatchObject({ status: "completed" });
    expect(world.trace).toContain("afterToolCall false");
  });
});

describe("turns inside turns", () => {
  test.each<[string, (agent: Assistant) => Promise<unknown>]>([
    ["saveMessages", (agent) => agent.say("inner")],
    ["runTurn", (agent) => agent.ask("inner")],
    ["chat", (agent) => agent.chat("inner", silent())],
    ["continueLastTurn", (agent) => agent.goOn().then((result) => Promise.reject(new Error(result.status)))]
  ])("%s cannot be awaited in a tool", async (_entry, start) => {
    playing(TWO_STEPS);
    let thrown: unknown;
    world.inTool = (agent) => start(agent).catch((error: unknown) => void (thrown = error));
    const { agent } = await open();
    await agent.say("Hi");
    // There is no answer yet that could be continued: that is no turn, and no error of nesting either.
    expect((thrown as Error).message).toMatch(/inside an active turn|skipped/);
    world.script.assertDone();
  });

  test("addMessages can be used in a tool", async () => {
    playing(TWO_STEPS);
    world.inTool = (agent) => agent.addMessages([user("note", "A note")]);
    const { agent } = await open();
    expect(await agent.say("Hi")).toMatchObject({ status: "completed" });
    expect(texts(await agent.getMessages())).toContain("user: A note");
  });

  test("a turn may be awaited in onChatResponse, and has its own response", async () => {
    playing([reply(text("One")), reply(text("Two"))]);
    world.onResponse = async (agent) => {
      world.onResponse = undefined;
      await agent.say("More");
    };
    const { agent } = await open();
    await agent.say("Hi");
    expect(world.trace.filter((entry) => entry.startsWith("onChatResponse"))).toHaveLength(2);
    expect(texts(await agent.getMessages()).map((line) => line.replace("step-start|", ""))).toEqual([
      "user: Hi",
      "assistant: One",
      "user: More",
      "assistant: Two"
    ]);
  });
});

describe("failures", () => {
  test("a setup that throws is a result, described once", async () => {
    world.config = () => {
      throw new Error("no plan");
    };
    const { agent } = await open();
    expect(await agent.say("Hi")).toMatchObject({ status: "error", error: "Sorry: no plan" });
    expect(world.trace).toEqual(["beforeTurn main", "onChatError"]);
  });

  test("what the provider says in its stream stays inside", async () => {
    playing([reply(text("Well"), failInBand(new Error("secret key")))]);
    const { agent } = await open();
    const result = await agent.say("Hi");
    expect(result).toMatchObject({ status: "error", error: "Sorry: The model could not answer." });
    expect(world.trace.filter((entry) => entry === "onChatError")).toHaveLength(1);
    expect(world.trace.at(-1)).toBe("onChatResponse error");
  });

  test("a class without a model says so", async () => {
    class Mute extends Think {
      declare getModel: Think["getModel"];
      ask(): Promise<TurnResult> {
        return this.runTurn({ input: "Hi" });
      }
    }
    const host = createTestHost({ agents: { Mute } });
    const result = await (await host.get(Mute, "main")).ask();
    expect(result).toMatchObject({ status: "error", error: "This agent has no model to answer with." });
  });
});

test("structured output is the result's output", async () => {
  playing([reply(json({ severity: "low" }))]);
  world.config = () => ({ output: Output.object({ schema: z.object({ severity: z.string() }) }), activeTools: [] });
  const { agent } = await open();
  expect(await agent.ask("How bad?")).toMatchObject({ status: "completed", output: { severity: "low" } });
});

test("client tools of a caller are resolved inline", async () => {
  playing([reply(toolCall("bell", { times: 2 })), reply(text("Rung"))]);
  const { agent } = await open();
  const calls: unknown[] = [];
  await agent.chat("Ring", silent(), {
    clientTools: [{ name: "bell" }],
    onClientToolCall: (call) => {
      calls.push(call);
      return "ding";
    }
  });
  expect(calls).toMatchObject([{ toolName: "bell", input: { times: 2 } }]);
  expect(JSON.stringify(world.script.calls[1]?.prompt)).toContain("ding");
});

test("chat streams to its caller what it stores", async () => {
  const { agent } = await open();
  const received: string[] = [];
  await agent.chat("Hi", {
    onStart: ({ requestId }) => void received.push(`start ${requestId.length > 0}`),
    onEvent: (chunk) => void received.push((JSON.parse(chunk) as { type: string }).type),
    onDone: () => void received.push("done"),
    onError: (error) => void received.push(error)
  });
  expect(received[0]).toBe("start true");
  expect(received.slice(1, -1)).toEqual(expect.arrayContaining(["start", "text-delta", "finish"]));
  expect(received.at(-1)).toBe("done");
});

test("a turn can be cancelled by the id it started with", async () => {
  playing([() => new Promise(() => {})]);
  const { agent } = await open();
  const started = Promise.withResolvers<string>();
  const received: string[] = [];
  const chat = agent.chat("Hi", {
    onStart: ({ requestId }) => started.resolve(requestId),
    onEvent: () => {},
    onDone: () => void received.push("done"),
    onError: () => void received.push("error")
  });
  await agent.cancelChat(await started.promise, "enough");
  await chat;
  expect(received).toEqual(["error"]);
});

describe("messages", () => {
  test("are given as copies, and cleared", async () => {
    class Diary extends Think {
      override getModel() {
        return scriptedModel(world.script);
      }
      async write(): Promise<number[]> {
        await this.saveMessages([user("u1", "Hi")]);
        const copy = this.getMessages();
        copy[0]?.parts.splice(0);
        copy.length = 0;
        const kept = this.messages.map(({ parts }) => parts.length);
        await this.clearMessages();
        return [...kept, this.messages.length];
      }
    }
    const host = createTestHost({ agents: { Diary } });
    expect(await (await host.get(Diary, "main")).write()).toEqual([1, 2, 0]);
  });

  test("that are none are refused", async () => {
    const { agent } = await open();
    await expect(agent.addMessages([{ id: "x" } as UIMessage])).rejects.toThrow("could not be accepted");
    await expect(agent.saveMessages([{ id: "x" } as UIMessage])).rejects.toThrow("could not be accepted");
  });
});

describe("the configuration", () => {
  test("survives a restart", async () => {
    const { host, agent } = await open();
    await agent.configure({ tier: "fast" });
    await host.restart();
    expect(await (await host.get(Assistant, "main")).getConfig()).toEqual({ tier: "fast" });
  });
});

describe("the start", () => {
  let seen: unknown[] = [];
  class Careful extends Think {
    declare getModel: Think["getModel"];
    override async configureSession(session: Session): Promise<Session> {
      seen.push(this.getConfig());
      try {
        this.getMessages();
      } catch (error) {
        seen.push((error as { code?: string }).code);
      }
      return session;
    }
    sameSession(): boolean {
      return this.session === this.session && this.getOnStartDegradations().length === 0;
    }
  }

  test("asks for the session once, before there are messages to ask for", async () => {
    seen = [];
    const host = createTestHost({ agents: { Careful } });
    const agent = await host.get(Careful, "main");
    expect(await agent.sameSession()).toBe(true);
    expect(await agent.sameSession()).toBe(true);
    expect(seen).toEqual([null, "not-started"]);
  });

  test("fails when configureSession throws", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    class Broken extends Think {
      declare getModel: Think["getModel"];
      override configureSession(): Session {
        throw new Error("no session");
      }
    }
    const host = createTestHost({ agents: { Broken } });
    await expect(host.get(Broken, "main").then((agent) => agent.getMessages())).rejects.toThrow("no session");
  });
});

test("hooks a class does not have are not wired", async () => {
  class Plain extends Think {
    override getModel() {
      return scriptedModel(world.script);
    }
  }
  const chunk = vi.spyOn(Think.prototype, "onChunk");
  const host = createTestHost({ agents: { Plain } });
  const result = await (await host.get(Plain, "main")).runTurn({ input: "Hi" });
  expect(result).toMatchObject({ status: "completed" });
  expect(chunk).not.toHaveBeenCalled();
});
