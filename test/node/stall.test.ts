// A model that falls silent, from a class's point of view: each test is named after its promise.
import { tool } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { after, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import { connect, eventsOf, Judge, open, said, scene, stored, unpaired, type Settings } from "./limits-kit.ts";
import { die, endsOf, recoveringFrames, rolesOf, settleDown } from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { toolParts } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { MINUTE, SECOND } from "../kit/time.ts";

afterEach(() => void vi.restoreAllMocks());

const WINDOW = 20 * SECOND;
/** After the first silence, before the model is asked again. */
const PAUSE = SECOND;
const silent = (): Step => reply(stall());

async function start(steps: readonly Step[], settings: Settings = {}) {
  const host = open(steps, settings);
  const socket = await connect(host);
  ask(socket, "r1");
  await host.idle();
  return { host, socket };
}

const stalls = () => eventsOf("chat:stream:stalled");

/** Takes its time, and says when it starts and ends. */
const slow = (settings: { ms: number }): Settings["tools"] => {
  return (agent) => ({
    slow: tool({
      inputSchema: z.object({}),
      execute: async () => {
        scene.effects.push("started");
        await agent.take(settings.ms);
        scene.effects.push("ended");
        return "slowly";
      }
    })
  });
};
const callsSlow = () => reply(toolCall("slow", {}, { id: "c1" }));

describe("the window", () => {
  test("is ten minutes when the class does not say", async () => {
    const { host } = await start([silent(), reply(text("there"))]);
    await host.advance(10 * MINUTE - 1);
    expect(stalls()).toEqual([]);
    await host.advance(1);
    expect(stalls()).toEqual([{ requestId: "r1", timeoutMs: 10 * MINUTE }]);
    await host.advance(PAUSE);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:there"]);
  });

  test("does not count tools when the class does not say, however long they run", async () => {
    const { host } = await start([callsSlow(), reply(text("done"))], { tools: slow({ ms: 3 * 60 * MINUTE }) });
    await host.advance(3 * 60 * MINUTE);
    expect(stalls()).toEqual([]);
    expect(scene.effects).toEqual(["started", "ended"]);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
  });

  test("counts from the end of the tool", async () => {
    const { host } = await start([callsSlow(), silent(), reply(text("done"))], { tools: slow({ ms: 60 * MINUTE }) });
    await host.advance(70 * MINUTE - 1);
    expect(stalls()).toEqual([]);
    await host.advance(1);
    expect(stalls()).toHaveLength(1);
  });

  test.each([
    [undefined, 1],
    [true, 1],
    [false, 0]
  ])("that the class set counts tools unless told otherwise (%s: %s stalls)", async (stallIncludesTools, count) => {
    const { host } = await start([callsSlow(), reply(text("done"))], {
      stallMs: WINDOW,
      ...(stallIncludesTools !== undefined && { stallIncludesTools }),
      tools: slow({ ms: MINUTE })
    });
    await host.advance(2 * MINUTE);
    expect(stalls()).toHaveLength(count);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
  });

  test("is never tripped by a stream that is slow but steady", async () => {
    const parts = Array.from({ length: 30 }, (_, n) => [text(`${n} `), after(WINDOW - 1)]).flat();
    const { host } = await start([reply(after(WINDOW - 1), ...parts)], { stallMs: WINDOW });
    await host.advance(31 * WINDOW);
    expect(stalls()).toEqual([]);
    expect(scene.script.callCount).toBe(1);
    expect(said(await stored(host)).at(-1)).toMatch(/^assistant:0 1 .*29 $/);
  });

  test("of 0 waits for ever", async () => {
    const { host } = await start([silent()], { stallMs: 0 });
    await host.advance(24 * 60 * MINUTE);
    expect(stalls()).toEqual([]);
  });

  test.each([
    ["longer", 3 * WINDOW],
    ["shorter", WINDOW / 2]
  ])("can be %s for one turn, and is what it was in the next", async (_what, ownMs) => {
    const { host, socket } = await start([silent(), reply(text("one")), silent(), reply(text("two"))], {
      stallMs: WINDOW,
      beforeTurn: ({ requestId }) => (requestId === "r1" ? { chatStreamStallTimeoutMs: ownMs } : undefined)
    });
    await host.advance(ownMs - 1);
    expect(stalls()).toEqual([]);
    await host.advance(1 + PAUSE);
    ask(socket, "r2");
    await host.idle();
    await host.advance(WINDOW + PAUSE);
    expect(stalls()).toMatchObject([{ timeoutMs: ownMs }, { timeoutMs: WINDOW }]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:one", "user:u-r2", "assistant:two"]);
  });

  test("can be switched off for one turn", async () => {
    const { host } = await start([silent()], {
      stallMs: WINDOW,
      beforeTurn: () => ({ chatStreamStallTimeoutMs: 0 })
    });
    await host.advance(24 * 60 * MINUTE);
    expect(stalls()).toEqual([]);
  });
});

describe("a silence", () => {
  test("before the first chunk: the question is asked again, once", async () => {
    const { host, socket } = await start([stall(), reply(text("there"))], { stallMs: WINDOW });
    await host.advance(WINDOW + PAUSE);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:there"]);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "retry", requestId: "r1", attempt: 1 }]);
    expect(promptOf(scene.script.calls[1]).match(/u-r1/g)).toHaveLength(1);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(scene.failures).toEqual([]);
    expect(scene.responses).toMatchObject([{ status: "completed" }]);
  });

  test("in the middle: the answer goes on in the same message, and no error is shown", async () => {
    const { host, socket } = await start([reply(text("half "), stall()), reply(text("and half"))], { stallMs: WINDOW });
    await host.advance(WINDOW + PAUSE);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:half and half"]);
    expect(scene.recoveries).toMatchObject([{ recoveryKind: "continue", partialText: "half " }]);
    expect(rolesOf(scene.script.calls[1]).at(-1)).toBe("user");
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(scene.failures).toEqual([]);
    expect(scene.responses).toMatchObject([{ status: "completed" }]);
  });

  test("aborts the call that fell silent", async () => {
    let aborted = 0;
    const until = ({ signal }: { signal: AbortSignal }) =>
      new Promise<void>(() => signal.addEventListener("abort", () => (aborted += 1)));
    const steps = [reply(text("half "), { kind: "wait", until }, text("too late")), reply(text("and half"))];
    const { host } = await start(steps, { stallMs: WINDOW });
    await host.advance(WINDOW - 1);
    expect(aborted).toBe(0);
    await host.advance(1);
    expect(aborted).toBe(1);
    await host.advance(PAUSE);
    expect(said(await stored(host)).at(-1)).toBe("assistant:half and half");
  });

  test("of a tool does not start it a second time beside the first, and its late result changes nothing", async () => {
    const { host } = await start([callsSlow(), reply(text("done"))], {
      stallMs: WINDOW,
      tools: slow({ ms: 10 * MINUTE })
    });
    await host.advance(WINDOW + PAUSE);
    expect(scene.effects).toEqual(["started"]);
    const whenDone = await stored(host);
    expect(toolParts(whenDone)).toMatchObject([{ toolCallId: "c1", state: "output-error" }]);
    expect(said(whenDone).at(-1)).toBe("assistant:done");
    expect(unpaired()).toEqual([]);
    await host.advance(20 * MINUTE);
    expect(scene.effects).toEqual(["started", "ended"]);
    expect(await stored(host)).toEqual(whenDone);
  });

  test("after results: tools that ran do not run again", async () => {
    const { host } = await start([callsSlow(), silent(), reply(text("done"))], {
      stallMs: WINDOW,
      tools: slow({ ms: 1 })
    });
    await host.advance(2 * WINDOW);
    expect(scene.effects).toEqual(["started", "ended"]);
    expect(toolParts(await stored(host))).toMatchObject([{ state: "output-available", output: "slowly" }]);
    expect(said(await stored(host)).at(-1)).toBe("assistant:done");
  });

  test("behind a question to a person: the turn waits, at no cost, and the answer continues the chat", async () => {
    const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: async () => "paid" });
    const { host, socket } = await start([reply(toolCall("pay", {}, { id: "p" }), stall()), reply(text("thanks"))], {
      stallMs: WINDOW,
      recovery: { maxAttempts: 1, noProgressTimeoutMs: 0 },
      tools: () => ({ pay })
    });
    await host.advance(20 * MINUTE);
    expect(scene.script.callCount).toBe(1);
    expect(endsOf(socket, "r1")).toEqual(["completed"]);
    expect(recoveringFrames(socket).at(-1)).not.toBe(true);
    expect(eventsOf("chat:recovery:exhausted")).toEqual([]);
    expect(eventsOf("chat:recovery:skipped")).toMatchObject([{ reason: "awaiting_client_interaction" }]);
    socket.send({ type: "cf_agent_tool_approval", toolCallId: "p", approved: true, autoContinue: true });
    await settleDown(host);
    expect(said(await stored(host)).at(-1)).toBe("assistant:thanks");
    expect(toolParts(await stored(host))).toMatchObject([{ state: "output-available", output: "paid" }]);
  });

  test("that was recovered is not recovered again after a kill", async () => {
    const { host } = await start([silent(), reply(text("there"))], { stallMs: WINDOW });
    await host.advance(WINDOW + PAUSE);
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(2);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:there"]);
  });

  test("followed by a kill costs one further attempt", async () => {
    const steps = [reply(text("a "), stall()), reply(text("b "), stall()), reply(text("c"))];
    const { host } = await start(steps, { stallMs: WINDOW });
    await host.advance(WINDOW + PAUSE);
    await die(host);
    await settleDown(host);
    expect(scene.script.callCount).toBe(3);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:a b c"]);
  });
});

