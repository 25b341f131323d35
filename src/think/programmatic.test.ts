import { Output, type UIMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { ALREADY_RECORDED } from "../session/change-log.ts";
import { createGate, failInBand, json, reply, scriptedModel, stall, text, type Step } from "../testing/model/index.ts";
import type { TurnTicket } from "../turn/admit.ts";
import { TurnEngine } from "../turn/engine.ts";
import { assistant, user, World, type WorldInit } from "../turn/engine.test-support.ts";
import type { TurnListener } from "../turn/listener.ts";
import { ChatCaller } from "../feature/client-tools.ts";
import { SlowCallbackError } from "../feature/errors.ts";
import { Programmatic, type RunTurnOptions } from "./programmatic.ts";
import { UNREAD_LIMIT_BYTES, type StreamCallback } from "../feature/stream-callback.ts";

afterEach(() => void vi.restoreAllMocks());

interface Setup extends Partial<WorldInit> {
  /** What the model answers, call by call; after the last, the last again. */
  readonly steps?: Step[];
  readonly stored?: readonly UIMessage[];
}

/** On a real engine, whose admissions are written down. */
function setup({ steps = [reply(text("Hi"))], stored = [assistant("a0")], ...init }: Setup = {}) {
  const model = scriptedModel(steps, { onExhausted: "repeat-last" });
  const world = new World({ model: () => model, ...init });
  const turns = world.engine;
  for (const message of stored) world.transcript.append(message, ALREADY_RECORDED);
  const admit = vi.spyOn(turns, "admit");
  const described: unknown[] = [];
  let count = 0;
  const programmatic = new Programmatic({
    turns,
    transcript: { leaf: () => world.transcript.path().at(-1) },
    ids: { next: () => `request-${++count}` },
    turnFeatures: { submit: () => expect.unreachable("nothing is submitted here") },
    hooks: {
      describeFailure: (error, context) => {
        described.push(context);
        return `described: ${error instanceof Error ? error.message : String(error)}`;
      }
    }
  });
  const admissions = () => admit.mock.calls.map(([admission]) => admission);
  return { world, turns, model, programmatic, described, admit, admissions, last: () => admissions().at(-1) };
}

/** Writes down every call, an event by its text or its type; some of them may fail. */
class Notes implements StreamCallback {
  readonly calls: string[] = [];
  failing = "";
  onStart({ requestId }: { requestId: string }): void {
    this.#note("start", requestId);
  }
  async onEvent(chunk: string): Promise<void> {
    const { type, delta } = JSON.parse(chunk) as { type: string; delta?: string };
    this.#note("event", delta ?? type);
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

/** Calls from inside a turn. What it throws. */
async function calledInTurn(call: (programmatic: Programmatic) => Promise<unknown>): Promise<unknown> {
  let thrown: unknown;
  const kit = setup({
    model: async () => {
      thrown = await call(kit.programmatic).catch((error: unknown) => error);
      return kit.model;
    }
  });
  await kit.turns.admit({ requestId: "outer", trigger: "ws-chat", input: [user("u1")] }).settled;
  return thrown;
}

describe("saveMessages", () => {
  test("is one admission with what the client last said", async () => {
    const { turns, programmatic, last, world } = setup();
    turns.rememberClient({ tools: [{ name: "a", description: null, parameters: null }], body: { theme: "dark" } });
    const messages = [user("u1")];
    expect(await programmatic.saveMessages(messages)).toEqual({ requestId: "request-1", status: "completed" });
    expect(last()).toMatchObject({
      trigger: "programmatic",
      input: messages,
      body: { theme: "dark" },
      clientTools: turns.clientTools
    });
    expect(world.texts()).toEqual(["assistant:a0", "user:u1", "assistant:Hi"]);
  });

  test("takes a body, a signal and a channel of its own", async () => {
    const { programmatic, last } = setup();
    const { signal } = new AbortController();
    await programmatic.saveMessages([user("u1")], { body: { mine: 1 }, signal, channel: "web" });
    expect(last()).toMatchObject({ body: { mine: 1 }, channel: "web" });
    expect(last()?.signal).toBe(signal);
    expect(last()?.input).toMatchObject([{ id: "u1", metadata: { channel: "web" } }]);
  });

  test("runs with no messages", async () => {
    const { programmatic, model } = setup();
    expect((await programmatic.saveMessages([])).status).toBe("completed");
    expect(model.callCount).toBe(1);
  });

  test("calls a function when the turn's time has come, and not before", async () => {
    const gate = createGate();
    const { programmatic } = setup({ steps: [reply(text("one"), gate.wait()), reply(text("two"))] });
    const first = programmatic.saveMessages([user("u1")]);
    const make = vi.fn((path: UIMessage[]) => [user(`after-${path.length}`)]);
    const second = programmatic.saveMessages(make);
    await gate.reached;
    expect(make).not.toHaveBeenCalled();
    gate.open();
    await Promise.all([first, second]);
    expect(make).toHaveBeenCalledTimes(1);
    expect(make.mock.calls[0]?.[0].map(({ id }) => id).slice(0, 2)).toEqual(["a0", "u1"]);
  });

  test.each<[string, Step, (kit: ReturnType<typeof setup>) => void, object]>([
    ["completes", reply(text("Hi")), () => {}, { status: "completed" }],
    ["fails", reply(failInBand(new Error("secret"))), () => {}, { status: "error", error: "failed in stream" }],
    ["is cancelled", reply(text("Hi")), ({ turns }) => turns.cancel("request-1"), { status: "aborted" }],
    ["is cleared before it runs", reply(text("Hi")), ({ turns }) => turns.clear(), { status: "skipped" }]
  ])("a turn that %s becomes a result", async (_what, step, meanwhile, expected) => {
    const gate = createGate();
    const kit = setup({ steps: [reply(text("first"), gate.wait()), step] });
    kit.turns.admit({ requestId: "first", trigger: "ws-chat", input: [user("u1")] });
    await gate.reached;
    const result = kit.programmatic.saveMessages([]);
    meanwhile(kit);
    gate.open();
    expect(await result).toEqual({ requestId: "request-1", ...expected });
  });

  test("throws inside a turn", async () => {
    expect(await calledInTurn((programmatic) => programmatic.saveMessages([]))).toMatchObject({ code: "nested-turn" });
  });
});

describe("continueLastTurn", () => {
  test("continues the latest answer", async () => {
    const { turns, programmatic, last } = setup();
    turns.rememberClient({ body: { stored: 1 } });
    expect((await programmatic.continueLastTurn()).status).toBe("completed");
    expect(last()).toMatchObject({ continuation: true, input: [], body: { stored: 1 } });
    await programmatic.continueLastTurn({ body: { mine: 1 } });
    expect(last()?.body).toEqual({ mine: 1 });
  });

  test.each([[[user("u1")]], [[]]])(
    "is skipped, without a turn, when there is no answer to continue",
    async (stored) => {
      const { programmatic, admit } = setup({ stored });
      expect(await programmatic.continueLastTurn()).toEqual({ requestId: "", status: "skipped" });
      expect(admit).not.toHaveBeenCalled();
    }
  );

  test("throws inside a turn", async () => {
    expect(await calledInTurn((programmatic) => programmatic.continueLastTurn())).toMatchObject({
      code: "nested-turn"
    });
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
    ["a stream without a callback", { mode: "stream", input: "x" }, "needs a callback"]
  ])("%s is a TypeError", async (_what, options, message) => {
    const { programmatic, admit } = setup();
    const call = programmatic.runTurn(options as RunTurnOptions);
    await expect(call).rejects.toThrow(message);
    await expect(call).rejects.toBeInstanceOf(TypeError);
    expect(admit).not.toHaveBeenCalled();
  });

  test("a function cannot be submitted", async () => {
    const { programmatic } = setup();
    const options = { mode: "submit", input: () => [] } as object as RunTurnOptions;
    await expect(programmatic.runTurn(options)).rejects.toThrow("function input");
  });

  test("waits by default, and gives the answer and its structured output", async () => {
    const output = Output.object({ schema: z.object({ severity: z.string() }) });
    const steps = [reply(json({ severity: "low" }))];
    const { programmatic, last, world } = setup({ steps, settings: { output } });
    const result = await programmatic.runTurn({ input: "Hi", body: { x: 1 } });
    expect(result).toEqual({
      requestId: last()?.requestId,
      status: "completed",
      continuation: false,
      message: world.transcript.path().at(-1),
      output: { severity: "low" }
    });
    expect(last()).toMatchObject({ trigger: "programmatic", body: { x: 1 } });
  });

  test("gives no message for a turn that did not complete", async () => {
    const { programmatic, world } = setup({ steps: [reply(text("par"), failInBand(new Error("broken")))] });
    const result = await programmatic.runTurn({ input: "Hi" });
    expect(result).toMatchObject({ status: "error", error: "failed in stream" });
    expect(result).not.toHaveProperty("message");
    expect(world.texts().at(-1)).toBe("assistant:par");
  });

  test("continues, or says that there is nothing to continue", async () => {
    const { programmatic } = setup();
    const continued = await programmatic.runTurn({ continuation: true });
    expect(continued).toMatchObject({ status: "completed", continuation: true });
    const nothing = await setup({ stored: [user("u1")] }).programmatic.runTurn({ continuation: true });
    expect(nothing).toEqual({ requestId: "", status: "skipped", continuation: true });
  });

  test.each<[string | never[]]>([[""], [[]]])("%j, given in advance, starts nothing", async (input) => {
    const { programmatic, admit } = setup();
    expect(await programmatic.runTurn({ input })).toEqual({ requestId: "", status: "skipped", continuation: false });
    const notes = new Notes();
    await programmatic.runTurn({ mode: "stream", input, callback: notes });
    expect(notes.calls).toEqual(["start request-1", "done"]);
    expect(admit).not.toHaveBeenCalled();
  });

  test("a function that may return nothing runs", async () => {
    const { programmatic, model } = setup();
    await programmatic.runTurn({ input: () => [] });
    expect(model.callCount).toBe(1);
  });

  test("streams through chat", async () => {
    const { programmatic, last } = setup();
    const notes = new Notes();
    await programmatic.runTurn({ mode: "stream", input: "Hi", callback: notes, body: { x: 1 } });
    expect(notes.calls).toEqual([...EVENTS, "done"]);
    expect(last()).toMatchObject({ trigger: "rpc", body: { x: 1 } });
  });
});

const OPENING = ["start request-1", "event start", "event start-step"];
const HALF = [...OPENING, "event text-start", "event Hi"];
const EVENTS = [...HALF, "event text-end", "event finish-step", "event finish"];
const CANCELLED = "error The turn was cancelled.";
const CLEARED = "error The conversation was cleared before this turn could finish.";

describe("chat", () => {
  async function chatted(init: Setup, failing = "") {
    const kit = setup(init);
    const notes = new Notes();
    notes.failing = failing;
    const end = await kit.programmatic.chat("Hi", notes).then(
      () => "resolved",
      (error: Error) => `rejected: ${error.message}`
    );
    return { ...kit, calls: notes.calls, end };
  }

  const failure = failInBand(new Error("secret"));
  const noModel = () => Promise.reject(new Error("no model"));

  test.each<[string, Setup, string[]]>([
    ["completed", {}, [...EVENTS, "done"]],
    ["failed in the stream", { steps: [reply(text("Hi"), failure)] }, [...HALF, "error failed in stream"]],
    ["failed before it", { model: noModel }, ["start request-1", "error failed in turn"]]
  ])("a turn that %s ends in the right call, and chat resolves", async (_what, init, expected) => {
    const { calls, end } = await chatted(init);
    expect(calls).toEqual(expected);
    expect(end).toBe("resolved");
  });

  test.each<[string, (turns: World["engine"]) => void, string[]]>([
    ["aborted while it ran", (turns) => turns.cancel("request-1"), [...HALF, CANCELLED]],
    ["cleared while it ran", (turns) => turns.clear(), [...HALF, CLEARED]]
  ])("a turn that was %s ends in the right call, and chat resolves", async (_what, stop, expected) => {
    const gate = createGate();
    const { turns, programmatic } = setup({ steps: [reply(text("Hi"), gate.wait())] });
    const notes = new Notes();
    const chat = programmatic.chat("Hi", notes);
    await vi.waitFor(() => expect(notes.calls).toEqual(HALF));
    stop(turns);
    await chat;
    expect(notes.calls).toEqual(expected);
  });

  test("a turn that was cleared while it waited ends in onError, and chat resolves", async () => {
    const gate = createGate();
    const { turns, programmatic } = setup({ steps: [reply(gate.wait())] });
    turns.admit({ requestId: "first", trigger: "ws-chat", input: [user("u1")] });
    await gate.reached;
    const notes = new Notes();
    const chat = programmatic.chat("Hi", notes);
    await vi.waitFor(() => expect(turns.waiting()?.requestId).toBe("request-1"));
    turns.clear();
    await chat;
    expect(notes.calls).toEqual(["start request-1", CLEARED]);
  });

  test("a turn that was undone with its caller's transaction ends in onError, and chat resolves", async () => {
    const { turns, programmatic, world, admit } = setup();
    admit.mockImplementation((admission) => {
      const tickets: TurnTicket[] = [];
      const undone = () =>
        world.conversation.transaction(() => {
          tickets.push(TurnEngine.prototype.admit.call(turns, admission));
          throw new Error("undone");
        });
      expect(undone).toThrow("undone");
      return tickets[0] as TurnTicket;
    });
    const notes = new Notes();
    await programmatic.chat("Hi", notes);
    expect(notes.calls).toEqual(["start request-1", "error The turn did not run (undone)."]);
  });

  test("a callback that fails stops the turn and is given the reason", async () => {
    const { turns, programmatic, described } = setup();
    const fail = vi.spyOn(turns, "fail");
    const notes = new Notes();
    notes.failing = "event";
    await programmatic.chat("Hi", notes);
    expect(notes.calls).toEqual(["start request-1", "event start", "error failed in stream"]);
    expect(fail.mock.calls).toEqual([["request-1", new Error("event failed")]]);
    // The engine describes what ends a turn, once.
    expect(described).toEqual([]);
  });

  test("a caller that fails to take the id gets no turn", async () => {
    const { calls, admit, described } = await chatted({}, "start");
    expect(calls).toEqual(["start request-1", "error described: start failed"]);
    expect(admit).not.toHaveBeenCalled();
    expect(described).toEqual([{ requestId: "request-1", stage: "turn", messagesPersisted: false }]);
  });

  test("onDone that fails is reported to onError", async () => {
    const { calls, end } = await chatted({}, "done");
    expect(calls.slice(-2)).toEqual(["done", "error described: done failed"]);
    expect(end).toBe("resolved");
  });

  test("only onError itself can make chat reject", async () => {
    expect((await chatted({ steps: [reply(failure)] }, "error")).end).toBe("rejected: error failed");
    expect((await chatted({}, "event error")).end).toBe("rejected: error failed");
  });

  test("events come one at a time and in order, and the end after them", async () => {
    const { programmatic, world } = setup();
    const order: string[] = [];
    const slow: StreamCallback = {
      onStart: () => {},
      async onEvent(chunk) {
        order.push(`begin ${chunk}`);
        await Promise.resolve();
        order.push(`end ${chunk}`);
      },
      onDone: () => void order.push("done"),
      onError: () => {}
    };
    await programmatic.chat("Hi", slow);
    const sent = world.chunks("request-1").flatMap(({ body }) => [`begin ${body}`, `end ${body}`]);
    expect(order).toEqual([...sent, "done"]);
  });

  test.each([
    ["a quick callback gets the end before the response hook", {}, ["done", "response hook"]],
    ["a failed turn is reported after its response hook", { steps: [reply(failure)] }, ["response hook", "error"]]
  ])("%s", async (_what, init, expected) => {
    const order: string[] = [];
    const { programmatic } = setup({ ...init, respond: async () => void order.push("response hook") });
    await programmatic.chat("Hi", {
      onStart() {},
      onEvent() {},
      onDone: () => void order.push("done"),
      onError: () => void order.push("error")
    });
    expect(order).toEqual(expected);
  });

  test("a callback that falls too far behind stops the turn", async () => {
    const unread = Array.from({ length: 8 }, () => text("x".repeat(UNREAD_LIMIT_BYTES / 8)));
    const { programmatic, turns } = setup({ steps: [reply(...unread, stall())] });
    const failed = Promise.withResolvers<unknown>();
    vi.spyOn(turns, "fail").mockImplementation((requestId, error) => {
      TurnEngine.prototype.fail.call(turns, requestId, error);
      failed.resolve(error);
    });
    const release = Promise.withResolvers<void>();
    const errors: string[] = [];
    let events = 0;
    const chat = programmatic.chat("Hi", {
      onStart: () => {},
      onEvent: () => ((events += 1), release.promise),
      onDone: () => {},
      onError: (error) => void errors.push(error)
    });
    expect(await failed.promise).toBeInstanceOf(SlowCallbackError);
    release.resolve();
    await chat;
    expect(events).toBe(1);
    expect(errors).toEqual(["failed in stream"]);
  });

  test("other turns are not its business, and it stops listening at the end", async () => {
    const { turns, programmatic } = setup({ steps: [reply(text("not mine")), reply(text("Hi"))] });
    const listening = new Set<TurnListener>();
    const listen = turns.listen.bind(turns);
    const listens = vi.spyOn(turns, "listen").mockImplementation((listener) => {
      const stop = listen(listener);
      listening.add(listener);
      return () => (listening.delete(listener), stop());
    });
    const notes = new Notes();
    const chat = programmatic.chat("Hi", notes);
    turns.admit({ requestId: "other", trigger: "ws-chat", input: [user("u1")] });
    await chat;
    expect(listens).toHaveBeenCalledTimes(1);
    expect(notes.calls).toEqual([...EVENTS, "done"]);
    expect(listening.size).toBe(0);
  });

  test("its tools and body count for this turn only", async () => {
    const { turns, programmatic, last } = setup();
    const stored = { tools: [{ name: "stored", description: null, parameters: null }], body: { stored: true } };
    turns.rememberClient(stored);
    const notes = new Notes();
    await programmatic.chat("Hi", notes);
    expect(last()).toMatchObject({ trigger: "rpc", clientTools: [] });
    expect(last()?.body).toBeUndefined();
    const onClientToolCall = () => 1;
    await programmatic.chat("Hi", notes, { clientTools: [{ name: "mine" }], body: { x: 1 }, onClientToolCall });
    const clientTools = [{ name: "mine", description: null, parameters: null }];
    expect(last()).toMatchObject({ clientTools, body: { x: 1 } });
    const origin = last()?.origin;
    expect(origin).toBeInstanceOf(ChatCaller);
    expect((origin as ChatCaller).onClientToolCall).toBe(onClientToolCall);
    expect(turns).toMatchObject({ clientTools: stored.tools, body: stored.body });
  });

  test("tools given to it are ignored with a warning", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { programmatic } = setup();
    await programmatic.chat("Hi", new Notes(), { tools: {} } as object);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("takes no tools"));
  });

  test.each<[string, (programmatic: Programmatic, id: string) => void]>([
    ["one", (programmatic, id) => programmatic.cancel(id, "enough")],
    ["all", (programmatic) => programmatic.cancelAll("enough")]
  ])("a cancel of %s that comes before the turn is accepted is not lost", async (_what, cancel) => {
    const { programmatic, model } = setup();
    const notes = new Notes();
    await programmatic.chat("Hi", {
      onStart: ({ requestId }) => cancel(programmatic, requestId),
      onEvent: (event) => notes.onEvent(event),
      onDone: () => notes.onDone(),
      onError: (error) => notes.onError(error)
    });
    expect(notes.calls).toEqual([CANCELLED]);
    expect(model.callCount).toBe(0);
  });

  test("the caller's signal stops its turn", async () => {
    const gate = createGate();
    const { programmatic, world } = setup({ steps: [reply(text("Hi"), gate.wait())] });
    const stop = new AbortController();
    const notes = new Notes();
    const chat = programmatic.chat("Hi", notes, { signal: stop.signal });
    await vi.waitFor(() => expect(notes.calls).toEqual(HALF));
    stop.abort();
    await chat;
    expect(notes.calls).toEqual([...HALF, CANCELLED]);
    expect(world.heard.findLast(({ what }) => what === "settled")).toMatchObject({ outcome: { status: "aborted" } });
  });

  test("throws inside a turn, before the callback is given an id", async () => {
    const notes = new Notes();
    expect(await calledInTurn((programmatic) => programmatic.chat("Hi", notes))).toMatchObject({ code: "nested-turn" });
    expect(notes.calls).toEqual([]);
  });
});
