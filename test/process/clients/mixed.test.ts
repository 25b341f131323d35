// Five kinds of client on one conversation of a real workerd: ours, the published `useAgentChat`, `useChat` of the AI SDK
// alone over a WebSocket and over HTTP, and a terminal. Whichever asks, stops, decides or is reloaded, and also when the
// process is killed, all of them end with the stored messages. And the official package of OpenAI.
import { DefaultChatTransport, WebSocketChatTransport, type UIMessage } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { createThinkClient, type ThinkClient } from "../../../src/client/index.ts";
import type { ChatAgent } from "../../browser/chat-worker.ts";
import { Conversation } from "../../browser/conversation.ts";
import type { ShownMessage } from "../../browser/page/chat-view.tsx";
import { SLOW_WORDS } from "../../browser/reply-plan.ts";
import { until } from "../../browser/until.ts";
import { Chat, usePlainChat } from "../../clients/newest/plain-page.ts";
import { newest } from "../../clients/newest/published.ts";
import { startWorker, type WorkerServer } from "../workerd-process.ts";
import { renderHook } from "./hook-stage.ts";
import { Terminal } from "./terminal.ts";

let server: WorkerServer;
const opened: { close(): unknown }[] = [];

beforeAll(async () => {
  server = await startWorker({
    entry: new URL("../../browser/chat-worker.ts", import.meta.url),
    objects: ["ChatAgent"]
  });
});
afterAll(async () => {
  for (const client of opened) await client.close();
});

const addressOf = (name: string) => `${server.url}/agents/chat-agent/${name}`;

/** What a person can see of a conversation. */
function shown(messages: readonly ShownMessage[]): string[] {
  return messages.map(({ id, role, parts }) =>
    [
      id,
      role,
      ...parts.flatMap(({ text, toolCallId, state }) => text ?? (toolCallId ? `${toolCallId} ${state}` : []))
    ].join(" ")
  );
}

interface View {
  readonly messages: readonly ShownMessage[];
  readonly status: string;
}

/** A client that shows the conversation. */
abstract class Member {
  abstract readonly label: string;
  abstract look(): View;

  async shows(text: string, statuses: readonly string[]): Promise<void> {
    await until({
      what: `${this.label} is ${statuses.join(" or ")} and shows ${JSON.stringify(text)}`,
      look: async () => this.look(),
      fits: ({ messages, status }) => statuses.includes(status) && textOf(messages.at(-1)) === text,
      tell: (chat) => JSON.stringify(chat)
    });
  }

  async agrees(expected: readonly string[]): Promise<void> {
    await until({
      what: `${this.label} shows ${JSON.stringify(expected)}`,
      look: async () => this.look(),
      fits: ({ messages, status }) => IDLE.includes(status) && shown(messages).join() === expected.join(),
      tell: ({ messages, status }) => `${status} ${JSON.stringify(shown(messages))}`
    });
  }
}

const IDLE = ["ready", "settled"];
const BUSY = ["streaming", "running"];

function textOf(message: ShownMessage | undefined): string {
  return (message?.parts ?? []).map(({ text = "" }) => text).join("");
}

class Ours extends Member {
  readonly label = "our client";
  readonly client: ThinkClient<ChatAgent>;

  constructor(name: string) {
    super();
    this.client = createThinkClient<ChatAgent>({ url: addressOf(name), WebSocket });
    opened.push(this.client);
  }

  look(): View {
    return this.client.getSnapshot() as View;
  }
}

interface PageChat extends View {
  /** Of the published hook: another client asked for what is being written. */
  readonly isStreaming?: boolean;
  sendMessage(message: { text: string }): Promise<void>;
}

interface Page<Hook> {
  /** What its hook has returned last. */
  current(): Hook;
  unmount(): void;
}

/** A page whose hook is rendered by the real React. */
class HookPage<Hook extends PageChat> extends Member {
  readonly label: string;
  readonly #open: () => Promise<Page<Hook>>;
  #page: Page<Hook> | undefined;

