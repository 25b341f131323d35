// A turn from its request to its end, as the requesting tab (A) and another one (B) see it.
import { describe, expect, test, vi } from "vitest";
import { FakeSocket, Scene, seqs, user, type Frame } from "./chat-scene.test-support.ts";

const CHUNKS = ["chunk", "chunk", "chunk", "chunk"];

describe("a normal turn", () => {
  test("A is sent its stream and the stored answer, and no transcript", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    expect(a.take()).toEqual([]);
    scene.turns.answer("hi");
    expect(a.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
  });

  test("B is sent a snapshot with the question before the first chunk", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    expect(b.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1")] }]);
    scene.turns.answer("hi");
    expect(b.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
  });

  test("A is included when a snapshot was sent to it less than two seconds before its request", () => {
    const scene = new Scene();
    const a = scene.connect();
    scene.now += 1_999;
    a.take();
    scene.submit(a, "r1");
    expect(a.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1")] }]);
    scene.turns.answer();
    a.take();
    scene.now += 2_000;
    scene.submit(a, "r2");
    expect(a.take()).toEqual([]);
  });

  test.each([
    { shows: "the answer it heard", messages: ["u-r1", "a1", "u-r2"], sent: [] },
    { shows: "its new question only", messages: ["u-r2"], sent: [] },
    { shows: "no answer yet", messages: ["u-r1", "u-r2"], sent: ["msgs"] }
  ])("A asks again at once and posts $shows: it is sent $sent", ({ messages, sent }) => {
    const scene = new Scene();
    const a = scene.connect();
    scene.submit(a, "r1");
    scene.turns.answer();
    a.take();
    scene.now += 10;
    const shown = new Map(scene.turns.path.map((message) => [message.id, message]));
    scene.submit(a, "r2", { messages: messages.map((id) => shown.get(id) ?? user(id)) });
    expect(a.takeTypes()).toEqual(sent);
  });

  test("start.messageId equals the id of the message that closes the turn and of the stored one", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.answer("hi");
    const frames = a.take();
    const start = JSON.parse(String(frames[0]?.body)) as { messageId: string };
    const stored = scene.turns.path.at(-1);
    expect(stored?.id).toBe(start.messageId);
    expect(frames.at(-1)).toEqual({ type: "cf_agent_message_updated", message: stored });
  });

  test("chunks are numbered from 0 and carry their bodies unchanged", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.answer("hi");
    const frames = a.take();
    expect(seqs(frames)).toEqual([0, 1, 2, 3]);
    expect(frames[2]).toEqual({
      type: "cf_agent_use_chat_response",
      id: "r1",
      body: '{"type":"text-delta","id":"t","delta":"hi"}',
      done: false,
      seq: 2
    });
  });

  test("the terminal carries outcome and the ids of the trailing user messages", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1", { messages: [user("u1"), user("u2")] });
    scene.turns.answer();
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

  test("the answer is stored before the terminal, and the closing frame follows it with nothing between", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    const order: string[] = [];
    for (const [name, socket] of [
      ["a", a],
      ["b", b]
    ] as const) {
      socket.onFrame = (frame) => {
        if (frame.done) order.push(`${name} terminal, stored ${scene.turns.path.length}`);
        if (frame.type === "cf_agent_message_updated") order.push(`${name} message`);
      };
    }
    scene.submit(a, "r1");
    scene.turns.answer();
    // One socket after the other, in one synchronous block.
    expect(order).toEqual(["a terminal, stored 2", "a message", "b terminal, stored 2", "b message"]);
  });

  test("bytes to a client that follows do not grow with history", () => {
    const bytesOf = (history: number) => {
      const scene = new Scene();
      scene.turns.path = Array.from({ length: history }, (_, index) => ({ ...user(`old${index}`), role: "assistant" }));
      const a = scene.tab();
      scene.turns.transcriptReads = 0;
      scene.submit(a, "r1");
      scene.turns.answer();
      expect(scene.turns.transcriptReads).toBe(0);
      return JSON.stringify(a.take()).length;
    };
    expect(bytesOf(1_000)).toBe(bytesOf(0));
  });

  test("a client that posts its whole list is known to show it even after the object forgot its sockets", () => {
    const scene = new Scene();
    // Woken from hibernation: the socket is there, no connect was seen.
    const a = new FakeSocket();
    scene.sockets.push(a);
    scene.turns.path = [user("old")];
    scene.submit(a, "r1");
    scene.turns.answer();
    expect(a.takeTypes().at(-1)).toBe("message_updated");
  });

  test("one that posts a part of it is sent the transcript then", () => {
    const scene = new Scene();
    const a = new FakeSocket();
    scene.sockets.push(a);
    scene.turns.path = [user("old")];
    scene.submit(a, "r1", { messages: [user("new")] });
    scene.turns.answer();
    expect(scene.turns.path.map(({ id }) => id)).toEqual(["old", "new", "a1"]);
    expect(a.takeTypes().at(-1)).toBe("msgs");
  });

  test("nobody connected costs no transcript", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.close(a);
    scene.turns.transcriptReads = 0;
    scene.turns.answer();
    expect(scene.turns.transcriptReads).toBe(0);
  });
});

