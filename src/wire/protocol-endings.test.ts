// How turns end: outcomes, cancel, clear and recovery, as the requesting tab (A) and another one (B) see it.
import { describe, expect, test } from "vitest";
import { ANSWER_CHUNKS, numbers, terminals, TestChat, type Frame, type TestSocket } from "./chat-kit.test-support.ts";

const CHUNKS = numbers(ANSWER_CHUNKS).map(() => "chunk");

describe("each request gets exactly one live terminal per socket it concerns", () => {
  const endings: [string, (chat: TestChat, a: TestSocket) => Promise<void>, string, number][] = [
    ["completed", (chat) => chat.answer(), "completed", 1],
    ["failed in the stream", async (chat) => (await chat.start(), chat.fail()), "error", 1],
    ["failed before the stream", (chat) => chat.fail(), "error", 0],
    ["cancelled in the stream", async (chat) => (await chat.start(), chat.stop("r1")), "aborted", 1],
    ["cleared in the stream", async (chat) => (await chat.start(), chat.engine.clear()), "aborted", 1],
    ["a model that says nothing", async (chat) => (await chat.start(), chat.finish()), "completed", 1]
  ];
  test.each(endings)("%s", async (_name, play, outcome, atB) => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await play(chat, a);
    expect(terminals(a.take()).map((frame) => frame.outcome)).toEqual([outcome]);
    expect(terminals(b.take())).toHaveLength(atB);
  });

  const endingsInQueue: [string, (chat: TestChat, a: TestSocket) => Promise<void> | void, string][] = [
    ["cancelled", (chat) => chat.engine.cancel("r2"), "aborted"],
    ["cleared", (chat) => chat.engine.clear(), "skipped"],
    ["superseded", async (chat, a) => (chat.submit(a, "r3"), chat.finish()), "skipped"]
  ];
  test.each(endingsInQueue)("%s in the queue", async (_name, play, outcome) => {
    const chat = new TestChat();
    chat.concurrency = "latest";
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    chat.submit(a, "r2");
    await play(chat, a);
    await chat.idle();
    const ofSecond = (frames: Frame[]) => terminals(frames).filter(({ id }) => id === "r2");
    expect(ofSecond(a.take()).map((frame) => frame.outcome)).toEqual([outcome]);
    expect(ofSecond(b.take())).toEqual([]);
  });

  test("stopped in the queue and then cleared is ended once", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    chat.submit(a, "r2");
    chat.receive(a, { type: "cf_agent_chat_request_cancel", id: "r2" });
    chat.receive(a, { type: "cf_agent_chat_clear" });
    await chat.idle();
    expect(terminals(a.take()).map(({ id, outcome }) => `${String(id)} ${String(outcome)}`)).toEqual([
      "r2 aborted",
      "r1 aborted"
    ]);
  });

  test("a failure is one frame with plain text, done and error together", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    await chat.fail();
    expect(terminals(a.take())).toEqual([
      {
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "failed in stream",
        done: true,
        error: true,
        messageIds: ["u-r1"],
        outcome: "error"
      }
    ]);
  });
});

describe("cancel", () => {
  test("from any socket ends the request for all, with the partial message", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    await chat.text("part");
    b.take();
    chat.receive(b, { type: "cf_agent_chat_request_cancel", id: "r1" });
    await chat.idle();
    expect(b.takeTypes()).toEqual(["done:aborted", "msgs"]);
    expect(a.takeTypes().slice(-2)).toEqual(["done:aborted", "msgs"]);
    expect(chat.path.at(-1)?.parts.at(-1)).toMatchObject({ type: "text", text: "part" });
  });

  test("of an unknown request sends nothing", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.receive(a, { type: "cf_agent_chat_request_cancel", id: "unknown" });
    expect(a.take()).toEqual([]);
  });

  test("is not caused by closing a socket", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    chat.close(a);
    await chat.idle();
    expect(chat.engine.streaming()?.requestId).toBe("r1");
  });
});

describe("clear", () => {
  const clear = { type: "cf_agent_chat_clear" };

  test("reaches every tab but the one that asked, and empties the conversation", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    await chat.answer();
    a.take();
    b.take();
    chat.receive(a, clear);
    expect(a.take()).toEqual([]);
    expect(b.take()).toEqual([clear]);
    expect(chat.engine.transcript()).toEqual([]);
  });

  test("from server code reaches every tab", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.engine.clear();
    expect(a.take()).toEqual([clear]);
  });

  test("ends a running turn and skips the waiting ones, each for those it concerns", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    chat.submit(b, "r2");
    a.take();
    b.take();
    chat.receive(a, clear);
    expect(a.takeTypes()).toEqual(["done:aborted", "msgs"]);
    expect(b.takeTypes()).toEqual(["done:aborted", "msgs", "done:skipped", "clear"]);
    expect(chat.engine.transcript()).toEqual([]);
  });

  test("releases parked sockets and lets a submit right after it in, under drop too", async () => {
    const chat = new TestChat();
    chat.concurrency = "drop";
    const a = chat.tab();
    chat.submit(a, "r1");
    const late = chat.connect();
    expect(late.takeTypes()).toEqual(["pending", "msgs-connect"]);
    chat.receive(a, clear);
    // The transcript belongs to the turn that was stopped before its stream.
    expect(late.takeTypes()).toEqual(["msgs", "none", "clear"]);
    chat.submit(a, "r2");
    expect(chat.accepted.map(({ requestId }) => requestId)).toEqual(["r1", "r2"]);
    await chat.answer();
    expect(late.takeTypes()).toEqual(["msgs", ...CHUNKS, "done:completed", "message_updated"]);
  });

  test("ends the recovery it interrupts, exactly once", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    await chat.lose();
    chat.receive(a, clear);
    await chat.idle();
    expect(a.take().filter(({ type }) => type === "cf_agent_chat_recovering")).toEqual([
      { type: "cf_agent_chat_recovering", recovering: true, id: "r1" },
      { type: "cf_agent_chat_recovering", recovering: false }
    ]);
  });
});

describe("recovery", () => {
  test("is shown to clients that follow the stream, and its end to all", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    await chat.text("x");
    const offered = chat.connect();
    a.take();
    offered.take();
    await chat.lose();
    expect(a.takeTypes()).toEqual(["recovering", "retry"]);
    expect(offered.take()).toEqual([]);
    await chat.answer("y");
    for (const socket of [a, offered]) {
      expect(socket.takeTypes().filter((type) => type === "recovering")).toEqual(["recovering"]);
    }
  });
});
