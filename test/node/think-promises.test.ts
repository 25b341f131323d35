// The promises of the turn engine, seen from a class: each test is named after one.
import { tool, type ToolSet, type UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  Think,
  type StreamCallback,
  type ToolCallContext,
  type ToolCallDecision,
  type TurnConfig
} from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  rawInput,
  reasoning,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step,
  type TestSocket
} from "../../src/testing/index.ts";
import { message, user } from "../kit/messages.ts";
import { framesOf, sendChat } from "../kit/frames.ts";

interface Behaviour {
  tools?: (agent: Actor) => ToolSet;
  config?: TurnConfig;
  decide?: (call: ToolCallContext) => ToolCallDecision | void;
  respond?: (agent: Actor) => Promise<void>;
}

let script: Script;
let behaviour: Behaviour = {};
let log: string[] = [];

class Actor extends Think {
  override getModel() {
    return scriptedModel(script);
  }
  override getTools(): ToolSet {
    return behaviour.tools?.(this) ?? {};
  }
  override beforeTurn() {
    log.push("beforeTurn");
    return behaviour.config;
  }
  override beforeStep({ stepNumber }: { stepNumber: number }) {
    log.push(`beforeStep(${stepNumber})`);
  }
  override beforeToolCall(call: ToolCallContext) {
    log.push("beforeToolCall");
    return behaviour.decide?.(call);
  }
  override afterToolCall({ success }: { success: boolean }) {
    log.push(`afterToolCall(${success})`);
  }
  override onStepFinish() {
    log.push("onStepFinish");
  }
  override onChunk() {
    if (log.at(-1) !== "onChunk") log.push("onChunk");
  }
  override async onChatResponse() {
    log.push("onChatResponse");
    await behaviour.respond?.(this);
  }
  async whole(id: string) {
    return this.session.getMessage(id);
  }
  async again() {
    return this.continueLastTurn();
  }
  async talkBadly(input: string) {
    const notified: string[] = [];
    await this.chat(input, {
      onStart: () => void notified.push("start"),
      onEvent: (json) => (json.includes("half") ? Promise.reject(new Error("the caller is gone")) : undefined),
      onDone: () => void notified.push("done"),
      onError: () => void notified.push("error")
    });
    return notified;
  }
  async talk(input: string) {
    const notified: string[] = [];
    const callback: StreamCallback = {
      onStart: () => void notified.push("start"),
      onEvent: () => void (notified.at(-1) === "event" || notified.push("event")),
      onDone: () => void notified.push("done"),
      onError: () => void notified.push("error")
    };
    await this.chat(input, callback);
    return notified;
  }
}

function open(steps: Step[], how: Behaviour = {}) {
  script = createScript(steps);
  behaviour = how;
  log = [];
  return createTestHost({ agents: { Actor } });
}

const noop = (execute: () => unknown = () => "ok") => ({
  t: tool({ inputSchema: z.object({}), execute: async () => execute() })
});

function ask(socket: TestSocket, id: string, messages: UIMessage[] = [user(`u-${id}`)]) {
  sendChat(socket, id, messages);
}

type Part = UIMessage["parts"][number] & { state?: string; input?: unknown; output?: unknown; toolCallId?: string };
const parts = (messages: UIMessage[]): Part[] => messages.flatMap((message) => message.parts as Part[]);

const TWO_STEPS = [
  "beforeTurn",
  "beforeStep(0)",
  "onChunk",
  "beforeToolCall",
  "afterToolCall(true)",
  "onStepFinish",
  "beforeStep(1)",
  "onChunk",
  "onStepFinish",
  "onChatResponse"
];

describe("hooks fire in one order", () => {
  const steps = () => [reply(toolCall("t", {})), reply(text("done"))];
  const tools = () => noop();
  /** Where the tool runs, the SDK may report its chunks before or after; the order of the rest is fixed. */
  const seen = () => log.filter((hook, index) => hook !== "onChunk" || log[index - 1]?.startsWith("beforeStep"));

  test("for a request over a socket", async () => {
    const host = open(steps(), { tools });
    ask(await host.connect("/agents/actor/a"), "r1");
    await host.idle();
    expect(seen()).toEqual(TWO_STEPS);
  });

  test("for saveMessages, and for a continuation", async () => {
    const host = open([...steps(), ...steps()], { tools });
    const actor = await host.get(Actor, "a");
    await actor.saveMessages([user("u1")]);
    expect(seen()).toEqual(TWO_STEPS);
    log = [];
    expect(await actor.again()).toMatchObject({ status: "completed" });
    expect(seen()).toEqual(TWO_STEPS);
    expect(await actor.getMessages()).toHaveLength(3);
  });

  test("for chat()", async () => {
    const host = open(steps(), { tools });
    expect(await (await host.get(Actor, "a")).talk("hi")).toEqual(["start", "event", "done"]);
    expect(seen()).toEqual(TWO_STEPS);
  });
});

