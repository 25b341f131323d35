// What hooks are handed can be cloned, stored and returned over RPC; what cannot be copied by nature can still be read.
import type { UIMessage } from "ai";
import { afterEach, expect, test, vi } from "vitest";
import type { AgentEvent } from "../../src/observe/index.ts";
import { createTestHost } from "../../src/testing/index.ts";
import { HookRecorder } from "../conformance/hook-recorder.ts";

afterEach(() => void vi.restoreAllMocks());

const HOOKS = [
  "authorizeAction",
  "authorizeTurn",
  "beforeStep",
  "beforeToolCall",
  "beforeTurn",
  "afterToolCall",
  "classifyChatError",
  "onChatError",
  "onChatResponse",
  "onStepFinish"
];

const question = (id: string, words: string): UIMessage => ({
  id,
  role: "user",
  parts: [
    { type: "text", text: words },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
    { type: "file", mediaType: "image/png", url: "https://example.com/cat.png" }
  ]
});

test("every value that a hook is handed can be cloned, stored and returned over RPC", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const host = createTestHost({ agents: { HookRecorder } });
  const recorder = await host.get(HookRecorder, "a");
  await recorder.saveMessages([question("u1", "hello")]);
  await recorder.saveMessages([question("u2", "fail")]);
  const handed = await recorder.handed();
  expect(handed.filter(({ problems }) => problems.length > 0)).toEqual([]);
  const hooks = new Set(handed.map(({ hook }) => hook.split(" ")[0]));
  expect([...hooks]).toEqual(expect.arrayContaining([...HOOKS, "onChunk"]));
  expect(handed.some(({ keys }) => keys.includes("signal") || keys.includes("abortSignal"))).toBe(false);
  expect(await recorder.missing()).toBe(0);
  const returned = await recorder.everything();
  expect(returned).toHaveLength(handed.length);
  const response = (returned as { hook: string; value: object }[]).find(({ hook }) => hook === "onChatResponse");
  expect(response?.value).toMatchObject({ status: "completed", attachments: [{ type: "card", title: "Booked" }] });
});

test("attachments are a list, also when there are none", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const seen: unknown[] = [];
  class Plain extends HookRecorder {
    override getTools() {
      return {} as ReturnType<HookRecorder["getTools"]>;
    }
    override getActions() {
      return {} as ReturnType<HookRecorder["getActions"]>;
    }
    override onChatResponse({ attachments }: Parameters<HookRecorder["onChatResponse"]>[0]) {
      seen.push(attachments);
    }
  }
  const host = createTestHost({ agents: { Plain } });
  await (await host.get(Plain, "a")).saveMessages([question("u1", "hello")]);
  expect(seen).toEqual([[]]);
});

test("the events of a turn always say whether it is a continuation", async () => {
  const events: AgentEvent[] = [];
  class Observed extends HookRecorder {
    override observability = { emit: (event: AgentEvent) => void events.push(event) };
    goOn() {
      return this.continueLastTurn();
    }
  }
  const host = createTestHost({ agents: { Observed } });
  const agent = await host.get(Observed, "a");
  await agent.saveMessages([question("u1", "hello")]);
  await agent.goOn();
  const turns = events.filter(({ type }) => type.startsWith("chat:turn:"));
  expect(turns.map(({ type, payload }) => [type, "continuation" in payload && payload.continuation])).toEqual([
    ["chat:turn:start", false],
    ["chat:turn:finish", false],
    ["chat:turn:start", true],
    ["chat:turn:finish", true]
  ]);
});
