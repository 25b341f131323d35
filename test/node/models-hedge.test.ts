// A second model beside the first: when it is asked, who goes on, what becomes of the other, and what is written down.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  after,
  everyCrash,
  fail,
  failInBand,
  reply,
  stall,
  text,
  toolCall,
  usage,
  type Step
} from "../../src/testing/index.ts";
import { linesOf } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { agentOf, openScene, recordsOf, scene, stored } from "./models-kit.ts";

// The run of crashes boots the agent some hundred times.
vi.setConfig({ testTimeout: 90_000 });

beforeEach(() => {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) => spy.mockReturnValue(undefined));
  return () => spies.forEach((spy) => spy.mockRestore());
});

const fallback = { hedgeAfterMs: 4_000 };
const slow = (ms: number, words: string): Step => reply(after(ms), text(words), usage({ input: 100, output: 5 }));
const models = async (host: ReturnType<typeof openScene>) =>
  (await recordsOf(host, "model-called")).map(({ chosen, beside }) => chosen ?? `beside ${beside}`);

async function answer(scripts: Record<string, Step[]>, settings = { fallback }) {
  const host = openScene(scripts, settings);
  const answered = (await agentOf(host)).ask("Hi");
  await host.advance(60_000);
  expect(await answered).toBe("completed");
  return host;
}

test("a first model that begins in time is the only one that is asked", async () => {
  const host = await answer({ a: [slow(3_000, "A.")], b: [] });
  expect(scene.asked).toEqual(["a"]);
  expect(await models(host)).toEqual(["a.chat/large"]);
});

test("a first model that begins late, but before the second, goes on; the second is cancelled and counted", async () => {
  const host = await answer({ a: [slow(6_000, "A.")], b: [slow(9_000, "B.")] });
  expect(linesOf(await stored(host))).toEqual(["user:Hi", "assistant:A."]);
  expect(await models(host)).toEqual(["a.chat/large", "beside b.chat/large"]);
  const [step] = await recordsOf(host, "step-finished");
  expect(step).toMatchObject({
    model: "a.chat/large",
    usage: { totalTokens: 105 },
    cancelled: [{ model: "b.chat/large", usage: { inputTokens: 100, outputTokens: null, totalTokens: 100 } }]
  });
});

test("a second model that begins first goes on for the rest of the turn, and the first is cancelled", async () => {
  const count = tool({ inputSchema: z.object({}), execute: async () => "counted" });
  const settings = { fallback, tools: () => ({ count }) };
  const host = await answer({ a: [reply(stall())], b: [reply(toolCall("count", {})), reply(text("B."))] }, settings);
  expect(scene.signals[0]?.aborted).toBe(true);
  expect(scene.asked).toEqual(["a", "b", "b"]);
  expect(await models(host)).toEqual(["a.chat/large", "beside b.chat/large", "b.chat/large"]);
  expect(await recordsOf(host, "step-finished")).toMatchObject([
    { model: "b.chat/large", cancelled: [{ model: "a.chat/large" }] },
    { model: "b.chat/large" }
  ]);
});

test("a second model that fails leaves the first one alone", async () => {
  const host = await answer({ a: [slow(6_000, "A.")], b: [fail(new Error("Overloaded"), { statusCode: 529 })] });
  expect(linesOf(await stored(host))).toEqual(["user:Hi", "assistant:A."]);
});

test("when both fail, the failure is that of the first", async () => {
  const overloaded = fail(new Error("Overloaded"), { statusCode: 529 });
  const late: Step = reply(after(6_000), failInBand(new Error("overloaded_error")));
  const host = await answer({ a: [late, reply(text("A again."))], b: [overloaded, reply(text("B."))] });
  expect(scene.asked.slice(0, 3)).toEqual(["a", "b", "b"]);
  expect(linesOf(await stored(host))).toEqual(["user:Hi", "assistant:B."]);
});

test("a cancel of the turn ends both calls", async () => {
  const host = openScene({ a: [reply(stall())], b: [reply(stall())] }, { fallback });
  const agent = await agentOf(host);
  const answered = agent.ask("Hi");
  await host.advance(5_000);
  await agent.cancelAllChats();
  expect(await answered).toBe("aborted");
  expect(scene.signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test("killed anywhere, the model that went on is the one that goes on, and no two of them write one answer", async () => {
  const whole =
    (words: string): Step =>
    (call) =>
      reply(text(promptOf(call).includes(words) ? " " : words));
  const many = (step: Step) => Array<Step>(20).fill(step);
  const { points } = await everyCrash({
    create: async () => {
      const host = openScene({ a: many(reply(stall())), b: many(whole("From B.")) }, { fallback });
      await agentOf(host);
      return host;
    },
    script: async (host) => {
      (await agentOf(host)).ask("Hi").catch(() => undefined);
      await host.advance(60_000);
    },
    finish: async (host) => {
      if ((await stored(host)).length === 0) (await agentOf(host)).ask("Hi").catch(() => undefined);
      await host.advance(300_000);
    },
    inspect: async (host) => {
      const writers = (await recordsOf(host, "step-finished")).map(({ model }) => model);
      return { said: linesOf(await stored(host)).map((line) => line.trim()), writers: [...new Set(writers)] };
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
});
