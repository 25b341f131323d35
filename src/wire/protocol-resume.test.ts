// Joining a stream that is already there: connect, ask, acknowledge, wait.
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { ANSWER_CHUNKS, numbers, seqs, START_CHUNKS, TestChat, TestSocket, user } from "./chat-kit.test-support.ts";

describe("connect", () => {
  test("when idle sends the transcript with connect:true and no offer", async () => {
    const chat = new TestChat();
    chat.store(user("old"));
    expect(chat.connect().take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("old")], connect: true }]);
  });

  test("during a stream sends an offer and no transcript", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    expect(chat.connect().take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1" }]);
  });

  test("while a continuation streams, the answer it extends is sent first, as it is stored now", async () => {
    const chat = new TestChat();
    const answer: UIMessage = { id: "m1", role: "assistant", parts: [{ type: "text", text: "so far" }] };
    chat.store(user("u1"), answer);
    void chat.engine.admit({
      requestId: "r1",
      trigger: "auto-continuation",
      input: [],
      continuation: true,
      extendsMessageId: "m1"
    });
    await chat.start();
    expect(chat.connect().take()).toEqual([
      { type: "cf_agent_message_updated", message: answer },
      { type: "cf_agent_stream_resuming", id: "r1" }
    ]);
  });

  test("after a failure sends no error: the client has not asked for the stream yet", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.fail();
    expect(chat.connect().takeTypes()).toEqual(["msgs-connect"]);
  });

  test("replays a recovery that is younger than 15 minutes", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "root");
    await chat.start();
    await chat.lose();
    chat.now = (chat.engine.recovering()?.since ?? 0) + 15 * 60_000 - 1;
    const frames = chat.connect().take();
    expect(frames.at(-1)).toEqual({ type: "cf_agent_chat_recovering", recovering: true, id: "root" });
    chat.now += 1;
    expect(chat.connect().takeTypes()).toEqual(["pending", "msgs-connect"]);
  });
});

describe("resume while streaming", () => {
  test("an offered socket gets no live chunk, then all from 0, then the live ones", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    late.take();
    await chat.text("one");
    expect(late.take()).toEqual([]);
    chat.acknowledge(late, "r1");
    const replayed = late.take();
    expect(seqs(replayed)).toEqual([0, 1, 2, 3]);
    expect(replayed.slice(0, -1).every((frame) => frame.replay === true && frame.done === false)).toBe(true);
    expect(replayed.at(-1)).toEqual({
      type: "cf_agent_use_chat_response",
      id: "r1",
      body: "",
      done: false,
      replay: true,
      replayComplete: true
    });
    await chat.text("two");
    expect(seqs(late.take())).toEqual([4]);
    late.take();
    await chat.finish();
    expect(late.takeTypes().slice(-2)).toEqual(["done:completed", "msgs"]);
  });

  test("one that never acknowledges sees the end and the transcript only", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    await chat.text("one");
    await chat.finish();
    expect(late.takeTypes()).toEqual(["resuming", "done:completed", "msgs"]);
  });

  test("every resume request is answered with one frame that echoes its probe", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    late.take();
    chat.ask(late, "p1");
    chat.ask(late, "p2");
    chat.ask(late);
    expect(late.take()).toEqual([
      { type: "cf_agent_stream_resuming", id: "r1", probeId: "p1" },
      { type: "cf_agent_stream_resuming", id: "r1", probeId: "p2" },
      { type: "cf_agent_stream_resuming", id: "r1" }
    ]);
  });

  test("a request after the acknowledgement does not withhold live chunks again", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    chat.acknowledge(late, "r1");
    chat.ask(late, "p");
    late.take();
    await chat.text("one");
    expect(seqs(late.take())).toEqual([2, 3]);
  });

  test("each acknowledgement causes one complete replay", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    chat.acknowledge(late, "r1");
    chat.acknowledge(late, "r1");
    const replay = [...numbers(START_CHUNKS).map(() => "replay-chunk"), "replay-complete"];
    expect(late.takeTypes()).toEqual(["resuming", ...replay, ...replay]);
  });

  test("a socket that closes in the middle of a replay stops it, and the next one starts over", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    await chat.text("one");
    const late = chat.connect();
    late.take();
    late.framesUntilClose = 2;
    chat.acknowledge(late, "r1");
    expect(seqs(late.take())).toEqual([0, 1]);
    const next = chat.connect();
    chat.acknowledge(next, "r1");
    expect(seqs(next.take())).toEqual([0, 1, 2, 3]);
  });

  test("an acknowledgement of an older request is answered, and the stream that is there now offered anew", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.answer();
    chat.submit(a, "r2");
    await chat.start();
    const late = chat.connect();
    late.take();
    chat.acknowledge(late, "r1");
    const frames = late.take();
    expect(frames.at(-3)).toMatchObject({ id: "r1", done: true, replay: true, outcome: "completed" });
    expect(frames.at(-2)).toEqual({ type: "cf_agent_chat_messages", messages: chat.path });
    expect(frames.at(-1)).toEqual({ type: "cf_agent_stream_resuming", id: "r2" });
    await chat.text("one");
    expect(late.take()).toEqual([]);
    chat.acknowledge(late, "r2");
    expect(seqs(late.take())).toEqual([0, 1, 2, 3]);
  });

  test("the end of a stream frees a socket that never acknowledged for the next one", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    const late = chat.connect();
    await chat.fail();
    late.take();
    chat.submit(a, "r2");
    await chat.answer();
    expect(late.takeTypes().slice(0, 3)).toEqual(["msgs", "chunk", "chunk"]);
  });
});

