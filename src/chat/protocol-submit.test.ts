// The door: what becomes of requests, good, bad, repeated and overlapping.
import { afterEach, describe, expect, test, vi } from "vitest";
import { requestFrame, Scene, user } from "./chat-scene.test-support.ts";
import { RequestNotStoredError } from "./errors.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a chat request", () => {
  test("hands the engine its question, its fields and the socket it came on", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.turns.generation = 7;
    scene.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    expect(scene.turns.admissions).toEqual([
      {
        requestId: "r1",
        trigger: "ws-chat",
        input: [user("u-r1")],
        inputMessageIds: ["u-r1"],
        body: { mood: "good" },
        clientTools: [{ name: "t", description: null, parameters: { type: "object" } }],
        generation: 7,
        origin: a.key
      }
    ]);
    expect(scene.events).toEqual(["message:request"]);
  });

  test("tools that are absent stay, an empty list clears them; no custom fields clear the stored ones", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    scene.submit(a, "r2");
    expect(scene.turns.clientTools).toMatchObject([{ name: "t" }]);
    expect(scene.turns.admissions[1]?.clientTools).toMatchObject([{ name: "t" }]);
    expect(scene.turns.body).toBeUndefined();
    scene.submit(a, "r3", { clientTools: [] });
    expect(scene.turns.clientTools).toEqual([]);
  });

  test("that regenerates branches under the last message and repeats its id at the end", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.answer("old");
    a.take();
    scene.submit(a, "r2", { messages: [user("u-r1")], trigger: "regenerate-message" });
    expect(scene.turns.admissions[1]).toMatchObject({ input: [], parentMessageId: "u-r1" });
    scene.turns.answer("new");
    expect(scene.turns.path.map(({ id }) => id)).toEqual(["u-r1", "a2"]);
    for (const socket of [a, b]) {
      const [terminal, closing] = socket.take().slice(-2);
      expect(terminal).toMatchObject({ outcome: "completed", messageIds: ["u-r1"] });
      expect(closing).toEqual({ type: "cf_agent_chat_messages", messages: scene.turns.path });
    }
  });

  test("that edits a stored message shows the others the change and branches under it", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.answer("old");
    a.take();
    b.take();
    scene.submit(a, "r2", { messages: [user("u-r1", "better")] });
    expect(scene.turns.admissions[1]).toMatchObject({ input: [], parentMessageId: "u-r1" });
    expect(a.take()).toEqual([]);
    expect(b.takeTypes()).toEqual(["msgs"]);
    scene.turns.answer("new");
    expect(a.takeTypes().at(-1)).toBe("msgs");
  });

  test("that posts only its newest message loses nothing", () => {
    const scene = new Scene();
    scene.turns.path = [user("u1"), user("u2")];
    const a = scene.tab();
    scene.submit(a, "r1", { messages: [user("u3")] });
    scene.turns.answer();
    expect(scene.turns.path.map(({ id }) => id)).toEqual(["u1", "u2", "u3", "a1"]);
  });

  test("makes its writes one when it is told how", () => {
    const steps: string[] = [];
    const scene = new Scene({
      atomically: (work) => {
        steps.push("begin");
        const result = work();
        steps.push(`commit ${scene.turns.admissions.length}`);
        return result;
      }
    });
    scene.submit(scene.tab(), "r1");
    expect(steps).toEqual(["begin", "commit 1"]);
  });
});