describe("the closing frame is the whole transcript", () => {
  const closings: [string, (scene: Scene, a: FakeSocket) => void][] = [
    ["when nothing was stored", ({ turns }) => (turns.start(), turns.settle())],
    ["when the turn failed", ({ turns }) => (turns.start(), turns.text("x"), turns.settle(undefined, failed))],
    ["when it was stopped", ({ turns }) => (turns.start(), turns.text("x"), turns.cancel("r1"))],
    [
      "when a stored message changed meanwhile",
      ({ turns }) => (turns.start(), turns.readers.messageUpdated(user("old")), turns.text("x"), turns.settle())
    ],
    [
      "when messages joined from inside the turn",
      ({ turns }) => (turns.start(), turns.append(user("note")), turns.text("x"), turns.settle())
    ],
    ["when messages joined silently before the stream", ({ turns }) => (turns.append(user("note")), turns.answer())],
    [
      "when the tree changed under it",
      ({ turns, protocol }) => (
        turns.start(),
        protocol.messagesChanged({ kind: "restructured" }),
        turns.text("x"),
        turns.settle()
      )
    ],
    ["when it streamed twice", ({ turns }) => (turns.start(), turns.start(), turns.text("x"), turns.settle())],
    [
      "when the client had changed its own list",
      (scene, a) => {
        vi.spyOn(console, "warn").mockImplementation(() => undefined);
        scene.receive(a, { type: "cf_agent_chat_messages", messages: [] });
        scene.turns.answer();
      }
    ]
  ];
  test.each(closings)("%s", (_name, play) => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    play(scene, a);
    expect(a.take().at(-1)).toEqual({ type: "cf_agent_chat_messages", messages: scene.turns.path });
  });

  test("for both of two overlapping turns", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.start();
    scene.submit(b, "r2");
    scene.turns.text("x");
    scene.turns.settle();
    expect(a.takeTypes().at(-1)).toBe("msgs");
    scene.turns.answer();
    expect(a.takeTypes().at(-1)).toBe("msgs");
    expect(b.takeTypes().at(-1)).toBe("msgs");
  });
});

const failed = { status: "error" as const, error: "Sorry." };

test("writes that change nothing on a screen do not cost a transcript", () => {
  const scene = new Scene();
  const a = scene.tab();
  scene.submit(a, "r1");
  scene.protocol.messagesChanged({ kind: "repeated", id: "u-r1" });
  scene.protocol.messagesChanged({ kind: "shortened", id: "old" });
  scene.turns.answer();
  expect(a.takeTypes().at(-1)).toBe("message_updated");
});

describe("each request gets exactly one live terminal per socket it concerns", () => {
  const endings: [string, (scene: Scene) => void, string, number][] = [
    ["completed", ({ turns }) => turns.answer(), "completed", 1],
    ["failed in the stream", ({ turns }) => (turns.start(), turns.settle(undefined, failed)), "error", 1],
    ["failed before the stream", ({ turns }) => turns.settle(undefined, failed), "error", 0],
    ["cancelled in the stream", ({ turns }) => (turns.start(), turns.cancel("r1")), "aborted", 1],
    ["cancelled before it", ({ turns }) => turns.cancel("r1"), "aborted", 0],
    ["skipped", ({ turns }) => turns.settle(undefined, { status: "skipped", reason: "superseded" }), "skipped", 0],
    ["cleared in the stream", ({ turns }) => (turns.start(), turns.clear()), "aborted", 1],
    ["cleared before it", ({ turns }) => turns.clear(), "skipped", 0],
    ["a model that says nothing", ({ turns }) => turns.settle(), "completed", 0]
  ];
  test.each(endings)("%s", (_name, play, outcome, atB) => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    play(scene);
    expect(terminals(a.take()).map((frame) => frame.outcome)).toEqual([outcome]);
    expect(terminals(b.take())).toHaveLength(atB);
  });

  test("a failure is one frame with plain text, done and error together", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.start();
    scene.turns.settle(undefined, failed);
    expect(terminals(a.take())).toEqual([
      {
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "Sorry.",
        done: true,
        error: true,
        messageIds: ["u-r1"],
        outcome: "error"
      }
    ]);
  });
});

describe("server-started turns", () => {
  test("are announced to all, streamed to all under the server's id, and closed like any other", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.turns.admit({ requestId: "server", trigger: "programmatic", input: [user("task")] });
    scene.turns.answer();
    for (const socket of [a, b]) {
      const frames = socket.take();
      expect(frames[0]).toEqual({ type: "cf_agent_chat_messages", messages: [user("task")] });
      expect(frames.slice(1, -1).every((frame) => frame.id === "server")).toBe(true);
      expect(frames.at(-1)?.type).toBe("cf_agent_message_updated");
    }
  });

  test("that fail before they stream tell nobody, and are reported to whoever asks", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.turns.admit({ requestId: "server", trigger: "programmatic", input: [] });
    scene.turns.settle(undefined, failed);
    expect(a.take()).toEqual([]);
    scene.ask(a);
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "server" }]);
  });
});

