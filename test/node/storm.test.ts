// What bounds a turn that does not go well: restart storms, attempts that run out of memory, and tokens.
import { tool } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { readStoredTurns } from "../../src/testing/chaos/stored-turns.ts";
import {
  breakStream,
  everyCrash,
  fail,
  failInBand,
  planModel,
  reply,
  stall,
  text,
  toolCall,
  usage,
  type RecordedCall,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { connect, eventsOf, HEARTBEAT_MS, isTerminal, open, Patient, scene, stored } from "./recovery-kit.ts";
import { ask, framesOf } from "../kit/frames.ts";
import { linesOf, textOf, toolParts } from "../kit/messages.ts";

const RESTARTS = 30;
/** Not a divisor of the heartbeat: a process that wakes has a moment to work. */
const BETWEEN_MS = 1_900;
/** Longer than every pause of recovery together, and shorter than the life of records. */
const LONG_MS = 4 * 60_000;

// What the agent and a dying process say to the console is not what is tested.
beforeEach(() => void vi.spyOn(console, "error").mockReturnValue(undefined));

/** How the turns of the agent were settled, from its journal. */
function outcomes(host: TestHost<object>): string[][] {
  const { settled } = readStoredTurns({ host, agent: Patient, name: "a" });
  return [...settled.values()].map((each) => each.map(({ outcome }) => outcome));
}

describe(`${RESTARTS} restarts in a minute, during one turn`, () => {
  const answer = "Word by word it goes on, whatever happens to the machine below.";
  const dead: Step = reply(stall());
  let isCalm = false;
  /** Says the next words of the answer, and all the rest of it when the storm is over. */
  const slowly: Step = async (call) => {
    const rest = await planned(call, answer);
    return isCalm ? reply(...rest.map((piece) => text(piece))) : reply(text(rest[0] ?? ""), stall());
  };
  beforeEach(() => {
    isCalm = false;
  });

  const storm = async (host: TestHost<object>, withClient: boolean) => {
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await host.advance(BETWEEN_MS);
      await host.restart();
      if (withClient) await connect(host);
    }
  };

  describe.each([
    ["with a client that comes back each time", true],
    ["with no client connected", false]
  ])("%s", (_who, withClient) => {
    test("a model that never answers in time is asked at most once per process, and not in every one", async () => {
      const host = open(Array<Step>(60).fill(() => (isCalm ? reply(text("At last.")) : dead)));
      ask(await connect(host), "r1");
      await storm(host, withClient);
      const asked = scene.script.callCount;
      expect(asked).toBeLessThanOrEqual(5);
      isCalm = true;
      await host.advance(LONG_MS);
      expect(scene.script.callCount).toBe(asked + 1);
      expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:At last."]);
      expect(outcomes(host)).toEqual([["completed"]]);
      expect(scene.responses).toHaveLength(1);
      // Nothing was brought forward, so within half a minute all of it counts as one attempt.
      const charged = scene.recoveries.map(({ attempt }) => attempt);
      expect(Math.max(...charged)).toBeLessThanOrEqual(1 + (RESTARTS * BETWEEN_MS) / 30_000);
      expect(charged).toEqual(charged.toSorted((one, other) => one - other));
    });

    test("an answer that is being written is completed once, without a word twice", async () => {
      const host = open(Array<Step>(60).fill(slowly));
      ask(await connect(host), "r1");
      await storm(host, withClient);
      isCalm = true;
      const late = await connect(host);
      await host.advance(LONG_MS);
      expect(linesOf(await stored(host))).toEqual(["user:u-r1", `assistant:${answer}`]);
      expect(outcomes(host)).toEqual([["completed"]]);
      expect(scene.responses).toHaveLength(1);
      expect(framesOf(late).filter(isTerminal("r1")).length).toBeLessThanOrEqual(1);
      expect(scene.recoveries.map(({ attempt }) => attempt)).toEqual(scene.recoveries.map(() => 1));
    });

    test("a tool that is cut off is not run again by itself", async () => {
      const work = tool({
        inputSchema: z.object({}),
        execute: async (_input, { toolCallId }) => {
          scene.effects.push(toolCallId);
          if (!isCalm) await new Promise(() => undefined);
          return "done";
        }
      });
      const hasResult = (call: RecordedCall) => call.prompt.at(-1)?.role === "tool";
      const step: Step = (call) => (hasResult(call) ? reply(text("I leave it.")) : reply(toolCall("work", {})));
      const host = open(Array<Step>(60).fill(step), { tools: () => ({ work }) });
      ask(await connect(host), "r1");
      await storm(host, withClient);
      isCalm = true;
      await host.advance(LONG_MS);
      expect(new Set(scene.effects).size).toBe(scene.effects.length);
      expect(scene.effects).toHaveLength(1);
      expect(toolParts(await stored(host))).toMatchObject([{ state: "output-error" }]);
      expect(outcomes(host)).toEqual([["completed"]]);
    });
  });
});

/** The pieces of the answer that are not in the prompt yet. */
async function planned(call: RecordedCall, answer: string): Promise<string[]> {
  const model = planModel({ "u-r1": [{ text: answer }] });
  const { stream } = await model.doStream({ prompt: [...call.prompt] } as Parameters<typeof model.doStream>[0]);
  const pieces: string[] = [];
  for await (const part of stream) if (part.type === "text-delta") pieces.push(part.delta);
  return pieces;
}

