// Turns that outgrow the model's context window, from a class's point of view: each test is named after its promise.
import { tool } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defaultContextOverflowClassifier } from "../../src/index.ts";
import type { CompactFunction } from "../../src/session/index.ts";
import {
  everyCrash,
  fail,
  failInBand,
  reply,
  stall,
  text,
  toolCall,
  usage,
  type RecordedCall,
  type Reply,
  type ScriptPart
} from "../../src/testing/index.ts";
import {
  connect,
  eventsOf,
  fill,
  Judge,
  MethodJudge,
  open,
  resultLengths,
  said,
  scene,
  stored,
  Subject,
  summarize,
  unpaired,
  warnings,
  type Server,
  type Settings
} from "./limits-kit.ts";
import { die, endsOf, isTerminal, settleDown } from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { toolParts } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { never } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum";
const overflows = (...before: ScriptPart[]): Reply => reply(...before, failInBand(new Error(TOO_LONG)));

const reactive = (more: Settings = {}): Settings => ({
  overflow: { reactive: true },
  classify: defaultContextOverflowClassifier,
  compact: summarize(),
  ...more
});

/** Counts what it does. */
const work = () =>
  tool({
    inputSchema: z.object({ what: z.string(), size: z.number().optional() }),
    execute: async ({ what, size }) => {
      scene.effects.push(what);
      return `${what} ${"x".repeat(size ?? 1)}`;
    }
  });
const works = (what: string, size?: number) => toolCall("work", { what, ...(size && { size }) }, { id: what });

async function askOnce(host: Server, agent: typeof Subject = Judge) {
  await fill(host, agent);
  const socket = await connect(host, agent);
  ask(socket, "r1");
  await host.idle();
  return socket;
}

