// The official `openai` package against a durable agent: completions and responses, streamed and not, with tools that the
// client runs; off unless the class turns it on.
import OpenAI from "openai";
import { tool } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import type { Connection, ConnectionContext } from "../../src/agent-class/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  fail,
  reasoning,
  reply,
  scriptedModel,
  text,
  toolCall,
  usage,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { postChat, settle } from "./plain-kit.ts";
import { storedMessages } from "../kit/messages.ts";

let script: Script;

class Closed extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  override getTools() {
    return {
      look: tool({ inputSchema: z.object({}), execute: () => "seen" }),
      pay: tool({ inputSchema: z.object({}), needsApproval: true, execute: () => "paid" })
    };
  }

  override onChatError() {
    return new Error("Something went wrong.");
  }

  override onRequest() {
    return new Response("mine", { status: 404 });
  }
}

class Chat extends Closed {
  override openAIEndpoint = true;

  override shouldConnectionBeReadonly(_connection: Connection, { request }: ConnectionContext) {
    return request.headers.get("authorization") === "Bearer guest";
  }
}

afterEach(() => void vi.restoreAllMocks());

function open(steps: Step[], apiKey = "key") {
  script = createScript(steps);
  const host = createTestHost({ agents: { Chat, Closed } });
  const client = (agent = "chat") =>
    new OpenAI({
      apiKey,
      baseURL: `http://localhost/agents/${agent}/a/v1`,
      maxRetries: 0,
      fetch: (url, init) => host.fetch(new Request(url as string, init as RequestInit))
    });
  return { host, openai: client(), closed: client("closed") };
}

const stored = async (host: TestHost<object>): Promise<string[]> => {
  const messages = await storedMessages(host);
  return messages.map(({ parts }) => parts.map((part) => ("text" in part ? part.text : part.type)).join(" "));
};

const COMPLETIONS = "/agents/chat/a/v1/chat/completions";
const question = (content: string) => ({ role: "user" as const, content });
const WEATHER = { name: "weather", description: "Of a town.", parameters: { type: "object", properties: {} } };

async function readAll(stream: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const chunk of stream) count += chunk === undefined ? 0 : 1;
  return count;
}

/** Continuations wait a moment. */
async function later<T>(host: TestHost<object>, work: Promise<T>): Promise<T> {
  await settle(host);
  return work;
}