test("waiting for a turn from inside a tool is refused; adding messages there is not", async () => {
  const refusals: string[] = [];
  const host = open([reply(toolCall("t", {})), reply(text("done"))], {
    tools: (agent) =>
      noop(async () => {
        const refused = async (name: string, work: () => Promise<unknown>) => {
          const outcome = await work().catch((error: unknown) => error);
          if (outcome instanceof Error) refusals.push(`${name}: ${outcome.message}`);
        };
        await refused("saveMessages", () => agent.saveMessages([user("x")]));
        await refused("runTurn", () => agent.runTurn({ input: "x" }));
        await refused("chat", () => agent.talk("x"));
        await agent.addMessages([user("note", "noted")]);
        return "ok";
      })
  });
  const actor = await host.get(Actor, "a");
  await actor.saveMessages([user("u1")]);
  expect(refusals.map((text) => text.split(":")[0])).toEqual(["saveMessages", "runTurn", "chat"]);
  expect(refusals[0]).toContain("inside an active turn");
  expect(refusals[0]).toContain("addMessages()");
  const messages: UIMessage[] = await actor.getMessages();
  expect(messages.map(({ id }) => id)).toContain("note");
});

test("a turn awaited in onChatResponse completes, and its own hook fires", async () => {
  let hasFollowed = false;
  const host = open([reply(text("one")), reply(text("two"))], {
    respond: async (agent) => {
      if (hasFollowed) return;
      hasFollowed = true;
      expect(await agent.saveMessages([user("u2")])).toMatchObject({ status: "completed" });
    }
  });
  const actor = await host.get(Actor, "a");
  await actor.saveMessages([user("u1")]);
  expect(await actor.getMessages()).toHaveLength(4);
  expect(log.filter((hook) => hook === "onChatResponse")).toHaveLength(2);
});

test("a blocked tool does not run and the model reads the reason; a throwing hook is that call's error", async () => {
  let runs = 0;
  const tools = () => noop(() => ++runs);
  const blocked = open([reply(toolCall("t", {})), reply(text("ok"))], {
    tools,
    decide: () => ({ action: "block", reason: "no" })
  });
  await (await blocked.get(Actor, "a")).saveMessages([user("u1")]);
  expect(JSON.stringify(script.calls[1]?.prompt.at(-1))).toContain("no");
  expect(log).toContain("afterToolCall(true)");
  const thrown = open([reply(toolCall("t", {})), reply(text("ok"))], {
    tools,
    decide: () => {
      throw new Error("hook failed");
    }
  });
  expect(await (await thrown.get(Actor, "a")).saveMessages([user("u1")])).toMatchObject({ status: "completed" });
  expect(log).toContain("afterToolCall(false)");
  expect(runs).toBe(0);
});

test("an async-generator tool streams what it has while beforeToolCall is overridden", async () => {
  const host = open([reply(toolCall("t", {})), reply(text("ok"))], {
    tools: () => ({
      t: tool({
        inputSchema: z.object({}),
        async *execute() {
          yield "first";
          yield "last";
        }
      })
    }),
    decide: () => ({ action: "allow" })
  });
  const socket = await host.connect("/agents/actor/a");
  ask(socket, "r1");
  await host.idle();
  const outputs = framesOf(socket)
    .flatMap(({ body }) =>
      body ? [JSON.parse(body) as { type: string; output?: unknown; preliminary?: boolean }] : []
    )
    .filter(({ type }) => type === "tool-output-available");
  expect(outputs.map(({ output }) => output)).toEqual(expect.arrayContaining(["first", "last"]));
  expect(outputs.some(({ preliminary }) => preliminary)).toBe(true);
});

test("stopWhen that never matches cannot exceed maxSteps, and beforeTurn's maxSteps wins", async () => {
  const endless = Array.from({ length: 6 }, () => reply(toolCall("t", {})));
  const host = open(endless, { tools: () => noop(), config: { maxSteps: 3, stopWhen: () => false } });
  await (await host.get(Actor, "a")).saveMessages([user("u1")]);
  expect(script.callCount).toBe(3);
});

test.each([
  [true, 1],
  [false, 0]
])("with sendReasoning %s, reasoning is in frames and storage %s times", async (sendReasoning, count) => {
  const host = open([reply(reasoning("hmm"), text("ok"))], { config: { sendReasoning } });
  const socket = await host.connect("/agents/actor/a");
  ask(socket, "r1");
  await host.idle();
  const stored = await (await host.get(Actor, "a")).getMessages();
  expect(parts(stored).filter(({ type }) => type === "reasoning")).toHaveLength(count);
  expect(JSON.stringify(socket.frames).includes("reasoning-delta")).toBe(sendReasoning);
});