describe("reactive: a prompt that the provider refuses", () => {
  test.each([
    ["in its stream, named by a field", overflows(text("half an ans")), Judge],
    ["in its stream, named by a method", overflows(text("half an ans")), MethodJudge],
    ["at once", fail(new Error(TOO_LONG), { statusCode: 400 }), Judge]
  ])("%s: one compaction, one retry, and no trace of the discarded partial", async (_how, refusal, agent) => {
    const host = open([refusal, reply(text("the answer"))], reactive());
    const socket = await askOnce(host, agent);
    expect(scene.script.callCount).toBe(2);
    expect(promptOf(scene.script.calls[0])).not.toContain("SUMMARY");
    expect(promptOf(scene.script.calls[1])).toContain("SUMMARY");
    expect(promptOf(scene.script.calls[1])).not.toMatch(/OLD0|half an ans/);
    expect(said(await stored(host, agent))).toEqual(["user:u-r1", "assistant:the answer"]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(eventsOf("chat:context:compacted")).toEqual([
      { reason: "reactive", shortened: true, requestId: "r1", attempt: 1 }
    ]);
    expect(scene.failures).toEqual([]);
    expect(scene.responses).toHaveLength(1);
    expect(eventsOf("chat:recovery:detected")).toEqual([]);
  });

  test("is no interruption: clients are not shown that anything is recovered", async () => {
    const host = open([overflows(text("half")), reply(text("the answer"))], reactive());
    const socket = await askOnce(host);
    expect(JSON.stringify(socket.frames)).not.toContain("cf_agent_chat_recovering");
    expect(scene.recoveries).toEqual([]);
  });

  const terminal = [
    { stage: "stream", classification: "context_overflow", messagesPersisted: true, message: expect.any(String) }
  ];

  test.each<[string, Settings]>([
    ["that shortens nothing", { compact: () => null }],
    ["that throws", { compact: () => Promise.reject(new Error("no model")) }],
    ["that was not registered", {}]
  ])("a compaction %s ends the turn with one classified error and no further model call", async (_what, more) => {
    const { compact: _none, ...without } = reactive();
    const host = open([overflows(text("half"))], { ...without, ...more });
    const socket = await askOnce(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(1);
    expect(scene.failures).toEqual(terminal);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(eventsOf("chat:context:compacted")).toMatchObject([{ shortened: false }]);
    expect(eventsOf("chat:request:failed")).toMatchObject([{ requestId: "r1", stage: "stream", error: "sorry" }]);
  });

  test.each([
    [undefined, 2],
    [0, 1],
    [3, 4]
  ])("that is refused again and again ends: maxRetries %s makes %s model calls", async (maxRetries, calls) => {
    let round = 0;
    const host = open(
      Array.from({ length: 9 }, () => overflows()),
      reactive({
        overflow: { reactive: true, ...(maxRetries !== undefined && { maxRetries }) },
        // Each time one message less.
        compact: ([first, ...others]) =>
          first && others[0] ? { fromMessageId: first.id, toMessageId: others[0].id, summary: `S${++round}` } : null
      })
    );
    const socket = await askOnce(host);
    expect(scene.script.callCount).toBe(calls);
    expect(scene.failures).toEqual(terminal);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(eventsOf("chat:context:compacted")).toHaveLength(calls - 1);
  });

  test("works without classifyChatError", async () => {
    const host = open([overflows(), reply(text("fits"))], reactive());
    const socket = await askOnce(host, Subject);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(scene.failures).toEqual([]);
    expect(eventsOf("chat:context:compacted")).toHaveLength(1);
    expect(warnings()).toEqual([]);
  });

  test("a classifier that throws is warned of, and its error is no overflow", async () => {
    const classify = () => {
      throw new Error("a bug");
    };
    const host = open([overflows()], reactive({ classify }));
    await askOnce(host);
    expect(scene.failures).toMatchObject([{ stage: "stream" }]);
    expect(scene.failures[0]).not.toHaveProperty("classification");
    expect(warnings().some((warning) => warning.includes("classifyChatError"))).toBe(true);
  });

  test("other failures are what they were", async () => {
    const host = open([reply(text("half"), failInBand(new Error("no such model")))], reactive());
    const socket = await askOnce(host);
    expect(eventsOf("chat:context:compacted")).toEqual([]);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
  });

  test("tools that ran are not run again: their step stays, and the next prompt has call and result", async () => {
    const host = open([reply(works("a")), overflows(text("half")), reply(text("done"))], {
      ...reactive(),
      tools: () => ({ work: work() })
    });
    await askOnce(host);
    expect(scene.effects).toEqual(["a"]);
    expect(unpaired()).toEqual([]);
    expect(promptOf(scene.script.calls[2])).toContain("SUMMARY");
    expect(promptOf(scene.script.calls[2])).toContain("a x");
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:done"]);
    expect(toolParts(await stored(host))).toMatchObject([{ toolCallId: "a", state: "output-available" }]);
  });

  test.each([
    ["shortened what it could", summarize()],
    ["shortened nothing", () => null]
  ])("results of the turn itself are cut, oldest first, after a compaction that %s", async (_what, compact) => {
    const calls = ["a", "b", "c"].map((what) => reply(works(what, 20_000)));
    const steps = [...calls, overflows(), reply(text("done"))];
    const host = open(steps, { ...reactive({ compact }), tools: () => ({ work: work() }) });
    await askOnce(host);
    expect(resultLengths(3)).toEqual([20_002, 20_002, 20_002]);
    expect(resultLengths(4)).toEqual([2_000, 2_000, 20_002]);
    expect(unpaired()).toEqual([]);
    expect(toolParts(await stored(host)).map(({ output }) => String(output).length)).toEqual([20_002, 20_002, 20_002]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:done"]);
  });
});

describe("reactive: stopping", () => {
  test("a classifier that cancels the turn bails out: nothing is compacted, nothing is called again", async () => {
    let agent: { stopAll(): Promise<unknown> } | undefined;
    const classify: NonNullable<Settings["classify"]> = () => {
      void agent?.stopAll();
      return "context_overflow";
    };
    const host = open([overflows()], reactive({ classify, tools: (self) => ((agent = self), {}) }));
    await askOnce(host);
    expect(eventsOf("chat:context:compacted")).toEqual([]);
    expect(scene.script.callCount).toBe(1);
    expect(said(await stored(host))).toEqual(["user:u-r1"]);
  });

  test("a cancel does not wait for a compaction: the turn ends, and the next one is answered", async () => {
    const host = open([overflows(), reply(text("two"))], reactive({ compact: () => never() }));
    const socket = await askOnce(host);
    ask(socket, "r2");
    await host.idle();
    expect(scene.script.callCount).toBe(1);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(endsOf(socket, "r1")).toHaveLength(1);
    expect(endsOf(socket, "r2")).toEqual(["completed"]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "user:u-r2", "assistant:two"]);
  });

  test("a compaction that never ends is given up after five minutes", async () => {
    const host = open([overflows()], reactive({ compact: () => never() }));
    const socket = await askOnce(host);
    await host.advance(299_000);
    expect(endsOf(socket, "r1")).toEqual([]);
    await host.advance(2_000);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(eventsOf("chat:context:compacted")).toMatchObject([{ shortened: false }]);
  });
});

describe("reactive: every entry", () => {
  const steps = () => [overflows(text("half")), reply(text("the answer"))];
  const expectOne = () => {
    expect(scene.script.callCount).toBe(2);
    expect(eventsOf("chat:context:compacted")).toMatchObject([{ reason: "reactive", shortened: true }]);
  };

  test("chat(): the caller hears the end of the answer, and nothing of the overflow", async () => {
    const host = open(steps(), reactive());
    await fill(host);
    await (await host.get(Judge, "a")).talk("hi");
    expect(scene.notified).toEqual(["done"]);
    expectOne();
  });

  test("saveMessages", async () => {
    const host = open(steps(), reactive());
    await fill(host);
    expect(await (await host.get(Judge, "a")).save("hi")).toBe("completed");
    expect(said(await stored(host))).toEqual(["user:hi", "assistant:the answer"]);
    expectOne();
  });

  test("a failure for good is what saveMessages and chat() are told", async () => {
    const host = open([overflows(), overflows()], reactive({ compact: () => null }));
    await fill(host);
    const agent = await host.get(Judge, "a");
    expect(await agent.save("hi")).toBe("error: sorry");
    await agent.talk("hi");
    expect(scene.notified).toEqual(["error: sorry"]);
  });

  test("a continuation of the last answer", async () => {
    const host = open(steps(), reactive());
    await fill(host);
    expect(await (await host.get(Judge, "a")).goOn()).toBe("completed");
    expect(said(await stored(host))).toEqual(["assistant:the answer"]);
    expectOne();
  });

  test("the continuation after a client's tool result", async () => {
    const host = open([reply(toolCall("locate", {}, { id: "c1" })), ...steps()], reactive());
    await fill(host);
    const socket = await connect(host);
    ask(socket, "r1", { clientTools: [{ name: "locate" }] });
    await host.idle();
    const result = { toolCallId: "c1", toolName: "locate", output: "here", autoContinue: true };
    socket.send({ type: "cf_agent_tool_result", ...result });
    await settleDown(host);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:the answer"]);
    expect(toolParts(await stored(host))).toMatchObject([{ state: "output-available", output: "here" }]);
    expect(unpaired()).toEqual([]);
    expect(eventsOf("chat:context:compacted")).toMatchObject([{ shortened: true }]);
  });

  test("a regeneration: the question stays, whatever of the old branch is compacted", async () => {
    const tail =
      (count: number): CompactFunction =>
      (messages) => {
        const [first, last] = [messages[0], messages.at(-count)];
        return first && last ? { fromMessageId: first.id, toMessageId: last.id, summary: "SUMMARY" } : null;
      };
    const host = open([reply(text("old answer")), ...steps()], reactive({ compact: tail(2) }));
    const socket = await askOnce(host);
    const [asked, answered] = (await stored(host)).slice(-2);
    ask(socket, "r2", { messages: [asked], trigger: "regenerate-message", messageId: answered?.id });
    await host.idle();
    expect(promptOf(scene.script.calls[2])).toMatch(/SUMMARY.*u-r1/);
    expect(promptOf(scene.script.calls[2])).not.toMatch(/OLD0|old answer/);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:the answer"]);
  });

  test("a recovered turn: what was kept of it stays", async () => {
    const host = open([reply(works("a")), reply(text("half"), stall()), overflows(), reply(text("the answer"))], {
      ...reactive(),
      tools: () => ({ work: work() })
    });
    await askOnce(host);
    await die(host);
    await settleDown(host);
    expect(scene.effects).toEqual(["a"]);
    expect(eventsOf("chat:context:compacted")).toMatchObject([{ shortened: true }]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:the answer"]);
    expect(unpaired()).toEqual([]);
  });
});

describe("reactive: a process that dies", () => {
  test("between two attempts: the answer comes from the compacted history", async () => {
    const host = open([overflows(text("half")), reply(stall()), reply(text("the answer"))], reactive());
    await askOnce(host);
    await die(host);
    await settleDown(host);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:the answer"]);
    expect(promptOf(scene.script.calls[2])).toContain("SUMMARY");
    expect(promptOf(scene.script.calls[2])).not.toContain("half");
    expect(eventsOf("chat:context:compacted")).toHaveLength(1);
  });

  test("does not give overflows back: the count is durable", async () => {
    const host = open([overflows(), reply(stall()), overflows()], reactive());
    await askOnce(host);
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(3);
    expect(eventsOf("chat:context:compacted")).toHaveLength(1);
    expect(scene.failures).toMatchObject([{ classification: "context_overflow" }]);
  });

  test("while it compacts: the turn is tried again", async () => {
    let compactions = 0;
    const host = open(
      [overflows(text("half")), overflows(), reply(text("the answer"))],
      reactive({ compact: (messages) => ((compactions += 1) === 1 ? never() : summarize()(messages)) })
    );
    await askOnce(host);
    await die(host);
    await settleDown(host);
    expect(said(await stored(host)).at(-1)).toMatch(/the answer$/);
    expect(scene.failures).toEqual([]);
  });
});

describe("a process that dies anywhere", () => {
  const isShort = (call: RecordedCall) => promptOf(call).includes("SUMMARY");
  const finish = async (host: Server) => {
    await settleDown(host);
    // A client whose question was lost asks again.
    if (said(await stored(host)).length === 0) await askAgain(host);
  };
  const inspect = async (host: Server) => ({
    said: said(await stored(host)),
    unpaired: unpaired(),
    isShort: isShort(scene.script.calls.at(-1) as RecordedCall),
    effects: new Set(scene.effects)
  });

  // Both play a conversation forty times.
  test("on the way through an overflow: one answer, from the compacted history", { timeout: 30_000 }, async () => {
    const { points } = await everyCrash({
      create: async () => {
        const host = open((call) => (isShort(call) ? reply(text("the answer")) : overflows()), reactive());
        await fill(host);
        return host;
      },
      script: askAgain,
      finish,
      inspect,
      limit: 40
    });
    expect(points).toBeGreaterThan(20);
  });

  test("on the way through the guard: tools run once, and every prompt is whole", { timeout: 30_000 }, async () => {
    const { points } = await everyCrash({
      create: async () => {
        const answer = (call: RecordedCall) => {
          if (promptOf(call).includes('"b"')) return reply(text("the answer"), usage({ input: 950 }));
          return reply(works(promptOf(call).includes('"a"') ? "b" : "a"), usage({ input: 950 }));
        };
        const host = open(answer, {
          overflow: { proactive: { maxInputTokens: 1_000 } },
          compact: summarize(),
          tools: () => ({ work: work() })
        });
        await fill(host);
        return host;
      },
      script: askAgain,
      finish,
      inspect: async (host) => {
        expect(new Set(scene.effects).size).toBe(scene.effects.length);
        return { ...(await inspect(host)), isShort: true };
      },
      limit: 40
    });
    expect(points).toBeGreaterThan(20);
  });
});

async function askAgain(host: Server): Promise<void> {
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
}

describe("what a client shows", () => {
  test.each([
    ["compacted", summarize()],
    ["only cut", () => null]
  ])("in the end is the stored answer, also of a turn that was %s", async (_how, compact) => {
    const steps = [reply(works("a", 20_000)), overflows(text("half ")), reply(text("the answer"))];
    const host = open(steps, { ...reactive({ compact }), tools: () => ({ work: work() }) });
    const socket = await askOnce(host);
    const [, after = []] = splitAt(framesOf(socket), isTerminal("r1"));
    const shown = after.filter(({ type }) => type === "cf_agent_chat_messages").at(-1)?.messages ?? [];
    expect(said(shown)).toEqual(["user:u-r1", "assistant:the answer"]);
  });
});

function splitAt<Item>(items: readonly Item[], isThere: (item: Item) => boolean): [Item[], Item[]] {
  const index = items.findIndex(isThere);
  return index < 0 ? [[...items], []] : [items.slice(0, index), items.slice(index)];
}