describe("a request that cannot be taken", () => {
  test.each<[string, string | object]>([
    ["broken JSON", "{"],
    ["no messages", {}],
    ["messages without parts", { messages: [{ id: "u", role: "user" }] }]
  ])("%s gets one terminal error, to its sender only, and starts nothing", (_name, body) => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.receive(a, requestFrame("r1", body));
    expect(a.take()).toMatchObject([{ id: "r1", done: true, error: true, outcome: "error" }]);
    expect(b.take()).toEqual([]);
    expect(scene.failures).toMatchObject([{ stage: "parse" }]);
    expect(scene.events).toEqual(["chat:request:failed"]);
    expect(scene.turns.admissions).toEqual([]);
    // The socket is as good as before.
    scene.submit(a, "r2");
    scene.turns.answer();
    expect(a.takeTypes().at(-2)).toBe("done:completed");
  });

  test.each(["plan", "admit"])("a failing %s is told as stage persist, with the question's ids", (step) => {
    const scene = new Scene();
    const a = scene.tab();
    const failure = new Error("The disk is full.");
    if (step === "plan") scene.reconciler.planFailure = failure;
    else scene.turns.admissionFailure = failure;
    scene.submit(a, "r1");
    expect(a.take()).toEqual([
      {
        type: "cf_agent_use_chat_response",
        id: "r1",
        body: "Your message could not be stored. Please try again.",
        done: true,
        error: true,
        messageIds: ["u-r1"],
        outcome: "error"
      }
    ]);
    expect(scene.failures).toEqual([{ error: new RequestNotStoredError(failure), stage: "persist" }]);
  });

  test("frames that make no sense are ours, ignored with a warning, and answered by nobody", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const scene = new Scene();
    const a = scene.tab();
    expect(scene.receive(a, { type: "cf_agent_use_chat_request", init: { method: "POST", body: "{}" } })).toBe(true);
    expect(scene.receive(a, { type: "cf_agent_stream_resume_ack" })).toBe(true);
    expect(a.take()).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test("a client's own list changes nothing on the server, and is warned of once", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const scene = new Scene();
    scene.turns.path = [user("u1")];
    const a = scene.tab();
    for (let count = 0; count < 3; count += 1) {
      scene.receive(a, { type: "cf_agent_chat_messages", messages: [user("forged")] });
    }
    expect(scene.turns.path).toEqual([user("u1")]);
    expect(a.take()).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test("a client that may only watch is told so where it waits for an answer, and may ask for a stream", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    warn.mockClear();
    const scene = new Scene({ isReadonly: () => true });
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.receive(a, { type: "cf_agent_chat_clear" });
    scene.ask(a, "p");
    expect(a.takeTypes()).toEqual(["done:error!", "msgs", "none:idle"]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(scene.turns.admissions).toEqual([]);
    expect(scene.turns.generation).toBe(0);
  });
});

describe("a request that is delivered twice", () => {
  test("starts one turn and has one end, while it runs and after it", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.submit(a, "r1");
    scene.turns.answer();
    scene.submit(a, "r1");
    expect(scene.turns.admissions).toHaveLength(1);
    expect(a.takeTypes().filter((type) => type.includes("done"))).toEqual(["done:completed"]);
  });

  test("is refused once when it was dropped or malformed", () => {
    const scene = new Scene();
    scene.concurrency = "drop";
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    b.take();
    scene.submit(b, "r2");
    scene.submit(b, "r2");
    scene.receive(b, requestFrame("r3", "{"));
    scene.receive(b, requestFrame("r3", "{"));
    expect(b.takeTypes()).toEqual(["msgs", "done:skipped", "done:error!"]);
  });

  test("on another socket after its end gets that end, and starts nothing", () => {
    const scene = new Scene();
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.turns.answer();
    scene.close(a);
    const again = scene.tab();
    scene.submit(again, "r1");
    expect(again.takeTypes().slice(-2)).toEqual(["replay-done:completed", "msgs"]);
    expect(scene.turns.admissions).toHaveLength(1);
  });
});

describe("overlapping submits", () => {
  test("drop: a rollback snapshot without connect and a skipped end, to A only, and nothing stored", () => {
    const scene = new Scene();
    scene.concurrency = "drop";
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    b.take();
    scene.submit(b, "r2");
    expect(b.take()).toEqual([
      { type: "cf_agent_chat_messages", messages: [user("u-r1")] },
      {
        type: "cf_agent_use_chat_response",
        id: "r2",
        body: "",
        done: true,
        messageIds: ["u-r1", "u-r2"],
        outcome: "skipped"
      }
    ]);
    expect(a.take()).toEqual([]);
    expect(scene.turns.admissions).toHaveLength(1);
  });

  test("drop: a client whose own answer the rollback took off the screen gets it back with the transcript", () => {
    const scene = new Scene();
    scene.concurrency = "drop";
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.start();
    scene.turns.text("one");
    scene.submit(a, "r2");
    scene.turns.settle();
    expect(a.takeTypes().slice(-3)).toEqual(["done:skipped", "done:completed", "msgs"]);
    expect(b.takeTypes().at(-1)).toBe("message_updated");
  });

  test("latest: every question is stored, only overlapping ones may be skipped, and their end goes to A only", () => {
    const scene = new Scene();
    scene.concurrency = "latest";
    const [a, b] = [scene.tab(), scene.tab()];
    for (const id of ["r1", "r2", "r3"]) scene.submit(a, id);
    expect(scene.turns.admissions.map(({ supersedable }) => supersedable)).toEqual([undefined, true, true]);
    scene.turns.answer();
    a.take();
    b.take();
    scene.turns.settle("r2", { status: "skipped", reason: "superseded" });
    expect(a.take()).toMatchObject([{ id: "r2", done: true, outcome: "skipped" }]);
    expect(b.take()).toEqual([]);
    scene.turns.answer();
    expect(scene.turns.path.map(({ id }) => id)).toEqual(["u-r1", "a1", "u-r2", "u-r3", "a3"]);
  });

  test("debounce: an overlapping one waits out its quiet period, the first does not", () => {
    const scene = new Scene();
    scene.concurrency = { strategy: "debounce", debounceMs: 100 };
    const a = scene.tab();
    scene.submit(a, "r1");
    scene.submit(a, "r2");
    expect(scene.turns.admissions[0]?.notBeforeAt).toBeUndefined();
    expect(scene.turns.admissions[1]).toMatchObject({ supersedable: true, notBeforeAt: scene.now + 100 });
  });

  test("queue: all run in order, and B sees each question when it is accepted", () => {
    const scene = new Scene();
    const [a, b] = [scene.tab(), scene.tab()];
    scene.submit(a, "r1");
    scene.turns.start();
    b.take();
    scene.submit(a, "r2");
    expect(b.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1"), user("u-r2")] }]);
    scene.turns.text("one");
    scene.turns.settle();
    scene.turns.answer("two");
    expect(scene.turns.path.map(({ id }) => id)).toEqual(["u-r1", "a1", "u-r2", "a2"]);
  });
});
