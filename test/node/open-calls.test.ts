// A call that waits for a person or a client stays open over everything that may come before the answer; the model of a
// later prompt says that it waits, and a decision, however late, runs the call and goes on.
import type { UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { createGate, reply, text, toolCall, type TestSocket } from "../../src/testing/index.ts";
import {
  agentOf,
  answer,
  approve,
  connect,
  lastCall,
  open,
  partOf,
  promptCalls,
  refusalsOf,
  scene,
  soon,
  stored,
  words,
  type Host
} from "./open-calls-kit.ts";
import { ask, framesOf, sendChat } from "../kit/frames.ts";
import { textOf, toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { DAY_MS } from "../kit/time.ts";

// Every kind of call with everything that may come between, and each killed at every point.
vi.setConfig({ testTimeout: 120_000 });

// Refusals are logged for the developer, too.
beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));

const locate = { name: "locate", parameters: { type: "object" } };

interface Kind {
  readonly name: string;
  readonly call: ReturnType<typeof toolCall>;
  readonly state: string;
  /** What the first request says beside its message. */
  readonly extra?: object;
  decide(socket: TestSocket): void;
  readonly effects: string[];
  readonly output: unknown;
}

const KINDS: Kind[] = [
  {
    name: "a tool that needs approval",
    call: toolCall("pay", { amount: 12 }, { id: "c1" }),
    state: "approval-requested",
    decide: (socket) => approve(socket, "c1"),
    effects: ["pay 12"],
    output: { paid: 12 }
  },
  {
    name: "an action that needs approval",
    call: toolCall("remove", { who: "bob" }, { id: "c1" }),
    state: "approval-requested",
    decide: (socket) => approve(socket, "c1"),
    effects: ["remove bob"],
    output: { removed: "bob" }
  },
  {
    name: "a tool of the class that only clients answer",
    call: toolCall("ask_user", { prompt: "Which colour?" }, { id: "c1" }),
    state: "input-available",
    decide: (socket) => answer(socket, "c1", "green"),
    effects: [],
    output: "green"
  },
  {
    name: "a tool that a client described",
    call: toolCall("locate", {}, { id: "c1" }),
    state: "input-available",
    extra: { clientTools: [locate] },
    decide: (socket) => answer(socket, "c1", { city: "Rome" }),
    effects: [],
    output: { city: "Rome" }
  }
];

interface Between {
  readonly name: string;
  happen(host: Host, socket: TestSocket): Promise<void>;
}

/** What may come between a question and its answer. Each leads to one further turn. */
const BETWEEN: Between[] = [
  {
    name: "the next message of the user",
    happen: async (host, socket) => {
      ask(socket, "r2");
      await host.idle();
    }
  },
  {
    name: "a message of another tab, which has no tools",
    happen: async (host) => {
      ask(await connect(host), "r2", { clientTools: [] });
      await host.idle();
    }
  },
  {
    name: "a turn that code starts",
    happen: async (host) => {
      await (await agentOf(host)).saveMessages([user("u-r2")]);
    }
  },
  {
    name: "a scheduled turn, days later",
    happen: async (host) => {
      await (await agentOf(host)).askIn((3 * DAY_MS) / 1_000);
      await host.advance(3 * DAY_MS + 1_000);
    }
  },
  {
    name: "a restart and a message after it",
    happen: async (host) => {
      await host.restart();
      await host.advance(DAY_MS);
      ask(await connect(host), "r2");
      await host.idle();
      await host.restart();
    }
  }
];

const CASES = KINDS.flatMap((kind) =>
  BETWEEN.map((between) => ({ kind, between, name: `${kind.name}, ${between.name}` }))
);

