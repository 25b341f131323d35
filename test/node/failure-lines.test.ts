// What a developer reads when a turn fails, with nothing set up: one line, which says what went wrong and what to do. And
// what people read: what `onChatError` returns, and nothing else.
import { tool, type LanguageModel } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { AgentEvent } from "../../src/observe/index.ts";
import { Think, type TurnConfig } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  fail,
  failInBand,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { user } from "../kit/messages.ts";

let script: Script;
let hooks: Partial<
  Record<"getModel" | "beforeTurn" | "beforeStep" | "getTools" | "getSystemPrompt" | "tool", () => never>
>;
let log: string[] = [];
let events: AgentEvent[] = [];
let recovers = true;

beforeEach(() => {
  hooks = {};
  log = [];
  events = [];
  recovers = true;
  vi.spyOn(console, "error").mockImplementation((...words) => void log.push(words.map(String).join(" ")));
  vi.spyOn(console, "warn").mockImplementation((...words) => void log.push(words.map(String).join(" ")));
});
afterEach(() => void vi.restoreAllMocks());

class Assistant extends Think {
  override observability = { emit: (event: AgentEvent) => void events.push(event) };
  override chatRecovery = recovers;
  override getModel(): LanguageModel {
    return hooks.getModel ? hooks.getModel() : scriptedModel(script);
  }
  override getSystemPrompt() {
    return hooks.getSystemPrompt?.() ?? "Be brief.";
  }
  override getTools() {
    hooks.getTools?.();
    return { work: tool({ inputSchema: z.object({}), execute: async () => hooks.tool?.() ?? "worked" }) };
  }
  override beforeTurn(): TurnConfig {
    return hooks.beforeTurn?.() ?? {};
  }
  override beforeStep() {
    hooks.beforeStep?.();
  }
}

class NoModel extends Think {
  declare getModel: Think["getModel"];
}

const throwing = (error: unknown) => (): never => {
  throw error;
};
const named = (name: string, message: string) => Object.assign(new Error(message), { name });

function open(...steps: Step[]) {
  script = createScript(steps);
  return createTestHost({ agents: { Assistant, NoModel } });
}

async function ask(host: TestHost<object>, socket: TestSocket, id: string): Promise<string | undefined> {
  const message = user(`u-${id}`, id);
  sendChat(socket, id, [message]);
  await host.advance(120_000);
  const ends = framesOf(socket).filter((frame) => frame.id === id && frame.done);
  expect(ends).toHaveLength(1);
  return ends[0]?.outcome === "error" ? ends[0].body : undefined;
}

const refused = (statusCode: number, message: string) => fail(new Error(message), { statusCode, isRetryable: false });
const SAFE = "The model could not answer.";
const isRetry = (line: string) => line.includes("the model is asked again in");

