// Joining a stream that is already there: connect, ask, acknowledge, wait.
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { FakeSocket, Scene, seqs, user } from "./chat-scene.test-support.ts";

const failed = { status: "error" as const, error: "Sorry." };

describe("connect", () => {
  test("when idle sends the transcript with connect:true and no offer", () => {
    const scene = new Scene();
    scene.turns.path = [user("old")];
    expect(scene.connect().take()).toEqual([
      { type: "cf_agent_chat_messages", messages: [user("old")], connect: true }
    ]);
  });

  test("during a stream sends an offer and no transcript", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    expect(scene.connect().take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1" }]);
  });

  test("while a continuation streams, the answer it extends is sent first, as it is stored now", () => {
    const scene = new Scene();
    const answer: UIMessage = { id: "m1", role: "assistant", parts: [{ type: "text", text: "so far" }] };
    scene.turns.path = [answer];
    scene.turns.admit({
      requestId: "r1",
      trigger: "auto-continuation",
      input: [],
      continuation: true,
      extendsMessageId: "m1"
    });
    scene.turns.start();
    expect(scene.connect().take()).toEqual([
      { type: "cf_agent_message_updated", message: answer },
      { type: "cf_agent_stream_resuming", id: "r1" }
    ]);
  });

  test("after a failure sends no error: nobody reads it yet", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.settle(undefined, failed);
    expect(scene.connect().takeTypes()).toEqual(["msgs-connect"]);
  });

  test("replays a recovery that is younger than 15 minutes", () => {
    const scene = new Scene();
    scene.turns.recover("root", scene.now);
    scene.now += 15 * 60_000 - 1;
    expect(scene.connect().take()[1]).toEqual({ type: "cf_agent_chat_recovering", recovering: true, id: "root" });
    scene.now += 1;
    expect(scene.connect().takeTypes()).toEqual(["msgs-connect"]);
  });
});

describe("resume while streaming", () => {
  test("an offered socket gets no live chunk, then all from 0, then the live ones", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    late.take();
    scene.turns.text("one");
    expect(late.take()).toEqual([]);
    scene.acknowledge(late, "r1");
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
    scene.turns.text("two");
    expect(seqs(late.take())).toEqual([4, 5, 6]);
    scene.turns.settle();
    expect(late.takeTypes()).toEqual(["done:completed", "msgs"]);
  });

  test("one that never acknowledges sees the end and the transcript only", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    scene.turns.text("one");
    scene.turns.settle();
    expect(late.takeTypes()).toEqual(["resuming", "done:completed", "msgs"]);
  });

  test("every resume request is answered with one frame that echoes its probe", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    late.take();
    scene.ask(late, "p1");
    scene.ask(late, "p2");
    scene.ask(late);
    expect(late.take()).toEqual([
      { type: "cf_agent_stream_resuming", id: "r1", probeId: "p1" },
      { type: "cf_agent_stream_resuming", id: "r1", probeId: "p2" },
      { type: "cf_agent_stream_resuming", id: "r1" }
    ]);
  });

  test("a request after the acknowledgement does not withhold live chunks again", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    scene.acknowledge(late, "r1");
    scene.ask(late, "p");
    late.take();
    scene.turns.text("one");
    expect(seqs(late.take())).toEqual([1, 2, 3]);
  });

  test("each acknowledgement causes one complete replay", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    scene.acknowledge(late, "r1");
    scene.acknowledge(late, "r1");
    expect(late.takeTypes()).toEqual([
      "resuming",
      "replay-chunk",
      "replay-complete",
      "replay-chunk",
      "replay-complete"
    ]);
  });

  test("a socket that closes in the middle of a replay stops it, and the next one starts over", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    scene.turns.text("one");
    const late = scene.connect();
    late.take();
    late.framesUntilClose = 2;
    scene.acknowledge(late, "r1");
    expect(seqs(late.take())).toEqual([0, 1]);
    const next = scene.connect();
    scene.acknowledge(next, "r1");
    expect(seqs(next.take())).toEqual([0, 1, 2, 3]);
  });

  test("an acknowledgement of an older request is answered, and the stream that is there now offered anew", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.answer();
    scene.submit(a, "r2");
    scene.turns.start();
    const late = scene.connect();
    late.take();
    scene.acknowledge(late, "r1");
    const frames = late.take();
    expect(frames.at(-3)).toMatchObject({ id: "r1", done: true, replay: true, outcome: "completed" });
    expect(frames.at(-2)).toEqual({ type: "cf_agent_chat_messages", messages: scene.turns.path });
    expect(frames.at(-1)).toEqual({ type: "cf_agent_stream_resuming", id: "r2" });
    scene.turns.text("one");
    expect(late.take()).toEqual([]);
    scene.acknowledge(late, "r2");
    expect(seqs(late.take())).toEqual([0, 1, 2, 3]);
  });

  test("the end of a stream frees a socket that never acknowledged for the next one", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.start();
    const late = scene.connect();
    scene.turns.settle(undefined, failed);
    late.take();
    scene.submit(a, "r2");
    scene.turns.answer();
    expect(late.takeTypes().slice(0, 3)).toEqual(["msgs", "chunk", "chunk"]);
  });
});