const clientTools = [{ name: "a" }, { name: "b" }];

test("evicting between sibling results does not lose the continuation", async () => {
  const host = open([reply(toolCall("a", {}, { id: "ca" }), toolCall("b", {}, { id: "cb" })), reply(text("both"))]);
  const socket = await host.connect("/agents/actor/a");
  sendChat(socket, "r1", [user("u1")], { clientTools });
  await host.idle();
  socket.send({ type: "cf_agent_tool_result", toolCallId: "ca", toolName: "a", output: 1, autoContinue: true });
  await host.idle();
  await host.evict(Actor, "a");
  const failed = { state: "output-error", errorText: "no", autoContinue: false };
  socket.send({ type: "cf_agent_tool_result", toolCallId: "cb", toolName: "b", ...failed });
  await host.advance(100);
  expect(script.callCount).toBe(2);
  const messages = await (await host.get(Actor, "a")).getMessages();
  expect(messages).toHaveLength(2);
  expect(parts(messages).filter(({ state }) => state?.startsWith("output-"))).toHaveLength(2);
});

test("a pending client call survives an unrelated turn and can still be answered", async () => {
  const host = open([reply(toolCall("a", {}, { id: "ca" })), reply(text("aside")), reply(text("known"))]);
  const socket = await host.connect("/agents/actor/a");
  sendChat(socket, "r1", [user("u1")], { clientTools });
  await host.idle();
  const actor = await host.get(Actor, "a");
  await actor.addMessages([message("system", "s", "an aside")]);
  await actor.saveMessages([]);
  expect(parts(await actor.getMessages()).find(({ toolCallId }) => toolCallId === "ca")?.state).toBe("input-available");
  socket.send({ type: "cf_agent_tool_result", toolCallId: "ca", toolName: "a", output: 7, autoContinue: true });
  await host.advance(100);
  expect(parts(await actor.getMessages()).find(({ toolCallId }) => toolCallId === "ca")?.state).toBe(
    "output-available"
  );
});

test("every stored tool part has an object as its input, whatever the model wrote", async () => {
  const host = open([reply(toolCall("t", rawInput('["a"'))), reply(text("ok"))], { tools: () => noop() });
  const actor = await host.get(Actor, "a");
  await actor.saveMessages([user("u1")]);
  const inputs = parts(await actor.getMessages()).filter(({ toolCallId }) => toolCallId !== undefined);
  expect(inputs.length).toBeGreaterThan(0);
  for (const { input } of inputs) expect(input).toBeTypeOf("object");
});

test("a clear during chat() leaves the transcript empty, and the callback gets its end", async () => {
  const gate = createGate();
  const host = open([reply(text("half"), gate.wait())]);
  const actor = await host.get(Actor, "a");
  const talking = actor.talk("hi");
  await host.idle();
  await actor.clearMessages();
  gate.open();
  expect((await talking).at(-1)).toMatch(/done|error/);
  expect(await actor.getMessages()).toEqual([]);
});

test("a callback that throws fails the turn like a broken stream: the partial is stored, and onError is told", async () => {
  const host = open([reply(text("half"), text("more"))]);
  const actor = await host.get(Actor, "a");
  expect(await actor.talkBadly("hi")).toEqual(["start", "error"]);
  expect(log).toContain("onChatResponse");
  expect((await actor.getMessages()) as UIMessage[]).toHaveLength(2);
});

test("a message of five megabytes is stored, shown within the limit, and kept whole", async () => {
  const url = `data:image/png;base64,${"A".repeat(5_000_000)}`;
  const host = open([reply(text("nice"))]);
  const actor = await host.get(Actor, "a");
  const message: UIMessage = { id: "u1", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] };
  expect(await actor.saveMessages([message])).toMatchObject({ status: "completed" });
  const [row] = host.sql<{ size: number }>(
    Actor,
    "a",
    "SELECT length(content) AS size FROM assistant_messages ORDER BY sequence"
  );
  expect(row?.size).toBeLessThanOrEqual(1_800_000);
  expect(JSON.stringify(await actor.whole("u1")).length).toBeGreaterThan(5_000_000);
});

test("what a user stores with configure() comes back after a restart, as a copy", async () => {
  const host = open([]);
  await (await host.get(Actor, "a")).configure({ tone: "kind" });
  await host.restart();
  expect(await (await host.get(Actor, "a")).getConfig()).toEqual({ tone: "kind" });
});
