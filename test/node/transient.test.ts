// Failures of a provider that pass, from a class's point of view: each test is named after its promise.
import { tool } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defaultChatErrorClassifier } from "../../src/index.ts";
import { fail, failInBand, reply, stall, text, toolCall, usage, type Step } from "../../src/testing/index.ts";
import { connect, eventsOf, Judge, open, said, scene, stored, Subject, unpaired, type Settings } from "./limits-kit.ts";
import { die, endsOf, recoveringFrames, rolesOf, settleDown } from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { toolParts } from "../kit/messages.ts";
import { MINUTE, SECOND } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const limited = (headers?: Record<string, string>): Step =>
  reply(failInBand(new Error("slow down"), { statusCode: 429, ...(headers && { responseHeaders: headers }) }));
const overloadedAfter = () => failInBand(new Error("overloaded"), { statusCode: 529 });
const overloaded = (): Step => reply(overloadedAfter());
const times = (count: number, step: () => Step) => Array.from({ length: count }, step);

const classified: Settings = { classify: defaultChatErrorClassifier };

async function start(steps: readonly Step[], settings: Settings = classified) {
  const host = open(steps, settings);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  return { host, socket };
}

type Started = Awaited<ReturnType<typeof start>>;

/** How long it took until each further call of the model, in seconds. */
async function pauses({ host }: Started, until = 2 * MINUTE): Promise<number[]> {
  const found: number[] = [];
  let calls = scene.script.callCount;
  let since = 0;
  for (let now = SECOND; now <= until; now += SECOND) {
    await host.advance(SECOND);
    for (; calls < scene.script.callCount; calls += 1) {
      found.push((now - since) / SECOND);
      since = now;
    }
  }
  return found;
}