describe("out of memory", () => {
  const outOfMemory = () => new Error("Durable Object's isolate exceeded its memory limit and was reset.");

  test.each<[string, Step]>([
    ["before the first word", fail(outOfMemory())],
    ["as an error in the stream", reply(text("a little "), failInBand(outOfMemory()))],
    ["as a broken stream, after some words", reply(text("a little "), breakStream(outOfMemory()))]
  ])(
    "%s, three times: the turn fails for that reason, and the model is not asked a fourth time",
    async (_when, step) => {
      const host = open(Array<Step>(10).fill(step), { recovery: { terminalMessage: "Too much for me." } });
      const socket = await connect(host);
      ask(socket, "r1");
      await host.advance(LONG_MS);
      expect(scene.script.callCount).toBe(3);
      expect(scene.exhausted).toMatchObject([{ reason: "out_of_memory" }]);
      expect(outcomes(host)).toEqual([["failed"]]);
      expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true, body: "Too much for me." }]);
      expect(eventsOf("chat:recovery:exhausted")).toMatchObject([{ reason: "out_of_memory" }]);
      await host.restart();
      await connect(host);
      await host.advance(LONG_MS);
      expect(scene.script.callCount).toBe(3);
    }
  );

  test("in a hook of the class, three times: the model is never asked", async () => {
    let runs = 0;
    const host = open([], {
      recovery: {},
      beforeTurn: () => {
        runs += 1;
        throw outOfMemory();
      }
    });
    ask(await connect(host), "r1");
    await host.advance(LONG_MS);
    expect([runs, scene.script.callCount]).toEqual([3, 0]);
    expect(scene.exhausted).toMatchObject([{ reason: "out_of_memory" }]);
    expect(outcomes(host)).toEqual([["failed"]]);
  });

  test("that passes is forgotten: two failures, then an answer", async () => {
    const host = open([fail(outOfMemory()), fail(outOfMemory()), reply(text("fine"))]);
    ask(await connect(host), "r1");
    await host.advance(LONG_MS);
    expect(linesOf(await stored(host))).toEqual(["user:u-r1", "assistant:fine"]);
    expect(outcomes(host)).toEqual([["completed"]]);
  });

  test("that takes the process with it is given up after five deaths, however much was streamed", async () => {
    const host = open(Array<Step>(20).fill(reply(text("a little "), stall())), { recovery: {} });
    ask(await connect(host), "r1");
    for (let deaths = 0; deaths < 7; deaths += 1) {
      await host.advance(60_000);
      await host.restart();
    }
    await host.advance(LONG_MS);
    expect(scene.script.callCount).toBe(5);
    expect(scene.exhausted).toMatchObject([{ reason: "interrupted_attempts_exceeded" }]);
    expect(outcomes(host)).toEqual([["failed"]]);
    expect(textOf((await stored(host))[1])).toBe("a little ".repeat(5));
  });
});

describe("a turn with a budget of 100 tokens", () => {
  const BUDGET = 100;
  const LIMIT_TEXT = "This answer has reached its limit of tokens.";
  const work = () => ({ work: tool({ inputSchema: z.object({}), execute: async () => "did it" }) });
  /** A model that never stops by itself. */
  const costly = (tokens: number) => reply(toolCall("work", {}), usage({ input: tokens - 10, output: 10 }));
  const limited = { tools: work, beforeTurn: () => ({ maxTurnTokens: BUDGET }), recovery: {} };

  test("starts no model call past it, and says so", async () => {
    const host = open(Array<Step>(10).fill(costly(60)), limited);
    const socket = await connect(host);
    ask(socket, "r1");
    await host.advance(LONG_MS);
    expect(scene.script.callCount).toBe(2);
    expect(outcomes(host)).toEqual([["failed"]]);
    expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true, body: LIMIT_TEXT }]);
    expect(toolParts(await stored(host))).toHaveLength(2);
  });

  test("starts none past it after a death either: what dead attempts used counts", async () => {
    const host = open([costly(60), reply(stall()), ...Array<Step>(10).fill(costly(60))], limited);
    ask(await connect(host), "r1");
    await host.advance(2_000);
    await host.restart();
    const socket = await connect(host);
    await host.advance(LONG_MS);
    // The first used 60, the second died, the third made it 120.
    expect(scene.script.callCount).toBe(3);
    expect(outcomes(host)).toEqual([["failed"]]);
    expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true, body: LIMIT_TEXT }]);
  });

  test("is not asked again when dead attempts used all of it, and people are told why", async () => {
    let runs = 0;
    const tighter = { ...limited, beforeTurn: () => ({ maxTurnTokens: ++runs === 1 ? 10 * BUDGET : BUDGET }) };
    const host = open([costly(120), reply(stall()), reply(text("Too late."))], tighter);
    ask(await connect(host), "r1");
    await host.advance(2_000);
    await host.restart();
    const socket = await connect(host);
    await host.advance(LONG_MS);
    expect([runs, scene.script.callCount]).toEqual([2, 2]);
    expect(outcomes(host)).toEqual([["failed"]]);
    expect(framesOf(socket).filter(isTerminal("r1"))).toMatchObject([{ error: true, body: LIMIT_TEXT }]);
    expect(toolParts(await stored(host))).toMatchObject([{ state: "output-available", output: "did it" }]);
  });

  test("killed after any write, it starts at most one call more: a death can lose the count of one step", async () => {
    await everyCrash({
      create: () => open(Array<Step>(10).fill(costly(60)), limited),
      script: async (host) => ask(await connect(host), "r1"),
      finish: async (host) => {
        const socket = await connect(host);
        await host.advance(HEARTBEAT_MS);
        if ((await stored(host)).length > 0) return;
        ask(socket, "r1");
        await host.idle();
      },
      inspect: async (host) => {
        const outcome = outcomes(host);
        const failure = eventsOf("chat:request:failed").at(-1);
        return { outcome, failure, isWithinBudget: scene.script.callCount <= 3 };
      }
    });
  });
});
