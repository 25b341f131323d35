// Kills at every write and await, with a first model that always fails: the turn ends as if it had not been killed. The tool
// runs once, one model's half sentence is never continued by another, and what was chosen stays chosen.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  everyCrash,
  fail,
  failInBand,
  reply,
  text,
  toolCall,
  type RecordedCall,
  type Step
} from "../../src/testing/index.ts";
import { linesOf, toolParts } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { agentOf, openScene, recordsOf, scene, stored, type Settings } from "./models-kit.ts";

// Some fifty points per test, and each boots the agent three times.
vi.setConfig({ testTimeout: 90_000 });

beforeEach(() => {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")].map((spy) => spy.mockReturnValue(undefined));
  return () => spies.forEach((spy) => spy.mockRestore());
});

const many = (step: Step) => Array<Step>(20).fill(step);
const overloaded = fail(new Error("Overloaded"), { statusCode: 529 });
const brokenOff = reply(text("The first half, and"), failInBand(new Error("overloaded_error")));

const count = tool({
  inputSchema: z.object({}),
  execute: async () => {
    scene.effects.push("count");
    return "counted";
  }
});

/** Writes what the prompt does not hold yet: a continuation of what was not lost has nothing to add. */
const answering =
  (whole: string) =>
  (call: RecordedCall): ReturnType<typeof reply> =>
    reply(text(promptOf(call).includes(whole) ? " " : whole));

/** Calls the tool, and is down from then on. */
const countingOnce: Step = (call) =>
  promptOf(call).includes("tool-call") ? overloaded : reply(toolCall("count", {}, { id: "c1" }));

interface Run extends Settings {
  readonly isToolCut?: boolean;
  readonly normalise?: (line: string) => string;
}

interface Outcome {
  readonly said: string[];
  readonly isSettled: boolean;
  readonly writers: (string | undefined)[] | undefined;
  readonly hasRunTwice: boolean;
}

/** `isToolCut`: a kill inside the tool leaves a call of which nothing is known, so that not every end is the same. */
async function killEverywhere(
  scripts: Record<string, Step[]>,
  { isToolCut = false, normalise = (line) => line, ...settings }: Run = {}
) {
  const outcomes: Outcome[] = [];
  const { points } = await everyCrash({
    create: async () => {
      const host = openScene(scripts, { tools: () => ({ count }), ...settings });
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
      const messages = await stored(host);
      const steps = await recordsOf(host, "step-finished");
      const outcome: Outcome = {
        said: linesOf(messages).map((line) => normalise(line.trim())),
        isSettled: toolParts(messages).every(({ state }) => state?.startsWith("output-")),
        writers: isToolCut ? undefined : [...new Set(steps.map(({ model }) => model))],
        hasRunTwice: scene.effects.length > 1
      };
      outcomes.push(outcome);
      return outcome;
    },
    points: "both"
  });
  expect(points).toBeGreaterThan(10);
  return outcomes[0]!;
}

test("a first model that is always down", async () => {
  expect(await killEverywhere({ a: many(overloaded), b: many(answering("Hello.")) })).toEqual({
    said: ["user:Hi", "assistant:Hello."],
    isSettled: true,
    writers: ["b.chat/large"],
    hasRunTwice: false
  });
});

test("Must hold 4: a first model that always breaks off in the middle of a sentence: no half of it stays", async () => {
  expect(await killEverywhere({ a: many(brokenOff), b: many(answering("A whole answer.")) })).toMatchObject({
    said: ["user:Hi", "assistant:A whole answer."],
    writers: ["b.chat/large"]
  });
});

test("Must hold 4: a model that calls a tool and fails then: the tool is not run again for the next one", async () => {
  const scripts = { a: many(countingOnce), b: many(answering("It is one.")) };
  expect(await killEverywhere(scripts, { isToolCut: true })).toMatchObject({
    said: ["user:Hi", "assistant:It is one."],
    isSettled: true,
    hasRunTwice: false
  });
});

test("two models that break off in turn, until the first one is back: no words of the other one stay", async () => {
  const half = (words: string) => reply(text(words), failInBand(new Error("overloaded_error")));
  /** Down until the third time that it is asked. A kill may let it go on with its own words. */
  const returning: Step = () =>
    scene.asked.filter((name) => name === "a").length < 3 ? half("A begins. ") : reply(text("A ends."));
  const { said } = await killEverywhere(
    { a: many(returning), b: many(half("B begins. ")) },
    { normalise: (line) => line.replaceAll("A begins.", "").replace(/: +/, ":") }
  );
  expect(said).toEqual(["user:Hi", "assistant:A ends."]);
});

test("half an answer that the next model is asked to continue", async () => {
  const broken: Step = (call) => {
    const isKnown = promptOf(call).includes("The first half, and");
    return reply(...(isKnown ? [] : [text("The first half, and")]), failInBand(new Error("overloaded_error")));
  };
  const rest: Step = (call) => {
    const prompt = promptOf(call);
    if (prompt.includes(" the second.")) return reply(text(" "));
    return reply(text(prompt.includes("The first half, and") ? " the second." : "The first half, and the second."));
  };
  const scripts = { a: many(broken), b: many(rest) };
  expect(await killEverywhere(scripts, { fallback: { unfinishedStep: "continue" } })).toMatchObject({
    said: ["user:Hi", "assistant:The first half, and the second."],
    writers: ["b.chat/large"]
  });
});
