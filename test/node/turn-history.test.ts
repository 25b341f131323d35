// What stays known of a turn: one row when it is settled, which is listed by readJournal() as long as its message lives.
import { tool, type UIMessage } from "ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type JournalEntry, type TurnHistory } from "../../src/index.ts";
import { turnOf } from "../../src/journal/history.ts";
import {
  createScript,
  createTestHost,
  everyCrash,
  fail,
  reply,
  scriptedModel,
  stall,
  text,
  toolCall,
  usage,
  type Script,
  type Step,
  type TestHost
} from "../../src/testing/index.ts";
import { storedMessages } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

let script: Script;
let system = "Be brief.";
let boundary = async () => {};

class Chat extends Think {
  override workspaceTools = false;
  override getModel() {
    return scriptedModel(script);
  }
  override getSystemPrompt() {
    return system;
  }
  override getTools() {
    return {
      look: tool({
        inputSchema: z.object({}),
        execute: async () => {
          await boundary();
          return "seen";
        }
      }),
      hide: tool({ inputSchema: z.object({}), execute: async (): Promise<string> => Promise.reject(new Error("no")) })
    };
  }
  override classifyChatError() {
    return "fatal" as const;
  }
  async remove(...ids: string[]) {
    await this.session.deleteMessages(ids);
  }
}

type Host = TestHost<{ Chat: DurableObjectNamespace<Chat> }>;

beforeEach(() => {
  system = "Be brief.";
  vi.spyOn(console, "error").mockImplementation(() => {});
  return () => void vi.restoreAllMocks();
});

function open(...steps: Step[]): Host {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}

const user = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: `secret ${id}` }] });
const agentOf = (host: Host) => host.get(Chat, "a");
const HOUR_MS = 3_600_000;

async function entries(host: Host): Promise<JournalEntry[]> {
  return (await (await agentOf(host)).readJournal({ limit: 500 })).entries;
}
const turns = async (host: Host): Promise<TurnHistory[]> => (await entries(host)).flatMap(({ turn }) => turn ?? []);
/** One turn after another. */
async function talk(host: Host, ...ids: string[]): Promise<void> {
  for (const id of ids) await (await agentOf(host)).saveMessages([user(id)]);
}

describe("a turn that is over", () => {
  test("leaves its model, prompt, tools, steps, usage and times", async () => {
    const host = open(
      reply(toolCall("look", {}), toolCall("hide", {}), usage({ input: 10, output: 5 })),
      reply(text("secret answer"), usage({ input: 20, output: 7 }))
    );
    await talk(host, "u1");
    const [turn] = await turns(host);
    expect(turn).toMatchObject({
      outcome: "completed",
      inputMessageIds: ["u1"],
      messageId: (await storedMessages(host)).at(-1)?.id,
      steps: 2,
      models: [expect.any(String)],
      attempts: [{ kind: "first", end: "settled" }],
      tools: { offered: ["hide", "look"] }
    });
    expect(turn?.tools.called).toEqual([
      { name: "look", calls: 1, failed: 0 },
      { name: "hide", calls: 1, failed: 1 }
    ]);
    expect(turn?.usage).toMatchObject({ inputTokens: 30, outputTokens: 12, totalTokens: 42 });
    expect(turn?.prompts).toHaveLength(1);
    expect(JSON.stringify(turn)).not.toContain("secret");
  });

  test("has the fingerprint of its prompt: equal for the same, another for another", async () => {
    const host = open(reply(text("1")), reply(text("2")), reply(text("3")));
    await talk(host, "u1", "u2");
    system = "Be long.";
    await talk(host, "u3");
    const [first, second, third] = (await turns(host)).map(({ prompts }) => prompts[0]);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  test("is listed when its records are gone, where its outcome was, and over a restart", async () => {
    const host = open(reply(text("1")), reply(text("2")));
    await talk(host, "u1", "u2");
    const before = (await entries(host)).filter(({ turn }) => turn !== undefined);
    await host.advance(HOUR_MS);
    await host.restart();
    const after = await entries(host);
    expect(after.map(({ type }) => type)).toEqual(["turn-settled", "turn-settled"]);
    expect(after.map(({ position, turn }) => [position, turn])).toEqual(
      before.map(({ position, turn }) => [position, turn])
    );
    const agent = await agentOf(host);
    expect((await agent.readJournal({ after: -1 })).entries).toEqual(after.slice(1));
    expect(await agent.readJournal({ limit: 1 })).toMatchObject({ entries: after.slice(0, 1), more: true });
  });

  test("says what became of each attempt", async () => {
    const host = open(reply(text("partial"), stall()), reply(text("whole")));
    const socket = await host.connect("/agents/chat/a");
    sendChat(socket, "r1", [user("u1")]);
    await host.advance(2000);
    await host.restart();
    await host.advance(60_000);
    expect(await turns(host)).toMatchObject([
      {
        requestId: "r1",
        trigger: "ws-chat",
        attempts: [
          { kind: "first", end: "interrupted" },
          { kind: "continue", end: "settled" }
        ]
      }
    ]);
  });

  test("without an answer is kept with its question", async () => {
    const host = open(fail(new Error("down")));
    await talk(host, "u1");
    expect(await turns(host)).toMatchObject([
      {
        outcome: "failed",
        errorCode: "turn-failed",
        messageId: null,
        inputMessageIds: ["u1"],
        models: [expect.any(String)]
      }
    ]);
    await (await agentOf(host)).remove("u1");
    expect(await turns(host)).toEqual([]);
  });

  test("goes with its message", async () => {
    const host = open(reply(text("1")), reply(text("2")));
    await talk(host, "u1", "u2");
    await host.advance(HOUR_MS);
    const [, answer] = await storedMessages(host);
    await (await agentOf(host)).remove(answer!.id);
    expect((await turns(host)).map(({ inputMessageIds }) => inputMessageIds)).toEqual([["u2"]]);
    await (await agentOf(host)).clearMessages();
    expect(await turns(host)).toEqual([]);
    expect((await entries(host)).map(({ change }) => change)).toMatchObject([
      { kind: "cleared", by: "code", count: 3 }
    ]);
  });
});

test("killed after any write or inside any await, each settled turn has one row of history", async () => {
  const result = await everyCrash<Host>({
    create: () => {
      script = createScript([reply(toolCall("look", {}, { id: "c1" })), reply(text("answer"))], {
        advance: "at-end",
        onExhausted: "repeat-last"
      });
      const host: Host = createTestHost({ agents: { Chat } });
      boundary = () => host.boundary();
      return host;
    },
    script: (host) => talk(host, "u1"),
    finish: async (host) => {
      await agentOf(host);
      await host.advance(600_000);
    },
    inspect: async (host) => {
      const isAsked = (await storedMessages(host)).length > 0;
      const rows = host.sql<{ body: string }>(Chat, "a", "SELECT body FROM cf_turns");
      const outcomes = rows.map(({ body }) => turnOf({ sequence: 0, body })?.outcome);
      return isAsked ? outcomes : ["completed"];
    }
  });
  expect(result.points).toBeGreaterThan(10);
});
