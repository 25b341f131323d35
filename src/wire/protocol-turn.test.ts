// A turn from its request to its end, as the requesting tab (A) and another one (B) see it.
import { describe, expect, test, vi } from "vitest";
import { ANSWER_CHUNKS, numbers, seqs, terminals, TestChat, TestSocket, user } from "./chat-kit.test-support.ts";

const RECOVERING = "cf_agent_chat_recovering";
const CHUNKS = numbers(ANSWER_CHUNKS).map(() => "chunk");

describe("a normal turn", () => {
  test("A is sent its stream and the stored answer, and no transcript", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    expect(a.take()).toEqual([]);
    await chat.answer("hi");
    expect(a.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
  });

  test("B is sent a snapshot with the question before the first chunk", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    expect(b.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1")] }]);
    await chat.answer("hi");
    expect(b.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
  });

  test("A is included when a snapshot was sent to it less than two seconds before its request", async () => {
    const chat = new TestChat();
    const a = chat.connect();
    chat.now += 1_999;
    a.take();
    chat.submit(a, "r1");
    expect(a.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1")] }]);
    await chat.answer();
    a.take();
    chat.now += 2_000;
    chat.submit(a, "r2");
    expect(a.take()).toEqual([]);
  });

  test.each([
    { shows: "the answer it received", messages: ["u-r1", "answer", "u-r2"], sent: [] },
    { shows: "its new question only", messages: ["u-r2"], sent: [] },
    { shows: "no answer yet", messages: ["u-r1", "u-r2"], sent: ["msgs"] }
  ])("A asks again at once and posts $shows: it is sent $sent", async ({ messages, sent }) => {
    const chat = new TestChat();
    const a = chat.connect();
    chat.submit(a, "r1");
    await chat.answer();
    a.take();
    chat.now += 10;
    const answer = chat.path.at(-1);
    chat.submit(a, "r2", { messages: messages.map((id) => (id === "answer" ? answer : user(id))) });
    expect(a.takeTypes()).toEqual(sent);
  });

  test("start.messageId equals the id of the message that closes the turn and of the stored one", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.answer("hi");
    const frames = a.take();
    const start = JSON.parse(String(frames[0]?.body)) as { messageId: string };
    const stored = chat.path.at(-1);
    expect(stored?.id).toBe(start.messageId);
    expect(frames.at(-1)).toEqual({ type: "cf_agent_message_updated", message: stored });
  });

  test("chunks are numbered from 0 and carry their bodies unchanged", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.answer("hi");
    const frames = a.take();
    expect(seqs(frames)).toEqual(numbers(ANSWER_CHUNKS));
    expect(frames[3]).toEqual({
      type: "cf_agent_use_chat_response",
      id: "r1",
      body: '{"type":"text-delta","id":"0","delta":"hi"}',
      done: false,
      seq: 3
    });
  });

  test("the terminal carries outcome and the ids of the trailing user messages", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1", { messages: [user("u1"), user("u2")] });
    await chat.answer();
    expect(terminals(a.take())).toEqual([
      {
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "",
        done: true,
        messageIds: ["u1", "u2"],
        outcome: "completed"
      }
    ]);
  });

  test("the answer is stored before the terminal, and the closing frame follows it with nothing between", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    const order: string[] = [];
    for (const [name, socket] of [
      ["a", a],
      ["b", b]
    ] as const) {
      socket.onFrame = (frame) => {
        if (frame.done) order.push(`${name} terminal, stored ${chat.path.length}`);
        if (frame.type === "cf_agent_message_updated") order.push(`${name} message`);
      };
    }
    chat.submit(a, "r1");
    await chat.answer();
    // One socket after the other, in one synchronous block.
    expect(order).toEqual(["a terminal, stored 2", "a message", "b terminal, stored 2", "b message"]);
  });

  test("bytes to a client that follows do not grow with history", async () => {
    const bytesOf = async (history: number) => {
      const chat = new TestChat();
      chat.store(...numbers(history).map((index) => ({ ...user(`old${index}`), role: "assistant" as const })));
      const a = chat.tab();
      const messages = [...chat.path, user("u-r1")];
      const reads = vi.spyOn(chat.engine, "transcript");
      chat.submit(a, "r1", { messages });
      reads.mockClear();
      await chat.answer();
      expect(reads).not.toHaveBeenCalled();
      return JSON.stringify(a.take()).length;
    };
    expect(await bytesOf(1_000)).toBe(await bytesOf(0));
  });

  test("a client that posts its whole list is known to show it even after the object forgot its sockets", async () => {
    const chat = new TestChat();
    // Woken from hibernation: the socket is there, no connect was seen.
    const a = new TestSocket();
    chat.sockets.push(a);
    chat.store(user("old"));
    chat.submit(a, "r1");
    await chat.answer();
    expect(a.takeTypes().at(-1)).toBe("message_updated");
  });

  test("one that posts a part of it is sent the transcript then", async () => {
    const chat = new TestChat();
    const a = new TestSocket();
    chat.sockets.push(a);
    chat.store(user("old"));
    chat.submit(a, "r1", { messages: [user("new")] });
    await chat.answer();
    expect(chat.path.map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
    expect(a.takeTypes().at(-1)).toBe("msgs");
  });

  test("a turn without a connected client costs no transcript", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    chat.close(a);
    const reads = vi.spyOn(chat.engine, "transcript");
    await chat.answer();
    expect(chat.outcomes.get("r1")?.status).toBe("completed");
    expect(reads).not.toHaveBeenCalled();
  });
});

