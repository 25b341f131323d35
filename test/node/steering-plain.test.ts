// Plain AI SDK pages and clients of the OpenAI API beside a tab that steers: their stream goes on with the answer of the
// turn that took over, as one message.
import OpenAI from "openai";
import { tool, type UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  usage,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { linesOf, storedMessages } from "../kit/messages.ts";
import { PlainNetwork, settle, WAYS } from "./plain-kit.ts";

let script: Script;
let gate = createGate();

class Chat extends Think {
  override openAIEndpoint = true;
  override messageConcurrency = "steer" as const;
  override getModel() {
    return scriptedModel(script);
  }
  override getTools() {
    return { search: tool({ inputSchema: z.object({}), execute: async () => gate.opened.then(() => "found") }) };
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

beforeEach(() => {
  gate = createGate();
  for (const name of ["error", "warn"] as const) vi.spyOn(console, name).mockImplementation(() => undefined);
});

function open(steps: Step[]): Host {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}

const searches = reply(text("Looking. "), toolCall("search", {}, { id: "c1" }), usage({ input: 10, output: 5 }));
const partsOf = (messages: readonly UIMessage[]) =>
  messages.map(({ role, parts }) => [role, ...parts.flatMap((part) => (part.type === "text" ? [part.text] : []))]);

describe.each(WAYS)("a page with %s", (_name, way) => {
  test("is sent the answer of the chain in the stream it waits for, as one message, and is ready then", async () => {
    const host = open([searches, reply(text("In Rome.")), reply(text("And more."))]);
    const page = new PlainNetwork(host).open(way);
    const asked = page.sendMessage({ text: "hotels in Paris" });
    await settle(host);
    const agent = await host.get(Chat, "a");
    await agent.steer("no, in Rome", { id: "s1" });
    expect(page.status).toBe("streaming");
    gate.open();
    await settle(host);
    await asked;
    expect([page.status, page.error]).toEqual(["ready", undefined]);
    expect(partsOf(page.messages)).toEqual([
      ["user", "hotels in Paris"],
      ["assistant", "Looking. ", "In Rome."]
    ]);
    expect(linesOf(await storedMessages(host))).toEqual([
      "user:hotels in Paris",
      "assistant:Looking. ",
      "user:no, in Rome",
      "assistant:In Rome."
    ]);
    // Its next question goes on from there.
    const next = page.sendMessage({ text: "more" });
    await settle(host);
    await next;
    expect(partsOf(page.messages).at(-1)).toEqual(["assistant", "And more."]);
    expect(linesOf(await storedMessages(host)).slice(-2)).toEqual(["user:more", "assistant:And more."]);
  });

  test("that steers beside another page: each of them has the answer", async () => {
    const host = open([searches, reply(text("In Rome."))]);
    const network = new PlainNetwork(host);
    const [first, second, third] = [network.open(way), network.open(way), network.open(way)];
    const asked = [first.sendMessage({ text: "hotels in Paris" })];
    await settle(host);
    asked.push(second.sendMessage({ text: "no, in Rome" }));
    await settle(host);
    asked.push(third.sendMessage({ text: "and cheap" }));
    await settle(host);
    gate.open();
    await settle(host);
    await Promise.all(asked);
    // The two were read together; one turn answers both.
    expect(script.calls).toHaveLength(2);
    for (const page of [first, second, third]) {
      expect(page.status).toBe("ready");
      expect(partsOf(page.messages).at(-1)?.at(-1)).toBe("In Rome.");
    }
  });
});

describe("a client of the OpenAI API", () => {
  const client = (host: Host) =>
    new OpenAI({
      apiKey: "key",
      baseURL: "http://localhost/agents/chat/a/v1",
      maxRetries: 0,
      fetch: (input, init) => host.fetch(new Request(input as string, init as RequestInit))
    });

  test("is sent the answer of the chain, streamed and as a whole, with the tokens of all of it", async () => {
    const host = open([searches, reply(text("In Rome."), usage({ input: 20, output: 7 }))]);
    const asked = client(host).chat.completions.create({
      model: "chat",
      messages: [{ role: "user", content: "hotels in Paris" }]
    });
    await settle(host);
    await (await host.get(Chat, "a")).steer("no, in Rome", { id: "s1" });
    gate.open();
    await settle(host);
    const { choices, usage: used } = await asked;
    expect(choices[0]?.message.content).toBe("Looking. In Rome.");
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(used?.total_tokens).toBe(42);
  });

  test("and its stream ends once, after the last turn", async () => {
    const host = open([searches, reply(text("In Rome."))]);
    const stream = await client(host).chat.completions.create({
      model: "chat",
      stream: true,
      messages: [{ role: "user", content: "hotels in Paris" }]
    });
    await settle(host);
    await (await host.get(Chat, "a")).steer("no, in Rome", { id: "s1" });
    gate.open();
    await settle(host);
    const ends: unknown[] = [];
    let said = "";
    for await (const { choices } of stream) {
      said += choices[0]?.delta.content ?? "";
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason);
    }
    expect([said, ends]).toEqual(["Looking. In Rome.", ["stop"]]);
  });
});