describe("a failure that passes", () => {
  test.each([
    ["rate_limit", limited],
    ["transient", overloaded]
  ])("(%s) is tried again after 1, 2, 4, 8 seconds", async (_what, failure) => {
    const started = await start([...times(4, failure), reply(text("there"))]);
    expect(await pauses(started)).toEqual([1, 2, 4, 8]);
    const { host, socket } = started;
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:there"]);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(scene.failures).toEqual([]);
    expect(scene.responses).toMatchObject([{ status: "completed" }]);
  });

  test.each([limited, overloaded])("is tried again without an override of classifyChatError", async (failure) => {
    const host = open([failure(), reply(text("there"))], {});
    const socket = await connect(host, Subject);
    ask(socket, "r1");
    await settleDown(host);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(scene.script.callCount).toBe(2);
    expect(scene.failures).toEqual([]);
  });

  test("is told when it has failed five times in a row, once", async () => {
    const started = await start(times(9, limited));
    expect(await pauses(started)).toEqual([1, 2, 4, 8]);
    expect(scene.failures).toMatchObject([{ stage: "stream", messagesPersisted: true }]);
    expect(scene.failures[0]).not.toHaveProperty("classification");
    expect(endsOf(started.socket, "r1")).toEqual(["error: sorry"]);
    expect(recoveringFrames(started.socket)).toEqual([true, false]);
    await settleDown(started.host);
    expect(scene.script.callCount).toBe(5);
  });

  test("counts also when text came before it: a model that always fails after its first words is asked five times", async () => {
    const started = await start(times(150, () => reply(text("word "), overloadedAfter())));
    expect(await pauses(started)).toEqual([1, 2, 4, 8]);
    expect(scene.script.callCount).toBe(5);
    expect(scene.failures).toHaveLength(1);
    expect(endsOf(started.socket, "r1")).toEqual(["error: sorry"]);
    expect(said(await stored(started.host))).toEqual(["user:u-r1", "assistant:word word word word word "]);
  });

  test("and silences count as one row, whichever comes first", async () => {
    const steps = [overloaded(), reply(text("a "), stall()), overloaded(), reply(text("b "), stall()), limited()];
    const started = await start([...steps, reply(text("never"))], { ...classified, stallMs: SECOND });
    // Each silence takes a second to be noticed.
    expect(await pauses(started)).toEqual([1, 3, 4, 9]);
    expect(endsOf(started.socket, "r1")).toEqual(["error: sorry"]);
    expect(said(await stored(started.host))).toEqual(["user:u-r1", "assistant:a b "]);
  });

  test("after a finished step begins a new row, and a turn may have 20 of them", async () => {
    const look = tool({ inputSchema: z.object({}), execute: async () => "seen" });
    const steps = times(60, () => reply(text("word "), overloadedAfter())).flatMap((failure, round) => [
      reply(toolCall("look", {}, { id: `c${round}` })),
      failure
    ]);
    const started = await start(steps, { ...classified, tools: () => ({ look }) });
    const found = await pauses(started);
    expect(new Set(found.filter((pause) => pause > 0))).toEqual(new Set([1]));
    expect(scene.script.callCount).toBe(40);
    expect(endsOf(started.socket, "r1")).toEqual(["error: sorry"]);
  });

  test("that refuses the call itself counts as well", async () => {
    const refused = () => fail(new Error("slow down"), { statusCode: 429, isRetryable: false });
    const started = await start([...times(2, refused), reply(text("there"))]);
    expect(await pauses(started, 10 * SECOND)).toEqual([1, 2]);
    expect(said(await stored(started.host)).at(-1)).toBe("assistant:there");
  });

  test.each([
    [{ "retry-after": "30" }, 30],
    [{ "retry-after-ms": "7000" }, 7],
    [{ "retry-after": "3600" }, 60]
  ])("waits as long as the provider asks, up to a minute: %j", async (headers, seconds) => {
    const started = await start([limited(headers), reply(text("there"))]);
    expect(await pauses(started)).toEqual([seconds]);
  });

  test("after half an answer: the partial is continued", async () => {
    const broken = reply(text("half "), overloadedAfter());
    const started = await start([overloaded(), broken, overloaded(), reply(text("and half"))]);
    expect(await pauses(started)).toEqual([1, 2, 4]);
    expect(said(await stored(started.host))).toEqual(["user:u-r1", "assistant:half and half"]);
    expect(rolesOf(scene.script.calls.at(-1)).at(-1)).toBe("user");
    expect(endsOf(started.socket, "r1")).toEqual(["completed"]);
  });

  test("does not run tools again", async () => {
    const work = tool({
      inputSchema: z.object({}),
      execute: async () => {
        scene.effects.push("worked");
        return "ok";
      }
    });
    const steps = [reply(toolCall("work", {}, { id: "c1" })), ...times(3, overloaded), reply(text("done"))];
    const started = await start(steps, { ...classified, tools: () => ({ work }) });
    await pauses(started, 20 * SECOND);
    expect(scene.effects).toEqual(["worked"]);
    expect(unpaired()).toEqual([]);
    expect(toolParts(await stored(started.host))).toMatchObject([{ state: "output-available", output: "ok" }]);
    expect(said(await stored(started.host)).at(-1)).toBe("assistant:done");
  });

  test("keeps its place: what is asked meanwhile is answered after it", async () => {
    const { host, socket } = await start([limited(), reply(text("one")), reply(text("two"))]);
    ask(socket, "r2");
    await host.advance(5 * SECOND);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:one", "user:u-r2", "assistant:two"]);
  });
});

describe("a failure that does not pass", () => {
  test.each<[string, Settings, typeof Subject]>([
    ["fatal", { classify: () => "fatal" }, Judge],
    ["unknown", { classify: () => "unknown" }, Judge],
    ["of no class", { classify: () => undefined }, Judge],
    ["without recovery", { ...classified, recovery: false }, Judge]
  ])("(%s) is told at once", async (_what, settings, agent) => {
    const host = open(times(2, limited), settings);
    const socket = await connect(host, agent);
    ask(socket, "r1");
    await settleDown(host);
    expect(scene.script.callCount).toBe(1);
    expect(scene.failures).toHaveLength(1);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(recoveringFrames(socket)).toEqual([]);
  });
});