describe("the closing frame is the whole transcript", () => {
  const closings: [string, (chat: TestChat, a: TestSocket) => Promise<void>][] = [
    ["when nothing was stored", async (chat) => (await chat.start(), chat.finish())],
    ["when the turn failed", async (chat) => (await chat.start(), await chat.text("x"), chat.fail())],
    ["when it was stopped", async (chat) => (await chat.start(), await chat.text("x"), chat.stop("r1"))],
    [
      "when a stored message changed meanwhile",
      async (chat) => (await chat.start(), change(chat, "old"), await chat.text("x"), chat.finish())
    ],
    [
      "when messages joined from inside the turn",
      async (chat) => (await chat.start(), chat.store(user("note")), await chat.text("x"), chat.finish())
    ],
    ["when messages joined silently before the stream", async (chat) => (chat.store(user("note")), chat.answer())],
    [
      "when the tree changed under it",
      async (chat) => {
        await chat.start();
        chat.protocol.messagesChanged({ kind: "restructured" });
        await chat.text("x");
        await chat.finish();
      }
    ],
    [
      "when it streamed twice",
      async (chat) => (await chat.start(), await chat.text("x"), await chat.lose(), chat.answer("y"))
    ],
    [
      "when the client had changed its own list",
      async (chat, a) => {
        vi.spyOn(console, "warn").mockImplementation(() => undefined);
        chat.receive(a, { type: "cf_agent_chat_messages", messages: [] });
        await chat.answer();
      }
    ]
  ];
  test.each(closings)("%s", async (_name, play) => {
    const chat = new TestChat();
    chat.store(user("old"));
    const a = chat.tab();
    chat.submit(a, "r1");
    await play(chat, a);
    expect(chat.outcomes.has("r1")).toBe(true);
    expect(a.take().findLast(({ type }) => type !== RECOVERING)).toEqual({
      type: "cf_agent_chat_messages",
      messages: chat.path
    });
  });

  test("for both of two overlapping turns", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    chat.submit(b, "r2");
    await chat.text("x");
    await chat.finish();
    expect(a.takeTypes().at(-1)).toBe("msgs");
    await chat.answer();
    expect(a.takeTypes().at(-1)).toBe("msgs");
    expect(b.takeTypes().at(-1)).toBe("msgs");
  });
});

test("writes that change nothing on a screen do not cost a transcript", async () => {
  const chat = new TestChat();
  const a = chat.tab();
  chat.submit(a, "r1");
  chat.protocol.messagesChanged({ kind: "repeated", id: "u-r1" });
  chat.protocol.messagesChanged({ kind: "shortened", id: "old" });
  await chat.answer();
  expect(a.takeTypes().at(-1)).toBe("message_updated");
});

describe("server-started turns", () => {
  test("are announced to all, streamed to all under the server's id, and closed like any other", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.engine.admit({ requestId: "server", trigger: "programmatic", input: [user("task")] });
    await chat.answer();
    for (const socket of [a, b]) {
      const frames = socket.take();
      expect(frames[0]).toEqual({ type: "cf_agent_chat_messages", messages: [user("task")] });
      expect(frames.slice(1, -1).every((frame) => frame.id === "server")).toBe(true);
      expect(frames.at(-1)?.type).toBe("cf_agent_message_updated");
    }
  });

  test("that fail before they stream are not announced, and are reported to a client that asks", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    void chat.engine.admit({ requestId: "server", trigger: "programmatic", input: [] });
    await chat.fail();
    expect(a.take()).toEqual([]);
    chat.ask(a);
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "server" }]);
  });
});

describe("sockets", () => {
  test("one bad socket does not stop a broadcast", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const chat = new TestChat();
    const [a, b, c] = [chat.tab(), chat.tab(), chat.tab()];
    b.send = () => {
      throw new Error("broken");
    };
    chat.submit(a, "r1");
    await chat.answer();
    expect(c.takeTypes()).toEqual(["msgs", ...CHUNKS, "done:completed", "message_updated"]);
  });

  test("a client that wants no unsolicited frames gets the answers to its own request and nothing else", async () => {
    const chat = new TestChat();
    const loud = chat.tab();
    const a = new TestSocket();
    chat.sockets.push(a);
    chat.quiet.add(a);
    chat.submit(loud, "r0");
    await chat.answer();
    expect(a.take()).toEqual([]);
    chat.submit(a, "r1");
    await chat.answer();
    expect(a.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
    change(chat, "u-r0");
    expect(a.take()).toEqual([]);
  });
});

/** User code changes a stored message. */
function change(chat: TestChat, id: string): void {
  chat.world.transcript.update(user(id, "changed"));
  chat.engine.announceMessage(user(id, "changed"));
}
