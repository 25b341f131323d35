// Client tools, approvals and the continuations they start.
import { describe, expect, test, vi } from "vitest";
import { Scene, seqs, type FakeSocket } from "./chat-scene.test-support.ts";

/** A turn of A that ends in these open calls. */
function asked(scene: Scene, a: FakeSocket, ...calls: string[]): void {
  scene.submit(a, "r1");
  scene.turns.start();
  for (const toolCallId of calls) scene.turns.call(toolCallId, toolCallId.startsWith("p") ? "approval" : "client");
  scene.turns.settle();
  for (const socket of scene.sockets) socket.take();
}

function result(scene: Scene, socket: FakeSocket, toolCallId: string, more: object = { autoContinue: true }): void {
  scene.receive(socket, { type: "cf_agent_tool_result", toolCallId, toolName: "t", output: 1, ...more });
}

describe("a tool result", () => {
  test("is one message_updated to all, its sender included; repeating it sends and starts nothing", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1", "c2");
    result(scene, a, "c1");
    for (const socket of [a, b]) {
      const [frame, ...rest] = socket.take();
      expect(frame).toMatchObject({ type: "cf_agent_message_updated", message: { id: "a1" } });
      expect(rest).toEqual([]);
    }
    result(scene, a, "c1");
    result(scene, b, "unknown");
    expect([a.take(), b.take()]).toEqual([[], []]);
  });

  test("brings its tools along for the continuation", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1");
    result(scene, a, "c1", { autoContinue: false, clientTools: [{ name: "new" }] });
    expect(scene.turns.clientTools).toMatchObject([{ name: "new" }]);
    result(scene, a, "c1", { clientTools: [] });
    expect(scene.turns.clientTools).toMatchObject([{ name: "new" }]);
  });

  test("of two parallel calls starts one continuation, after the second, in either order", () => {
    for (const order of [
      ["c1", "c2"],
      ["c2", "c1"]
    ] as const) {
      const scene = new Scene();
      const a = scene.tab();
      asked(scene, a, "c1", "c2");
      result(scene, a, order[0]);
      expect(scene.turns.isBusy()).toBe(false);
      result(scene, a, order[1]);
      expect(scene.turns.admissions.filter(({ continuation }) => continuation)).toHaveLength(1);
    }
  });

  test("that failed does not continue alone, and does as the last of a batch", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1", "c2");
    result(scene, a, "c1");
    result(scene, a, "c2", { state: "output-error", errorText: "no", autoContinue: false });
    expect(scene.turns.isBusy()).toBe(true);
    const alone = new Scene();
    const b = alone.tab();
    asked(alone, b, "c1");
    result(alone, b, "c1", { state: "output-error", autoContinue: false });
    expect(alone.turns.isBusy()).toBe(false);
  });
});

describe("a continuation", () => {
  test("A is told to wait and then offered the stream, others hear it live", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1");
    result(scene, a, "c1");
    a.take();
    b.take();
    scene.ask(a, "p");
    const { requestId } = scene.turns.waiting() ?? { requestId: "?" };
    expect(a.take()).toEqual([{ type: "cf_agent_stream_pending", id: requestId, probeId: "p" }]);
    scene.turns.start();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
    expect(b.takeTypes()).toEqual(["chunk"]);
  });

  test("is offered to A even if it never asked", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1");
    result(scene, a, "c1");
    a.take();
    const { requestId } = scene.turns.start();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
  });

  test("a resume request right after the result is never answered none, half-answered batch or not", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1", "c2");
    result(scene, a, "c1");
    a.take();
    scene.ask(a);
    expect(a.takeTypes()).toEqual(["pending"]);
  });

  test("carries continuation:true on every frame, live and replayed, and no id on its start", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1");
    result(scene, a, "c1");
    a.take();
    b.take();
    const { requestId } = scene.turns.start();
    scene.turns.text("more");
    scene.acknowledge(a, requestId);
    scene.turns.settle();
    scene.acknowledge(a, requestId);
    for (const frames of [a.take().slice(1), b.take()]) {
      const responses = frames.filter(({ type }) => type === "cf_agent_use_chat_response");
      expect(responses.length).toBeGreaterThan(4);
      expect(responses.every((frame) => frame.continuation === true)).toBe(true);
      expect(responses[0]?.body).toBe('{"type":"start"}');
    }
  });

  test("its replay carries the numbers that were seen live, and it ends with the transcript", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1");
    result(scene, a, "c1");
    b.take();
    const { requestId } = scene.turns.start();
    scene.turns.text("more");
    const live = seqs(b.take());
    scene.acknowledge(b, requestId);
    expect(seqs(b.take())).toEqual(live);
    scene.turns.settle();
    expect(b.takeTypes()).toEqual(["done:completed", "msgs"]);
    expect(a.takeTypes().slice(-2)).toEqual(["done:completed", "msgs"]);
  });

  test("belongs to A while A is connected, and to anybody once it is gone", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1");
    result(scene, a, "c1");
    b.take();
    scene.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "continuation-owned", probeId: "p" }]);
    const { requestId } = scene.turns.start();
    b.take();
    scene.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resume_none", reason: "continuation-owned", probeId: "p" }]);
    // Gone without a close event yet.
    a.isOpen = false;
    scene.ask(b, "p");
    expect(b.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId, probeId: "p" }]);
  });

  test("runs although A closed, and whoever asks waits for it", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1");
    result(scene, a, "c1");
    scene.close(a);
    b.take();
    scene.ask(b);
    expect(b.takeTypes()).toEqual(["pending"]);
    scene.turns.start();
    expect(b.takeTypes()).toEqual(["resuming"]);
  });

  test("that ends without a stream releases A", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1");
    result(scene, a, "c1");
    a.take();
    scene.turns.settle();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none" }]);
  });

  test("that is given up before it began releases A", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1", "c2");
    result(scene, a, "c1");
    scene.ask(a);
    a.take();
    scene.protocol.reset();
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resume_none" }]);
  });

  test("that fails before its stream is reported to A through the handshake", () => {
    const scene = new Scene();
    const a = scene.tab();
    asked(scene, a, "c1");
    result(scene, a, "c1");
    scene.ask(a, "p");
    a.take();
    const { requestId } = scene.turns.waiting() ?? { requestId: "?" };
    scene.turns.settle(undefined, { status: "error", error: "Sorry." });
    expect(a.take()).toEqual([{ type: "cf_agent_stream_resuming", id: requestId }]);
    scene.acknowledge(a, requestId);
    expect(a.take()).toMatchObject([{ id: requestId, body: "Sorry.", done: true, error: true }]);
  });
});

