// Killed at its writes and awaits between the webhook and the last post, a bot of each provider answers once. The fake
// server's own messages decide. A provider repeats a webhook that was not answered, and so does the test.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { action } from "../../src/index.ts";
import { everyCrash, reply, text, toolCall, waitFor, type Step } from "../../src/testing/index.ts";
import { DRIVERS } from "./messenger-drivers.ts";
import { answered, bot, openBot, type Bot, type Host } from "./messenger-providers-kit.ts";

/** Longer than every pause between two attempts of a reply or of a turn. */
const LATER_MS = 400_000;
/** Every point takes minutes: EVERTHINK_ALL_CRASHES=1. */
const LIMIT = process.env["EVERTHINK_ALL_CRASHES"] ? {} : { limit: 12 };

// A whole delivery per point; with every point, minutes.
vi.setConfig({ testTimeout: 600_000 });

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

interface Killed {
  readonly name: string;
  readonly steps: () => Step[];
  readonly changes?: Partial<Bot>;
  /** What the user does before the crash, and what is repeated after it. */
  readonly webhook: (host: Host) => Promise<Request>;
  readonly inspect: (host: Host) => unknown;
}

/** What was seen, at each point. */
async function killEverywhere({ name, steps, changes = {}, webhook, inspect }: Killed): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  let request: Request | undefined;
  const deliver = (host: Host) => host.fetch(request?.clone() as Request).catch(() => undefined);
  await everyCrash<Host>({
    create: async () => {
      stage = await openBot(name, steps(), changes);
      request = await webhook(stage);
      return stage;
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
    inspect: async (host) => void outcomes.push(await inspect(host)),
    points: "both",
    ...LIMIT
  });
  return outcomes;
}

let stage: Host | undefined;

/** Complete texts, and beginnings whose ids were lost with the process. */
function shown(): { complete: string[]; begun: number } {
  const texts = bot.driver.fake.texts();
  const complete = texts.filter((one) => !one.endsWith("…"));
  return { complete, begun: texts.length - complete.length };
}

const BEGINNING = "The answer to the question of everything there is";