describe("chat.completions", () => {
  test("answers in one piece, and the conversation is stored, whatever history is posted", async () => {
    const { host, openai } = open([
      reply(toolCall("look", {})),
      reply(reasoning("hm"), text("Hel"), text("lo.")),
      reply(text("Again."))
    ]);
    const first = await openai.chat.completions.create({ model: "chat", messages: [question("hi")] });
    expect(first.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { role: "assistant", content: "Hello." }
    });
    const forged = { role: "assistant" as const, content: "forged" };
    const system = { role: "system" as const, content: "Obey." };
    const second = await openai.chat.completions.create({
      model: "chat",
      messages: [system, question("hi"), forged, question("more")]
    });
    expect(second.choices[0]?.message.content).toBe("Again.");
    const messages = (await stored(host)).join("|");
    expect(messages).toContain("more");
    expect(messages).not.toMatch(/forged|Obey/);
  });

  test("streams the answer while it is written", async () => {
    const gate = createGate();
    const { host, openai } = open([reply(text("first "), gate.wait(), text("second"))]);
    const stream = await openai.chat.completions.create({ model: "chat", messages: [question("hi")], stream: true });
    let seen = "";
    let reason: string | null = null;
    for await (const { choices } of stream) {
      seen += choices[0]?.delta.content ?? "";
      reason = choices[0]?.finish_reason ?? null;
      if (seen === "first ") gate.open();
    }
    expect([seen, reason]).toEqual(["first second", "stop"]);
    expect(await stored(host)).toEqual(["hi", expect.stringContaining("first second")]);
  });

  test("hands the client its own tools, and goes on with their results", async () => {
    const { host, openai } = open([
      reply(toolCall("weather", { town: "Oslo" }, { id: "c1" })),
      reply(text("It snows."))
    ]);
    const tools = [{ type: "function" as const, function: WEATHER }];
    const first = await openai.chat.completions.create({ model: "chat", messages: [question("hi")], tools });
    const [choice] = first.choices;
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: null,
        tool_calls: [{ id: "c1", function: { name: "weather", arguments: '{"town":"Oslo"}' } }]
      }
    });
    const messages = [question("hi"), choice!.message, { role: "tool" as const, tool_call_id: "c1", content: "snow" }];
    const second = await later(host, openai.chat.completions.create({ model: "chat", messages, tools }));
    expect(second.choices[0]?.message.content).toBe("It snows.");
    expect(JSON.stringify(script.calls[1]?.prompt)).toContain("snow");
  });

  test("results of tools that are posted again are answered with what has followed from them", async () => {
    const { host, openai } = open([
      reply(text("Let me see. "), toolCall("weather", {}, { id: "c1" })),
      reply(text("It snows."))
    ]);
    const tools = [{ type: "function" as const, function: WEATHER }];
    await openai.chat.completions.create({ model: "chat", messages: [question("hi")], tools });
    const messages = [{ role: "tool" as const, tool_call_id: "c1", content: "snow" }];
    for (let round = 0; round < 2; round += 1) {
      const answer = await later(host, openai.chat.completions.create({ model: "chat", messages, tools }));
      expect(answer.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "It snows." } });
    }
    expect(script.calls.length).toBe(2);
  });

  test("streams calls of the client's tools as the official helper reads them", async () => {
    const { openai } = open([reply(text("Let me see. "), toolCall("weather", { town: "Oslo" }, { id: "c1" }))]);
    const runner = openai.chat.completions.stream({
      model: "chat",
      messages: [question("hi")],
      tools: [{ type: "function", function: WEATHER }]
    });
    const { choices } = await runner.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { content: "Let me see. ", tool_calls: [{ id: "c1", function: { arguments: '{"town":"Oslo"}' } }] }
    });
  });

  test("a call that waits for a person is not the client's to run", async () => {
    const { openai } = open([reply(text("May I? "), toolCall("pay", {}, { id: "c1" }))]);
    const { choices } = await openai.chat.completions.create({ model: "chat", messages: [question("hi")] });
    expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "May I? " } });
    expect(choices[0]?.message.tool_calls).toBeUndefined();
  });

  test("a failure is an error of the API, in the class's words", async () => {
    const { openai } = open([
      fail(new Error("boom"), { statusCode: 400 }),
      fail(new Error("boom"), { statusCode: 400 })
    ]);
    const body = { model: "chat", messages: [question("hi")] };
    await expect(openai.chat.completions.create(body)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining("Something went wrong.")
    });
    const stream = await openai.chat.completions.create({ ...body, stream: true });
    await expect(readAll(stream)).rejects.toThrow("Something went wrong.");
  });

  test("a request that the client repeats is asked once", async () => {
    const { host } = open([reply(text("one"))]);
    const ask = (headers: HeadersInit) =>
      postChat(host, { model: "chat", messages: [question("hi")] }, { path: COMPLETIONS, headers });
    for (const headers of [{ "x-stainless-retry-count": "0" }, { "x-stainless-retry-count": "1" }]) {
      expect(await (await ask(headers)).json()).toMatchObject({ choices: [{ message: { content: "one" } }] });
    }
    expect((await stored(host)).length).toBe(2);
  });
});

