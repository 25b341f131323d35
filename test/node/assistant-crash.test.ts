// The demo survives what it demonstrates: killed anywhere, its conversations end with the same words.
import type { UIMessage } from "ai";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { offlineModel } from "../../examples/assistant/server/offline/offline-model.ts";
import { everyCrash } from "../../src/testing/index.ts";
import {
  Assistant,
  Directory,
  directoryState,
  openHost,
  Page,
  promptOf,
  paragraphsOf,
  toolsOf,
  type Host
} from "./assistant-kit.ts";
import { sendChat } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

// The conversation is played once for every write and every await.
vi.setConfig({ testTimeout: 30_000 });

// What a dying process still says about it is not what is tested.
beforeEach(() => {
  for (const method of ["error", "warn"] as const) vi.spyOn(console, method).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

const stored = (host: Host) => storedMessages(host, "/agents/assistant/a");

/** Sent with its own ids, so that a client whose question was lost may send it again. */
async function send(host: Host, id: string, question: string): Promise<void> {
  const socket = await host.connect("/agents/assistant/a");
  const messages = [user(`u-${id}`, question)];
  sendChat(socket, id, messages);
  await host.idle();
}

const said = (messages: UIMessage[]) =>
  messages.map((message) => `${message.role}: ${paragraphsOf(message).replace(/\n/g, " ")}`);

/** Outputs of calls that ended; one that a crash cut off was made again. */
const results = (messages: UIMessage[]) =>
  messages.flatMap((message) =>
    toolsOf(message).flatMap(({ state, output }) => (state === "output-available" ? [output] : []))
  );

test("killed after every write or inside any await, answers with tools and text end with the same words and results", async () => {
  const questions: [string, string][] = [
    ["r1", promptOf("Use a slow tool")],
    ["r2", 'Take a note that says "the lamp is lit".']
  ];
  const { points } = await everyCrash({
    create: openHost,
    script: async (host) => {
      for (const [id, question] of questions) await send(host, id, question);
    },
    finish: async (host) => {
      await host.advance(120_000);
      for (const [id, question] of questions) {
        const isKnown = (await stored(host)).some((message) => message.id === `u-${id}`);
        if (!isKnown) await send(host, id, question);
        await host.advance(120_000);
      }
    },
    inspect: async (host) => {
      const messages = await stored(host);
      return {
        said: said(messages),
        results: results(messages),
        notes: host.sql(Assistant, "a", "SELECT id, text FROM notes")
      };
    }
  });
  expect(points).toBeGreaterThan(70);
});

test("killed anywhere, a note that was approved is on the board once, and that is said once", async () => {
  const decide = async (host: Host) => {
    const agent = await host.get(Assistant, "a");
    for (const { executionId } of await agent.pendingApprovals()) await agent.approveExecution(executionId);
    await host.advance(120_000);
  };
  await everyCrash({
    create: async () => {
      const host = openHost();
      await send(host, "r1", promptOf("Wait for a decision"));
      return host;
    },
    script: decide,
    finish: async (host) => {
      await host.advance(600_000);
      await decide(host);
    },
    inspect: async (host) => ({
      said: said(await stored(host)),
      board: (await directoryState(host)).board.map(({ id, text }) => [id, text])
    })
  });
});

let spoken = 0;
let stopAt = Infinity;

/** Falls silent after some words, as if the process hung there. */
class Halting extends Assistant {
  override getModel() {
    return offlineModel({ pause: () => (++spoken > stopAt ? new Promise<void>(() => undefined) : Promise.resolve()) });
  }
}

test.each([1, 40, 300])(
  "a story that is cut off after %d words goes on in the same paragraph, and is whole",
  async (words) => {
    const question = promptOf("Tell a long story");
    [spoken, stopAt] = [0, Infinity];
    const whole = openHost({}, { Assistant: Halting, Directory });
    await send(whole, "r1", question);

    [spoken, stopAt] = [0, words];
    const host = openHost({}, { Assistant: Halting, Directory });
    await send(host, "r1", question);
    // Time for what was said to be stored.
    await host.advance(5_000);
    const page = new Page(host);
    await page.settle();
    expect(page.text.split(/\s+/).length).toBeLessThan(words + 2);
    [spoken, stopAt] = [0, Infinity];
    await host.restart();
    await host.advance(60_000);
    expect(spoken).toBeLessThan(560 - words);
    expect(said(await stored(host))).toEqual(said(await stored(whole)));
    expect((await stored(host)).at(-1)?.parts.filter(({ type }) => type === "text")).toHaveLength(1);
  }
);
