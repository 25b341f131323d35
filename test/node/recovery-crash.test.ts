// Kills at every write and await: of an answer, and of its recovery, which is work like any other and ends as if it had
// not been killed.
import { tool } from "ai";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { everyCrash, reply, stall, text, toolCall, type Step } from "../../src/testing/index.ts";
import {
  connect,
  die,
  isTerminal,
  open,
  Patient,
  recoveringFrames,
  rejoin,
  scene,
  settleDown,
  stored,
  wake,
  type Behaviour
} from "./recovery-kit.ts";
import { ask } from "../kit/frames.ts";
import { linesOf, textOf, toolParts, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";

// Some twenty points per test, and each boots the agent three times.
vi.setConfig({ testTimeout: 30_000 });

type Host = ReturnType<typeof open>;

const count = tool({
  inputSchema: z.object({}),
  execute: async () => {
    scene.effects.push("count");
    return "counted";
  }
});

/** What the model adds to what the prompt holds already; a model that goes silent the first time. */
function answering(whole: string, silentCalls: number): Step {
  return (call) => {
    if (call.number <= silentCalls) return reply(stall());
    return reply(text(promptOf(call).includes(whole) ? " " : whole));
  };
}

interface Interrupted {
  readonly steps: Step[];
  readonly behaviour?: Behaviour;
  /** Up to the first death. */
  readonly before: (host: Host) => Promise<void>;
}

/** Kills the recovery of an interrupted conversation everywhere. The first death falls where `before` ends. */
async function killEverywhere({ steps, behaviour, before }: Interrupted) {
  const outcomes: unknown[] = [];
  const { points } = await everyCrash({
    create: async () => {
      const host = open(steps, behaviour);
      await before(host);
      await die(host);
      return host;
    },
    script: wake,
    finish: settleDown,
    inspect: async (host) => {
      const messages = await stored(host);
      const outcome = {
        said: linesOf(messages).map((line) => line.trim()),
        calls: toolParts(messages).map(({ toolCallId, state }) => `${toolCallId}:${state}`),
        effects: [...scene.effects],
        isNotified: scene.responses.length > 0,
        recovering: recoveringFrames(await rejoin(host))
      };
      outcomes.push(outcome);
      return outcome;
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
  return outcomes[0];
}

const many = (step: Step) => Array<Step>(12).fill(step);

test("killed anywhere, an answer is stored once and whole, and onChatResponse hears of it at least once", async () => {
  const whole = "A whole answer.";
  /** A continuation of what was not lost has nothing to add. */
  const step: Step = (call) => reply(text(promptOf(call).includes(whole) ? " " : whole));
  const result = await everyCrash({
    create: async () => {
      const host = open(Array<Step>(8).fill(step));
      await host.get(Patient, "a");
      return host;
    },
    script: async (host) => {
      await (await host.get(Patient, "a")).saveMessages([user("u1")]);
    },
    finish: async (host) => {
      const isAccepted = (await stored(host)).length > 0;
      if (!isAccepted) await (await host.get(Patient, "a")).saveMessages([user("u1")]);
      await settleDown(host);
    },
    inspect: async (host) => {
      const [, ...answers] = await stored(host);
      const notifiedCount = scene.responses.filter(({ status }) => status === "completed").length;
      return { answers: answers.map((answer) => textOf(answer).trim()), isNotified: notifiedCount >= 1 };
    },
    points: "both"
  });
  expect(result.points).toBeGreaterThan(8);
});

test("a retry, with another question behind it", async () => {
  const step: Step = (call) => {
    if (call.number === 1) return reply(stall());
    const answer = promptOf(call).includes("u-r2") ? "Second." : "First.";
    return reply(text(promptOf(call).includes(answer) ? " " : answer));
  };
  const before = async (host: Host) => {
    const socket = await connect(host);
    ask(socket, "r1");
    await host.idle();
    ask(socket, "r2");
  };
  expect(await killEverywhere({ steps: many(step), before })).toMatchObject({
    said: ["user:u-r1", "assistant:First.", "user:u-r2", "assistant:Second."],
    isNotified: true,
    recovering: []
  });
});

test("a continuation after a tool, which is not run again", async () => {
  const steps = [reply(text("Let me. "), toolCall("count", {}, { id: "c1" })), ...many(answering("All done.", 2))];
  const before = async (host: Host) => ask(await connect(host), "r1");
  expect(await killEverywhere({ steps, before, behaviour: { tools: () => ({ count }) } })).toMatchObject({
    said: ["user:u-r1", "assistant:Let me. All done."],
    calls: ["c1:output-available"],
    effects: ["count"]
  });
});

test("the continuation that the last answer of a client owes", async () => {
  const steps = [reply(toolCall("locate", {}, { id: "c1" })), ...many(answering("In Rome.", 2))];
  const before = async (host: Host) => {
    const socket = await connect(host);
    ask(socket, "r1", { clientTools: [{ name: "locate" }] });
    await socket.next(isTerminal("r1"));
    const result = { toolCallId: "c1", toolName: "locate", output: "Rome", autoContinue: true };
    socket.send({ type: "cf_agent_tool_result", ...result });
  };
  expect(await killEverywhere({ steps, before })).toMatchObject({
    said: ["user:u-r1", "assistant:In Rome."],
    calls: ["c1:output-available"]
  });
});

test("a refusal to go on", async () => {
  const steps = [reply(toolCall("count", {}, { id: "c1" })), ...many(reply(stall()))];
  const before = async (host: Host) => ask(await connect(host), "r1");
  const behaviour = { tools: () => ({ count }), recover: () => ({ persist: false, continue: false }) };
  expect(await killEverywhere({ steps, before, behaviour })).toMatchObject({
    said: ["user:u-r1", "assistant:"],
    calls: ["c1:output-available"],
    effects: ["count"],
    recovering: []
  });
});