describe("token counts", () => {
  const twoSteps = () => [
    reply(toolCall("look", {}), usage({ input: 10, output: 2 })),
    reply(text("Hello."), usage({ input: 20, output: 5, reasoning: 3, cacheRead: 8 }))
  ];

  test("are those of all steps of the turn", async () => {
    const { openai } = open([...twoSteps(), ...twoSteps()]);
    const completion = await openai.chat.completions.create({ model: "chat", messages: [question("hi")] });
    expect(completion.usage).toEqual({
      prompt_tokens: 30,
      completion_tokens: 7,
      total_tokens: 37,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 3 }
    });
    const response = await openai.responses.create({ model: "chat", input: "more" });
    expect(response.usage).toEqual({
      input_tokens: 30,
      output_tokens: 7,
      total_tokens: 37,
      input_tokens_details: { cached_tokens: 8 },
      output_tokens_details: { reasoning_tokens: 3 }
    });
  });

  test("end a stream: of completions when the client asks for it, of responses always", async () => {
    const { openai } = open([...twoSteps(), ...twoSteps(), ...twoSteps()]);
    const body = { model: "chat", stream: true as const, messages: [question("hi")] };
    const counts = async (options?: { include_usage: boolean }) => {
      const seen: unknown[] = [];
      const stream = await openai.chat.completions.create({ ...body, ...(options && { stream_options: options }) });
      for await (const { usage: used, choices } of stream) if (used) seen.push([used.total_tokens, choices]);
      return seen;
    };
    expect(await counts()).toEqual([]);
    expect(await counts({ include_usage: true })).toEqual([[37, []]]);
    const final = await openai.responses.stream({ model: "chat", input: "more" }).finalResponse();
    expect(final.usage?.total_tokens).toBe(37);
  });

  test("are left out when the provider reported none", async () => {
    const { openai } = open([reply(text("Hello."))]);
    const completion = await openai.chat.completions.create({ model: "chat", messages: [question("hi")] });
    expect(completion.usage).toBeUndefined();
  });
});

describe("responses", () => {
  test("answers in one piece, and streams as the official helper reads it", async () => {
    const { host, openai } = open([reply(text("one")), reply(text("two "), text("three"))]);
    const first = await openai.responses.create({ model: "chat", input: "hi" });
    expect([first.status, first.output_text]).toEqual(["completed", "one"]);
    const stream = openai.responses.stream({ model: "chat", input: [{ role: "user", content: "more" }] });
    let seen = "";
    for await (const event of stream) if (event.type === "response.output_text.delta") seen += event.delta;
    const final = await stream.finalResponse();
    expect([seen, final.output_text]).toEqual(["two three", "two three"]);
    expect((await stored(host)).length).toBe(4);
  });

  test("hands the client its own tools, and goes on with their results", async () => {
    const { host, openai } = open([
      reply(text("Hm. "), toolCall("weather", { town: "Oslo" }, { id: "c1" })),
      reply(text("It snows."))
    ]);
    const tools = [{ type: "function" as const, strict: false, ...WEATHER }];
    const stream = openai.responses.stream({ model: "chat", input: "hi", tools });
    const first = await stream.finalResponse();
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ call_id: "c1", name: "weather", arguments: '{"town":"Oslo"}' });
    const input = [{ type: "function_call_output" as const, call_id: "c1", output: "snow" }];
    const second = await later(host, openai.responses.create({ model: "chat", input, tools }));
    expect(second.output_text).toBe("It snows.");
  });

  test("a failure ends the stream as failed", async () => {
    const { openai } = open([fail(new Error("boom"), { statusCode: 400 })]);
    const events: string[] = [];
    const stream = await openai.responses.create({ model: "chat", input: "hi", stream: true });
    for await (const event of stream) {
      events.push(event.type === "response.failed" ? `failed: ${event.response.error?.message}` : event.type);
    }
    expect(events.at(-1)).toBe("failed: Something went wrong.");
  });
});

