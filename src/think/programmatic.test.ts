import type { UIMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { TurnOutcome } from "../turn/turn.ts";
import { ChatCaller } from "./client-tools.ts";
import { Programmatic, type RunTurnOptions } from "./programmatic.ts";
import { UNREAD_LIMIT_BYTES, type StreamCallback } from "./stream-callback.ts";
import { answer, FakeTurns, userMessage } from "./turns.test-support.ts";

afterEach(() => void vi.restoreAllMocks());

function setup(leaf: UIMessage | undefined = answer("a0")) {
  const turns = new FakeTurns();
  const described: unknown[] = [];
  let count = 0;
  const programmatic = new Programmatic({
    turns,
    leaf: () => leaf,
    newId: () => `id-${++count}`,
    durableKey: () => undefined,
    describeFailure: (error, context) => {
      described.push(context);
      return `described: ${error instanceof Error ? error.message : String(error)}`;
    }
  });
  return { turns, programmatic, described };
}

/** Writes down every call; one of them may fail. */
class Notes implements StreamCallback {
  readonly calls: string[] = [];
  failing = "";
  onStart({ requestId }: { requestId: string }): void {
    this.#note("start", requestId);
  }
  async onEvent(json: string): Promise<void> {
    this.#note("event", json);
  }
  onDone(): void {
    this.#note("done");
  }
  onError(error: string): void {
    this.#note("error", error);
  }
  #note(what: string, detail = ""): void {
    this.calls.push(`${what} ${detail}`.trim());
    if (this.failing.split(" ").includes(what)) throw new Error(`${what} failed`);
  }
}

describe("saveMessages", () => {
  test("is one admission with what the client last said", async () => {
    const { turns, programmatic } = setup();
    turns.clientTools = [{ name: "a", description: null, parameters: null }];
    turns.body = { theme: "dark" };
    turns.answer({});
    const messages = [userMessage("u1")];
    expect(await programmatic.saveMessages(messages)).toEqual({
      requestId: turns.last.view.requestId,
      status: "completed"
    });
    expect(turns.last.admission).toMatchObject({
      trigger: "programmatic",
      input: messages,
      body: { theme: "dark" },
      clientTools: turns.clientTools
    });
  });

  test("takes a body, a signal and a channel of its own", async () => {
    const { turns, programmatic } = setup();
    turns.answer({});
    const { signal } = new AbortController();
    await programmatic.saveMessages([userMessage("u1")], { body: { mine: 1 }, signal, channel: "web" });
    expect(turns.last.admission).toMatchObject({ body: { mine: 1 }, channel: "web" });
    expect(turns.last.admission.signal).toBe(signal);
    expect(turns.last.admission.input).toMatchObject([{ id: "u1", metadata: { channel: "web" } }]);
  });

  test("runs with no messages, and hands a function on uncalled", async () => {
    const { turns, programmatic } = setup();
    turns.answer({});
    expect((await programmatic.saveMessages([])).status).toBe("completed");
    const make = vi.fn(() => []);
    await programmatic.saveMessages(make);
    expect(turns.admitted).toHaveLength(2);
    expect(make).not.toHaveBeenCalled();
  });

  test.each<[Partial<TurnOutcome>, object]>([
    [{ status: "completed" }, { status: "completed" }],
    [
      { status: "error", error: "Sorry." },
      { status: "error", error: "Sorry." }
    ],
    [{ status: "aborted", reason: "cancelled" }, { status: "aborted" }],
    [{ status: "skipped", reason: "cleared" }, { status: "skipped" }]
  ])("%j becomes a result", async (outcome, expected) => {
    const { turns, programmatic } = setup();
    turns.answer(outcome);
    expect(await programmatic.saveMessages([])).toEqual({ requestId: "id-1", ...expected });
  });

  test("throws what the door throws", async () => {
    const { turns, programmatic } = setup();
    turns.refusal = new Error("inside an active turn");
    await expect(programmatic.saveMessages([])).rejects.toThrow("inside an active turn");
  });
});