describe("an open call stays open, and its late decision runs it and goes on:", () => {
  test.each(CASES)("$name", async ({ kind, between }) => {
    const host = open([reply(kind.call), reply(text("Meanwhile.")), reply(text("Done."))]);
    const socket = await connect(host);
    ask(socket, "r1", kind.extra);
    await host.idle();
    const before = JSON.stringify(await partOf(host));
    expect(before).toContain(`"state":"${kind.state}"`);
    expect(await (await agentOf(host)).isWaiting()).toBe(true);

    await between.happen(host, socket);

    expect(JSON.stringify(await partOf(host))).toBe(before);
    const [waiting, ...others] = promptCalls(lastCall());
    expect(waiting?.result).toMatch(/waits for the user's/);
    expect(others).toEqual([]);
    expect(scene.effects).toEqual([]);
    expect(textOf((await stored(host)).at(-1))).toBe("Meanwhile.");

    const tab = await connect(host);
    kind.decide(tab);
    await soon(host);

    expect(refusalsOf(tab)).toEqual([]);
    expect(await partOf(host)).toMatchObject({ state: "output-available", output: kind.output });
    expect(scene.effects).toEqual(kind.effects);
    // The follow-up is the newest message, and its model has seen what came in between and the outcome.
    expect((await words(host)).slice(-2)).toEqual(["assistant:Meanwhile.", "assistant:Done."]);
    expect(promptCalls(lastCall())).toEqual([
      { id: "c1", result: expect.stringContaining(JSON.stringify(kind.output)) }
    ]);
    expect(promptOf(lastCall())).toContain("Meanwhile.");
    expect(await (await agentOf(host)).isWaiting()).toBe(false);
  });
});

test.each(KINDS)(
  "a turn that was queued behind the question leaves it open: $name",
  async ({ call, extra, decide, state, effects }) => {
    const gate = createGate();
    const host = open([reply(call, gate.wait()), reply(text("Meanwhile.")), reply(text("Done."))]);
    const socket = await connect(host);
    ask(socket, "r1", extra);
    await gate.reached;
    ask(socket, "r2");
    gate.open();
    await host.idle();
    expect((await partOf(host)).state).toBe(state);
    decide(socket);
    await soon(host);
    expect(scene.effects).toEqual(effects);
    expect((await words(host)).slice(-2)).toEqual(["assistant:Meanwhile.", "assistant:Done."]);
  }
);

describe("a decision", () => {
  test("while the question is the newest message extends that message", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Paid."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    approve(socket, "c1");
    await soon(host);
    expect(await words(host)).toEqual(["user:u-r1", "assistant:Paid."]);
  });

  test("that is a late no never runs the call, and the model is told", async () => {
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" })),
      reply(text("Mm.")),
      reply(text("As you wish."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await host.idle();
    approve(socket, "c1", false);
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect((await partOf(host)).state).toBe("output-denied");
    expect(promptCalls(lastCall())[0]?.result).toMatch(/did not allow/);
    expect((await words(host)).at(-1)).toBe("assistant:As you wish.");
  });

  test("in words of one's own is a denial with that text", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("All right."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    answer(socket, "c1", null, { state: "output-error", errorText: "Not on a Sunday." });
    await soon(host);
    expect(scene.effects).toEqual([]);
    expect(await partOf(host)).toMatchObject({ state: "output-error", errorText: "Not on a Sunday." });
    expect(promptCalls(lastCall())[0]?.result).toContain("Not on a Sunday.");
  });

  test("that comes late is streamed as a message of its own, under the id it is stored with", async () => {
    const steps = [
      reply(toolCall("pay", { amount: 1 }, { id: "c1" })),
      reply(text("Meanwhile.")),
      reply(text("Paid."))
    ];
    const host = open(steps);
    const [socket, other] = [await connect(host), await connect(host)];
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
    await host.idle();
    const receivedCount = other.frames.length;
    approve(socket, "c1");
    await soon(host);
    const frames = framesOf(other)
      .slice(receivedCount)
      .filter(({ type }) => type === "cf_agent_use_chat_response");
    const [first] = frames;
    expect(JSON.parse(first?.body ?? "{}")).toEqual({ type: "start", messageId: (await stored(host)).at(-1)?.id });
    expect(frames.filter(({ continuation, body }) => continuation || body?.includes("tool-output"))).toEqual([]);
    // What became of the call is sent as a change of the message that holds it.
    const updates = framesOf(other)
      .slice(receivedCount)
      .filter(({ type }) => type === "cf_agent_message_updated");
    expect(updates.map((frame) => toolParts([frame["message"] as UIMessage])[0]?.state)).toEqual([
      "approval-responded",
      "output-available"
    ]);
  });

  test("about a call that a summary has taken the place of runs it and goes on", async () => {
    const asides = Array.from({ length: 3 }, () => reply(text("Meanwhile.")));
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), ...asides, reply(text("Paid."))]);
    const socket = await connect(host);
    for (const id of ["r1", "r2", "r3", "r4"]) {
      ask(socket, id);
      await host.idle();
    }
    const messages = await stored(host);
    await (await agentOf(host)).shorten(messages[0]!.id, messages[3]!.id);
    approve(socket, "c1");
    await soon(host);
    expect(scene.effects).toEqual(["pay 1"]);
    expect(promptCalls(lastCall())).toEqual([{ id: "c1", result: expect.stringContaining('"paid":1') }]);
    expect((await words(host)).at(-1)).toBe("assistant:Paid.");
  });

  test("about one of two calls waits for the other, and does not hold up the continuation of a later answer", async () => {
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" }), toolCall("pay", { amount: 2 }, { id: "c2" })),
      reply(toolCall("ask_user", { prompt: "Sure?" }, { id: "c3" })),
      reply(text("You said yes.")),
      reply(text("Both paid."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    approve(socket, "c1");
    await soon(host);
    ask(socket, "r2");
    await host.idle();
    expect(promptCalls(lastCall()).map(({ result }) => result)).toEqual([
      expect.stringMatching(/allowed this call. It has not run/),
      expect.stringMatching(/waits for the user's decision/)
    ]);
    answer(socket, "c3", "yes");
    await soon(host);
    expect((await words(host)).at(-1)).toBe("assistant:You said yes.");
    expect(scene.effects).toEqual([]);
    // Nothing is about to start: a new client does not wait.
    const tab = await connect(host);
    tab.send({ type: "cf_agent_stream_resume_request", probeId: "p" });
    expect(await tab.next("cf_agent_stream_resume_none")).toMatchObject({ reason: "idle", probeId: "p" });
    approve(socket, "c2");
    await soon(host);
    expect(scene.effects.toSorted()).toEqual(["pay 1", "pay 2"]);
    expect((await words(host)).at(-1)).toBe("assistant:Both paid.");
  });

  test("about two answers at once runs both, one after the other", async () => {
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" })),
      reply(toolCall("remove", { who: "bob" }, { id: "c2" })),
      reply(text("Newest.")),
      reply(text("One.")),
      reply(text("Two."))
    ]);
    const socket = await connect(host);
    for (const id of ["r1", "r2", "r3"]) {
      ask(socket, id);
      await host.idle();
    }
    approve(socket, "c1");
    approve(socket, "c2");
    await soon(host);
    await soon(host);
    expect(scene.effects).toEqual(["pay 1", "remove bob"]);
    expect((await words(host)).slice(-3)).toEqual(["assistant:Newest.", "assistant:One.", "assistant:Two."]);
    promptCalls(lastCall());
  });

  test("of a call of a client's tool that needs approval first waits for the client's result then", async () => {
    const host = open([reply(toolCall("sign", {}, { id: "c1" })), reply(text("Meanwhile.")), reply(text("Signed."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    answer(socket, "c1", "forged");
    expect((await partOf(host)).state).toBe("approval-requested");
    approve(socket, "c1");
    await soon(host);
    ask(socket, "r2");
    await host.idle();
    expect((await partOf(host)).state).toBe("approval-responded");
    expect(promptCalls(lastCall())[0]?.result).toMatch(/waits for the user's answer/);
    answer(socket, "c1", "with a pen");
    await soon(host);
    expect(await partOf(host)).toMatchObject({ state: "output-available", output: "with a pen" });
    expect((await words(host)).at(-1)).toBe("assistant:Signed.");
  });

  test("without a wish to go on is carried out by the code that goes on", async () => {
    const host = open([reply(toolCall("pay", { amount: 1 }, { id: "c1" })), reply(text("Paid."))]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "c1", approved: true });
    await soon(host);
    expect(scene.effects).toEqual([]);
    await (await agentOf(host)).goOn();
    expect(scene.effects).toEqual(["pay 1"]);
    expect(await partOf(host)).toMatchObject({ state: "output-available", output: { paid: 1 } });
    expect((await words(host)).at(-1)).toBe("assistant:Paid.");
    const chunks = framesOf(socket).flatMap(({ body }) => (body ? [body] : []));
    expect(chunks.filter((body) => body.includes("tool-output"))).toEqual([]);
  });
});

describe("a call that is no longer open", () => {
  async function asked(): Promise<{ host: Host; socket: TestSocket }> {
    const host = open([
      reply(toolCall("pay", { amount: 1 }, { id: "c1" })),
      reply(text("Done.")),
      reply(text("Again."))
    ]);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    return { host, socket };
  }

  test.each<[string, (host: Host, socket: TestSocket) => Promise<void>]>([
    ["it was approved and ran", async (host, socket) => (approve(socket, "c1"), void (await soon(host)))],
    ["it was denied", async (host, socket) => (approve(socket, "c1", false), void (await soon(host)))],
    [
      "the conversation was cleared",
      async (host, socket) => (socket.send({ type: "cf_agent_chat_clear" }), void (await host.idle()))
    ],
    [
      "the answer was made anew",
      async (host, socket) => {
        const messages = (await stored(host)).slice(0, 1);
        sendChat(socket, "r9", messages, { trigger: "regenerate-message" });
        await host.idle();
      }
    ]
  ])("answers an error to the client that decides about it, and changes nothing: %s", async (_why, close) => {
    const { host, socket } = await asked();
    await close(host, socket);
    const [effects, before, turns] = [
      [...scene.effects],
      JSON.stringify(await stored(host)),
      scene.script.calls.length
    ];
    const tab = await connect(host);
    for (const approved of [true, false]) approve(tab, "c1", approved);
    await soon(host);
    expect(refusalsOf(tab)).toEqual(["tool-call-not-open", "tool-call-not-open"]);
    expect(framesOf(tab).findLast(({ error }) => error !== undefined)?.error).toMatch(/Nothing was changed/);
    expect(scene.effects).toEqual(effects);
    expect(JSON.stringify(await stored(host))).toBe(before);
    expect(scene.script.calls).toHaveLength(turns);
  });
});

test("a call that the provider runs and has not finished does not keep a client's answer from going on", async () => {
  const searches = toolCall("web_search", { q: "paint" }, { id: "s1", providerExecuted: true, dynamic: true });
  const asks = toolCall("ask_user", { prompt: "Which colour?" }, { id: "c1" });
  const host = open([reply(searches, asks), reply(text("Green it is."))]);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  expect(await partOf(host, "s1")).toMatchObject({ state: "input-available" });
  answer(socket, "c1", "green");
  await soon(host);
  expect((await words(host)).at(-1)).toBe("assistant:Green it is.");
});