describe("resume before the stream exists", () => {
  test("waits with pending, and gets the offer when it streams", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    const late = chat.connect();
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r1" });
    chat.ask(late, "p");
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r1", probeId: "p" });
    await chat.start();
    expect(late.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1" }]);
    chat.acknowledge(late, "r1");
    await chat.text("one");
    expect(seqs(late.take())).toEqual([0, 1, 2, 3]);
  });

  test("is released without a reason when the turn ends without a stream", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    const late = chat.connect();
    late.take();
    await chat.fail();
    expect(late.take()).toEqual([{ type: "cf_agent_stream_resume_none" }]);
  });

  test("a superseded turn does not release clients that wait", async () => {
    const chat = new TestChat();
    chat.concurrency = "latest";
    const a = chat.tab();
    for (const id of ["r1", "r2", "r3"]) chat.submit(a, id);
    const late = chat.connect();
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r3" });
    await chat.fail();
    expect([chat.outcomes.get("r1")?.status, chat.outcomes.get("r2")?.status]).toEqual(["error", "skipped"]);
    expect(late.take()).toEqual([]);
    await chat.start();
    expect(late.takeTypes()).toContain("resuming");
  });

  test("a parked socket still receives broadcasts", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    const late = chat.connect();
    late.take();
    chat.engine.announceMessage(user("u"));
    expect(late.takeTypes()).toEqual(["message_updated"]);
  });
});

describe("resume of a failed turn", () => {
  test("every tab is offered it, gets the partial as a replay and then the error, until something newer happens", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.start();
    await chat.text("part");
    await chat.fail();
    for (const tab of [chat.tab(), chat.tab()]) {
      chat.ask(tab, "p");
      expect(tab.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1", probeId: "p" }]);
      chat.acknowledge(tab, "r1");
      const frames = tab.take();
      expect(seqs(frames)).toEqual([0, 1, 2, 3]);
      // The partial answer was rebuilt by the client; this is what is stored of it.
      expect(frames.at(-1)).toEqual({ type: "cf_agent_chat_messages", messages: chat.path });
      expect(frames.at(-2)).toEqual({
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "failed in stream",
        done: true,
        error: true,
        messageIds: ["u-r1"],
        outcome: "error"
      });
    }
    chat.submit(a, "r2");
    await chat.answer();
    const tab = chat.tab();
    chat.ask(tab);
    expect(tab.takeTypes()).toEqual(["none:idle"]);
  });

  test("is not offered after a clear", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.fail();
    chat.receive(a, { type: "cf_agent_chat_clear" });
    a.take();
    chat.ask(a, "p");
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" }]);
  });

  test("does not withhold anything: the socket receives the next stream live", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.fail();
    chat.ask(b);
    chat.submit(a, "r2");
    b.take();
    await chat.answer();
    expect(b.takeTypes().slice(0, 2)).toEqual(["chunk", "chunk"]);
  });

  test("skips the error when the socket closes during the replay", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    await chat.text("part");
    await chat.fail();
    const late = chat.tab();
    late.framesUntilClose = 1;
    chat.acknowledge(late, "r1");
    expect(late.takeTypes()).toEqual(["replay-chunk"]);
  });
});

describe("resume with nothing there", () => {
  test("is answered idle with its probe", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.ask(a, "p");
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" }]);
  });

  test("an acknowledgement after completion replays what is kept and ends", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.answer();
    a.take();
    chat.acknowledge(a, "r1");
    const frames = a.take();
    expect(seqs(frames)).toEqual(numbers(ANSWER_CHUNKS));
    expect(frames.at(-1)).toEqual({ type: "cf_agent_chat_messages", messages: chat.path });
    expect(frames.at(-2)).toEqual({
      type: "cf_agent_use_chat_response",
      id: "r1",
      body: "",
      done: true,
      replay: true,
      messageIds: ["u-r1"],
      outcome: "completed"
    });
  });

  test("an acknowledgement of an unknown request is ended at once", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.acknowledge(a, "unknown");
    expect(a.take()).toEqual([
      { type: "cf_agent_use_chat_response", id: "unknown", body: "", done: true, replay: true }
    ]);
  });
});

describe("two live sockets of one client", () => {
  test("each has its own state, and closing one leaves the other's intact", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const [old, current] = [chat.connect(), chat.connect()];
    chat.acknowledge(current, "r1");
    old.take();
    current.take();
    await chat.text("x");
    expect(old.take()).toEqual([]);
    expect(seqs(current.take())).toEqual([2, 3]);
    chat.close(old);
    await chat.text("y");
    expect(seqs(current.take())).toEqual([4]);
  });

  test("another wrapper of the same socket is the same client", async () => {
    const chat = new TestChat();
    chat.submit(chat.tab(), "r1");
    await chat.start();
    const late = chat.connect();
    const wrapper = { key: late.key, isOpen: true, send: (frame: string) => late.send(frame) };
    chat.protocol.receive(wrapper, { type: "resume-ack", requestId: "r1" });
    late.take();
    await chat.text("one");
    expect(seqs(late.take())).toEqual([2, 3]);
  });
});

test("a socket that closed without a word is forgotten with the next new one", async () => {
  const chat = new TestChat();
  const a = chat.tab();
  a.isOpen = false;
  chat.submit(chat.tab(), "r1");
  await chat.answer();
  expect(a.take()).toEqual([]);
  expect(new TestSocket().isOpen).toBe(true);
});
