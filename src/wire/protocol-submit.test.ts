// Requests: good, bad, repeated and overlapping.
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Admission } from "../turn/admit.ts";
import { requestFrame, TestChat, user, type Frame } from "./chat-kit.test-support.ts";
import { wireErrors } from "./errors.ts";

afterEach(() => void vi.restoreAllMocks());

describe("a chat request", () => {
  test("hands the engine its question, its fields and the socket it came on", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.engine.clear();
    const admit = vi.spyOn(chat.engine, "admit");
    chat.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    expect(admit.mock.calls).toEqual([
      [
        {
          requestId: "r1",
          trigger: "ws-chat",
          channel: "web",
          input: [user("u-r1")],
          inputMessageIds: ["u-r1"],
          body: { mood: "good" },
          clientTools: [{ name: "t", description: null, parameters: { type: "object" } }],
          generation: chat.engine.generation,
          origin: a.key
        }
      ]
    ]);
    expect(chat.engine.generation).toBe(1);
    expect(chat.events).toEqual(["message:request"]);
  });

  test("tools that are absent stay, an empty list clears them; no custom fields clear the stored ones", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1", { clientTools: [{ name: "t" }], mood: "good" });
    const admit = vi.spyOn(chat.engine, "admit");
    chat.submit(a, "r2");
    expect(chat.engine.clientTools).toMatchObject([{ name: "t" }]);
    expect(admit.mock.calls[0]?.[0].clientTools).toMatchObject([{ name: "t" }]);
    expect(chat.engine.body).toBeUndefined();
    chat.submit(a, "r3", { clientTools: [] });
    expect(chat.engine.clientTools).toEqual([]);
  });

  test("that regenerates branches under the last message and repeats its id at the end", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.answer("old");
    a.take();
    chat.submit(a, "r2", { messages: [user("u-r1")], trigger: "regenerate-message" });
    await chat.answer("new");
    expect(chat.path.map(({ id }) => id)).toEqual(["u-r1", expect.any(String)]);
    expect(JSON.stringify(chat.path)).toContain('"new"');
    for (const socket of [a, b]) {
      const [terminal, closing] = socket.take().slice(-2);
      expect(terminal).toMatchObject({ outcome: "completed", messageIds: ["u-r1"] });
      expect(closing).toEqual({ type: "cf_agent_chat_messages", messages: chat.path });
    }
  });

  test("that edits a stored message shows the others the change and branches under it", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.answer("old");
    a.take();
    b.take();
    chat.submit(a, "r2", { messages: [user("u-r1", "better")] });
    expect(a.take()).toEqual([]);
    expect(b.takeTypes()).toEqual(["msgs"]);
    await chat.answer("new");
    expect(chat.path).toMatchObject([user("u-r1", "better"), { role: "assistant" }]);
    expect(JSON.stringify(chat.path)).not.toContain('"old"');
    expect(a.takeTypes().at(-1)).toBe("msgs");
  });

  test("that posts only its newest message loses nothing", async () => {
    const chat = new TestChat();
    chat.store(user("u1"), user("u2"));
    const a = chat.tab();
    chat.submit(a, "r1", { messages: [user("u3")] });
    await chat.answer();
    expect(chat.path.map(({ id }) => id)).toEqual(["u1", "u2", "u3", expect.any(String)]);
  });

  test("makes its writes in one transaction", async () => {
    const steps: string[] = [];
    const chat = new TestChat({
      atomically: (work) => {
        steps.push("begin");
        const result = work();
        steps.push(`commit, busy: ${chat.engine.isBusy()}`);
        return result;
      }
    });
    chat.submit(chat.tab(), "r1");
    expect(steps).toEqual(["begin", "commit, busy: true"]);
  });
});

describe("a request that cannot be taken", () => {
  test.each<[string, string | object]>([
    ["broken JSON", "{"],
    ["no messages", {}],
    ["messages without parts", { messages: [{ id: "u", role: "user" }] }]
  ])("%s gets one terminal error, to its sender only, and starts nothing", async (_name, body) => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.receive(a, requestFrame("r1", body));
    expect(a.take()).toMatchObject([{ id: "r1", done: true, error: true, outcome: "error" }]);
    expect(b.take()).toEqual([]);
    expect(chat.failures).toMatchObject([{ stage: "parse" }]);
    expect(chat.events).toEqual(["chat:request:failed"]);
    expect(chat.accepted).toEqual([]);
    // The socket is as good as before.
    chat.submit(a, "r2");
    await chat.answer();
    expect(a.takeTypes().at(-2)).toBe("done:completed");
  });

  test.each(["path", "append"] as const)(
    "a failing %s of the store is reported as stage persist, with the question's ids",
    (step) => {
      const chat = new TestChat();
      const a = chat.tab();
      const failure = new Error("The disk is full.");
      vi.spyOn(chat.world.transcript, step).mockImplementation(() => {
        throw failure;
      });
      chat.receive(a, requestFrame("r1", { messages: [user("u-r1")] }));
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
      expect(chat.failures).toEqual([{ error: wireErrors.RequestNotStoredError(failure), stage: "persist" }]);
      expect([chat.accepted, chat.engine.isBusy()]).toEqual([[], false]);
    }
  );

  test("frames that make no sense are ours, ignored with a warning, and not answered", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const chat = new TestChat();
    const a = chat.tab();
    expect(chat.receive(a, { type: "cf_agent_use_chat_request", init: { method: "POST", body: "{}" } })).toBe(true);
    expect(chat.receive(a, { type: "cf_agent_stream_resume_ack" })).toBe(true);
    expect(a.take()).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(2);
  });

  test("a client's own list changes nothing on the server, and is warned of once", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const chat = new TestChat();
    chat.store(user("u1"));
    const a = chat.tab();
    for (let count = 0; count < 3; count += 1) {
      chat.receive(a, { type: "cf_agent_chat_messages", messages: [user("forged")] });
    }
    expect(chat.path).toEqual([user("u1")]);
    expect(a.take()).toEqual([]);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  test("a client that may only watch gets an error where it waits for an answer, and may ask for a stream", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    warn.mockClear();
    const chat = new TestChat({ isReadonly: () => true });
    const a = chat.tab();
    chat.submit(a, "r1");
    chat.receive(a, { type: "cf_agent_chat_clear" });
    chat.ask(a, "p");
    expect(a.takeTypes()).toEqual(["done:error!", "msgs", "none:idle"]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(chat.accepted).toEqual([]);
    expect(chat.engine.generation).toBe(0);
  });
});