describe("a model that stays silent", () => {
  const terminalMessage = "We could not reach the model.";

  test("after its first words each time is asked five times, after pauses that grow, and then given up", async () => {
    const exhausted: string[] = [];
    const { host, socket } = await start(
      Array.from({ length: 150 }, () => reply(text("word "), stall())),
      { stallMs: SECOND, recovery: { terminalMessage, onExhausted: ({ reason }) => void exhausted.push(reason) } }
    );
    // A second of silence each, and pauses of 1, 2, 4 and 8 seconds.
    const calls: number[] = [];
    for (let second = 0; second < 25; second += 1) {
      await host.advance(SECOND);
      calls.push(scene.script.callCount);
    }
    expect(calls.filter((count, at) => count !== calls[at - 1])).toEqual([1, 2, 3, 4, 5]);
    expect([2, 3, 4, 5].map((count) => calls.indexOf(count) + 1)).toEqual([2, 5, 10, 19]);
    await host.advance(20 * MINUTE);
    expect(scene.script.callCount).toBe(5);
    expect(exhausted).toEqual(["provider_failures_exceeded"]);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:word word word word word "]);
    expect(scene.failures).toEqual([]);
  });

  test("for ten minutes after its first words, twice in a row, is given up", async () => {
    const exhausted: string[] = [];
    const { host, socket } = await start(
      Array.from({ length: 30 }, () => reply(text("word "), stall())),
      { recovery: { terminalMessage, onExhausted: ({ reason }) => void exhausted.push(reason) } }
    );
    await host.advance(20 * MINUTE + PAUSE - 1);
    expect(endsOf(socket, "r1")).toEqual([]);
    await host.advance(1);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    await host.advance(2 * 60 * MINUTE);
    expect(scene.script.callCount).toBe(2);
    expect(exhausted).toEqual(["provider_failures_exceeded"]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:word word "]);
  });

  test("for ten minutes from the beginning is given up after the second time at the latest", async () => {
    const { host, socket } = await start([silent(), silent(), silent()], { recovery: { terminalMessage } });
    await host.advance(20 * MINUTE + PAUSE);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(scene.script.callCount).toBe(2);
  });

  test.each([
    [150 * SECOND, 2],
    [299 * SECOND, 2],
    [149 * SECOND, 5]
  ])(
    "with a window of %i ms is asked %i times: two silences end the turn if they last five minutes together",
    async (stallMs, calls) => {
      // Its first words are progress, so that no other bound ends it.
      const steps = Array.from({ length: 10 }, () => reply(text("word "), stall()));
      const { host, socket } = await start(steps, { stallMs, recovery: { terminalMessage } });
      await host.advance(60 * MINUTE);
      expect(scene.script.callCount).toBe(calls);
      expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    }
  );

  test("in steps of a long turn, each after the other, is asked again each time", async () => {
    const step = [reply(text("so "), stall()), reply(toolCall("slow", {}))];
    const { host } = await start([...step, ...step, ...step, reply(text("done"))], { tools: slow({ ms: 1 }) });
    await host.advance(3 * (10 * MINUTE + 10 * SECOND));
    expect(stalls()).toHaveLength(3);
    expect(said(await stored(host)).at(-1)).toContain("done");
  });

  const silences = Array.from({ length: 30 }, silent);

  test.each<[string, object, number, string]>([
    ["maxAttempts", { maxAttempts: 2 }, 3, "max_attempts_exceeded"],
    ["noProgressTimeoutMs", { noProgressTimeoutMs: 150 * SECOND }, 4, "no_progress_timeout"]
  ])("is given up after %s with the terminal message, not with the stall's", async (_what, limits, calls, reason) => {
    const exhausted: unknown[] = [];
    const { host, socket } = await start(silences, {
      stallMs: MINUTE,
      recovery: { ...limits, terminalMessage, onExhausted: ({ reason: why }) => void exhausted.push(why) }
    });
    await host.advance(20 * MINUTE);
    expect(scene.script.callCount).toBe(calls);
    expect(exhausted).toEqual([reason]);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(recoveringFrames(socket)).toEqual([true, false]);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason }]);
    expect(scene.failures).toEqual([]);
  });

  test("is given up by the class's own policy, which is asked from the second silence on", async () => {
    const asked: number[] = [];
    const { host, socket } = await start(silences, {
      stallMs: MINUTE,
      recovery: {
        terminalMessage,
        shouldKeepRecovering: ({ work, attempt }) => {
          asked.push(attempt);
          return work >= 0 && asked.length < 2;
        }
      }
    });
    await host.advance(20 * MINUTE);
    expect(asked).toEqual([2, 3]);
    expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "recovery_aborted" }]);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
  });

  test("is tried further when the class's policy throws", async () => {
    const { host } = await start([silent(), silent(), reply(text("there"))], {
      stallMs: MINUTE,
      recovery: {
        shouldKeepRecovering: () => {
          throw new Error("a bug");
        }
      }
    });
    await host.advance(5 * MINUTE);
    expect(said(await stored(host)).at(-1)).toBe("assistant:there");
  });

  test("is given up once: a throw of onExhausted hides nothing, a later client is told, a restart repeats nothing", async () => {
    let notices = 0;
    const { host, socket } = await start(silences, {
      stallMs: MINUTE,
      recovery: {
        maxAttempts: 1,
        terminalMessage,
        onExhausted: () => {
          notices += 1;
          throw new Error("a bug");
        }
      }
    });
    await host.advance(5 * MINUTE);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    const calls = scene.script.callCount;
    await die(host);
    await settleDown(host);
    const later = await connect(host);
    later.send({ type: "cf_agent_stream_resume_request" });
    await host.idle();
    later.send({ type: "cf_agent_stream_resume_ack", id: "r1" });
    await host.idle();
    expect(endsOf(later, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(notices).toBe(1);
    expect(scene.script.callCount).toBe(calls);
    expect(eventsOf("chat:recovery:exhausted")).toHaveLength(1);
  });

  test("keeps what it said before, and lets the next question be answered", async () => {
    const { host, socket } = await start([reply(text("half"), stall()), silent(), reply(text("two"))], {
      stallMs: MINUTE,
      recovery: { maxAttempts: 1, terminalMessage }
    });
    ask(socket, "r2");
    await host.advance(3 * MINUTE);
    expect(endsOf(socket, "r1")).toEqual([`error: ${terminalMessage}`]);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:half", "user:u-r2", "assistant:two"]);
  });

  test("but says a little each time is asked as often as one that fails: four silences are not the end", async () => {
    const steps = [...Array.from({ length: 4 }, (_, n) => reply(text(`${n} `), stall())), reply(text("end"))];
    const { host } = await start(steps, { stallMs: MINUTE, recovery: { maxAttempts: 1 } });
    await host.advance(20 * MINUTE);
    expect(said(await stored(host)).at(-1)).toBe("assistant:0 1 2 3 end");
  });
});

