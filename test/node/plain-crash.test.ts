// The process dies at every point of a conversation that a client of the AI SDK alone or of the OpenAI API has: a question,
// a server tool, an approval or a tool of the client, the answer. The client comes back as a person or a program brings it
// back. Nothing runs twice, and in the end the client shows what is stored.
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  tool,
  WebSocketChatTransport,
  type ModelMessage,
  type ToolLoopAgent,
  type UIMessage
} from "ai";
import OpenAI from "openai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { toAISDKAgent } from "../../src/features/clients/ai-sdk/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { PlainNetwork, socketClass, type Page, type PageInit } from "./plain-kit.ts";
import { storedMessages, user } from "../kit/messages.ts";

const EVERY_POINT = process.env["EVERTHINK_EVERY_POINT"] !== undefined;
/** Of each kind of client, spread over its conversation; all of them with EVERTHINK_EVERY_POINT=1. */
const POINTS = 10;

// Each point is a run of a whole conversation.
vi.setConfig({ testTimeout: EVERY_POINT ? 600_000 : 60_000 });

let script: Script;
let effects: string[] = [];

async function done(what: string): Promise<string> {
  effects.push(what);
  return what;
}

class Chat extends Think {
  override openAIEndpoint = true;

  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    return {
      look: tool({ inputSchema: z.object({}), execute: () => done("look") }),
      pay: tool({
        inputSchema: z.object({}),
        needsApproval: true,
        execute: () => done("pay")
      })
    };
  }

  async talkToItself(): Promise<void> {
    await talk(this.toAISDKAgent());
  }
}

const QUESTION = user("u1", "hi");
/** Past every back-off of recovery. */
const ROUNDS = 40;

/** What is worth comparing: calls may have ended in another way, and text may have been written anew. */
const shown = (messages: readonly UIMessage[]) =>
  messages.map(({ id, role, parts }) => [
    id === "u1" ? id : role,
    ...parts.flatMap((part) => {
      if (part.type === "text") return [part.text];
      return "toolCallId" in part ? [`${part.type} ${part.state}`] : [];
    })
  ]);

async function rounds(host: TestHost<object>, each: () => void = () => undefined): Promise<void> {
  for (let round = 0; round < ROUNDS && !host.crashed; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await host.advance(round < 20 ? 50 : 10_000);
    each();
  }
}

function create(steps: Step[]): TestHost<object> {
  effects = [];
  script = createScript(steps, { advance: "at-end", onExhausted: "repeat-last" });
  return createTestHost({ agents: { Chat } });
}

/** What must be the same with and without a crash. */
async function outcome(host: TestHost<object>): Promise<object> {
  const messages = await storedMessages(host);
  // A call that a death cut off is not run again: its outcome is unknown, and the prompt says so.
  const repeated = effects.length - new Set(effects).size;
  return { roles: messages.map(({ role }) => role), repeated, answer: shown(messages).at(-1)?.at(-1) };
}

const limits = EVERY_POINT ? {} : { limit: POINTS };

// ── Pages, and agents of the AI SDK: another client decides what a death left open ──

const ASKS_A_PERSON = [
  reply(text("Looking. "), toolCall("look", {}, { id: "c1" }), toolCall("pay", {}, { id: "c2" })),
  reply(text("Done."))
];

function approvalIn(page: Page): string | undefined {
  const parts = page.messages.at(-1)?.parts ?? [];
  return parts.flatMap((part) =>
    "approval" in part && part.state === "approval-requested" ? [part.approval.id] : []
  )[0];
}

/** What a person does until the conversation is over, or the process. */
async function play(host: TestHost<object>, way: PageInit): Promise<Page> {
  const network = new PlainNetwork(host);
  const messages = await storedMessages(host);
  const page = network.open({
    ...way,
    messages,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  });
  if (messages.length === 0) void page.sendMessage(QUESTION);
  else void page.resumeStream();
  await rounds(host, () => {
    const id = page.status === "ready" ? approvalIn(page) : undefined;
    if (id !== undefined) void page.addToolApprovalResponse({ id, approved: true });
  });
  return page;
}

/** A question, and the decision that its answer asks for. */
async function talk(agent: ToolLoopAgent): Promise<void> {
  const question: ModelMessage = { role: "user", content: "hi" };
  const { content, response } = await agent.generate({ messages: [question] });
  const asked = content.find((part) => part.type === "tool-approval-request");
  if (!asked) return;
  const decision = { type: "tool-approval-response", approvalId: asked.approvalId, approved: true } as const;
  const decided: ModelMessage = { role: "tool", content: [{ ...decision, providerExecuted: true }] };
  await agent.generate({ messages: [question, ...response.messages, decided] });
}

/** A program whose conversation a death ends: it does not come back. */
async function talkUntilDeath(host: TestHost<object>, talking: () => Promise<void>): Promise<void> {
  const ended = talking().catch((error: unknown) => {
    if (!host.crashed) throw error;
  });
  await rounds(host);
  await ended;
}