describe("resume before the stream exists", () => {
  test("waits with pending, and gets the offer when it streams", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    const late = scene.connect();
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r1" });
    scene.ask(late, "p");
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r1", probeId: "p" });
    scene.turns.start();
    expect(late.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1" }]);
    scene.acknowledge(late, "r1");
    scene.turns.text("one");
    expect(seqs(late.take())).toEqual([0, 1, 2, 3]);
  });

  test("is released without a reason when the turn ends without a stream", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    const late = scene.connect();
    late.take();
    scene.turns.settle(undefined, failed);
    expect(late.take()).toEqual([{ type: "cf_agent_stream_resume_none" }]);
  });

  test("a superseded turn does not release those who wait", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.submit(a, "r2");
    const late = scene.connect();
    expect(late.take()[0]).toEqual({ type: "cf_agent_stream_pending", id: "r2" });
    scene.turns.settle("r1", { status: "skipped", reason: "superseded" });
    expect(late.take()).toEqual([]);
    scene.turns.start();
    expect(late.takeTypes()).toContain("resuming");
  });

  test("a parked socket still receives broadcasts", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    const late = scene.connect();
    late.take();
    scene.turns.readers.messageUpdated(user("u"));
    expect(late.takeTypes()).toEqual(["message_updated"]);
  });
});

describe("resume of a failed turn", () => {
  test("every tab is offered it, gets the partial as a replay and then the error, until something newer happens", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.start();
    scene.turns.text("part");
    scene.turns.settle(undefined, failed);
    for (const tab of [scene.tab(), scene.tab()]) {
      scene.ask(tab, "p");
      expect(tab.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1", probeId: "p" }]);
      scene.acknowledge(tab, "r1");
      const frames = tab.take();
      expect(seqs(frames)).toEqual([0, 1, 2, 3]);
      // The partial answer was rebuilt by the client; this is what is stored of it.
      expect(frames.at(-1)).toEqual({ type: "cf_agent_chat_messages", messages: scene.turns.path });
      expect(frames.at(-2)).toEqual({
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "Sorry.",
        done: true,
        error: true,
        messageIds: ["u-r1"],
        outcome: "error"
      });
    }
    scene.submit(a, "r2");
    scene.turns.answer();
    const tab = scene.tab();
    scene.ask(tab);
    expect(tab.takeTypes()).toEqual(["none:idle"]);
  });

  test("is not offered after a clear", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.settle(undefined, failed);
    scene.receive(a, { type: "cf_agent_chat_clear" });
    a.take();
    scene.ask(a, "p");
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" }]);
  });

  test("does not withhold anything: the socket hears the next stream live", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.settle(undefined, failed);
    scene.ask(b);
    scene.submit(a, "r2");
    b.take();
    scene.turns.answer();
    expect(b.takeTypes().slice(0, 2)).toEqual(["chunk", "chunk"]);
  });

  test("skips the error when the socket closes during the replay", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    scene.turns.text("part");
    scene.turns.settle(undefined, failed);
    const late = scene.tab();
    late.framesUntilClose = 1;
    scene.acknowledge(late, "r1");
    expect(late.takeTypes()).toEqual(["replay-chunk"]);
  });
});

describe("resume with nothing there", () => {
  test("is answered idle with its probe", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.ask(a, "p");
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "idle", probeId: "p" }]);
  });

  test("an acknowledgement after completion replays what is kept and ends", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.answer();
    a.take();
    scene.acknowledge(a, "r1");
    const frames = a.take();
    expect(seqs(frames)).toEqual([0, 1, 2, 3]);
    expect(frames.at(-1)).toEqual({ type: "cf_agent_chat_messages", messages: scene.turns.path });
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

  test("an acknowledgement of an unknown request is ended at once", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.acknowledge(a, "unknown");
    expect(a.take()).toEqual([
      { type: "cf_agent_use_chat_response", id: "unknown", body: "", done: true, replay: true }
    ]);
  });
});

describe("two live sockets of one client", () => {
  test("each has its own state, and closing one leaves the other's intact", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const [old, current] = [scene.connect(), scene.connect()];
    scene.acknowledge(current, "r1");
    old.take();
    current.take();
    scene.turns.chunk({ type: "text-start", id: "t" });
    expect(old.take()).toEqual([]);
    expect(seqs(current.take())).toEqual([1]);
    scene.close(old);
    scene.turns.chunk({ type: "text-delta", id: "t", delta: "x" });
    expect(seqs(current.take())).toEqual([2]);
  });

  test("another wrapper of the same socket is the same client", () => {
    const scene = new Scene();
    scene.submit(scene.tab(), "r1");
    scene.turns.start();
    const late = scene.connect();
    const wrapper = { key: late.key, isOpen: true, send: (frame: string) => late.send(frame) };
    scene.protocol.receive(wrapper, { type: "resume-ack", requestId: "r1" });
    late.take();
    scene.turns.text("one");
    expect(seqs(late.take())).toEqual([1, 2, 3]);
  });
});

test("a socket that closed without a word is forgotten with the next new one", () => {
  const scene = new Scene();
  const a = scene.tab();
  a.isOpen = false;
  scene.submit(scene.tab(), "r1");
  scene.turns.answer();
  expect(a.take()).toEqual([]);
  expect(new FakeSocket().isOpen).toBe(true);
});