describe("continueLastTurn", () => {
  test("continues the latest answer", async () => {
    const { turns, programmatic } = setup();
    turns.body = { stored: 1 };
    turns.answer({});
    expect((await programmatic.continueLastTurn()).status).toBe("completed");
    expect(turns.last.admission).toMatchObject({ continuation: true, input: [], body: { stored: 1 } });
    await programmatic.continueLastTurn({ body: { mine: 1 } });
    expect(turns.last.admission.body).toEqual({ mine: 1 });
  });

  test("is skipped, without a turn, when there is no answer to continue", async () => {
    for (const leaf of [userMessage("u1"), null]) {
      const turns = new FakeTurns();
      const programmatic = new Programmatic({
        turns,
        leaf: () => leaf ?? undefined,
        newId: () => "id",
        durableKey: () => undefined,
        describeFailure: String
      });
      expect(await programmatic.continueLastTurn()).toEqual({ requestId: "", status: "skipped" });
      expect(turns.admitted).toEqual([]);
    }
  });
});

describe("runTurn", () => {
  const callback = new Notes();

  test.each<[string, unknown, string]>([
    ["no options", undefined, "object"],
    ["a text for options", "hello", "object"],
    ["an unknown mode", { mode: "later", input: "x" }, "mode"],
    ["wait for nothing", {}, "either"],
    ["wait for two things", { input: "x", continuation: true }, "either"],
    ["a continuation to submit", { mode: "submit", continuation: true }, 'only the mode "wait"'],
    ["a continuation to stream", { mode: "stream", continuation: true, callback }, 'only the mode "wait"'],
    ["nothing to submit", { mode: "submit" }, "needs input"],
    ["nothing to stream", { mode: "stream", callback }, "needs input"],
    ["a stream nobody reads", { mode: "stream", input: "x" }, "needs a callback"]
  ])("%s is a TypeError", async (_what, options, message) => {
    const { turns, programmatic } = setup();
    const call = programmatic.runTurn(options as RunTurnOptions);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toBeInstanceOf(TypeError);
    expect(turns.admitted).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ["a function", () => [], "function input"],
    ["an empty text", "", "needs a message"],
    ["an empty list", [], "needs a message"],
    ["anything, without the feature", "x", "not available"]
  ])("submitting %s is refused", async (_what, input, message) => {
    const { programmatic } = setup();
    const options = { mode: "submit", input } as object as RunTurnOptions;
    await expect(programmatic.runTurn(options)).rejects.toThrow(message);
  });

  test("waits by default, and gives the answer and its structured output", async () => {
    const { turns, programmatic } = setup();
    const message = answer("a1");
    turns.answer({ message, output: { severity: "low" } });
    expect(await programmatic.runTurn({ input: "Hi", body: { x: 1 } })).toEqual({
      requestId: turns.last.admission.requestId,
      status: "completed",
      continuation: false,
      message,
      output: { severity: "low" }
    });
    expect(turns.last.admission).toMatchObject({ trigger: "programmatic", body: { x: 1 } });
  });

  test("gives no message for a turn that did not complete", async () => {
    const { turns, programmatic } = setup();
    turns.answer({ status: "error", error: "Sorry.", message: answer("partial") });
    expect(await programmatic.runTurn({ input: "Hi" })).not.toHaveProperty("message");
  });

  test("continues, or says that there is nothing to continue", async () => {
    const { turns, programmatic } = setup();
    turns.answer({ message: answer("a1") });
    expect(await programmatic.runTurn({ continuation: true })).toMatchObject({
      status: "completed",
      continuation: true
    });
    const nothing = setup(userMessage("u1"));
    expect(await nothing.programmatic.runTurn({ continuation: true })).toEqual({
      requestId: "",
      status: "skipped",
      continuation: true
    });
  });

  test.each<[string | never[]]>([[""], [[]]])("%j, given in advance, starts nothing", async (input) => {
    const { turns, programmatic } = setup();
    expect(await programmatic.runTurn({ input })).toEqual({ requestId: "", status: "skipped", continuation: false });
    const notes = new Notes();
    await programmatic.runTurn({ mode: "stream", input, callback: notes });
    expect(notes.calls).toEqual(["start id-1", "done"]);
    expect(turns.admitted).toEqual([]);
  });

  test("a function that may return nothing runs", async () => {
    const { turns, programmatic } = setup();
    turns.answer({});
    await programmatic.runTurn({ input: () => [] });
    expect(turns.admitted).toHaveLength(1);
  });

  test("streams through chat", async () => {
    const { turns, programmatic } = setup();
    turns.answer({}, ["1"]);
    const notes = new Notes();
    await programmatic.runTurn({ mode: "stream", input: "Hi", callback: notes, body: { x: 1 } });
    expect(notes.calls).toEqual(["start id-1", "event 1", "done"]);
    expect(turns.last.admission).toMatchObject({ trigger: "rpc", body: { x: 1 } });
  });
});

