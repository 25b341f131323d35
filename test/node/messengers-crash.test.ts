// Killed at each of its writes and awaits between the webhook and the last post, a bot answers once. The fake Bot API's
// own messages are the witness. A provider repeats a webhook that was not answered, and so does the test.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { everyCrash, reply, text, toolCall, waitFor, type Step } from "../../src/testing/index.ts";
import { answered, open, scene, URL_OF_BOT, type Host, type Scene } from "./messengers-kit.ts";

const APOLOGY = "My reply was interrupted. Please send your message again.";
/** Longer than every pause between two attempts of a reply or of a turn. */
const LATER_MS = 400_000;

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

interface Outcome {
  readonly complete: number;
  readonly apologies: number;
  readonly other: string[];
}

function outcomeOf(expected: string): Outcome {
  const shown = scene.telegram.texts();
  return {
    complete: shown.filter((one) => one === expected).length,
    apologies: shown.filter((one) => one === APOLOGY).length,
    other: shown.filter((one) => one !== expected && one !== APOLOGY)
  };
}

interface Killed {
  readonly steps: Step[];
  readonly changes?: Partial<Scene>;
  readonly expected: string;
}

/** Every outcome, and how many there were. */
async function killEverywhere({ steps, changes = {}, expected }: Killed): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let webhook: Request | undefined;
  const deliver = (host: Host) =>
    host.fetch((webhook ?? new Request(URL_OF_BOT)).clone() as Request).catch(() => undefined);
  await everyCrash<Host>({
    create: async () => {
      const host = await open(steps, changes);
      stage = host;
      webhook = scene.telegram.says("Hello", { url: URL_OF_BOT });
      return host;
    },
    script: async (host) => {
      await deliver(host);
      await answered(host, 10_000);
    },
    finish: async (host) => {
      await deliver(host);
      await answered(host, LATER_MS);
      await host.advance(LATER_MS);
    },
    inspect: () => {
      outcomes.push(outcomeOf(expected));
      // Compared below, by rules: a message whose fate is not known ends in an apology.
      return true;
    },
    points: "both"
  });
  return outcomes;
}

let stage: Host | undefined;

/** Until the first piece is in the chat. A reply that goes on after a crash posts nothing before the end of the turn. */
async function firstPost(): Promise<void> {
  for (let turns = 0; turns < 300 && scene.telegram.texts().length === 0; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** In two pieces; an interrupted answer is continued from where it was. */
const streamed: Step = (call) => {
  const isContinued = JSON.stringify(call.prompt).includes("The answer");
  const rest = [waitFor(() => stage?.external(firstPost()) ?? Promise.resolve()), text(" is 42.")];
  return isContinued ? reply(...rest) : reply(text("The answer"), ...rest);
};

test.each(["thread", "self"] as const)(
  "in %s mode a streamed answer is complete exactly once wherever the process dies",
  { timeout: 240_000 },
  async (conversation) => {
    const steps = Array.from({ length: 30 }, () => streamed);
    const outcomes = await killEverywhere({
      steps,
      changes: { definition: { conversation } },
      expected: "The answer is 42."
    });
    expect(outcomes.length).toBeGreaterThan(20);
    expectExactlyOne(outcomes);
  }
);

test(
  "an answer in one piece is in the chat exactly once, complete, wherever the process dies",
  { timeout: 240_000 },
  async () => {
    const steps = Array.from({ length: 30 }, () => () => reply(text("42.")));
    const outcomes = await killEverywhere({
      steps,
      changes: { definition: { conversation: "self" } },
      expected: "42."
    });
    expect(outcomes.length).toBeGreaterThan(20);
    expectExactlyOne(outcomes);
  }
);

/** Beside the complete answer at most the beginning of a message whose id was lost with the process. */
function expectExactlyOne(outcomes: readonly Outcome[]): void {
  for (const { complete, apologies, other } of outcomes) {
    expect([complete, apologies]).toEqual([1, 0]);
    expect(other.filter((shown) => !shown.endsWith("…"))).toEqual([]);
    expect(other.length).toBeLessThanOrEqual(1);
  }
  expect(outcomes.filter(({ other }) => other.length > 0).length).toBeLessThan(outcomes.length / 4);
}

test(
  "a press on Approve runs the action once, and its answer appears once, wherever the process dies",
  { timeout: 240_000 },
  async () => {
    let deployed = 0;
    const deploy = action({
      description: "Deploys.",
      inputSchema: z.object({ ref: z.string() }),
      kind: "durable-pause",
      execute: () => void (deployed += 1)
    });
    const step: Step = (call) => {
      const prompt = JSON.stringify(call.prompt);
      if (!prompt.includes('"tool-result"')) return reply(toolCall("deploy", { ref: "v2" }));
      return reply(text(prompt.includes('"paused"') ? "Please approve." : "Deployed."));
    };
    const seen: unknown[] = [];
    let press: Request | undefined;
    const deliver = (host: Host) =>
      host.fetch((press ?? new Request(URL_OF_BOT)).clone() as Request).catch(() => undefined);
    await everyCrash<Host>({
      create: async () => {
        deployed = 0;
        const steps = Array.from({ length: 30 }, () => step);
        const host = await open(steps, { actions: () => ({ deploy }), definition: { conversation: "self" } });
        await host.fetch(scene.telegram.says("Deploy v2", { url: URL_OF_BOT }));
        await answered(host);
        press = scene.telegram.presses("Approve", { url: URL_OF_BOT });
        return host;
      },
      script: async (host) => {
        await deliver(host);
        await answered(host, 10_000);
      },
      finish: async (host) => {
        await deliver(host);
        await answered(host, LATER_MS);
        await host.advance(LATER_MS);
      },
      inspect: () => {
        const shown = scene.telegram.texts();
        seen.push({ deployed, answers: shown.filter((one) => one === "Deployed.").length });
        expect(deployed).toBeLessThanOrEqual(1);
        expect(shown.filter((one) => one === "Deployed.").length).toBeLessThanOrEqual(1);
        return true;
      },
      points: "both",
      limit: 60
    });
    expect(seen.length).toBeGreaterThan(20);
  }
);
