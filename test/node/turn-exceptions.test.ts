// Exceptions in the middle of a turn, wherever they come from: the turn fails once, its client is notified once and learns
// nothing internal, and the conversation goes on. The suite runs on both majors of the SDK.
import { tool, type LanguageModel, type ToolSet, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type TurnConfig } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  text,
  toolCall,
  type Script,
  type Step,
  type TestHost,
  type TestSocket
} from "../../src/testing/index.ts";
import { installedModel } from "../../src/testing/model/installed-model.test-support.ts";
import { framesOf, sendChat } from "../kit/frames.ts";
import { storedMessages, user } from "../kit/messages.ts";

let script: Script;
let tools: ToolSet = {};
let config: TurnConfig = {};
let repair: ((part: UIMessage["parts"][number]) => UIMessage["parts"][number]) | undefined;
let modelOf: () => LanguageModel;

beforeEach(() => {
  tools = {};
  config = {};
  repair = undefined;
  modelOf = () => installedModel(script);
});
afterEach(() => void vi.restoreAllMocks());

class Chat extends Think {
  override getModel() {
    return modelOf();
  }
  override getTools() {
    return tools;
  }
  override beforeTurn() {
    return config;
  }
  override repairInterruptedToolPart(part: UIMessage["parts"][number]): UIMessage["parts"][number] {
    return repair ? repair(part) : super.repairInterruptedToolPart(part);
  }
  /** Messages with this word can no longer be stored. */
  breakStorage(word: string): void {
    const table = this.sql<{
      name: string;
    }>`SELECT name FROM sqlite_master WHERE name LIKE '%message%' AND type = 'table'
      AND sql LIKE '%content%'`[0]?.name;
    this.ctx.storage.sql.exec(
      `CREATE TRIGGER full BEFORE INSERT ON ${table} WHEN NEW.content LIKE '%${word}%'
       BEGIN SELECT RAISE(ABORT, 'no space in internal_table'); END`
    );
  }
}

function open(...steps: Step[]): TestHost<object> {
  script = createScript(steps);
  return createTestHost({ agents: { Chat } });
}

async function ask(host: TestHost<object>, socket: TestSocket, id: string): Promise<void> {
  sendChat(socket, id, [user(`u-${id}`)]);
  await host.idle();
}

const endsOf = (socket: TestSocket, id: string) =>
  framesOf(socket)
    .filter((frame) => frame.id === id && frame.done)
    .map(({ outcome, body }) => [outcome, body]);

describe("an answer that cannot be stored", () => {
  test("ends its turn once, with an error that says nothing about the storage", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const host = open(reply(text("poison")), reply(text("fine")));
    const socket = await host.connect("/agents/chat/a");
    script = createScript([reply(text("first")), reply(text("poison")), reply(text("fine"))]);
    await ask(host, socket, "r0");
    await (await host.get(Chat, "a")).breakStorage("poison");
    await ask(host, socket, "r1");
    expect(endsOf(socket, "r1")).toEqual([["error", "The answer could not be completed."]]);
    expect(log.mock.calls.flat().map(String).join()).toContain("no space in internal_table");
    await host.advance(600_000);
    expect(script.callCount).toBe(2);
    expect(endsOf(socket, "r1")).toHaveLength(1);
    await ask(host, socket, "r2");
    expect(endsOf(socket, "r2")).toEqual([["completed", ""]]);
  });

  test("nor can a question: its sender is told, and nothing else", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const host = open(reply(text("first")), reply(text("fine")));
    const socket = await host.connect("/agents/chat/a");
    await ask(host, socket, "r0");
    await (await host.get(Chat, "a")).breakStorage("u-poison");
    await ask(host, socket, "poison");
    expect(endsOf(socket, "poison")).toEqual([["error", "Your message could not be stored. Please try again."]]);
    await ask(host, socket, "r2");
    expect(endsOf(socket, "r2")).toEqual([["completed", ""]]);
  });
});

describe("a tool whose result is no JSON", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  test.each<[string, unknown]>([
    ["a big integer", { amount: 10n }],
    ["a loop", loop],
    ["a toJSON that throws", { toJSON: () => loop["nothing"] ?? JSON.parse("{") }]
  ])("(%s) has failed: the model is told, and the turn completes", async (_what, result) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    tools = { odd: tool({ inputSchema: z.object({}), execute: async () => result }) };
    const host = open(reply(toolCall("odd", {}, { id: "c1" })), reply(text("fine")), reply(text("more")));
    const socket = await host.connect("/agents/chat/a");
    await ask(host, socket, "r1");
    expect(endsOf(socket, "r1")).toEqual([["completed", ""]]);
    const parts = (await storedMessages(host)).at(-1)?.parts ?? [];
    expect(parts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ state: "output-error", errorText: expect.stringContaining("cannot be stored") })
      ])
    );
    await ask(host, socket, "r2");
    expect(endsOf(socket, "r2")).toEqual([["completed", ""]]);
  });

  test.each([[() => 1], [Symbol("s")], [undefined]])("is nothing if JSON has no word for it: %s", async (result) => {
    tools = { odd: tool({ inputSchema: z.object({}), execute: async () => result }) };
    const host = open(reply(toolCall("odd", {}, { id: "c1" })), reply(text("fine")));
    const socket = await host.connect("/agents/chat/a");
    await ask(host, socket, "r1");
    expect(endsOf(socket, "r1")).toEqual([["completed", ""]]);
  });
});

describe("user code in the stream", () => {
  test("that makes parts of its own fails its turn once at most", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const odd = () =>
      new TransformStream({
        transform(part, controller) {
          if (part.type === "finish-step") controller.enqueue({ type: "finish-step" });
          else controller.enqueue(part);
        }
      });
    // What a caller without types may give.
    config = { experimental_transform: odd as NonNullable<TurnConfig["experimental_transform"]> };
    const host = open(reply(text("hello")), reply(text("fine")));
    const socket = await host.connect("/agents/chat/a");
    await ask(host, socket, "r1");
    expect(endsOf(socket, "r1")).toHaveLength(1);
    config = {};
    await ask(host, socket, "r2");
    expect(endsOf(socket, "r2")).toEqual([["completed", ""]]);
  });

  test.each<[string, () => UIMessage["parts"][number]]>([
    ["throws", () => fail("cannot repair")],
    ["returns nothing", () => undefined as never]
  ])("that repairs interrupted calls and %s ends the interrupted turn once", async (_what, broken) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    tools = { slow: tool({ inputSchema: z.object({}), execute: () => new Promise(() => {}) }) };
    const host = open(reply(toolCall("slow", {}, { id: "c1" })), reply(text("fine")), reply(text("fine")));
    const first = await host.connect("/agents/chat/a");
    await ask(host, first, "r1");
    repair = broken;
    await host.restart();
    const socket = await host.connect("/agents/chat/a");
    await host.advance(600_000);
    const known = socket.frames.length;
    await host.advance(600_000);
    expect(socket.frames.length).toBe(known);
    expect(endsOf(socket, "r1")).toHaveLength(1);
    repair = undefined;
    await ask(host, socket, "r2");
    expect(endsOf(socket, "r2")).toEqual([["completed", ""]]);
  });
});

function fail(message: string): never {
  throw new Error(message);
}
