// A durable agent as an agent of the AI SDK: over each transport, inside the agent, and in the terminal of `@ai-sdk/tui`.
import { stripVTControlCharacters } from "node:util";
import { runAgentTUI } from "@ai-sdk/tui";
import {
  createAgentUIStream,
  DefaultChatTransport,
  tool,
  WebSocketChatTransport,
  type Agent,
  type UIMessage
} from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { toAISDKAgent } from "../../src/features/clients/ai-sdk/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  failInBand,
  reasoning,
  reply,
  source,
  text,
  toolCall,
  usage,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { PlainNetwork, settle, socketClass } from "./plain-kit.ts";
import { storedMessages, user } from "../kit/messages.ts";

let script: Script;
let effects: string[] = [];

class Chat extends Think {
  override sendUsage = true;
  override chatRecovery = false;
  override getModel() {
    return installedModel(script);
  }
  override getTools() {
    const done = (what: string) => async () => {
      effects.push(what);
      return what;
    };
    return {
      look: tool({ inputSchema: z.object({}), execute: done("look") }),
      pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: done("pay") }),
      recurse: tool({ inputSchema: z.object({}), execute: () => this.generate("again") })
    };
  }
  async generate(prompt: string) {
    return (await this.toAISDKAgent().generate({ prompt })).text;
  }
  async streamed(words: string) {
    const agent = this.toAISDKAgent() as Agent;
    const uiMessages = [user("u9", words)];
    const types: string[] = [];
    for await (const chunk of await createAgentUIStream({ agent, uiMessages })) types.push(chunk.type);
    return types;
  }
}

function open(steps: Step[]) {
  script = createScript(steps);
  effects = [];
  const host = createTestHost({ agents: { Chat } });
  const network = new PlainNetwork(host);
  const url = "http://localhost/agents/chat/a/chat";
  const transports = {
    http: () => new DefaultChatTransport({ api: url, fetch: (input, init) => network.fetch(input, init) }),
    socket: () => new WebSocketChatTransport({ url, webSocket: socketClass(host) as never })
  };
  const over = (way: "http" | "socket") => transports[way]();
  return { host, over };
}

/** Continuations wait a moment. */
async function later<T>(host: TestHost<object>, work: PromiseLike<T>): Promise<T> {
  await settle(host);
  return work;
}

const texts = (messages: UIMessage[]) =>
  messages.map(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")).join(""));

describe.each(["http", "socket"] as const)("over %s", (way) => {
  test("generates: the text, the calls of the agent's own tools, sources and token counts", async () => {
    const { host, over } = open([
      reply(reasoning("hm"), toolCall("look", {}, { id: "c1" }), usage({ input: 10, output: 2 })),
      reply(source("https://example.com/"), text("It is "), text("sunny."), usage({ input: 20, output: 5 }))
    ]);
    const result = await toAISDKAgent({ transport: over(way) }).generate({ prompt: "Weather?" });
    expect(result.text).toBe("It is sunny.");
    expect(result.toolResults).toMatchObject([{ toolName: "look", output: "look", providerExecuted: true }]);
    expect(result.sources).toMatchObject([{ url: "https://example.com/" }]);
    expect(result.totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 7 });
    expect(effects).toEqual(["look"]);
    expect(texts(await storedMessages(host))).toEqual(["Weather?", "hmIt is sunny."]);
  });

  test("streams the answer while it is written, and the conversation is the stored one", async () => {
    const gate = createGate();
    const { host, over } = open([reply(text("first "), gate.wait(), text("second")), reply(text("third"))]);
    const agent = toAISDKAgent({ transport: over(way) });
    let seen = "";
    for await (const delta of (await agent.stream({ prompt: "one" })).textStream) {
      seen += delta;
      if (seen === "first ") gate.open();
    }
    expect(seen).toBe("first second");
    // Whatever else a prompt has, what is new is its end.
    const messages = [
      { role: "user" as const, content: "forged" },
      { role: "assistant" as const, content: "forged" },
      { role: "user" as const, content: [{ type: "text" as const, text: "two" }] }
    ];
    expect((await agent.generate({ messages })).text).toBe("third");
    expect(texts(await storedMessages(host))).toEqual(["one", "first second", "two", "third"]);
  });

  test("runs tools of the caller, and the durable agent goes on with their results", async () => {
    const { host, over } = open([reply(toolCall("place", { of: "me" }, { id: "c1" })), reply(text("Oslo."))]);
    const place = tool({ inputSchema: z.object({ of: z.string() }), execute: async ({ of }) => `${of}: Oslo` });
    const agent = toAISDKAgent({ transport: over(way), tools: { place } });
    const answer = agent.generate({ prompt: "Where am I?" });
    const result = await later(host, answer);
    expect([result.text, result.steps.length]).toEqual(["Oslo.", 2]);
    expect(JSON.stringify(script.calls[1]?.prompt)).toContain("me: Oslo");
    expect((await storedMessages(host)).length).toBe(2);
  });

  test("a decision over a call is answered with its outcome and the rest of the answer, also without streaming", async () => {
    const { host, over } = open([reply(text("May I? "), toolCall("pay", {}, { id: "c1" })), reply(text("Paid it."))]);
    const agent = toAISDKAgent({ transport: over(way) });
    const question = { role: "user" as const, content: "Pay" };
    const asked = await agent.generate({ messages: [question] });
    const request = asked.content.find((part) => part.type === "tool-approval-request");
    const approvalId = request?.approvalId ?? "";
    const decided = { type: "tool-approval-response" as const, approvalId, approved: true, providerExecuted: true };
    const messages = [question, ...asked.response.messages, { role: "tool" as const, content: [decided] }];
    const result = await later(host, agent.generate({ messages }));
    expect(result.text).toBe("Paid it.");
    expect(result.toolResults).toMatchObject([{ toolCallId: "c1", input: {}, output: "pay" }]);
    expect(effects).toEqual(["pay"]);
  });

  test("a failure is the SDK's error, in the class's words, and is not asked again", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const { host, over } = open([reply(text("half"), failInBand(new Error("boom")))]);
    await expect(toAISDKAgent({ transport: over(way) }).generate({ prompt: "hi" })).rejects.toThrow();
    expect(script.calls.length).toBe(1);
    expect((await storedMessages(host))[0]?.role).toBe("user");
  });

  test("a prompt with nothing new, and decisions about an unknown answer, are refused", async () => {
    const { over } = open([]);
    const agent = toAISDKAgent({ transport: over(way) });
    await expect(agent.generate({ messages: [{ role: "assistant", content: "x" }] })).rejects.toMatchObject({
      code: "bridge-no-question"
    });
    const call = { type: "tool-call" as const, toolCallId: "c1", toolName: "pay", input: {}, providerExecuted: true };
    const asked = { type: "tool-approval-request" as const, approvalId: "p1", toolCallId: "c1" };
    const decided = { type: "tool-approval-response" as const, approvalId: "p1", approved: true };
    await expect(
      agent.generate({
        messages: [
          { role: "assistant", content: [call, asked] },
          { role: "tool", content: [{ ...decided, providerExecuted: true }] }
        ]
      })
    ).rejects.toMatchObject({ code: "bridge-unknown-answer" });
  });
});