describe("a failed turn leaves one line with what to do", () => {
  test.each<[string, () => Step[], string, string[]]>([
    [
      "a refused key",
      () => [refused(401, "Incorrect API key provided: sk-abcdefgh1234")],
      SAFE,
      ['stage "stream"', "model-call-failed", "401", "check the API key"]
    ],
    [
      "an unknown model",
      () => [refused(404, "The model gpt-99 does not exist")],
      SAFE,
      ["404", "gpt-99", "Check the model's id"]
    ],
    [
      "a used-up quota",
      () => Array.from({ length: 9 }, () => refused(429, "insufficient_quota")),
      SAFE,
      ["429", "insufficient_quota", "limits the rate or the quota"]
    ],
    [
      "no key",
      () => [fail(named("AI_LoadAPIKeyError", "OpenAI API key is missing. Set OPENAI_API_KEY."))],
      SAFE,
      ["OPENAI_API_KEY", "There is no API key"]
    ],
    ["a broken stream", () => [reply(text("half"), failInBand(new Error("boom")))], SAFE, ["boom", "What to do"]],
    [
      "a hook before the turn",
      () => ((hooks.beforeTurn = throwing(new Error("You are out of credit."))), []),
      "You are out of credit.",
      ['stage "turn"', "You are out of credit.", "failure-lines.test", "throw what users may read"]
    ],
    [
      "a hook before a step",
      () => ((hooks.beforeStep = throwing(new Error("Not this step."))), [reply(text("x"))]),
      "Not this step.",
      ['stage "stream"', "model-step-hook-failed", "beforeStep threw"]
    ],
    [
      "getTools",
      () => ((hooks.getTools = throwing(new TypeError("x is not a function"))), []),
      "x is not a function",
      ["TypeError", "Code of this class threw"]
    ],
    [
      "getModel",
      () => ((hooks.getModel = throwing(named("AI_LoadAPIKeyError", "ANTHROPIC_API_KEY is missing"))), []),
      SAFE,
      ["ANTHROPIC_API_KEY", "There is no API key"]
    ]
  ])("%s", async (_what, arrange, shown, words) => {
    const host = open(...arrange());
    const socket = await host.connect("/agents/assistant/a");
    expect(await ask(host, socket, "r1")).toBe(shown);
    const [line, ...others] = log.filter((one) => !isRetry(one));
    expect(others).toEqual([]);
    expect(line).toContain('Assistant "a"');
    expect(line).toContain("request r1");
    for (const word of words) expect(line).toContain(word);
    expect(log.join()).not.toContain("sk-abcdefgh1234");
    const failed = events.filter(({ type }) => type === "chat:request:failed");
    expect(failed).toHaveLength(1);
    expect(failed[0]?.payload).toMatchObject({ requestId: "r1", error: shown });
  });

  test("no getModel", async () => {
    const host = open();
    const socket = await host.connect("/agents/no-model/a");
    expect(await ask(host, socket, "r1")).toBe("This agent has no model to answer with.");
    expect(log).toEqual([expect.stringContaining("Override getModel() in NoModel")]);
    expect(log[0]).toContain("no-model, request r1");
  });

  test.each([null, undefined, 5, {}])("a model that is none: %s", async (given) => {
    hooks.getModel = () => given as never;
    const host = open();
    expect(await ask(host, await host.connect("/agents/assistant/a"), "r1")).toBe(SAFE);
    expect(log).toEqual([expect.stringMatching(/model-invalid.*getModel\(\).* which is not a language model/)]);
  });

  test("a request that cannot be read", async () => {
    const host = open();
    const socket = await host.connect("/agents/assistant/a");
    socket.send({ type: "cf_agent_use_chat_request", id: "r1", init: { method: "POST", body: "{" } });
    await host.idle();
    expect(log).toEqual([expect.stringContaining('stage "parse" (malformed-chat-request, request r1)')]);
  });

  test("a silent model, given up", async () => {
    const host = open(...Array.from({ length: 20 }, () => stall()));
    await host.connect("/agents/assistant/a");
    const agent = await host.get(Assistant, "a");
    const ended = agent.saveMessages([user("u", "hi")]);
    for (let minutes = 0; minutes < 200; minutes += 10) await host.advance(600_000);
    expect((await ended).status).toBe("error");
    expect(log.filter((line) => line.includes("a turn failed"))).toHaveLength(1);
  });

  test("events carry the code and the cause", async () => {
    const host = open(refused(401, "Incorrect API key provided"));
    await ask(host, await host.connect("/agents/assistant/a"), "r1");
    expect(events.find(({ type }) => type === "chat:request:failed")?.payload).toEqual({
      requestId: "r1",
      stage: "stream",
      messagesPersisted: true,
      error: SAFE,
      code: "model-call-failed",
      cause: expect.stringContaining("401: Incorrect API key provided")
    });
  });

  test("one that repeats is named, not told again", async () => {
    const host = open(refused(401, "no"), refused(401, "no"), refused(401, "no"));
    const socket = await host.connect("/agents/assistant/a");
    for (const id of ["r1", "r2", "r3"]) await ask(host, socket, id);
    expect(log).toHaveLength(3);
    expect(log[0]).toContain("What to do");
    expect(log.slice(1).every((line) => line.endsWith("as before."))).toBe(true);
  });

  test("one that succeeds in the end leaves none but those of its retries", async () => {
    const host = open(refused(503, "busy"), refused(429, "slow down"), reply(text("there")));
    const socket = await host.connect("/agents/assistant/a");
    expect(await ask(host, socket, "r1")).toBeUndefined();
    expect(log).toEqual([
      expect.stringMatching(/asked again in 1 s, attempt 2 of 5 \(request r1\).*503: busy/),
      expect.stringMatching(/asked again in 2 s, attempt 3 of 5 \(request r1\).*429: slow down/)
    ]);
  });

  test("one that was cancelled leaves none", async () => {
    const host = open(stall());
    const socket = await host.connect("/agents/assistant/a");
    sendChat(socket, "r1", [user("u", "hi")]);
    await host.advance(1_000);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.advance(1_000);
    expect(framesOf(socket).filter((frame) => frame.id === "r1" && frame.done)).toHaveLength(1);
    expect(log).toEqual([]);
  });
});

test("a tool that throws leaves a line, and the turn goes on", async () => {
  hooks.tool = throwing(new Error("The oven is cold."));
  const host = open(reply(toolCall("work", {})), reply(text("sorry")));
  const socket = await host.connect("/agents/assistant/a");
  expect(await ask(host, socket, "r1")).toBeUndefined();
  expect(log).toHaveLength(1);
  expect(log[0]).toContain('Assistant "a": the tool "work" failed (request r1): The oven is cold.');
  expect(log[0]).toContain("failure-lines.test");
});