describe("without recovery", () => {
  test("a silence is an error of the stream, and the partial stays", async () => {
    const { host, socket } = await start([reply(text("half"), stall())], { stallMs: WINDOW, recovery: false });
    await host.advance(WINDOW);
    expect(scene.failures).toMatchObject([{ stage: "stream", message: expect.stringContaining("stalled") }]);
    expect(endsOf(socket, "r1")).toEqual(["error: sorry"]);
    expect(stalls()).toHaveLength(1);
    expect(said(await stored(host))).toEqual(["user:u-r1", "assistant:half"]);
    await settleDown(host);
    expect(scene.script.callCount).toBe(1);
  });

  test("a caller of chat() hears onError, one of saveMessages gets the error", async () => {
    const host = open([silent(), silent()], { stallMs: WINDOW, recovery: false });
    const agent = await host.get(Judge, "a");
    const talking = agent.talk("hi");
    await host.advance(WINDOW);
    await talking;
    expect(scene.notified).toEqual(["error: sorry"]);
    const saving = agent.save("again");
    await host.advance(WINDOW);
    expect(await saving).toBe("error: sorry");
  });
});

describe("server code that waits for the turn", () => {
  const halves = () => [reply(text("half "), stall()), reply(text("and half"))];

  test("chat() with onInterrupted hears that once, and the turn completes without it", async () => {
    const host = open(halves(), { stallMs: WINDOW });
    const talking = (await host.get(Judge, "a")).talk("hi");
    await host.advance(WINDOW + PAUSE);
    await talking;
    await host.idle();
    expect(scene.notified).toEqual(["interrupted"]);
    expect(said(await stored(host)).at(-1)).toBe("assistant:half and half");
  });

  test("chat() without it stays to the end", async () => {
    const host = open(halves(), { stallMs: WINDOW });
    const talking = (await host.get(Judge, "a")).talk("hi", true);
    await host.advance(WINDOW + PAUSE);
    await talking;
    expect(scene.notified).toEqual(["done"]);
  });

  test("saveMessages resolves completed after one silence, and with the terminal message after too many", async () => {
    const host = open([...halves(), silent(), silent()], {
      stallMs: MINUTE,
      recovery: { maxAttempts: 1, terminalMessage: "given up" }
    });
    const agent = await host.get(Judge, "a");
    const first = agent.save("hi");
    await host.advance(MINUTE + PAUSE);
    expect(await first).toBe("completed");
    const second = agent.save("again");
    await host.advance(3 * MINUTE);
    expect(await second).toBe("error: given up");
  });
});
