// Client tools, approvals and the continuations they start.
import { describe, expect, test, vi } from "vitest";
import { TestChat, seqs, type TestSocket } from "./chat-kit.test-support.ts";

/** A turn of A that ends in these open calls. */
async function asked(chat: TestChat, a: TestSocket, ...calls: string[]): Promise<void> {
  chat.submit(a, "r1");
  await chat.start();
  for (const toolCallId of calls) await chat.call(toolCallId, toolCallId.startsWith("p") ? "approval" : "client");
  await chat.finish();
  for (const socket of chat.sockets) socket.take();
}

function result(chat: TestChat, socket: TestSocket, toolCallId: string, more: object = { autoContinue: true }): void {
  chat.receive(socket, { type: "cf_agent_tool_result", toolCallId, toolName: "ask", output: 1, ...more });
}

describe("a tool result", () => {
  test("is one message_updated to all, its sender included; repeating it sends and starts nothing", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1", "c2");
    result(chat, a, "c1");
    for (const socket of [a, b]) {
      const [frame, ...rest] = socket.take();
      expect(frame).toMatchObject({ type: "cf_agent_message_updated", message: chat.path.at(-1) });
      expect(rest).toEqual([]);
    }
    result(chat, a, "c1");
    result(chat, b, "unknown");
    expect([a.take(), b.take()]).toEqual([[], []]);
  });

  test("brings its tools along for the continuation", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1");
    result(chat, a, "c1", { autoContinue: false, clientTools: [{ name: "new" }] });
    expect(chat.engine.clientTools).toMatchObject([{ name: "new" }]);
    result(chat, a, "c1", { clientTools: [] });
    expect(chat.engine.clientTools).toMatchObject([{ name: "new" }]);
  });

  test("of two parallel calls starts one continuation, after the second, in either order", async () => {
    for (const order of [
      ["c1", "c2"],
      ["c2", "c1"]
    ] as const) {
      const chat = new TestChat();
      const a = chat.tab();
      await asked(chat, a, "c1", "c2");
      result(chat, a, order[0]);
      await chat.idle();
      expect(chat.engine.isBusy()).toBe(false);
      result(chat, a, order[1]);
      await chat.idle();
      expect(chat.accepted.filter(({ continuation }) => continuation)).toHaveLength(1);
    }
  });

  test("that failed does not continue alone, and does as the last of a batch", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1", "c2");
    result(chat, a, "c1");
    result(chat, a, "c2", { state: "output-error", errorText: "no", autoContinue: false });
    expect(chat.engine.isBusy()).toBe(true);
    const alone = new TestChat();
    const b = alone.tab();
    await asked(alone, b, "c1");
    result(alone, b, "c1", { state: "output-error", autoContinue: false });
    await alone.idle();
    expect(alone.engine.isBusy()).toBe(false);
  });
});

describe("a continuation", () => {
  test("A is sent pending and then offered the stream, others receive it live", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    a.take();
    b.take();
    chat.ask(a, "p");
    const { requestId } = chat.engine.waiting() ?? { requestId: "?" };
    expect(a.take()).toEqual([{ type: "cf_agent_stream_pending", id: requestId, probeId: "p" }]);
    await chat.start();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
    expect(b.takeTypes()).toEqual(["chunk", "chunk"]);
  });

  test("is offered to A even if it never asked", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    a.take();
    const { requestId } = await chat.start();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
  });

  test("a resume request right after the result is never answered none, half-answered batch or not", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1", "c2");
    result(chat, a, "c1");
    a.take();
    chat.ask(a);
    expect(a.takeTypes()).toEqual(["pending"]);
  });

  test("carries continuation:true on every frame, live and replayed, and no id on its start", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    a.take();
    b.take();
    const { requestId } = await chat.start();
    await chat.text("more");
    chat.acknowledge(a, requestId);
    await chat.finish();
    chat.acknowledge(a, requestId);
    for (const frames of [a.take().slice(1), b.take()]) {
      const responses = frames.filter(({ type }) => type === "cf_agent_use_chat_response");
      expect(responses.length).toBeGreaterThan(4);
      expect(responses.every((frame) => frame.continuation === true)).toBe(true);
      expect(responses[0]?.body).toBe('{"type":"start"}');
    }
  });

  test("its replay carries the numbers that were seen live, and it ends with the transcript", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    b.take();
    const { requestId } = await chat.start();
    await chat.text("more");
    const live = seqs(b.take());
    chat.acknowledge(b, requestId);
    expect(seqs(b.take())).toEqual(live);
    await chat.finish();
    expect(b.takeTypes().slice(-2)).toEqual(["done:completed", "msgs"]);
    expect(a.takeTypes().slice(-2)).toEqual(["done:completed", "msgs"]);
    expect(chat.path.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(chat.path[1]?.parts.at(-1)).toMatchObject({ type: "text", text: "more" });
  });

  test("belongs to A while A is connected, and to any client once it is gone", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    b.take();
    chat.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "continuation-owned", probeId: "p" }]);
    const { requestId } = await chat.start();
    b.take();
    chat.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "continuation-owned", probeId: "p" }]);
    // Gone without a close event yet.
    a.isOpen = false;
    chat.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId, probeId: "p" }]);
  });

  test("runs although A closed, and a client that asks waits for it", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    chat.close(a);
    b.take();
    chat.ask(b);
    expect(b.takeTypes()).toEqual(["pending"]);
    await chat.start();
    expect(b.takeTypes()).toEqual(["resuming"]);
  });

  test("that is cancelled in the queue releases A", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1");
    void chat.engine.admit({ requestId: "server", trigger: "programmatic", input: [] });
    result(chat, a, "c1");
    await chat.answer();
    const { requestId } = chat.engine.waiting() ?? { requestId: "?" };
    a.take();
    chat.engine.cancel(requestId);
    await chat.fail();
    // The transcript belongs to the turn that was stopped before its stream.
    expect(a.takeTypes()).toEqual(["msgs", "none"]);
  });

  test("that is given up before it began releases A", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1", "c2");
    result(chat, a, "c1");
    chat.ask(a);
    a.take();
    chat.engine.reset();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none" }]);
  });

  test("that fails before its stream is reported to A through the handshake", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    await asked(chat, a, "c1");
    result(chat, a, "c1");
    chat.ask(a, "p");
    a.take();
    const { requestId } = chat.engine.waiting() ?? { requestId: "?" };
    await chat.fail();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
    chat.acknowledge(a, requestId);
    expect(a.take()).toMatchObject([{ id: requestId, body: "failed in turn", done: true, error: true }]);
  });
});