describe("during a pause", () => {
  test("a cancel ends the turn at once, and the partial stays", async () => {
    const broken = reply(text("half"), failInBand(new Error("slow down"), { statusCode: 429 }));
    const { host, socket } = await start([broken, reply(text("two"))]);
    socket.send({ type: "cf_agent_chat_request_cancel", id: "r1" });
    await host.idle();
    expect(endsOf(socket, "r1")).toEqual(["aborted"]);
    expect(recoveringFrames(socket).at(-1)).toBe(false);
    ask(socket, "r2");
    await host.idle();
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:half", "user:u-r2", "assistant:two"]);
  });

  test("a kill changes nothing: the pause and the count are durable", async () => {
    const { host } = await start(times(9, () => limited({ "retry-after": "45" })));
    for (let pause = 0; pause < 3; pause += 1) {
      await host.restart();
      await host.advance(44 * SECOND);
      expect(scene.script.callCount).toBe(pause + 1);
      await host.advance(SECOND);
      expect(scene.script.callCount).toBe(pause + 2);
    }
    await host.advance(10 * MINUTE);
    expect(scene.script.callCount).toBe(5);
    expect(scene.failures).toHaveLength(1);
  });

  test("a client that connects is shown that the answer is being recovered", async () => {
    const { host } = await start([limited({ "retry-after": "45" }), reply(text("there"))]);
    const later = await connect(host);
    await host.idle();
    expect(recoveringFrames(later)).toEqual([true]);
    await host.advance(MINUTE);
    expect(recoveringFrames(later)).toEqual([true, false]);
  });

  test("chat() with onInterrupted has left; without, it hears the end; saveMessages waits", async () => {
    const host = open(
      [limited(), reply(text("a")), limited(), reply(text("b")), limited(), reply(text("c"))],
      classified
    );
    const agent = await host.get(Judge, "a");
    const leaving = agent.talk("one");
    await host.advance(5 * SECOND);
    await leaving;
    const staying = agent.talk("two", true);
    await host.advance(5 * SECOND);
    await staying;
    expect(scene.notified).toEqual(["interrupted", "done"]);
    const saving = agent.save("three");
    await host.advance(5 * SECOND);
    expect(await saving).toBe("completed");
    expect(said(await stored(host)).filter((line) => line.startsWith("assistant"))).toEqual([
      "assistant:a",
      "assistant:b",
      "assistant:c"
    ]);
  });
});

describe("a turn's tokens", () => {
  const LIMIT_TEXT = "limit of tokens";
  const work = tool({ inputSchema: z.object({}), execute: async () => "ok" });
  const step = (tokens: number, id: string) => reply(toolCall("work", {}, { id }), usage({ input: tokens, output: 0 }));
  const steps = () => [step(60, "a"), step(60, "b"), step(60, "c"), reply(text("done"))];

  test.each<[string, Settings, number]>([
    ["of the class", { maxTurnTokens: 100 }, 2],
    ["of the turn, over that of the class", { maxTurnTokens: 1, beforeTurn: () => ({ maxTurnTokens: 130 }) }, 3],
    ["exactly reached", { maxTurnTokens: 60 }, 1]
  ])("no step begins above the limit %s", async (_whose, settings, calls) => {
    const { host, socket } = await start(steps(), { ...settings, tools: () => ({ work }) });
    expect(scene.script.callCount).toBe(calls);
    expect(scene.failures).toMatchObject([{ stage: "stream", message: expect.stringContaining(LIMIT_TEXT) }]);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(toolParts(await stored(host))).toHaveLength(calls);
  });

  test("by default there is none, and the next turn begins with none used", async () => {
    const settings = { tools: () => ({ work }) };
    const { host } = await start(steps(), settings);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
    const second = await start([step(60, "a"), reply(text("one")), step(60, "b"), reply(text("two"))], {
      ...settings,
      maxTurnTokens: 100
    });
    ask(second.socket, "r2");
    await second.host.idle();
    expect(said(await stored(second.host)).at(-1)).toBe("assistant:two");
  });

  test("are counted over attempts: a death does not give them back", async () => {
    const silent = reply(stall());
    const { host } = await start([step(60, "a"), silent, step(60, "b"), reply(text("done"))], {
      maxTurnTokens: 100,
      tools: () => ({ work })
    });
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(3);
    expect(scene.failures).toMatchObject([{ message: expect.stringContaining(LIMIT_TEXT) }]);
    expect(eventsOf("chat:recovery:exhausted")).toEqual([]);
  });
});
