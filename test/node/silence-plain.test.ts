// A model that has said nothing for a minute, as clients without the library are shown it: pages with the AI SDK alone, over
// HTTP and over a socket, and clients of the OpenAI API. It is a status: no part of the message, and no error.
import OpenAI from "openai";
import { expect, test } from "vitest";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  stall,
  text,
  type Gate,
  type Script
} from "../../src/testing/index.ts";
import { storedMessages } from "../kit/messages.ts";
import { PlainNetwork, settle, type PageInit } from "./plain-kit.ts";

const MINUTE = 60_000;

let script: Script;
let gate: Gate;

class Chat extends Think {
  override openAIEndpoint = true;
  override getModel() {
    return scriptedModel(script);
  }
}

function open() {
  gate = createGate();
  script = createScript([reply(text("Half "), gate.wait(), text("whole.")), reply(text("Yes."))]);
  return createTestHost({ agents: { Chat } });
}

const pages: PageInit[] = [
  { sdk: "ai 7", over: "http" },
  { sdk: "ai 6", over: "http" },
  { sdk: "ai 7", over: "socket" }
];

test.each(pages)(
  "a page with $sdk over $over is handed the silence, keeps nothing of it, and goes on",
  async (init) => {
    const host = open();
    const data: unknown[] = [];
    const page = new PlainNetwork(host).open({ ...init, onData: (part) => void data.push(part) });
    const begun = host.now;
    const asked = page.sendMessage({ text: "Hi" });
    await settle(host);
    await host.advance(begun + MINUTE - 1 - host.now);
    expect(data).toEqual([]);
    await host.advance(5 * MINUTE);
    await settle(host);
    expect(data).toEqual([{ type: "data-silence", data: { since: begun }, transient: true }]);
    expect([page.status, page.error]).toEqual(["streaming", undefined]);
    gate.open();
    await settle(host);
    await asked;
    expect([page.status, page.error]).toEqual(["ready", undefined]);
    expect(page.messages).toMatchObject(await storedMessages(host));
    expect(JSON.stringify(page.messages)).not.toContain("silence");
  }
);

test("before the first word it is shown as well, and to a page that resumes, which may stop the turn", async () => {
  script = createScript([reply(stall())]);
  const host = createTestHost({ agents: { Chat } });
  const network = new PlainNetwork(host);
  const data: unknown[][] = [[], []];
  const [first, second] = data.map((seen) => network.open({ onData: (part) => void seen.push(part) }));
  const begun = host.now;
  void first?.sendMessage({ text: "Hi" });
  await settle(host);
  await host.advance(2 * MINUTE);
  await settle(host);
  void second?.resumeStream();
  await settle(host);
  const silence = { type: "data-silence", data: { since: begun }, transient: true };
  expect(data).toEqual([[silence], [silence]]);
  expect((await host.fetch("/agents/chat/a/chat", { method: "DELETE" })).status).toBe(204);
  await settle(host);
  expect([first?.status, second?.status]).toEqual(["ready", "ready"]);
  expect([first?.error, second?.error]).toEqual([undefined, undefined]);
});

const openai = (host: ReturnType<typeof open>, texts: string[]) =>
  new OpenAI({
    apiKey: "key",
    baseURL: "http://localhost/agents/chat/a/v1",
    maxRetries: 0,
    fetch: async (url, init) => {
      const { method = "GET", headers = {}, body } = init ?? {};
      const response = await host.fetch(new URL(String(url)).pathname, { method, headers, body: String(body) });
      const [read, seen] = response.body!.tee();
      void new Response(seen).text().then((whole) => texts.push(whole));
      return new Response(read, response);
    }
  });

test.each(["completions", "responses"] as const)(
  "a stream of %s has a comment, which the official client skips",
  async (kind) => {
    const host = open();
    const texts: string[] = [];
    const since = new Date(host.now).toISOString();
    const client = openai(host, texts);
    const stream =
      kind === "completions"
        ? await client.chat.completions.create({
            model: "m",
            stream: true,
            messages: [{ role: "user", content: "Hi" }]
          })
        : await client.responses.create({ model: "m", stream: true, input: "Hi" });
    const events: unknown[] = [];
    const read = (async () => {
      for await (const event of stream) events.push(event);
    })();
    await settle(host);
    await host.advance(5 * MINUTE);
    gate.open();
    await settle(host);
    await read;
    expect(texts.join("").split(`: The model has said nothing since ${since}.\n\n`)).toHaveLength(2);
    expect(JSON.stringify(events)).not.toContain("said nothing");
    expect(JSON.stringify(events.at(kind === "completions" ? -2 : -1))).toContain("whole.");
  }
);