describe("an approval", () => {
  test.each([
    [true, "approval-responded"],
    [false, "output-denied"]
  ])("%s becomes %s for all, and continues", async (approved, state) => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "p1");
    chat.receive(b, { type: "cf_agent_tool_approval", toolCallId: "p1", approved, autoContinue: true });
    const updated = {
      type: "cf_agent_message_updated",
      message: { parts: [{ type: "step-start" }, { toolCallId: "p1", state }] }
    };
    expect(a.take()).toMatchObject([updated]);
    expect(b.take()).toMatchObject([updated]);
    expect(chat.engine.waiting()).toMatchObject({ continuation: true, origin: b.key });
  });
});

describe("an answer that is not the client's to give", () => {
  const approval = { type: "cf_agent_tool_approval", approved: true, autoContinue: true };
  const output = { type: "cf_agent_tool_result", toolName: "ask", output: "forged", autoContinue: true };

  test.each([
    ["a result of a call that waits for approval", { ...output, toolCallId: "p1" }, "tool-call-needs-approval"],
    ["an approval of a call that only waits for its result", { ...approval, toolCallId: "c1" }, "tool-call-not-open"]
  ])("%s is refused with an error to its sender, who is shown the call as it is", async (_what, frame, code) => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "c1", "p1");
    const before = JSON.stringify(chat.path);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    chat.receive(b, { ...frame, clientTools: [{ name: "t" }] });
    chat.receive(b, frame);
    expect(b.take()).toMatchObject([
      { type: "cf_agent_session_error", toolCallId: frame.toolCallId, code, error: expect.any(String) },
      { type: "cf_agent_message_updated", message: chat.path.at(-1) },
      { type: "cf_agent_session_error" },
      { type: "cf_agent_message_updated" }
    ]);
    expect(a.take()).toEqual([]);
    expect(JSON.stringify(chat.path)).toBe(before);
    expect(chat.engine.clientTools).toEqual([]);
    expect(chat.engine.isBusy()).toBe(false);
    // A client that forges for hours does not fill the log.
    expect(warn).toHaveBeenCalledOnce();
    vi.restoreAllMocks();
  });

  test("an approval of a call that is not there, or was decided, is an error; other clients are sent nothing", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    await asked(chat, a, "p1", "p2");
    chat.receive(a, { ...approval, toolCallId: "p1" });
    for (const socket of chat.sockets) socket.take();
    chat.receive(b, { ...approval, toolCallId: "p1", approved: false });
    chat.receive(b, { ...approval, toolCallId: "unknown" });
    const refusals = b.take().filter(({ type }) => type === "cf_agent_session_error");
    expect(refusals).toMatchObject([{ toolCallId: "p1" }, { toolCallId: "unknown" }]);
    expect(a.take()).toEqual([]);
    vi.restoreAllMocks();
  });
});
