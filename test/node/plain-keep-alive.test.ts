// Proxies close connections on which nothing comes for a while. A stream of events is never silent for long.
import OpenAI from "openai";
import { expect, test } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  type Script,
  type TestHost
} from "../../src/testing/index.ts";
import { answerText, PlainNetwork, postChat, settle } from "./plain-kit.ts";
import { user } from "../kit/messages.ts";

const COMMENT = ": keep-alive\n\n";
/** What a client is sent once after a minute, in place of a comment. */
const NOTICE = /data-silence|^: The model has said nothing since/m;

let script: Script;

class Chat extends Think {
  override openAIEndpoint = true;
  override chatStreamStallTimeoutMs = 0;
  override getModel() {
    return scriptedModel(script);
  }
}

function open() {
  const gate = createGate();
  script = createScript([reply(text("first "), gate.wait(), text("second")), reply(text("third"))]);
  return { gate, host: createTestHost({ agents: { Chat } }) };
}

const QUESTION = user("u1", "hi");
const commentsIn = (body: string) => body.split(COMMENT).length - 1;

/** Minutes of a model that says nothing. */
async function silence(host: TestHost<object>, ms: number) {
  for (let passed = 0; passed < ms; passed += 5_000) {
    await host.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test.each([
  ["of the AI SDK", "/agents/chat/a/chat", { messages: [QUESTION] }],
  [
    "of completions",
    "/agents/chat/a/v1/chat/completions",
    { model: "chat", stream: true, messages: [{ role: "user", content: "hi" }] }
  ],
  ["of responses", "/agents/chat/a/v1/responses", { model: "chat", stream: true, input: "hi" }]
])(
  "a stream %s that is silent for a minute has four comments and a notice, and none after its end",
  async (_what, path, body) => {
    const { gate, host } = open();
    const reading = (await postChat(host, body, { path })).text();
    await gate.reached;
    await silence(host, 60_000);
    gate.open();
    await settle(host);
    await silence(host, 60_000);
    const sent = await reading;
    expect(commentsIn(sent)).toBe(4);
    expect(sent.split(NOTICE)).toHaveLength(2);
    expect(commentsIn(sent.slice(sent.indexOf("second")))).toBe(0);
  }
);

test("a stream on which something comes has none", async () => {
  const gates = Array.from({ length: 8 }, () => createGate());
  script = createScript([reply(...gates.flatMap((gate, index) => [text(`${index} `), gate.wait()]))]);
  const host = createTestHost({ agents: { Chat } });
  const reading = (await postChat(host, { messages: [QUESTION] })).text();
  for (const gate of gates) {
    await gate.reached;
    await host.advance(9_000);
    gate.open();
    await settle(host);
  }
  expect(commentsIn(await reading)).toBe(0);
});

test("pages and the official package read past them", async () => {
  const { gate, host } = open();
  const page = new PlainNetwork(host).open();
  const asked = page.sendMessage({ text: "hi" });
  await gate.reached;
  const openai = new OpenAI({
    apiKey: "key",
    baseURL: "http://localhost/agents/chat/a/v1",
    fetch: (url, init) => host.fetch(new Request(url as string, init as RequestInit))
  });
  const messages = [{ role: "user" as const, content: "more" }];
  const stream = await openai.chat.completions.create({ model: "chat", messages, stream: true });
  await silence(host, 60_000);
  gate.open();
  await asked;
  let seen = "";
  for await (const { choices } of stream) seen += choices[0]?.delta.content ?? "";
  expect([answerText(page), seen]).toEqual(["first second", "third"]);
});
