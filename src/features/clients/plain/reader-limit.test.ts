// How many plain clients are sent answers of one agent at a time, whichever encoding they use.
import { describe, expect, test } from "vitest";
import { TestChat } from "../../../wire/chat-kit.test-support.ts";
import { wireErrors } from "../../../wire/errors.ts";
import { openAIResponse } from "../openai/http.ts";
import { chatResponse } from "./http.ts";
import { PlainChat, READER_LIMIT } from "./plain-chat.ts";
import { SOCKET_REQUEST_LIMIT, SocketChat } from "./socket.ts";

const sink = { chunk: () => true, end: () => undefined, fail: () => undefined };
const headers = { "Content-Type": "application/json" };
const { message } = wireErrors.TooManyReadersError(READER_LIMIT);

/** An agent in the middle of an answer. */
async function answering() {
  const kit = new TestChat();
  const chat = new PlainChat({
    agent: {},
    turns: kit.engine,
    submitCommand: kit.protocol.submit,
    ids: { next: () => crypto.randomUUID(), random: () => 0.5 },
    clock: kit.world.clock
  });
  // The object above has no connections that could be asked.
  chat.isReadonly = async () => false;
  kit.submit(kit.tab(), "r1");
  await kit.start();
  return { kit, chat };
}

/** One that answers as many clients as it may. */
async function crowded() {
  const { kit, chat } = await answering();
  const readers = Array.from({ length: READER_LIMIT }, () => chat.newReader(sink));
  for (const reader of readers) expect([chat.isFull, chat.resume(reader)]).toEqual([false, true]);
  return { kit, chat, readers };
}

const question = (words: unknown) =>
  new Request("http://x/chat", { method: "POST", headers, body: JSON.stringify(words) });

test("one more is sent away, asks nothing, and is served when another has left", async () => {
  const { kit, chat, readers } = await crowded();
  const posted = question({ messages: [{ id: "u9", role: "user", parts: [{ type: "text", text: "Hello?" }] }] });
  const resuming = () => chatResponse(new Request("http://x/chat/page/stream"), "/page/stream", chat);
  for (const response of [await chatResponse(posted, "", chat), await resuming()]) {
    expect([response?.status, response?.headers.get("Retry-After"), await response?.text()]).toEqual([
      503,
      "5",
      message
    ]);
  }
  const completion = question({ messages: [{ role: "user", content: "Hello?" }] });
  expect((await openAIResponse(completion, "/chat/completions", chat))?.status).toBe(503);
  expect(kit.engine.transcript().map(({ id }) => id)).toEqual(["u-r1"]);
  readers[0]?.cut();
  const served = await resuming();
  expect(served?.status).toBe(200);
  await served?.body?.cancel();
});

/** A socket of the AI SDK that resumes under these ids; which of them it was refused. */
function refusedOf(chat: PlainChat, ids: readonly string[]): string[] {
  const refused: string[] = [];
  const send = (text: string) => {
    const frame = JSON.parse(text) as { type: string; requestId: string; errorText?: string };
    if (frame.type === "error" && frame.errorText === message) refused.push(frame.requestId);
    return true;
  };
  const sockets = new SocketChat(chat);
  const socket = { key: {}, isReadonly: false, send };
  for (const requestId of ids) void sockets.receive(socket, JSON.stringify({ type: "resume", requestId }));
  return refused;
}

test("one more is sent away over a socket, too", async () => {
  const { chat } = await crowded();
  expect(refusedOf(chat, ["late"])).toEqual(["late"]);
});

test("one socket has so many requests at a time, and no more", async () => {
  const { chat } = await answering();
  const ids = Array.from({ length: SOCKET_REQUEST_LIMIT + 1 }, (_, index) => `q${index}`);
  expect(refusedOf(chat, ids)).toEqual([ids.at(-1)]);
});

describe("a place is free again", () => {
  /** As many clients as the limit, one after the other: none is refused. */
  const timesMore = async (use: (index: number) => void | Promise<void>) => {
    for (let index = 0; index < READER_LIMIT + 1; index += 1) await use(index);
  };

  test("when the turn has ended, for each of its readers", async () => {
    const { kit, chat, readers } = await crowded();
    expect(chat.isFull).toBe(true);
    await kit.finish();
    expect([chat.isFull, readers.some(({ isOpen }) => isOpen)]).toEqual([false, false]);
    // Those that ask later find a place, too.
    kit.submit(kit.tab(), "r2");
    await kit.start();
    expect(chat.resume(chat.newReader(sink))).toBe(true);
    expect(chat.isFull).toBe(false);
  });

  test("when a socket closes, for each of its requests", async () => {
    const { chat } = await answering();
    const sockets = new SocketChat(chat);
    await timesMore(() => {
      const socket = { key: {}, isReadonly: false, send: () => true };
      void sockets.receive(socket, JSON.stringify({ type: "resume", requestId: "r" }));
      expect(chat.isFull).toBe(false);
      sockets.closed(socket.key);
    });
  });

  test("when a client of the OpenAI API leaves in the middle of its stream", async () => {
    const { chat } = await answering();
    const asked = { stream: true, messages: [{ role: "user", content: "Hello?" }] };
    const before = new Request("http://x", { method: "POST", headers: { ...headers, "idempotency-key": "same" } });
    await timesMore(async () => {
      const request = new Request(before, { method: "POST", body: JSON.stringify(asked) });
      const response = await openAIResponse(request, "/chat/completions", chat);
      expect(response?.status).toBe(200);
      await response?.body?.cancel();
    });
  });
});
