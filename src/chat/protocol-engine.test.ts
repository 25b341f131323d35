// The protocol on the real turn engine: the promises that depend on what the engine announces, and when.
import { tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createGate, failInBand, reply, scriptedModel, text, toolCall, type Step } from "../testing/model/index.ts";
import { World, type WorldInit } from "../turn/engine.test-support.ts";
import { compareShown, FakeSocket, requestFrame, seqs, summary, user } from "./chat-scene.test-support.ts";
import { parseChatFrame } from "./commands.ts";
import { ChatProtocol } from "./protocol.ts";

function stage(steps: Step[], init: Omit<WorldInit, "model"> = {}) {
  const model = scriptedModel(steps);
  const world = new World({ ...init, model: () => model });
  const sockets: FakeSocket[] = [];
  const { engine, transcript } = world;
  let now = 0;
  const protocol = new ChatProtocol({
    turns: engine,
    sockets: { list: () => sockets.filter(({ isOpen }) => isOpen) },
    clock: { now: () => (now += 10_000) },
    reconciler: {
      plan: (posted) => {
        const input = posted.filter(({ id }) => !transcript.has(id));
        const pathIds = transcript.path().map(({ id }) => id);
        const storedText = (id: string) => (transcript.has(id) ? JSON.stringify(transcript.get(id)) : undefined);
        return { input, changesStored: false, clientShows: compareShown({ posted, input, pathIds, storedText }) };
      },
      apply: () => undefined
    },
    concurrency: () => "queue",
    describeFailure: () => "failed",
    emit: () => undefined
  });
  const send = (socket: FakeSocket, frame: object) => {
    const command = parseChatFrame(JSON.stringify(frame));
    if (command) protocol.receive(socket, command);
  };
  const connect = () => {
    const socket = new FakeSocket();
    sockets.push(socket);
    protocol.connected(socket);
    return socket;
  };
  const tab = () => {
    const socket = connect();
    socket.take();
    return socket;
  };
  const submit = (socket: FakeSocket, id: string) =>
    send(socket, requestFrame(id, { messages: [...engine.transcript(), user(`u-${id}`)] }));
  return { world, engine, send, connect, tab, submit };
}

/** Until a frame of this kind has come. */
function heard(socket: FakeSocket, kind: string): Promise<void> {
  if (socket.frames.some((frame) => summary(frame) === kind)) return Promise.resolve();
  return new Promise((resolve) => {
    socket.onFrame = (frame) => {
      if (summary(frame) === kind) resolve();
    };
  });
}

describe("on the real engine", () => {
  test("a turn reaches A as chunks, its end and the stored answer, and B after a snapshot of the question", async () => {
    const s = stage([reply(text("Hel"), text("lo"))]);
    const [a, b] = [s.tab(), s.tab()];
    s.submit(a, "r1");
    await heard(b, "message_updated");
    const frames = a.take();
    expect(seqs(frames)).toEqual(seqs(frames).map((_, index) => index));
    expect(frames.slice(-2).map(summary)).toEqual(["done:completed", "message_updated"]);
    expect(frames.at(-1)?.message).toEqual(s.engine.transcript().at(-1));
    expect(b.take().map(summary)[0]).toBe("msgs");
  });

  test("a client that joins in the middle has every chunk once and in order", async () => {
    const gate = createGate();
    const s = stage([reply(text("one "), gate.wait(), text("two"))]);
    const a = s.tab();
    s.submit(a, "r1");
    await gate.reached;
    await heard(a, "chunk");
    const late = s.connect();
    expect(late.takeTypes()).toEqual(["resuming"]);
    s.send(late, { type: "cf_agent_stream_resume_ack", id: "r1" });
    gate.open();
    await heard(late, "done:completed");
    const live = a.frames.filter((frame) => typeof frame.seq === "number").map(({ seq, body }) => [seq, body]);
    expect(late.frames.filter((frame) => typeof frame.seq === "number").map(({ seq, body }) => [seq, body])).toEqual(
      live
    );
    expect(late.takeTypes().at(-1)).toBe("msgs");
  });

  test("a failure is told, recorded and shown to a tab that opens later", async () => {
    const s = stage([reply(text("part"), failInBand("boom"))]);
    const a = s.tab();
    s.submit(a, "r1");
    await heard(a, "msgs");
    expect(a.takeTypes().slice(-2)).toEqual(["done:error!", "msgs"]);
    const later = s.tab();
    s.send(later, { type: "cf_agent_stream_resume_request", probeId: "p" });
    expect(later.take()).toEqual([{ type: "cf_agent_stream_resuming", id: "r1", probeId: "p" }]);
    s.send(later, { type: "cf_agent_stream_resume_ack", id: "r1" });
    expect(later.take().find((frame) => frame.done === true)).toMatchObject({ id: "r1", error: true });
  });

  test("a client tool's result continues the same message, offered to A and live to B", async () => {
    const ask = tool({ inputSchema: z.object({}) });
    const s = stage([reply(toolCall("ask", {}, { id: "c1" })), reply(text("thanks"))], { tools: { ask } });
    const [a, b] = [s.tab(), s.tab()];
    s.submit(a, "r1");
    await heard(b, "message_updated");
    a.take();
    b.take();
    s.send(a, { type: "cf_agent_tool_result", toolCallId: "c1", toolName: "ask", output: 1, autoContinue: true });
    s.send(a, { type: "cf_agent_stream_resume_request" });
    expect(a.takeTypes()).toEqual(["message_updated", "pending"]);
    await heard(b, "msgs");
    expect(a.takeTypes()).toEqual(["resuming", "done:completed", "msgs"]);
    const messages = s.engine.transcript();
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(messages[1]?.parts.at(-1)).toMatchObject({ type: "text", text: "thanks" });
  });

  test("a clear in the middle of a stream ends it for all and tells the others", async () => {
    const gate = createGate();
    const s = stage([reply(text("one"), gate.wait(), text("two"))]);
    const [a, b] = [s.tab(), s.tab()];
    s.submit(a, "r1");
    await gate.reached;
    await heard(b, "chunk");
    s.submit(b, "r2");
    a.take();
    b.take();
    s.send(a, { type: "cf_agent_chat_clear" });
    expect(a.takeTypes()).toEqual(["done:aborted", "msgs"]);
    expect(b.takeTypes()).toEqual(["done:aborted", "msgs", "done:skipped", "clear"]);
    expect(s.engine.transcript()).toEqual([]);
    gate.open();
  });

  test("a request delivered again on another socket starts nothing and gets its end", async () => {
    const s = stage([reply(text("one"))]);
    const a = s.tab();
    s.submit(a, "r1");
    await heard(a, "message_updated");
    a.isOpen = false;
    const again = s.tab();
    s.submit(again, "r1");
    expect(again.takeTypes().some((type) => type === "replay-done:completed")).toBe(true);
    expect(s.engine.isBusy()).toBe(false);
  });
});