describe("sockets", () => {
  test("one bad socket does not stop a broadcast", () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const scene = new Scene();
    const [a, b, c] = [scene.tab(), scene.tab(), scene.tab()];
    b.send = () => {
      throw new Error("broken");
    };
    scene.submit(a, "r1");
    scene.turns.answer();
    expect(c.takeTypes()).toEqual(["msgs", ...CHUNKS, "done:completed", "message_updated"]);
  });

  test("a client that wants no unsolicited frames gets the answers to its own request and nothing else", () => {
    const scene = new Scene();
    const loud = scene.tab();
    const a = new FakeSocket();
    scene.sockets.push(a);
    scene.quiet.add(a);
    scene.submit(loud, "r0");
    scene.turns.answer();
    expect(a.take()).toEqual([]);
    scene.submit(a, "r1");
    scene.turns.answer();
    expect(a.takeTypes()).toEqual([...CHUNKS, "done:completed", "message_updated"]);
    scene.turns.readers.messageUpdated(user("u"));
    expect(a.take()).toEqual([]);
  });
});

describe("cancel", () => {
  test("from any socket ends the request for all, with the partial message", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.start();
    scene.turns.text("part");
    b.take();
    scene.receive(b, { type: "cf_agent_chat_request_cancel", id: "r1" });
    expect(b.takeTypes()).toEqual(["done:aborted", "msgs"]);
    expect(a.takeTypes().slice(-2)).toEqual(["done:aborted", "msgs"]);
    expect(scene.turns.path.at(-1)?.parts).toMatchObject([{ type: "text", text: "part" }]);
  });

  test("of an unknown request sends nothing", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.receive(a, { type: "cf_agent_chat_request_cancel", id: "unknown" });
    expect(a.take()).toEqual([]);
  });

  test("is not caused by closing a socket", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.start();
    scene.close(a);
    expect(scene.turns.cancelled).toEqual([]);
    expect(scene.turns.streaming()?.requestId).toBe("r1");
  });
});

describe("clear", () => {
  const clear = { type: "cf_agent_chat_clear" };

  test("reaches every tab but the one that asked, and empties the conversation", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    scene.turns.answer();
    a.take();
    b.take();
    scene.receive(a, clear);
    expect(a.take()).toEqual([]);
    expect(b.take()).toEqual([clear]);
    expect(scene.turns.shown()).toEqual([]);
  });

  test("from server code reaches every tab", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.turns.clear();
    expect(a.take()).toEqual([clear]);
  });

  test("ends a running turn and skips the waiting ones, each for those it concerns", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.start();
    scene.submit(b, "r2");
    a.take();
    b.take();
    scene.receive(a, clear);
    expect(a.takeTypes()).toEqual(["done:aborted", "msgs"]);
    expect(b.takeTypes()).toEqual(["done:aborted", "msgs", "done:skipped", "clear"]);
  });

  test("releases parked sockets and lets a submit right after it in, under drop too", () => {
    const scene = new Scene();
    scene.concurrency = "drop";
    const a = scene.tab();
    scene.submit(a, "r1");
    const late = scene.connect();
    expect(late.takeTypes()).toEqual(["pending", "msgs-connect"]);
    scene.receive(a, clear);
    expect(late.takeTypes()).toEqual(["none", "clear"]);
    scene.submit(a, "r2");
    expect(scene.turns.admissions.map(({ requestId }) => requestId)).toEqual(["r1", "r2"]);
    scene.turns.answer();
    expect(late.takeTypes()).toEqual(["msgs", ...CHUNKS, "done:completed", "message_updated"]);
  });

  test("recovery is told to those who follow, and its end to all", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.start();
    const offered = scene.connect();
    a.take();
    offered.take();
    scene.turns.recover("r0");
    scene.turns.recover("r0");
    expect(a.takeTypes()).toEqual(["recovering"]);
    expect(offered.take()).toEqual([]);
    scene.turns.recover(undefined);
    scene.turns.recover(undefined);
    expect(a.takeTypes()).toEqual(["recovering"]);
    expect(offered.takeTypes()).toEqual(["recovering"]);
  });

  test("ends the recovery it interrupts, exactly once", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.turns.recover("r1");
    scene.turns.recover("r1");
    scene.receive(a, clear);
    scene.turns.recover(undefined);
    expect(a.take()).toEqual([
      { type: "cf_agent_chat_recovering", recovering: true, id: "r1" },
      { type: "cf_agent_chat_recovering", recovering: false }
    ]);
  });
});

function terminals(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame) => frame.done === true);
}