const overSocket = (host: TestHost<object>) => {
  const webSocket = socketClass(host) as never;
  const transport = new WebSocketChatTransport({ url: "http://localhost/agents/chat/a/chat", webSocket });
  return talk(toAISDKAgent({ transport }));
};

const PEOPLE: Readonly<Record<string, (host: TestHost<object>) => Promise<unknown>>> = {
  "a page over HTTP": (host) => play(host, { over: "http" }),
  "a page over a WebSocket": (host) => play(host, { over: "socket" }),
  "an agent of the AI SDK": (host) => talkUntilDeath(host, () => overSocket(host)),
  "an agent of the AI SDK in the object": (host) =>
    talkUntilDeath(host, async () => (await host.get(Chat, "a")).talkToItself())
};

test.each(Object.keys(PEOPLE))("%s comes through a death at every point", async (name) => {
  const way: PageInit = { over: name === "a page over HTTP" ? "http" : "socket" };
  let page: Page | undefined;
  const result = await everyCrash({
    create: () => create(ASKS_A_PERSON),
    script: async (host) => PEOPLE[name]?.(host),
    finish: async (host) => {
      page = await play(host, way);
      // Answers that a death left open are decided now.
      page = await play(host, way);
    },
    inspect: async (host) => {
      expect(shown(page?.messages ?? [])).toEqual(shown(await storedMessages(host)));
      expect(page?.status).toBe("ready");
      return outcome(host);
    },
    ...limits
  });
  expect(result.points).toBeGreaterThanOrEqual(POINTS);
});

// ── Programs that speak to OpenAI: they repeat a request that failed ──

const ASKS_THE_CLIENT = [
  reply(text("Looking. "), toolCall("look", {}, { id: "c1" }), toolCall("weather", {}, { id: "c2" })),
  reply(text("Done."))
];
const WEATHER = { name: "weather", description: "Of a town.", parameters: { type: "object", properties: {} } };

interface Reply {
  readonly words: string;
  readonly call?: string | undefined;
}

/** Asks, or hands in the result of a call. */
type Request = (openai: OpenAI, answers?: string) => Promise<Reply>;

const completionsStreamed: Request = async (openai, answers) => {
  const question = { role: "user" as const, content: "hi" };
  const given = { role: "tool" as const, tool_call_id: answers ?? "", content: "snow" };
  const stream = openai.chat.completions.stream({
    model: "chat",
    messages: [answers === undefined ? question : given],
    tools: [{ type: "function", function: WEATHER }]
  });
  const [choice] = (await stream.finalChatCompletion()).choices;
  return { words: choice?.message.content ?? "", call: choice?.message.tool_calls?.[0]?.id };
};

const responses: Request = async (openai, answers) => {
  const given = { type: "function_call_output" as const, call_id: answers ?? "", output: "snow" };
  const response = await openai.responses.create({
    model: "chat",
    input: answers === undefined ? "hi" : [given],
    tools: [{ type: "function", strict: false, ...WEATHER }]
  });
  const call = response.output.find((item) => item.type === "function_call");
  return { words: response.output_text, call: call?.call_id };
};

/** It survives the server, keeps what it was sent, and repeats what was not answered. */
class Program {
  readonly #send: Request;
  readonly #replies: Reply[] = [];

  constructor(send: Request) {
    this.#send = send;
  }

  get words(): string {
    return this.#replies.map(({ words }) => words).join("");
  }

  async run(host: TestHost<object>): Promise<void> {
    const network = new PlainNetwork(host);
    const openai = new OpenAI({
      apiKey: "key",
      baseURL: "http://localhost/agents/chat/a/v1",
      maxRetries: 0,
      defaultHeaders: { "Idempotency-Key": "the question" },
      fetch: (url, init) => network.fetch(url as string, init as RequestInit)
    });
    const ended = this.#goOn(openai).catch((error: unknown) => {
      if (!host.crashed) throw error;
    });
    await rounds(host);
    await ended;
  }

  async #goOn(openai: OpenAI): Promise<void> {
    for (;;) {
      const last = this.#replies.at(-1);
      if (last && last.call === undefined) return;
      this.#replies.push(await this.#send(openai, last?.call));
    }
  }
}

test.each([
  ["chat.completions, streamed", completionsStreamed],
  ["responses, in one piece", responses]
])("a program with %s comes through a death at every point", async (_name, send) => {
  let program: Program;
  const result = await everyCrash({
    create: () => {
      program = new Program(send);
      return create(ASKS_THE_CLIENT);
    },
    script: (host) => program.run(host),
    finish: (host) => program.run(host),
    inspect: async (host) => {
      const [, answer] = await storedMessages(host);
      expect(program.words).toBe(answer?.parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
      return outcome(host);
    },
    ...limits
  });
  expect(result.points).toBeGreaterThanOrEqual(POINTS);
});