describe("chat", () => {
  async function chatted(outcome: Partial<TurnOutcome>, failing = "") {
    const { turns, programmatic, described } = setup();
    turns.answer(outcome, ["1", "2"]);
    const notes = new Notes();
    notes.failing = failing;
    const end = await programmatic.chat("Hi", notes).then(
      () => "resolved",
      (error: Error) => `rejected: ${error.message}`
    );
    return { calls: notes.calls, end, turns, described };
  }

  const EVENTS = ["start id-1", "event 1", "event 2"];
  const CLEARED = "error The conversation was cleared before this turn could finish.";

  test.each<[string, Partial<TurnOutcome>, string[]]>([
    ["completed", {}, [...EVENTS, "done"]],
    ["failed in the stream", { status: "error", error: "Sorry." }, [...EVENTS, "error Sorry."]],
    ["failed before it", { status: "error", error: "Sorry.", streamed: false }, [...EVENTS, "error Sorry."]],
    ["aborted", { status: "aborted", reason: "cancelled" }, EVENTS],
    ["cleared while it ran", { status: "aborted", reason: "cleared" }, [...EVENTS, CLEARED]],
    ["cleared while it waited", { status: "skipped", reason: "cleared" }, [...EVENTS, CLEARED]],
    ["skipped", { status: "skipped", reason: "x" }, [...EVENTS, "error The turn did not run (x)."]]
  ])("a turn that %s ends in the right call, and chat resolves", async (_what, outcome, expected) => {
    const { calls, end } = await chatted(outcome);
    expect(calls).toEqual(expected);
    expect(end).toBe("resolved");
  });

  test("a callback that fails stops the turn and hears why", async () => {
    const { turns, programmatic, described } = setup();
    turns.run = ({ view }) => {
      ["1", "2", "3"].forEach((body, seq) => turns.readers.chunk(view, { seq, body }));
    };
    const notes = new Notes();
    notes.failing = "event";
    await programmatic.chat("Hi", notes);
    expect(notes.calls).toEqual(["start id-1", "event 1", "error described: event failed"]);
    expect(turns.commands).toEqual(["fail id-1"]);
    // The engine describes what ends a turn, once.
    expect(described).toEqual([]);
  });

  test("a caller that fails to take the id gets no turn", async () => {
    const { calls, turns, described } = await chatted({}, "start");
    expect(calls).toEqual(["start id-1", "error described: start failed"]);
    expect(turns.admitted).toEqual([]);
    expect(described).toEqual([{ requestId: "id-1", stage: "turn", messagesPersisted: false }]);
  });

  test("onDone that fails is told to onError", async () => {
    const { calls, end } = await chatted({}, "done");
    expect(calls.slice(-2)).toEqual(["done", "error described: done failed"]);
    expect(end).toBe("resolved");
  });

  test("only onError itself can make chat reject", async () => {
    expect((await chatted({ status: "error", error: "Sorry." }, "error")).end).toBe("rejected: error failed");
    expect((await chatted({}, "event error")).end).toBe("rejected: error failed");
  });

  test("events come one at a time and in order, and the end after them", async () => {
    const { turns, programmatic } = setup();
    turns.answer({}, ["1", "2", "3"]);
    const order: string[] = [];
    const slow: StreamCallback = {
      onStart: () => {},
      async onEvent(json) {
        order.push(`begin ${json}`);
        await Promise.resolve();
        order.push(`end ${json}`);
      },
      onDone: () => void order.push("done"),
      onError: () => {}
    };
    await programmatic.chat("Hi", slow);
    expect(order).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3", "done"]);
  });

  test("a quick callback hears of the end before the turn's caller does", async () => {
    const { turns, programmatic } = setup();
    const order: string[] = [];
    turns.run = ({ view, settle }) => {
      turns.readers.settled(view, { status: "completed", streamed: true });
      order.push("response hook");
      settle({ status: "completed", streamed: true });
    };
    const callback: StreamCallback = {
      onStart() {},
      onEvent() {},
      onDone: () => void order.push("done"),
      onError() {}
    };
    await programmatic.chat("Hi", callback);
    expect(order).toEqual(["done", "response hook"]);
  });

  test("a failed turn is told after its response hook", async () => {
    const { turns, programmatic } = setup();
    const order: string[] = [];
    const failed: TurnOutcome = { status: "error", error: "Sorry.", streamed: true };
    turns.run = ({ view, settle }) => {
      turns.readers.settled(view, failed);
      order.push("response hook");
      settle(failed);
    };
    const callback: StreamCallback = {
      onStart() {},
      onEvent() {},
      onDone() {},
      onError: () => void order.push("error")
    };
    await programmatic.chat("Hi", callback);
    expect(order).toEqual(["response hook", "error"]);
  });

  test("a reader that falls too far behind stops the turn", async () => {
    const { turns, programmatic } = setup();
    const body = "x".repeat(UNREAD_LIMIT_BYTES / 4);
    turns.run = ({ view }) => {
      for (let seq = 0; seq < 8; seq += 1) turns.readers.chunk(view, { seq, body });
    };
    const release = Promise.withResolvers<void>();
    const errors: string[] = [];
    let events = 0;
    const chat = programmatic.chat("Hi", {
      onStart: () => {},
      onEvent: () => ((events += 1), release.promise),
      onDone: () => {},
      onError: (error) => void errors.push(error)
    });
    await vi.waitFor(() => expect(turns.commands).toEqual(["fail id-1"]));
    release.resolve();
    await chat;
    expect(events).toBe(1);
    expect(errors).toEqual([expect.stringContaining("fell too far behind")]);
  });

  test("other turns are not its business, and nobody listens after the end", async () => {
    const { turns, programmatic } = setup();
    const notes = new Notes();
    const other = { turnId: "t", requestId: "other", messageId: "m", inputMessageIds: [], origin: undefined };
    turns.run = ({ settle }) => {
      const view = { ...other, trigger: "ws-chat" as const, continuation: false };
      turns.readers.chunk(view, { seq: 0, body: "not mine" });
      turns.readers.settled(view, { status: "completed", streamed: true });
      settle({ status: "aborted", streamed: false });
    };
    await programmatic.chat("Hi", notes);
    turns.readers.chunk(turns.last.view, { seq: 0, body: "too late" });
    expect(notes.calls).toEqual(["start id-1"]);
  });

  test("its tools and body count for this turn only", async () => {
    const { turns, programmatic } = setup();
    turns.clientTools = [{ name: "stored", description: null, parameters: null }];
    turns.body = { stored: true };
    turns.answer({});
    const notes = new Notes();
    await programmatic.chat("Hi", notes);
    expect(turns.last.admission).toMatchObject({ trigger: "rpc", clientTools: [] });
    expect(turns.last.admission).not.toHaveProperty("body");
    const onClientToolCall = () => 1;
    await programmatic.chat("Hi", notes, { clientTools: [{ name: "mine" }], body: { x: 1 }, onClientToolCall });
    const { origin, clientTools, body } = turns.last.admission;
    expect(clientTools).toEqual([{ name: "mine", description: null, parameters: null }]);
    expect(body).toEqual({ x: 1 });
    expect(origin).toBeInstanceOf(ChatCaller);
    expect((origin as ChatCaller).onClientToolCall).toBe(onClientToolCall);
  });

  test("tools given to it are ignored with a warning", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { turns, programmatic } = setup();
    turns.answer({});
    await programmatic.chat("Hi", new Notes(), { tools: {} } as object);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("takes no tools"));
  });

  test("a cancel that comes before the turn is accepted is not lost", async () => {
    for (const cancel of [
      (programmatic: Programmatic, id: string) => programmatic.cancel(id, "enough"),
      (programmatic: Programmatic) => programmatic.cancelAll("enough")
    ]) {
      const { turns, programmatic } = setup();
      turns.answer({ status: "aborted" });
      const notes = new Notes();
      await programmatic.chat("Hi", {
        onStart: ({ requestId }) => cancel(programmatic, requestId),
        onEvent: (event) => notes.onEvent(event),
        onDone: () => notes.onDone(),
        onError: (error) => notes.onError(error)
      });
      expect(turns.last.admission.signal?.aborted).toBe(true);
      expect(notes.calls).toEqual([]);
    }
  });

  test("the caller's signal stops its turn", async () => {
    const { turns, programmatic } = setup();
    turns.answer({});
    const stop = new AbortController();
    await programmatic.chat("Hi", new Notes(), { signal: stop.signal });
    expect(turns.last.admission.signal?.aborted).toBe(false);
    stop.abort();
    expect(turns.last.admission.signal?.aborted).toBe(true);
  });

  test("a refusal at the door rejects", async () => {
    const { turns, programmatic } = setup();
    turns.refusal = new Error("inside an active turn");
    await expect(programmatic.chat("Hi", new Notes())).rejects.toThrow("inside an active turn");
  });
});