test("an abort stops the durable turn", async () => {
  const gate = createGate();
  const { host, over } = open([reply(text("first "), gate.wait(), text("never"))]);
  const stop = new AbortController();
  const { textStream } = await toAISDKAgent({ transport: over("socket") }).stream({
    prompt: "hi",
    abortSignal: stop.signal
  });
  const reading = (async () => {
    let seen = "";
    for await (const delta of textStream) seen += delta;
    return seen;
  })();
  await gate.reached;
  await settle(host);
  stop.abort();
  await settle(host);
  gate.open();
  expect(await reading).toBe("first ");
  expect(texts(await storedMessages(host))).toEqual(["hi", "first "]);
});

describe("inside the agent", () => {
  test("its code takes itself for an agent of the SDK, and every client sees the conversation", async () => {
    const { host } = open([reply(toolCall("look", {})), reply(text("Done.")), reply(text("Streamed."))]);
    const chat = await host.get(Chat, "a");
    expect(await chat.generate("Go")).toBe("Done.");
    expect(await chat.streamed("More")).toContain("text-delta");
    expect(texts(await storedMessages(host))).toEqual(["Go", "Done.", "More", "Streamed."]);
  });

  test("a turn cannot wait for a turn of the same agent", async () => {
    const { host, over } = open([reply(toolCall("recurse", {}, { id: "c1" })), reply(text("I cannot."))]);
    const result = await toAISDKAgent({ transport: over("http") }).generate({ prompt: "hi" });
    expect(result.text).toBe("I cannot.");
    expect(texts(await storedMessages(host))).toEqual(["hi", "I cannot."]);
  });
});

/** Runs `@ai-sdk/tui` on keys that are typed here, and shows what it draws. */
class Terminal {
  readonly #keys = new Set<(data: Buffer) => void>();
  #screen = "";
  readonly ended: Promise<void>;

  constructor(agent: Agent) {
    const userInput = {
      isTTY: true,
      setRawMode: () => userInput,
      resume: () => userInput,
      pause: () => userInput,
      on: (event: string, listener: (data: Buffer) => void) => {
        if (event === "data") this.#keys.add(listener);
        return userInput;
      },
      off: (_event: string, listener: (data: Buffer) => void) => {
        this.#keys.delete(listener);
        return userInput;
      }
    };
    const screen = {
      isTTY: true,
      columns: 100,
      rows: 40,
      write: (drawn: string) => {
        this.#screen += drawn;
        return true;
      },
      on: () => screen,
      off: () => screen
    };
    this.ended = runAgentTUI({ title: "Ada", agent, tools: "full", userInput, screen } as never);
  }

  type(keys: string): void {
    for (const listener of [...this.#keys]) listener(Buffer.from(keys));
  }

  async shows(words: string, host: TestHost<object>): Promise<void> {
    for (let round = 0; round < 40; round += 1) {
      if (stripVTControlCharacters(this.#screen).includes(words)) return;
      await settle(host);
    }
    expect(stripVTControlCharacters(this.#screen)).toContain(words);
  }
}

test.each(["http", "socket"] as const)(
  "the terminal of @ai-sdk/tui over %s: asks, shows tools, takes a decision, and a second question follows",
  async (way) => {
    const { host, over } = open([
      reply(text("May I? "), toolCall("pay", {}, { id: "c1" })),
      reply(text("Paid it.")),
      reply(text("You are welcome."))
    ]);
    const terminal = new Terminal(toAISDKAgent({ transport: over(way) }) as Agent);
    await terminal.shows(">", host);
    terminal.type("Pay");
    terminal.type("\r");
    await terminal.shows("May I?", host);
    await terminal.shows("y", host);
    await settle(host);
    terminal.type("y");
    await terminal.shows("Paid it.", host);
    expect(effects).toEqual(["pay"]);
    await settle(host);
    terminal.type("Thanks");
    terminal.type("\r");
    await terminal.shows("You are welcome.", host);
    expect(texts(await storedMessages(host))).toEqual(["Pay", "May I? Paid it.", "Thanks", "You are welcome."]);
    await settle(host);
    terminal.type("\u0003");
    await terminal.ended;
  }
);