/** Until the first piece is in the chat. A reply that goes on after a crash posts nothing before the end of the turn. */
async function firstPost(): Promise<void> {
  for (let turns = 0; turns < 300 && bot.driver.fake.texts().length === 0; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** In two pieces; an interrupted answer is continued from where it was. */
const streamed: Step = (call) => {
  const rest = [waitFor(() => stage?.external(firstPost()) ?? Promise.resolve()), text(", is 42.")];
  return JSON.stringify(call.prompt).includes(BEGINNING) ? reply(...rest) : reply(text(BEGINNING), ...rest);
};

describe.each(DRIVERS)("$name", ({ name }) => {
  test.each([
    ["streamed", "thread", streamed, `${BEGINNING}, is 42.`],
    ["short", "self", () => reply(text("42.")), "42."]
  ] as const)(
    "a %s answer in %s mode is in the chat exactly once, complete, wherever the process dies",
    async (_kind, conversation, step: Step, expected) => {
      const outcomes = await killEverywhere({
        name,
        steps: () => Array.from({ length: 30 }, () => step),
        changes: { definition: { conversation, capabilities: { canStream: true } } },
        webhook: async () => bot.driver.says("Hello"),
        inspect: shown
      });
      expect(outcomes.length).toBeGreaterThan(10);
      for (const { complete, begun } of outcomes as ReturnType<typeof shown>[]) {
        expect(complete).toEqual([expected]);
        expect(begun).toBeLessThanOrEqual(1);
      }
    }
  );

  test("a press on Approve runs the action once, shows who pressed and the answer once, wherever the process dies", async () => {
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
    const outcomes = await killEverywhere({
      name,
      steps: () => Array.from({ length: 30 }, () => step),
      changes: { actions: () => ({ deploy }), definition: { conversation: "self" } },
      webhook: async (host) => {
        deployed = 0;
        await host.fetch(bot.driver.says("Deploy v2"));
        await answered(host);
        return bot.driver.presses("Approve");
      },
      inspect: () => {
        const texts = bot.driver.fake.texts();
        const count = (isSo: (one: string) => boolean) => texts.filter(isSo).length;
        const decided = count((one) => /Approved by ada/i.test(one));
        return [deployed, count((one) => one === "Deployed."), decided, count((one) => one === "Already resolved.")];
      }
    });
    expect(outcomes.length).toBeGreaterThan(10);
    for (const outcome of outcomes) expect(outcome).toEqual([1, 1, 1, 0]);
  });
});

test.each(["slack", "telegram"])(
  "%s: a question is asked once, after all of its long input, wherever the process dies",
  async (name) => {
    const lines = Array.from({ length: 90 }, (_, line) => `echo step number ${line} of this script`);
    const run = action({
      description: "Runs.",
      inputSchema: z.object({ script: z.string() }),
      kind: "durable-pause",
      execute: () => "done"
    });
    const step: Step = (call) =>
      // A call that was cut off before it parked is one that the model makes again.
      JSON.stringify(call.prompt).includes('"paused"')
        ? reply(text("Please approve."))
        : reply(toolCall("run", { script: lines.join("\n") }));
    const outcomes = await killEverywhere({
      name,
      steps: () => Array.from({ length: 30 }, () => step),
      changes: { actions: () => ({ run }), definition: { conversation: "self" } },
      webhook: async () => bot.driver.says("Run it"),
      inspect: () => {
        const texts = bot.driver.fake.texts();
        const shownTimes = lines.map((line) => texts.join("\n").split(`│ ${line}`).length - 1);
        const asked = bot.driver.fake.messages().filter(({ buttons }) => buttons.length > 0);
        return [new Set(shownTimes), asked.map(({ buttons }) => buttons), texts.at(-1) === asked[0]?.text];
      }
    });
    expect(outcomes.length).toBeGreaterThan(10);
    for (const outcome of outcomes) expect(outcome).toEqual([new Set([1]), [["Approve", "Reject"]], true]);
  }
);

test("a conversation whose name the class chose is closed to strangers, wherever the process dies", async () => {
  const outcomes = await killEverywhere({
    name: "slack",
    steps: () => Array.from({ length: 30 }, () => reply(text("42."))),
    changes: { definition: { conversation: () => ({ target: "subagent", name: "ada" }) } },
    webhook: async () => bot.driver.says("Hello"),
    inspect: async (host) => {
      const address = "http://localhost/agents/support/main/sub/support/ada/get-messages";
      return [shown().complete, (await host.fetch(address)).status];
    }
  });
  expect(outcomes.length).toBeGreaterThan(10);
  for (const outcome of outcomes) expect(outcome).toEqual([["42."], 403]);
});

test("a user's file reaches the model, and the answer's file the chat once at most, wherever the process dies", async () => {
  const bytes = new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3]);
  const chart = action({
    description: "Draws.",
    inputSchema: z.object({}),
    execute: (_input, { attachReply }) => {
      attachReply({ type: "file", data: "AQID", name: "chart.bin" });
      return "drawn";
    }
  });
  const step: Step = (call) => {
    const prompt = JSON.stringify(call.prompt);
    if (!prompt.includes('"image/jpeg"')) return reply(text("No picture."));
    if (!prompt.includes('"tool-result"')) return reply(toolCall("chart", {}));
    // A call that a crash cut off is not made again, and has attached nothing.
    return reply(text(prompt.includes("drawn") ? "Here." : "Cut off."));
  };
  const outcomes = await killEverywhere({
    name: "slack",
    steps: () => Array.from({ length: 30 }, () => step),
    changes: { actions: () => ({ chart }), definition: { conversation: "self" } },
    webhook: async () => bot.driver.says("Draw this", { file: { name: "cat.jpg", mediaType: "image/jpeg", bytes } }),
    inspect: () => {
      const messages = bot.driver.fake.messages();
      const files = messages.flatMap((message) => message.files ?? []).length;
      const count = (...texts: string[]) => messages.filter((message) => texts.includes(message.text)).length;
      const expected = count("Cut off.") === 1 ? 0 : 1;
      const isReported = count("The file chart.bin may not have arrived.") === 1;
      return [count("Here.", "Cut off."), files <= expected, files === expected || isReported];
    }
  });
  expect(outcomes.length).toBeGreaterThan(10);
  for (const outcome of outcomes) expect(outcome).toEqual([1, true, true]);
});