describe("a request that is delivered twice", () => {
  test("starts one turn and has one end, while it runs and after it", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    chat.submit(a, "r1");
    await chat.answer();
    chat.submit(a, "r1");
    expect(chat.accepted).toHaveLength(1);
    expect(a.takeTypes().filter((type) => type.includes("done"))).toEqual(["done:completed"]);
  });

  test("is refused once when it was dropped or malformed", async () => {
    const chat = new TestChat();
    chat.concurrency = "drop";
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    b.take();
    chat.submit(b, "r2");
    chat.submit(b, "r2");
    chat.receive(b, requestFrame("r3", "{"));
    chat.receive(b, requestFrame("r3", "{"));
    expect(b.takeTypes()).toEqual(["msgs", "done:skipped", "done:error!"]);
  });

  test("on another socket after its end gets that end, and starts nothing", async () => {
    const chat = new TestChat();
    const a = chat.tab();
    chat.submit(a, "r1");
    await chat.answer();
    chat.close(a);
    const again = chat.tab();
    chat.submit(again, "r1");
    expect(again.takeTypes().slice(-2)).toEqual(["replay-done:completed", "msgs"]);
    expect(chat.accepted).toHaveLength(1);
  });
});

describe("overlapping submits", () => {
  test("drop: a rollback snapshot without connect and a skipped end, to A only, and nothing stored", async () => {
    const chat = new TestChat();
    chat.concurrency = "drop";
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    b.take();
    chat.submit(b, "r2");
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
    expect(chat.accepted).toHaveLength(1);
  });

  test("drop: a client whose own answer the rollback took off the screen gets it back with the transcript", async () => {
    const chat = new TestChat();
    chat.concurrency = "drop";
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    await chat.text("one");
    chat.submit(a, "r2");
    await chat.finish();
    const frames = a.takeTypes().filter((type) => type !== "chunk");
    expect(frames).toEqual(["msgs", "done:skipped", "done:completed", "msgs"]);
    expect(b.takeTypes().at(-1)).toBe("message_updated");
  });

  test("latest: every question is stored, only overlapping ones may be skipped, and their end goes to A only", async () => {
    const chat = new TestChat();
    chat.concurrency = "latest";
    const [a, b] = [chat.tab(), chat.tab()];
    for (const id of ["r1", "r2", "r3"]) chat.submit(a, id);
    await chat.start();
    await chat.text("one");
    a.take();
    b.take();
    await chat.finish();
    const isSecond = ({ id }: Frame) => id === "r2";
    expect(a.take().filter(isSecond)).toMatchObject([{ done: true, outcome: "skipped" }]);
    expect(b.take().filter(isSecond)).toEqual([]);
    await chat.answer();
    expect([...chat.outcomes].map(([id, { status }]) => `${id} ${status}`)).toEqual([
      "r1 completed",
      "r2 skipped",
      "r3 completed"
    ]);
    const answer = expect.any(String);
    expect(chat.path.map(({ id }) => id)).toEqual(["u-r1", answer, "u-r2", "u-r3", answer]);
  });

  test("debounce: an overlapping one waits out its quiet period, the first does not", async () => {
    const chat = new TestChat();
    chat.concurrency = { strategy: "debounce", debounceMs: 100 };
    const a = chat.tab();
    const admit = vi.spyOn(chat.engine, "admit");
    chat.submit(a, "r1");
    chat.submit(a, "r2");
    const [[first], [second]] = admit.mock.calls as [[Admission], [Admission]];
    expect(first.notBeforeAt).toBeUndefined();
    expect(second).toMatchObject({ supersedable: true, notBeforeAt: chat.now + 100 });
  });

  test("queue: all run in order, and B sees each question when it is accepted", async () => {
    const chat = new TestChat();
    const [a, b] = [chat.tab(), chat.tab()];
    chat.submit(a, "r1");
    await chat.start();
    b.take();
    chat.submit(a, "r2");
    expect(b.take()).toEqual([{ type: "cf_agent_chat_messages", messages: [user("u-r1"), user("u-r2")] }]);
    await chat.text("one");
    await chat.finish();
    await chat.answer("two");
    expect(chat.path.map(({ id }) => id)).toEqual(["u-r1", expect.any(String), "u-r2", expect.any(String)]);
  });
});
