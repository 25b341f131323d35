// Tools that return or throw more than can be kept: the call gets an error, the turn goes on, and every client can read how
// it ended.
import OpenAI from "openai";
import { tool, type ToolSet } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp } from "../../src/features/mcp/served-mcp.test-support.ts";
import { action, agentTool, Think } from "../../src/index.ts";
import { MAX_OUTPUT_BYTES } from "../../src/model/tool-wrap.ts";
import {
  createScript,
  createTestHost,
  fail,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";
import { MAX_ERROR_TEXT_BYTES } from "../../src/util/errors.ts";
import { postChat } from "./plain-kit.ts";
import { storedMessages, user } from "../kit/messages.ts";

// Tens of megabytes are written and read.
vi.setConfig({ testTimeout: 60_000 });

let script: Script;
let runs = 0;
let output: () => unknown;

class Chat extends Think {
  override openAIEndpoint = true;
  override getModel() {
    return scriptedModel(script);
  }
  override getTools(): ToolSet {
    const inputSchema = z.object({});
    return {
      dump: tool({
        inputSchema,
        execute: async () => {
          runs += 1;
          return output();
        }
      }),
      stream: tool({
        inputSchema,
        execute: async function* () {
          yield "begun";
          yield output();
        }
      }),
      render: tool({
        inputSchema,
        execute: async () => output(),
        toModelOutput: () => ({ type: "text", value: "rendered" })
      })
    };
  }
  override beforeToolCall({ input }: { input: unknown }) {
    const isReplaced = typeof input === "object" && input !== null && "replaced" in input;
    return isReplaced ? { action: "substitute" as const, output: output() } : undefined;
  }
}

beforeEach(() => {
  runs = 0;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

function open(toolName: string, input: object = {}): TestHost<{ Chat: typeof Chat }> {
  script = createScript([reply(toolCall(toolName, input, { id: "c1" })), reply(text("Done.")), reply(text("Yes."))]);
  return createTestHost({ agents: { Chat } });
}

const question = (id: string) => ({ messages: [user(id)] });
const tooMuch = () => "x".repeat(40 * 1024 * 1024);

/** What the model was given as the result of the call. */
const resultGiven = () => JSON.stringify(script.calls[1]?.prompt.filter(({ role }) => role === "tool")).slice(0, 1_000);

describe("an output that is too large", () => {
  test.each<[string, string, object, () => unknown]>([
    ["a text", "dump", {}, tooMuch],
    ["a text of escapes, each six bytes", "dump", {}, () => "\u0001".repeat(6 * 1024 * 1024)],
    ["a list", "dump", {}, () => ({ rows: Array(40).fill("y".repeat(1024 * 1024)) })],
    ["an object that prints itself", "dump", {}, () => ({ toJSON: tooMuch })],
    ["the last of several values", "stream", {}, tooMuch],
    ["a value with a renderer of its own", "render", {}, tooMuch],
    ["a printing object with a renderer of its own", "render", {}, () => ({ toJSON: tooMuch })],
    ["a value that a hook has put in its place", "dump", { replaced: true }, tooMuch]
  ])("(%s) is an error of its call, and the turn goes on", async (_name, toolName, input, made) => {
    output = made;
    const host = open(toolName, input);
    const body = await (await postChat(host, question("u1"))).text();
    expect(body.length).toBeLessThan(10_000);
    expect(body).toContain('"type":"tool-output-error"');
    expect(body).toContain('"delta":"Done."');
    expect(resultGiven()).toContain("larger than");
    const [, answer] = await storedMessages(host);
    expect(answer?.parts).toContainEqual(
      expect.objectContaining({ state: "output-error", errorText: expect.stringContaining("has run, but its result") })
    );
    // The conversation goes on too, in another process.
    await host.restart();
    expect(await (await postChat(host, question("u2"))).text()).toContain('"delta":"Yes."');
  });

  test("is not asked for again: its tool ran once", async () => {
    output = tooMuch;
    const host = open("dump");
    await (await postChat(host, question("u1"))).text();
    await host.restart();
    await host.advance(600_000);
    expect(runs).toBe(1);
  });
});

test("an output at the limit is kept whole, and reaches the model", async () => {
  output = () => "x".repeat(MAX_OUTPUT_BYTES - 2);
  const host = open("dump");
  const body = await (await postChat(host, question("u1"))).text();
  expect(body).toContain('"delta":"Done."');
  expect(JSON.stringify(script.calls[1]?.prompt).length).toBeGreaterThan(MAX_OUTPUT_BYTES);
});

// ── What is thrown ──

const thrown = (): string => `Broken: ${"e".repeat(40 * 1024 * 1024)}`;

class Child extends Think {
  override getModel() {
    return scriptedModel([reply(text("Never."))]);
  }
  override formatAgentToolInput(): never {
    throw new Error(thrown());
  }
}

class FailingChild extends Think {
  override getModel() {
    return scriptedModel([fail(new Error("refused"))]);
  }
  override onChatError() {
    return new Error(thrown());
  }
}

const served = serveMcp((server) => {
  server.registerTool("broken", { inputSchema: z.object({}) }, () => ({
    ...textResult(thrown().slice(0, 3_000_000)),
    isError: true
  }));
});

/** Its tools, actions, children and MCP server fail with 40 MiB of text. */
class Failing extends Think {
  static override callables = ["connectMcp"];
  override mcpFetch = async (url: string | URL, init?: RequestInit) => served.handler(new Request(url, init));
  override getModel() {
    return scriptedModel(script);
  }
  override getTools(): ToolSet {
    const inputSchema = z.object({});
    const description = "Fails.";
    return {
      throws: tool({
        inputSchema,
        execute: (): string => {
          throw new Error(thrown());
        }
      }),
      rejects: tool({ inputSchema, execute: () => Promise.reject<string>(new Error(thrown())) }),
      rejectsText: tool({ inputSchema, execute: () => Promise.reject<string>(thrown()) }),
      rejectsObject: tool({ inputSchema, execute: () => Promise.reject<string>({ reason: thrown() }) }),
      streams: tool({
        inputSchema,
        execute: async function* () {
          yield "begun";
          throw new Error(thrown());
        }
      }),
      hooked: tool({ inputSchema, execute: async () => "not reached" }),
      child: agentTool(Child, { description, inputSchema }),
      failingChild: agentTool(FailingChild, { description, inputSchema })
    };
  }
  override getActions() {
    const inputSchema = z.object({});
    return {
      acts: action({
        description: "Fails.",
        inputSchema,
        execute: () => {
          throw new Error(thrown());
        }
      })
    };
  }
  override beforeToolCall({ toolName }: { toolName: string }) {
    if (toolName === "hooked") throw new Error(thrown());
  }
  async connectMcp() {
    await this.addMcpServer("library", "https://library.example.com/mcp", { id: "lib" });
  }
}

function openFailing(toolName: string) {
  script = createScript([reply(toolCall(toolName, {}, { id: "c1" })), reply(text("Done.")), reply(text("Yes."))]);
  return createTestHost({ agents: { Chat: Failing }, exports: [Child, FailingChild] });
}

describe("an error text that is too large", () => {
  test.each([
    ["throws", "are left out"],
    ["rejects", "are left out"],
    ["rejectsText", "are left out"],
    ["rejectsObject", "are left out"],
    ["streams", "are left out"],
    ["hooked", "are left out"],
    ["acts", "truncated"],
    ["child", "could not be started"],
    ["failingChild", "are left out"],
    ["tool_lib_broken", "..."]
  ])("(%s) is cut, says so, and the turn goes on", async (toolName, note) => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const host = openFailing(toolName);
    await (await host.get(Failing, "a")).connectMcp();
    const body = await (await postChat(host, question("u1"))).text();
    expect(body).toContain('"delta":"Done."');
    expect(body.length).toBeLessThan(5 * MAX_ERROR_TEXT_BYTES);
    const given = JSON.stringify(script.calls[1]?.prompt.filter(({ role }) => role === "tool"));
    expect(given).toContain(note);
    expect(given.length).toBeLessThan(2 * MAX_ERROR_TEXT_BYTES);
    expect(JSON.stringify(await storedMessages(host)).length).toBeLessThan(4 * MAX_ERROR_TEXT_BYTES);
    // The conversation goes on too, in another process.
    await host.restart();
    expect(await (await postChat(host, question("u2"))).text()).toContain('"delta":"Yes."');
  });

  test("says how many bytes are missing, and keeps the beginning", async () => {
    const host = openFailing("throws");
    await (await postChat(host, question("u1"))).text();
    const [, answer] = await storedMessages(host);
    const errorText = (answer?.parts ?? []).map((part) => ("errorText" in part ? part.errorText : "")).join("");
    const kept = /^(Broken: e+)\.\.\. \[cut: (\d+) of (\d+) bytes of this error text are left out\]$/.exec(errorText);
    expect(Number(kept?.[3])).toBe(thrown().length);
    expect(Number(kept?.[2]) + (kept?.[1]?.length ?? 0)).toBe(thrown().length);
    expect(errorText.length).toBeLessThanOrEqual(MAX_ERROR_TEXT_BYTES);
  });

  test("of a whole turn is cut as well", async () => {
    script = createScript([fail(new Error("refused")), reply(text("Yes."))]);
    const host = createTestHost({ agents: { Chat: Verbose } });
    const body = await (await postChat(host, question("u1"))).text();
    expect(body.length).toBeLessThan(5 * MAX_ERROR_TEXT_BYTES);
    expect(body).toContain("are left out");
    expect(await (await postChat(host, question("u2"))).text()).toContain('"delta":"Yes."');
  });
});

class Verbose extends Failing {
  override onChatError() {
    return new Error(thrown());
  }
}

describe("an OpenAI client that does not read", () => {
  const words = Array.from({ length: 40 }, () => text("x".repeat(1_000_000)));
  const client = (host: TestHost<object>) =>
    new OpenAI({
      apiKey: "key",
      baseURL: "http://localhost/agents/chat/a/v1",
      maxRetries: 0,
      fetch: async (url, init) => {
        const { pathname } = new URL(String(url));
        const { method, headers, body } = init ?? {};
        const response = await host.fetch(pathname, {
          method: method ?? "GET",
          headers: headers ?? {},
          body: String(body)
        });
        // Everything is sent before the first byte is read.
        await host.idle();
        return response;
      }
    });
  const answers = () => {
    script = createScript([reply(...words)]);
    return createTestHost({ agents: { Chat: Wordy } });
  };
  class Wordy extends Chat {
    override maxAnswerBytes = 100_000_000;
  }
  const readAll = async (stream: AsyncIterable<unknown>) => {
    let events = 0;
    for await (const event of stream) events += event === undefined ? 0 : 1;
    return events;
  };

  test("of a stream of completions is given an error", async () => {
    const stream = await client(answers()).chat.completions.create({
      model: "m",
      stream: true,
      messages: [{ role: "user", content: "go" }]
    });
    await expect(readAll(stream)).rejects.toThrow(/Load it again/);
  });

  test("of a stream of responses is given an error", async () => {
    const stream = await client(answers()).responses.create({ model: "m", stream: true, input: "go" });
    await expect(readAll(stream)).rejects.toThrow(/Load it again/);
  });
});