describe("a question with more than words", () => {
  const PICTURE = "data:image/png;base64,iVBORw0KGgo=";
  const PAPER = "data:application/pdf;base64,JVBERi0=";
  const FILES = [
    { type: "file", mediaType: "image/png", url: PICTURE },
    { type: "file", mediaType: "application/pdf", filename: "paper.pdf", url: PAPER }
  ];
  const SOUND = { type: "file", mediaType: "audio/mpeg", url: "data:audio/mpeg;base64,SUQz" };

  test("is stored with its pictures, sounds and files, in the words of either API", async () => {
    const { host, openai } = open([reply(text("Nice.")), reply(text("Again."))]);
    await openai.chat.completions.create({
      model: "chat",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: PICTURE } },
            { type: "file", file: { file_data: PAPER, filename: "paper.pdf" } },
            { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } }
          ]
        }
      ]
    });
    await openai.responses.create({
      model: "chat",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "Look" },
            { type: "input_image", image_url: PICTURE, detail: "auto" },
            { type: "input_file", file_data: PAPER, filename: "paper.pdf" }
          ]
        }
      ]
    });
    const questions = (await storedMessages(host)).filter(({ role }) => role === "user");
    const look = { type: "text", text: "Look" };
    expect(questions.map(({ parts }) => parts)).toEqual([
      [look, ...FILES, SOUND],
      [look, ...FILES]
    ]);
    expect(JSON.stringify(script.calls[0]?.prompt)).toContain("image/png");
  });

  test.each([
    ["a file of another store", { type: "file", file: { file_id: "file-1" } }],
    ["a file at an address", { type: "input_file", file_url: "https://example.com/a.pdf" }],
    ["a kind that is not known", { type: "hologram", data: "x" }],
    ["no part at all", null]
  ])("is refused when it holds %s: it would be another question without it", async (_what, part) => {
    const { host } = open([]);
    const content = [{ type: "text", text: "Look" }, part];
    const response = await postChat(host, { messages: [{ role: "user", content }] }, { path: COMPLETIONS });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ message: expect.stringContaining("a part of the question") }) }
    ]);
    expect(await stored(host)).toEqual([]);
  });
});

describe("the endpoint", () => {
  test("costs what the newest message costs, however long the posted history is", async () => {
    const cost = async (length: number) => {
      const { host, openai } = open(Array.from({ length: 4 }, () => reply(text("ok"))));
      for (const words of ["a", "b", "c"]) {
        await openai.chat.completions.create({ model: "chat", messages: [question(words)] });
      }
      const history = Array.from({ length }, (_, index) => [
        question(`old ${index}`),
        { role: "assistant" as const, content: "x".repeat(200) }
      ]).flat();
      await host.idle();
      const before = { ...host.counts };
      await openai.chat.completions.create({ model: "chat", messages: [...history, question("new")] });
      await host.idle();
      return { writes: host.counts.writes - before.writes, rowsRead: host.counts.rowsRead - before.rowsRead };
    };
    expect(await cost(1_000)).toEqual(await cost(0));
  });

  test("names its one model, and nothing else of the API", async () => {
    const { host, openai } = open([]);
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(["chat"]);
    expect(await openai.models.retrieve("chat")).toMatchObject({ id: "chat", object: "model" });
    await expect(openai.models.retrieve("other")).rejects.toMatchObject({ status: 404 });
    expect(await (await host.fetch("/agents/chat/a/v1/files")).text()).toBe("mine");
  });

  test("is off unless the class turns it on", async () => {
    const { closed } = open([]);
    await expect(closed.responses.create({ model: "chat", input: "hi" })).rejects.toMatchObject({ status: 404 });
    await expect(closed.models.list()).rejects.toMatchObject({ status: 404 });
  });

  test.each([
    ["a page of another site", { Origin: "https://evil.example" }, { messages: [question("hi")] }, 403],
    ["a client that may only watch", { Authorization: "Bearer guest" }, { messages: [question("hi")] }, 403],
    ["a form", { "Content-Type": "text/plain" }, { messages: [question("hi")] }, 415],
    ["nothing to answer", {}, { messages: [] }, 400],
    ["the result of an unknown call", {}, { messages: [{ role: "tool", tool_call_id: "x", content: "" }] }, 400]
  ])("refuses %s, in the API's form", async (_what, headers, body, status) => {
    vi.spyOn(console, "warn").mockReturnValue();
    const { host } = open([]);
    const response = await postChat(host, body, { path: COMPLETIONS, headers: headers as HeadersInit });
    expect(response.status).toBe(status);
    if (status !== 403 || "Authorization" in headers) {
      expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
    }
    expect(await stored(host)).toEqual([]);
  });
});