describe("an approval", () => {
  test.each([
    [true, "approval-responded"],
    [false, "output-denied"]
  ])("%s becomes %s for all, and continues", (approved, state) => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "p1");
    scene.receive(b, { type: "cf_agent_tool_approval", toolCallId: "p1", approved, autoContinue: true });
    const updated = { type: "cf_agent_message_updated", message: { parts: [{ toolCallId: "p1", state }] } };
    expect(a.take()).toMatchObject([updated]);
    expect(b.take()).toMatchObject([updated]);
    expect(scene.turns.waiting()).toMatchObject({ continuation: true, origin: b.key });
  });
});

describe("an answer that is not the client's to give", () => {
  const approval = { type: "cf_agent_tool_approval", approved: true, autoContinue: true };
  const output = { type: "cf_agent_tool_result", toolName: "t", output: "forged", autoContinue: true };

  test.each([
    ["a result of a call that waits for approval", { ...output, toolCallId: "p1" }, "tool-call-needs-approval"],
    ["an approval of a call that only waits for its result", { ...approval, toolCallId: "c1" }, "tool-call-not-open"]
  ])("%s is refused with an error to its sender, who is shown the call as it is", (_what, frame, code) => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "c1", "p1");
    const before = JSON.stringify(scene.turns.path);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    scene.receive(b, { ...frame, clientTools: [{ name: "t" }] });
    scene.receive(b, frame);
    expect(b.take()).toMatchObject([
      { type: "cf_agent_session_error", toolCallId: frame.toolCallId, code, error: expect.any(String) },
      { type: "cf_agent_message_updated", message: scene.turns.path.at(-1) },
      { type: "cf_agent_session_error" },
      { type: "cf_agent_message_updated" }
    ]);
    expect(a.take()).toEqual([]);
    expect(JSON.stringify(scene.turns.path)).toBe(before);
    expect(scene.turns.clientTools).toEqual([]);
    expect(scene.turns.isBusy()).toBe(false);
    // A client that forges for hours does not fill the log.
    expect(warn).toHaveBeenCalledOnce();
    vi.restoreAllMocks();
  });

  test("an approval of a call that is not there, or was decided, is an error; nobody else hears of it", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    asked(scene, a, "p1", "p2");
    scene.receive(a, { ...approval, toolCallId: "p1" });
    for (const socket of scene.sockets) socket.take();
    scene.receive(b, { ...approval, toolCallId: "p1", approved: false });
    scene.receive(b, { ...approval, toolCallId: "unknown" });
    const refusals = b.take().filter(({ type }) => type === "cf_agent_session_error");
    expect(refusals).toMatchObject([{ toolCallId: "p1" }, { toolCallId: "unknown" }]);
    expect(a.take()).toEqual([]);
    vi.restoreAllMocks();
  });
});