  constructor(label: string, open: () => Promise<Page<Hook>>) {
    super();
    this.label = label;
    this.#open = open;
    opened.push({ close: () => this.#page?.unmount() });
  }

  get chat(): Hook {
    if (!this.#page) throw new Error(`${this.label} is not loaded.`);
    return this.#page.current();
  }

  look(): View {
    const { messages, status, isStreaming = false } = this.chat;
    return { messages, status: isStreaming ? "streaming" : status };
  }

  /** Loads the page, or loads it again. */
  async load(): Promise<void> {
    this.#page?.unmount();
    this.#page = await this.#open();
  }
}

function publishedPage(name: string) {
  const target = { host: new URL(server.url).host, agent: "ChatAgent", name };
  return new HookPage("useAgentChat", async () => {
    const page = await renderHook(
      () => newest.useChatPage(target),
      () => null
    );
    return { current: () => page.current.chat, unmount: page.unmount };
  });
}

function plainPage(name: string, over: "HTTP" | "a WebSocket") {
  const url = `${addressOf(name)}/chat`;
  return new HookPage(`useChat over ${over}`, async () => {
    const messages = (await new Conversation(server, name).messages()) as UIMessage[];
    const socket = new WebSocketChatTransport({ url });
    const chat = new Chat({ transport: over === "HTTP" ? new DefaultChatTransport({ api: url }) : socket, messages });
    const page = await renderHook(
      () => usePlainChat(chat),
      () => null
    );
    const unmount = () => {
      page.unmount();
      // As a browser does that loads the page again.
      socket.close();
    };
    return { current: () => page.current, unmount };
  });
}

async function meet(name: string) {
  const members = {
    ours: new Ours(name),
    published: publishedPage(name),
    overHttp: plainPage(name, "HTTP"),
    overSocket: plainPage(name, "a WebSocket")
  };
  const { ours, published, overHttp, overSocket } = members;
  for (const page of [published, overHttp, overSocket]) await page.load();
  const conversation = new Conversation(server, name);
  /** All show what is stored; a plain page learns of what others did when it is loaded again. */
  const agree = async (...plain: Member[]): Promise<ShownMessage[]> => {
    await ours.shows(textOf((await conversation.messages()).at(-1)), IDLE);
    const stored = await conversation.messages();
    for (const member of [ours, published, ...plain]) await member.agrees(shown(stored));
    for (const page of [overHttp, overSocket]) {
      await page.load();
      await page.agrees(shown(stored));
    }
    return stored;
  };
  return { ...members, conversation, agree };
}

test("five kinds of client end with the same messages through refresh, stop, approval and SIGKILL", async () => {
  const { ours, published, overHttp, overSocket, conversation, agree } = await meet("mixed");
  const terminal = new Terminal(`${addressOf("mixed")}/chat`);
  opened.push({ close: () => terminal.leave() });

  // Refresh: two pages are loaded again in the middle of an answer that a third asked for.
  void overHttp.chat.sendMessage({ text: "slow" });
  await conversation.letGo(2);
  for (const member of [overHttp, ours, published]) await member.shows("one two ", BUSY);
  await overSocket.load();
  await published.load();
  for (const member of [overSocket, published]) await member.shows("one two ", BUSY);
  await conversation.letGo(SLOW_WORDS.length - 1);
  for (const member of [overHttp, overSocket]) await member.shows(SLOW_WORDS.join(""), IDLE);
  await agree(overHttp, overSocket);

  // Stop: ours stops what the published client asked for, while a plain page reads it.
  void published.chat.sendMessage({ text: "slow" });
  await conversation.letGo(1);
  await ours.shows("one ", BUSY);
  await overHttp.load();
  await overHttp.shows("one ", BUSY);
  await ours.client.stop();
  await agree(overHttp);

  // Approval: the terminal asks, the published client decides, and the terminal too, later.
  await terminal.ask("approve");
  await terminal.shows("Approve tool sendMail? y/n");
  await until({
    what: "the published client is asked",
    look: async () => approvalIn(published.chat.messages),
    fits: (id) => id !== undefined,
    tell: String
  });
  void published.chat.addToolApprovalResponse({ id: approvalIn(published.chat.messages) ?? "", approved: true });
  await ours.shows(await storedEnd(conversation, "The tools said this"), IDLE);
  terminal.press("y");
  await terminal.shows("The tools said this");
  await agree();
  expect(await conversation.sentMails()).toBe(1);

  // A killed process: a page over a WebSocket is in the middle of an answer.
  void overSocket.chat.sendMessage({ text: "slow" });
  await conversation.letGo(3);
  for (const member of [overSocket, ours, published]) await member.shows("one two three ", BUSY);
  await server.kill();
  await server.start();
  await conversation.letGo();
  await overSocket.shows(SLOW_WORDS.join(""), IDLE);
  await agree(overSocket);

  // The terminal goes on, and another one does not take its place.
  await terminal.ask("still here");
  await terminal.shows("You said: still here");
  const other = new Terminal(`${addressOf("mixed")}/chat`);
  opened.push({ close: () => other.leave() });
  await other.ask("me too");
  await other.shows("You said: me too");
  const stored = await agree();
  expect(stored.map(({ role }) => role)).toEqual(Array.from({ length: 6 }, () => ["user", "assistant"]).flat());
});

test("beside a tab that steers, every kind of client shows both answers, and can ask on", async () => {
  for (const asking of ["published", "overHttp", "overSocket"] as const) {
    const members = await meet(`steered-${asking}`);
    const { ours, published, conversation, agree } = members;
    const page = members[asking];
    void page.chat.sendMessage({ text: "slow sum" });
    await conversation.letGo(1);
    for (const member of new Set([page, ours, published])) await member.shows("Adding ", BUSY);
    expect(await ours.client.steer("and in words")).toMatchObject({ state: "accepted" });
    await conversation.letGo();
    const answer = await storedEnd(conversation, "You said: and in words", ")");
    // A page with the AI SDK alone is sent the answers as one message, in the stream that it waits for.
    await page.shows(asking === "published" ? answer : `Adding it. ${answer}`, IDLE);
    const stored = await agree();
    expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    void page.chat.sendMessage({ text: "thanks" });
    await ours.shows(await storedEnd(conversation, "You said: thanks", ")"), IDLE);
    await agree();
  }
});

function approvalIn(messages: readonly ShownMessage[]): string | undefined {
  const parts = messages.at(-1)?.parts ?? [];
  return parts.find(({ state }) => state === "approval-requested")?.approval?.id;
}

/** The stored answer, when it is complete as far as these words. */
async function storedEnd(conversation: Conversation, words: string, last = "."): Promise<string> {
  return until({
    what: `the stored answer has ${words}`,
    look: async () => textOf((await conversation.messages()).at(-1)),
    fits: (text) => text.includes(words) && text.endsWith(last),
    tell: String
  });
}

test("the official package of OpenAI: both endpoints, streamed and not, and its own retry over SIGKILL", async () => {
  const openai = new OpenAI({ apiKey: "key", baseURL: `${addressOf("openai")}/v1` });
  const ask = (content: string) => ({ model: "chat-agent", messages: [{ role: "user" as const, content }] });
  const whole = await openai.chat.completions.create(ask("one"));
  const streamed = await openai.chat.completions.stream(ask("two")).finalChatCompletion();
  const response = await openai.responses.create({ model: "chat-agent", input: "three" });
  const stream = openai.responses.stream({ model: "chat-agent", input: "four" });
  let seen = "";
  for await (const event of stream) if (event.type === "response.output_text.delta") seen += event.delta;
  expect([whole, streamed].map(({ choices }) => choices[0]?.message.content)).toEqual([
    "You said: one (answer 1)",
    "You said: two (answer 2)"
  ]);
  expect([response.output_text, seen]).toEqual(["You said: three (answer 3)", "You said: four (answer 4)"]);

  // The client asks again by itself when the connection is gone.
  const conversation = new Conversation(server, "openai");
  const asked = openai.chat.completions.create(ask("slow"), { maxRetries: 20 });
  await conversation.letGo(3);
  await until({
    what: "the question is accepted",
    look: async () => textOf((await conversation.messages()).at(-1)),
    fits: (text) => text === "slow",
    tell: String
  });
  await server.kill();
  await server.start();
  await conversation.letGo();
  expect((await asked).choices[0]?.message.content).toBe(SLOW_WORDS.join(""));
  expect((await conversation.messages()).map(textOf).filter((text) => text === "slow").length).toBe(1);
});
