// Tools that return more than can be kept: the call gets an error, the turn goes on, and every client can read how it ended.
import OpenAI from "openai";
import { tool, type ToolSet } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import { MAX_OUTPUT_BYTES } from "../../src/model/tool-wrap.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";
import { postChat, storedMessages } from "./plain-kit.ts";

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

const question = (id: string) => ({ messages: [{ id, role: "user", parts: [{ type: "text", text: id }] }] });
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
