// Plain AI SDK clients and the OpenAI API inside workerd: real streams, real sockets, real eviction.
import { evictDurableObject } from "cloudflare:test";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { connect, env, fetchPath, rawStub, uniqueName } from "./world.ts";
import { storedMessages, textsOf, user } from "../kit/messages.ts";

function post(path: string, body: object): Promise<Response> {
  return fetchPath(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body)
  });
}

async function stored(path: string): Promise<string[]> {
  const messages = await storedMessages({ fetch: fetchPath }, path);
  return textsOf(messages);
}

test("a request over HTTP is answered with a stream, and after an eviction the answer can still be fetched", async () => {
  const name = uniqueName();
  const path = `/agents/talker/${name}`;
  const asked = await post(`${path}/chat`, { messages: [user("u1", "hello")] });
  expect(await asked.text()).toMatch(/You said [^]*hello[^]*\[DONE\]\n\n$/);
  await evictDurableObject(rawStub(env.Talker, name));
  expect(await (await fetchPath(`${path}/chat/page/stream`)).text()).toContain("You said hello");
  expect(await stored(path)).toEqual(["hello", "You said hello"]);
});

test("the official package of OpenAI talks to an agent, streamed and not, also after an eviction", async () => {
  const name = uniqueName();
  const openai = new OpenAI({
    apiKey: "key",
    baseURL: `http://localhost/agents/talker/${name}/v1`,
    maxRetries: 0,
    fetch: (url, init) => {
      const { pathname } = new URL(url as string);
      return fetchPath(pathname, init as RequestInit);
    }
  });
  const messages = [{ role: "user" as const, content: "hello" }];
  const whole = await openai.chat.completions.create({ model: "talker", messages });
  expect(whole.choices[0]?.message.content).toBe("You said hello");
  await evictDurableObject(rawStub(env.Talker, name));
  let seen = "";
  for await (const event of await openai.responses.create({ model: "talker", input: "again", stream: true })) {
    if (event.type === "response.output_text.delta") seen += event.delta;
  }
  expect(seen).toBe("You said again");
  expect(await stored(`/agents/talker/${name}`)).toEqual(["hello", "You said hello", "again", "You said again"]);
});

test("a reader that leaves does not stop the answer", async () => {
  const path = `/agents/talker/${uniqueName()}`;
  const asked = await post(`${path}/chat`, { messages: [user("u1", "hello")] });
  await asked.body?.cancel();
  await expect.poll(() => stored(path), { timeout: 5_000 }).toEqual(["hello", "You said hello"]);
});

test("a plain socket is sent chat and nothing else, also after an eviction", async () => {
  const name = uniqueName();
  const socket = await connect(`/agents/talker/${name}/chat`);
  const ask = (requestId: string, words: string) =>
    socket.send({
      type: "send",
      requestId,
      id: "c",
      trigger: "submit-message",
      messages: [user(requestId, words)],
      headers: {},
      body: {}
    });
  ask("r1", "hello");
  await socket.next((frame) => frame.type === "end" && frame["requestId"] === "r1");
  await evictDurableObject(rawStub(env.Talker, name));
  ask("r2", "again");
  await socket.next((frame) => frame.type === "end" && frame["requestId"] === "r2");
  expect(new Set(socket.frames.map(({ type }) => type))).toEqual(new Set(["chunk", "end"]));
  const sequences = socket.frames.flatMap((frame) => (frame["requestId"] === "r2" ? [frame["sequence"]] : []));
  expect(sequences.slice(0, -1)).toEqual(sequences.slice(0, -1).map((_, index) => index));
});
