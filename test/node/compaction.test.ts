// A compacted conversation as its model and its clients see it, and a process that dies while it is compacted.
import type { UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { Think, type Session } from "../../src/index.ts";
import { createCompactFunction } from "../../src/session/index.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  reply,
  scriptedModel,
  text,
  type Script,
  type Step,
  type TestSocket
} from "../../src/testing/index.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

let script: Script;

class Chat extends Think {
  override getModel() {
    return scriptedModel(script);
  }

  override configureSession(session: Session) {
    return session.onCompaction(
      createCompactFunction({ summarize: async () => "SUMMARY", protectHead: 1, tailTokenBudget: 0 })
    );
  }

  async compact() {
    const outcome = await this.session.compact();
    return outcome === null ? null : [outcome.fromMessageId, outcome.toMessageId];
  }

  async fill(count: number) {
    await this.addMessages(
      Array.from({ length: count }, (_, index) => user(`m${index}`, `words of ${index} `.repeat(20)))
    );
  }

  async pathLength() {
    return this.session.getPathLength();
  }
}

function open(steps: readonly Step[] = [reply(text("answer"))]) {
  script = createScript([...steps]);
  return createTestHost({ agents: { Chat } });
}

/** Ids, without the part of a summary's id that is counted. */
const ids = (messages: readonly UIMessage[]) => messages.map(({ id }) => id.replace(/^compaction_.*/, "summary"));

function send(socket: TestSocket, id: string, messages: readonly UIMessage[]) {
  sendChat(socket, id, messages);
}

test("clients and the model are shown the summary; a client that sends it back stores nothing new", async () => {
  const host = open();
  const agent = await host.get(Chat, "a");
  await agent.fill(10);
  const socket = await host.connect("/agents/chat/a");
  await host.idle();
  expect(await agent.compact()).toEqual(["m1", "m7"]);
  await host.idle();
  const phases = (socket.frames as { type: string; phase?: string }[])
    .filter(({ type }) => type === "cf_agent_session")
    .map(({ phase }) => phase);
  expect(phases.slice(-2)).toEqual(["compacting", "idle"]);
  const messages = await storedMessages(host);
  expect(ids(messages)).toEqual(["m0", "summary", "m8", "m9"]);
  send(socket, "r1", [...messages, user("m10", "go on")]);
  await host.idle();
  const prompt = JSON.stringify(script.calls[0]?.prompt);
  expect(prompt).toContain("SUMMARY");
  expect(prompt).toContain("words of 8");
  expect(prompt).not.toContain("words of 5");
  expect(ids(await storedMessages(host)).slice(0, 5)).toEqual(["m0", "summary", "m8", "m9", "m10"]);
  expect(await agent.pathLength()).toBe(12);
  await host.restart();
  expect(ids(await storedMessages(host)).slice(0, 5)).toEqual(["m0", "summary", "m8", "m9", "m10"]);
});

test("a compacted conversation that is larger than the hydration budget still shows its summary to the model", async () => {
  class Small extends Chat {
    override hydrationByteBudget = 1_500;
  }
  script = createScript([reply(text("answer"))]);
  const host = createTestHost({ agents: { Small } });
  const agent = await host.get(Small, "a");
  await agent.fill(20);
  await agent.compact();
  await agent.addMessages(Array.from({ length: 20 }, (_, index) => user(`n${index}`, `newer ${index} `.repeat(20))));
  const socket = await host.connect("/agents/small/a");
  send(socket, "r1", [user("last", "go on")]);
  await host.idle();
  const prompt = JSON.stringify(script.calls[0]?.prompt);
  expect(prompt).toContain("SUMMARY");
  expect(prompt).toContain("newer 19");
  expect(prompt).not.toContain("newer 3 ");
});

test("killed after any write or inside any await of a compaction, it is there once or not at all", async () => {
  // A process that dies says so in many places.
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { points } = await everyCrash({
    create: async () => {
      const host = open();
      await (await host.get(Chat, "a")).fill(10);
      return host;
    },
    script: async (host) => (await host.get(Chat, "a")).compact(),
    finish: async (host) => {
      // Compacting what is compacted finds nothing to do.
      await (await host.get(Chat, "a")).compact();
    },
    inspect: async (host) => ({
      shown: ids(await storedMessages(host)),
      length: await (await host.get(Chat, "a")).pathLength(),
      summaries: host.sql(
        Chat,
        "a",
        "SELECT from_message_id, to_message_id, summary, is_shown FROM assistant_compactions"
      )
    })
  });
  warn.mockRestore();
  expect(points).toBeGreaterThan(2);
});
