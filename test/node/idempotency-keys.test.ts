// A call under a key starts one turn, whichever caller repeats it and whenever; a message id is one message in every tab.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Think, type ChatOptions, type SaveMessagesOptions } from "../../src/index.ts";
import {
  createGate,
  createScript,
  createTestHost,
  fail,
  reply,
  scriptedModel,
  text,
  type Gate,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { KEY_LIMIT, OUTPUT_LIMIT_BYTES } from "../../src/session/idempotency.ts";
import { storedMessages, user } from "../kit/messages.ts";

const REPLAY_OVER_MS = 11 * 60_000;

let script: Script;
/** How the callback of the schedule or item goes on after its question. */
let afterQuestion: () => void = () => undefined;
let runs = 0;

beforeEach(() => {
  afterQuestion = () => undefined;
  runs = 0;
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => void vi.restoreAllMocks());

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  async save(id: string, options?: SaveMessagesOptions) {
    return this.saveMessages([user(id)], options);
  }

  async run(input: string, idempotencyKey: string) {
    const { requestId, status, message: answer } = await this.runTurn({ input, idempotencyKey });
    return { requestId, status, answer: answer?.id };
  }

  async stream(input: string, options?: ChatOptions) {
    const received: string[] = [];
    await this.chat(
      input,
      {
        onStart: ({ requestId }) => void received.push(requestId),
        onEvent: (json) => void received.push(json),
        onDone: () => void received.push("done"),
        onError: (error) => void received.push(`error: ${error}`)
      },
      options
    );
    return received;
  }

  async work() {
    runs += 1;
    const { status } = await this.runTurn({ input: "How is it?" });
    afterQuestion();
    if (status === "error") throw new Error("not answered");
  }

  override onError() {}
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

async function open(steps: Step[]) {
  script = createScript(steps);
  const host: Host = createTestHost({ agents: { Chat } });
  return { host, chat: await host.get(Chat, "c") };
}

const stored = async (host: Host) =>
  (await storedMessages(host, "/agents/chat/c")).map(
    ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`
  );

const gated = (gate: Gate, words: string) => reply(text("…"), gate.wait(), text(words));

describe("saveMessages, runTurn and chat under a key", () => {
  test("are one turn: the second call gets the result of the first, also after a restart", async () => {
    const { host, chat } = await open([reply(text("fine"))]);
    const first = await chat.run("How are you?", "k");
    const saved = await chat.save("other", { idempotencyKey: "k" });
    expect(saved).toEqual({ requestId: first.requestId, status: "completed" });
    await host.restart();
    await host.advance(REPLAY_OVER_MS);
    expect(await (await host.get(Chat, "c")).run("How are you?", "k")).toEqual(first);
    expect(first.answer).toEqual(expect.any(String));
    expect(await stored(host)).toEqual(["user: How are you?", "assistant: fine"]);
  });

  test("are one turn when they are made at once", async () => {
    const { host, chat } = await open([reply(text("fine"))]);
    const calls = [1, 2, 3].map((n) => chat.save(`u${n}`, { idempotencyKey: "k" }));
    const requestIds = (await Promise.all(calls)).map(({ requestId }) => requestId);
    expect(new Set(requestIds).size).toBe(1);
    expect(await stored(host)).toEqual(["user: u1", "assistant: fine"]);
  });

  test("a key of its own is a turn of its own", async () => {
    const { host, chat } = await open([reply(text("one")), reply(text("two"))]);
    await chat.save("u1", { idempotencyKey: "k1" });
    await chat.save("u2", { idempotencyKey: "k2" });
    expect(await stored(host)).toHaveLength(4);
  });

  test("a turn that failed gives its key back, and a text asked again is the same message", async () => {
    const { host, chat } = await open([fail(new Error("no")), reply(text("fine"))]);
    expect(await chat.run("How are you?", "k")).toMatchObject({ status: "error" });
    expect(await chat.run("How are you?", "k")).toMatchObject({ status: "completed" });
    expect(await stored(host)).toEqual(["user: How are you?", "assistant: fine"]);
  });

  test("a turn that was stopped is not started again", async () => {
    const gate = createGate();
    const { host, chat } = await open([gated(gate, "never")]);
    const stopped = chat.save("u1", { idempotencyKey: "k" });
    await host.idle();
    await chat.cancelAllChats();
    expect(await stopped).toMatchObject({ status: "aborted" });
    expect(await chat.save("u1", { idempotencyKey: "k" })).toMatchObject({ status: "aborted" });
    expect(script.calls).toHaveLength(1);
  });

  test("a caller that joins a turn may stop it", async () => {
    const gate = createGate();
    const { host, chat } = await open([gated(gate, "never")]);
    const first = chat.save("u1", { idempotencyKey: "k" });
    await host.idle();
    const aborted = AbortSignal.abort();
    expect(await chat.save("u1", { idempotencyKey: "k", signal: aborted })).toMatchObject({ status: "aborted" });
    expect(await first).toMatchObject({ status: "aborted" });
  });

  test("a clear keeps the key and forgets what was said", async () => {
    const { host, chat } = await open([reply(text("fine"))]);
    const first = await chat.run("How are you?", "k");
    await chat.clearMessages();
    expect(await chat.run("How are you?", "k")).toEqual({ ...first, answer: undefined });
    expect(await stored(host)).toEqual([]);
    expect(host.sql(Chat, "c", "SELECT output FROM cf_idempotency")).toEqual([{ output: null }]);
  });

  test.each(["", "  ", "x".repeat(1025)])("a key that says nothing, or too much, is refused (%#)", async (key) => {
    const { chat } = await open([]);
    const refused = { code: "idempotency-key-invalid" };
    await expect(chat.save("u1", { idempotencyKey: key })).rejects.toMatchObject(refused);
    await expect(chat.addMessages([user("u1")], { idempotencyKey: key })).rejects.toMatchObject(refused);
  });

  test("the newest ten thousand keys are kept", async () => {
    const { host, chat } = await open([reply(text("one")), reply(text("two"))]);
    await chat.save("u1", { idempotencyKey: "k1" });
    host.sql(Chat, "c", `UPDATE cf_idempotency SET seq = 1`);
    host.sql(Chat, "c", `UPDATE sqlite_sequence SET seq = ${KEY_LIMIT} WHERE name = 'cf_idempotency'`);
    await chat.save("u2", { idempotencyKey: "k2" });
    expect(host.sql(Chat, "c", "SELECT seq FROM cf_idempotency")).toEqual([{ seq: KEY_LIMIT + 1 }]);
    expect(OUTPUT_LIMIT_BYTES * KEY_LIMIT).toBeLessThan(1e9);
  });
});

describe("chat under a key", () => {
  const words = (received: readonly string[]) =>
    received.flatMap((event) => (event.includes("text-delta") ? [(JSON.parse(event) as { delta: string }).delta] : []));

  test("joins a turn that is running and hears all of it", async () => {
    const gate = createGate();
    const { host, chat } = await open([gated(gate, "fine")]);
    const first = chat.stream("How are you?", { idempotencyKey: "k" });
    await host.idle();
    const second = chat.stream("How are you?", { idempotencyKey: "k" });
    await host.idle();
    gate.open();
    expect(await second).toEqual(await first);
    expect(words(await second)).toEqual(["…", "fine"]);
    expect((await second).at(-1)).toBe("done");
  });

  test("hears a finished answer again, and later its text", async () => {
    const { host, chat } = await open([reply(text("fi"), text("ne"))]);
    const first = await chat.stream("How are you?", { idempotencyKey: "k" });
    await host.restart();
    expect(await (await host.get(Chat, "c")).stream("How are you?", { idempotencyKey: "k" })).toEqual(first);
    await host.advance(REPLAY_OVER_MS);
    const late = await (await host.get(Chat, "c")).stream("How are you?", { idempotencyKey: "k" });
    expect(words(late)).toEqual(["fine"]);
    expect([late[0], late.at(-1)]).toEqual([first[0], "done"]);
  });
});

describe("a callback that is run again", () => {
  test("because it threw after its question does not ask again", async () => {
    const { host, chat } = await open([reply(text("fine"))]);
    afterQuestion = () => {
      if (runs < 3) throw new Error("the mail server is down");
    };
    await chat.schedule(1, "work");
    await host.advance(60_000);
    expect(runs).toBe(3);
    expect(await stored(host)).toEqual(["user: How is it?", "assistant: fine"]);
  });

  test("because its turn failed asks again, with the same message", async () => {
    const { host, chat } = await open([fail(new Error("no")), reply(text("fine"))]);
    await chat.queue("work", null);
    await host.advance(60_000);
    expect(runs).toBe(2);
    expect(await stored(host)).toEqual(["user: How is it?", "assistant: fine"]);
  });

  test("as the next occurrence of its schedule asks anew", async () => {
    const { host, chat } = await open([reply(text("one")), reply(text("two"))]);
    await chat.scheduleEvery(60, "work");
    await host.advance(125_000);
    expect(await stored(host)).toHaveLength(4);
  });
});

test("addMessages under a key adds once, whatever the ids", async () => {
  const { host, chat } = await open([]);
  await chat.addMessages([user("u1")], { idempotencyKey: "k" });
  await host.restart();
  await (await host.get(Chat, "c")).addMessages([user("u2")], { idempotencyKey: "k" });
  await (await host.get(Chat, "c")).addMessages([user("u3")], { idempotencyKey: "other" });
  expect(await stored(host)).toEqual(["user: u1", "user: u3"]);
});

describe("the same message id twice", () => {
  /** The ids that a tab shows: the last list it was sent. */
  const shown = (tab: TestSocket) =>
    (tab.frames as { type: string; messages: UIMessage[] }[])
      .findLast(({ type }) => type === "cf_agent_chat_messages")
      ?.messages.map(({ id }) => id) ?? [];

  test("is one message in every tab while its turns wait, and afterwards", async () => {
    const gate = createGate();
    const { host, chat } = await open([
      gated(gate, "one"),
      ...["two", "three", "four"].map((word) => reply(text(word)))
    ]);
    const tab = await host.connect("/agents/chat/c");
    const turns = [chat.save("u1"), chat.save("u2"), chat.save("u2"), chat.save("u1")];
    await host.idle();
    expect(shown(tab)).toEqual(["u1", "u2"]);
    // What a tab loads that opens now.
    expect(await stored(host)).toEqual(["user: u1", "user: u2"]);
    const second = await host.connect("/agents/chat/c");
    gate.open();
    await Promise.all(turns);
    await host.idle();
    for (const each of [tab, second]) expect(shown(each).filter((id) => id.startsWith("u"))).toEqual(["u1", "u2"]);
  });

  test("posted by two tabs, and once more by the server, is one message in both", async () => {
    const gate = createGate();
    const { host, chat } = await open([
      gated(gate, "one"),
      ...["two", "three", "four"].map((word) => reply(text(word)))
    ]);
    const tabs = [await host.connect("/agents/chat/c"), await host.connect("/agents/chat/c")];
    const post = (tab: TestSocket | undefined, id: string, ...ids: string[]) => {
      const body = JSON.stringify({ messages: ids.map((each) => user(each)), trigger: "submit-message" });
      tab?.send({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } });
    };
    post(tabs[0], "r1", "u1");
    await host.idle();
    post(tabs[0], "r2", "u1", "u2");
    post(tabs[1], "r3", "u1", "u2");
    await host.idle();
    const saved = chat.save("u2");
    await host.idle();
    expect(await stored(host)).toEqual(["user: u1", "user: u2"]);
    gate.open();
    await saved;
    await host.idle();
    for (const tab of tabs) expect(shown(tab).filter((id) => id.startsWith("u"))).toEqual(["u1", "u2"]);
  });

  test("in one call, or added once more, is one message", async () => {
    const { host, chat } = await open([reply(text("one"))]);
    const tab = await host.connect("/agents/chat/c");
    await chat.saveMessages([user("u1"), user("u1")]);
    await chat.addMessages([user("u1", "again"), user("u2"), user("u2")]);
    await host.idle();
    expect(shown(tab).filter((id) => id.startsWith("u"))).toEqual(["u1", "u2"]);
  });
});
