// What a Think stores and shows of its conversation: windows, failing looks, repaired calls, clients' copies, and
// messages of any size.
import { tool, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { AgentEvent } from "../../src/observe/index.ts";
import { MessageStore } from "../../src/session/message-store.ts";
import {
  createScript,
  createTestHost,
  reply,
  text,
  toolCall,
  type Step,
  type TestSocket
} from "../../src/testing/index.ts";
import { Companion, companion, connect, promptTexts, lastCall, open, post, say, scene, shown } from "./memory-kit.ts";
import { textsOf, user } from "../kit/messages.ts";
import { promptOf } from "../kit/prompts.ts";
import { framesOf } from "../kit/frames.ts";

let events: AgentEvent[] = [];
let budgetBytes = 64 * 1024;

class Windowed extends Companion {
  override hydrationByteBudget = budgetBytes;
  override observability = { emit: (event: AgentEvent) => void events.push(event) };

  async fillWith(messages: UIMessage[]) {
    await this.addMessages(messages, { broadcast: false });
  }
}

const eventsOf = (type: AgentEvent["type"]) => events.filter((event) => event.type === type);
const page = (index: number, size = 10_000): UIMessage => ({
  ...user(`m${index}`),
  parts: [{ type: "text", text: `m${index} ${"x".repeat(size)}` }]
});
const chat = (count: number): Step[] => Array.from({ length: count }, (_, index) => reply(text(`answer ${index}`)));

function openWindowed(steps: Step[], budget = 64 * 1024) {
  open(steps);
  events = [];
  budgetBytes = budget;
  return createTestHost({ agents: { Windowed } });
}

beforeEach(() => {
  for (const level of ["warn", "error"] as const) vi.spyOn(console, level).mockImplementation(() => undefined);
});
afterEach(() => void vi.restoreAllMocks());

describe("a transcript of 300 KB with a budget of 64 KB", () => {
  test("boots whole: the view is a window, said once, and the next turn goes on behind the full path", async () => {
    const host = openWindowed(chat(1));
    await (await host.get(Windowed, "a")).fillWith(Array.from({ length: 30 }, (_, index) => page(index)));
    await host.restart();
    events = [];
    const agent = await host.get(Windowed, "a");
    expect(await agent.getOnStartDegradations()).toEqual([]);
    expect(await agent.count()).toBe(6);
    expect(await agent.count()).toBe(6);
    expect(eventsOf("chat:hydration:windowed")).toHaveLength(1);
    await agent.say("next");
    expect(await agent.pathLength()).toBe(32);
    expect(promptOf(lastCall())).toContain("m29 ");
    expect(promptOf(lastCall())).not.toContain("m20 ");
  });
});

test("a read of the history that fails says so, leaves the agent reachable, is recorded once, and chat still works", async () => {
  const host = openWindowed(chat(1));
  await (await host.get(Windowed, "a")).fillWith([user("before")]);
  await host.restart();
  events = [];
  const failing = vi.spyOn(MessageStore.prototype, "readRecent").mockImplementationOnce(() => {
    throw new Error("SQLITE_NOMEM");
  });
  const agent = await host.get(Windowed, "a");
  await expect(agent.count()).rejects.toThrow("The conversation could not be read.");
  failing.mockRestore();
  expect(await agent.getOnStartDegradations()).toEqual([{ step: "transcript-hydration", error: "SQLITE_NOMEM" }]);
  expect(eventsOf("chat:onstart:degraded")).toMatchObject([{ payload: { step: "transcript-hydration" } }]);
  expect(await agent.say("hello")).toBe("completed");
  expect(textsOf(await agent.getMessages())).toEqual(["before", "hello", "answer 0"]);
  expect(promptTexts(lastCall())).toEqual(["before", "hello"]);
});

test("a client that connects while the history cannot be read is shown no empty conversation, and gets it when it asks again", async () => {
  const host = openWindowed(chat(1));
  await (await host.get(Windowed, "a")).fillWith([user("before")]);
  await host.restart();
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const failing = vi.spyOn(MessageStore.prototype, "readRecent").mockImplementation(() => {
    throw new Error("SQLITE_NOMEM");
  });
  const lists = (socket: TestSocket) =>
    framesOf(socket).flatMap(({ type, messages = [] }) =>
      type === "cf_agent_chat_messages" ? [textsOf(messages)] : []
    );
  const first = await host.connect("/agents/windowed/a");
  await host.idle();
  expect(lists(first)).toEqual([]);
  expect(JSON.stringify(logged.mock.calls.flat().map(String))).toContain("SQLITE_NOMEM");
  failing.mockRestore();
  const second = await host.connect("/agents/windowed/a");
  await host.idle();
  expect(lists(second)).toEqual([["before"]]);
});

test("results of client tools of all earlier turns reach the model", async () => {
  const host = open([
    reply(toolCall("locate", {}, { id: "c1" })),
    reply(text("there")),
    reply(toolCall("locate", {}, { id: "c2" })),
    reply(text("now there")),
    ...chat(1)
  ]);
  const socket = await connect(host);
  const clientTools = [{ name: "locate" }];
  for (const [turn, output] of ["Paris", "Rome"].entries()) {
    post(socket, `r${turn}`, [user(`where ${turn}`)], { clientTools });
    await host.idle();
    const toolCallId = `c${turn + 1}`;
    socket.send({ type: "cf_agent_tool_result", toolCallId, toolName: "locate", output, autoContinue: true });
    await host.advance(100);
  }
  await host.restart();
  await say(host, "where was I?");
  expect(promptOf(lastCall())).toContain("Paris");
  expect(promptOf(lastCall())).toContain("Rome");
});

test("a call that will not be answered is an error before the next call of the model; settled ones stay as they are", async () => {
  const host = open(chat(1), { tools: { fetch: tool({ inputSchema: z.object({}), execute: async () => "x" }) } });
  const call = { type: "tool-fetch", input: {} } as const;
  const parts: UIMessage["parts"] = [
    { ...call, toolCallId: "c1", state: "input-available", input: ["a"] },
    { ...call, toolCallId: "c2", state: "output-error", errorText: "the real reason" },
    { ...call, toolCallId: "c3", state: "output-denied", approval: { id: "p", approved: false, reason: "no" } }
  ];
  await (await companion(host)).addMessages([user("before"), { id: "a1", role: "assistant", parts }]);
  await say(host, "go on");
  const [, stored] = await shown(host);
  expect(stored?.parts).toMatchObject([
    { toolCallId: "c1", state: "output-error", input: {} },
    { toolCallId: "c2", state: "output-error", errorText: "the real reason" },
    { toolCallId: "c3", state: "output-denied", approval: { reason: "no" } }
  ]);
  expect(promptOf(lastCall())).toContain("the real reason");
});

test("a client's stale copy of an answer makes no second row, and keeps the result", async () => {
  const host = open([reply(toolCall("fetch", {}, { id: "c1" })), ...chat(2)], {
    tools: { fetch: tool({ inputSchema: z.object({}), execute: async () => "fetched" }) }
  });
  await say(host, "u1");
  const socket = await connect(host);
  await host.idle();
  const copy = {
    id: "optimistic",
    role: "assistant",
    parts: [{ type: "tool-fetch", toolCallId: "c1", state: "input-available", input: {} }]
  } as const;
  post(socket, "r1", [user("u1"), { ...copy, parts: [...copy.parts] }, user("u2")]);
  await host.idle();
  const list = await shown(host);
  expect(list.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(JSON.stringify(list[1]?.parts)).toContain('"fetched"');
});

test("a tool input of 3 MB is stored in a row within the limit, and kept whole", async () => {
  const body = "y".repeat(3_000_000);
  const host = open([reply(toolCall("send", { body }, { id: "c1" })), ...chat(1)], {
    tools: { send: tool({ inputSchema: z.object({ body: z.string() }), execute: async () => "sent" }) }
  });
  expect(await say(host, "send it")).toBe("completed");
  const rows = host.sql<{ id: string; size: number }>(
    Companion,
    "a",
    "SELECT id, length(CAST(content AS BLOB)) AS size FROM assistant_messages"
  );
  expect(rows).toHaveLength(2);
  for (const { size } of rows) expect(size).toBeLessThanOrEqual(1_800_000);
});

test("added messages form a line, are added once, need a known parent, and start no turn", async () => {
  const host = open([]);
  const agent = await companion(host);
  await agent.addMessages([user("one"), user("two")]);
  await agent.addMessages([user("one"), user("two"), user("three")]);
  await host.idle();
  expect(textsOf(await shown(host))).toEqual(["one", "two", "three"]);
  await expect(agent.addMessages([user("four")], { parentId: "nobody" })).rejects.toThrow('parentId "nobody"');
  await agent.addMessages([user("beside")], { parentId: "one" });
  expect(textsOf(await shown(host))).toEqual(["one", "beside"]);
  await host.advance(60_000);
  expect(scene.script.callCount).toBe(0);
  scene.script = createScript(chat(1));
  expect(await say(host, "now")).toBe("completed");
});
