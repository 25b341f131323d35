// Providers that name every call alike, as local models do: each call is stored, answered and shown to the model as the
// one it is. The suite runs on both majors of the SDK.
import { tool, type LanguageModel, type UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Think, type TurnConfig, type TurnContext } from "../../src/index.ts";
import { createTestHost, everyCrash, type TestHost, type TestSocket } from "../../src/testing/index.ts";
import { finish, modelAnswering, plainAnswer, toolCall, type Part, type Prompt } from "./misbehaving-model.ts";
import { storedMessages, user } from "../kit/messages.ts";
import { sendChat } from "../kit/frames.ts";

afterEach(() => void vi.restoreAllMocks());

let prompts: Prompt[] = [];
let ran: string[] = [];
let answer: (prompt: Prompt) => readonly Part[];
let shown = Number.POSITIVE_INFINITY;

beforeEach(() => {
  prompts = [];
  ran = [];
  shown = Number.POSITIVE_INFINITY;
});

class Chat extends Think {
  override getModel(): LanguageModel {
    return modelAnswering((prompt) => {
      prompts.push(prompt);
      return answer(prompt);
    });
  }
  override getTools() {
    const what = z.object({ what: z.string() });
    const run = async (input: { what: string }) => {
      ran.push(input.what);
      return `noted ${input.what}`;
    };
    return {
      note: tool({ inputSchema: what, execute: run }),
      pay: tool({ inputSchema: what, needsApproval: true, execute: run }),
      ask: tool({ inputSchema: what })
    };
  }
  override beforeTurn({ messages }: TurnContext): TurnConfig {
    return { messages: messages.slice(-shown) };
  }
}

const open = () => createTestHost({ agents: { Chat } });
const connect = (host: TestHost<object>) => host.connect("/agents/chat/a");

async function say(host: TestHost<object>, socket: TestSocket, words: string): Promise<void> {
  sendChat(socket, words, [user(`u-${words}`, words)]);
  await host.idle();
}

type Call = { toolCallId: string; input: { what: string }; output?: unknown; state: string };
const callsOf = (messages: readonly UIMessage[]): Call[] =>
  messages.flatMap(({ parts }) => parts.filter((part) => "toolCallId" in part)) as object[] as Call[];

const lastWords = (prompt: Prompt): string => {
  const { role, content } = prompt.at(-1) ?? { role: "", content: "" };
  if (role !== "user" || typeof content === "string") return "";
  return String(content.at(-1)?.["text"] ?? "");
};

/** Every question is answered with one call, which is always called the same, and then with words. */
const callsNote =
  (id: unknown, more: (words: string) => readonly Part[] = () => []) =>
  (prompt: Prompt): readonly Part[] => {
    const words = lastWords(prompt);
    if (words === "") return plainAnswer("done");
    return [...toolCall(id, "note", { what: words }), ...more(words), finish("tool-calls")];
  };

/** What a prompt says about calls: each with its input and the result it is followed by. */
function pairsOf(prompt: Prompt | undefined): string[] {
  const parts = (prompt ?? []).flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return parts
    .filter(({ type }) => type === "tool-call")
    .map(({ toolCallId, input }) => {
      const results = parts.filter((part) => part["type"] === "tool-result" && part["toolCallId"] === toolCallId);
      const outputs = results.map(({ output }) => (output as { value: unknown }).value);
      return `${(input as { what: string }).what}: ${outputs.join(" and ")}`;
    });
}

const idsOf = (messages: readonly UIMessage[]) => callsOf(messages).map(({ toolCallId }) => toolCallId);
const isUnique = (ids: readonly string[]) => new Set(ids).size === ids.length;

describe.each([
  ["the same id", "call_0"],
  ["no id", undefined],
  ["an empty id", ""],
  ["half of a character", "\ud800"],
  ["a NUL", "a\0"],
  ["a number", 0],
  ["a name that objects have", "__proto__"],
  ["a very long id", "c".repeat(20_000)]
])("a provider that gives every call %s", (_what, id) => {
  test("loses no call and no result of earlier turns", async () => {
    answer = callsNote(id);
    const host = open();
    const socket = await connect(host);
    for (const words of ["one", "two", "three"]) await say(host, socket, words);
    const messages = await storedMessages(host);
    expect(callsOf(messages).map(({ input, output }) => [input.what, output])).toEqual([
      ["one", "noted one"],
      ["two", "noted two"],
      ["three", "noted three"]
    ]);
    expect(isUnique(idsOf(messages))).toBe(true);
    expect(pairsOf(prompts.at(-1))).toEqual(["one: noted one", "two: noted two", "three: noted three"]);
    expect(ran).toEqual(["one", "two", "three"]);
  });

  test("may make several at once", async () => {
    answer = callsNote(id, (words) => toolCall(id, "note", { what: `${words}, too` }));
    const host = open();
    const socket = await connect(host);
    await say(host, socket, "one");
    const messages = await storedMessages(host);
    expect(callsOf(messages)).toMatchObject([
      { input: { what: "one" }, output: "noted one", state: "output-available" },
      { input: { what: "one, too" }, output: "noted one, too", state: "output-available" }
    ]);
    expect(isUnique(idsOf(messages))).toBe(true);
    expect(pairsOf(prompts.at(-1))).toEqual(["one: noted one", "one, too: noted one, too"]);
  });

  test("may make one in every step", async () => {
    const steps = ["first", "second", "third"];
    answer = (prompt) => {
      const what = steps[pairsOf(prompt).length];
      return what === undefined ? plainAnswer("done") : [...toolCall(id, "note", { what }), finish("tool-calls")];
    };
    const host = open();
    await say(host, await connect(host), "go");
    expect(pairsOf(prompts.at(-1))).toEqual(steps.map((what) => `${what}: noted ${what}`));
    expect(callsOf(await storedMessages(host)).map(({ output }) => output)).toEqual(
      steps.map((what) => `noted ${what}`)
    );
  });

  test("may run calls itself", async () => {
    const own = { providerExecuted: true, dynamic: true };
    answer = (prompt) => [
      ...toolCall(id, "search", { what: lastWords(prompt) }, own),
      { type: "tool-result", toolCallId: id, toolName: "search", result: `found ${lastWords(prompt)}`, dynamic: true },
      ...plainAnswer("done")
    ];
    const host = open();
    const socket = await connect(host);
    for (const words of ["one", "two"]) await say(host, socket, words);
    const calls = callsOf(await storedMessages(host));
    expect(calls.map(({ output }) => output)).toEqual(["found one", "found two"]);
    expect(isUnique(calls.map(({ toolCallId }) => toolCallId))).toBe(true);
  });
});

describe("a provider that reuses ids", () => {
  test("keeps its own as long as they are unique", async () => {
    let count = 0;
    answer = (prompt) => callsNote(`call_${count++}`)(prompt);
    const host = open();
    const socket = await connect(host);
    for (const words of ["one", "two"]) await say(host, socket, words);
    expect(idsOf(await storedMessages(host))).toEqual(["call_0", "call_2"]);
  });

  test("gets ids back that every provider accepts", async () => {
    answer = callsNote("functions.note:0");
    const host = open();
    const socket = await connect(host);
    for (const words of ["one", "two"]) await say(host, socket, words);
    const [first, second] = idsOf(await storedMessages(host));
    expect(first).toBe("functions.note:0");
    expect(second).toMatch(/^functions_note_0_[A-Za-z0-9]{8}$/);
  });

  test("is not shown two calls as one when a hook has left out the earlier one", async () => {
    answer = callsNote("call_0");
    shown = 1;
    const host = open();
    const socket = await connect(host);
    for (const words of ["one", "two"]) await say(host, socket, words);
    shown = Number.POSITIVE_INFINITY;
    await say(host, socket, "three");
    expect(isUnique(idsOf(await storedMessages(host)))).toBe(true);
    expect(pairsOf(prompts.at(-1))).toEqual(["one: noted one", "two: noted two", "three: noted three"]);
  });

  test("has each approval and each client's result reach the call it is about", async () => {
    answer = (prompt) => {
      const words = lastWords(prompt);
      if (words === "") return plainAnswer("done");
      return [...toolCall("call_0", words === "buy" ? "pay" : "ask", { what: words }), finish("tool-calls")];
    };
    const host = open();
    const socket = await connect(host);
    await say(host, socket, "who");
    const [asked] = callsOf(await storedMessages(host));
    socket.send({
      type: "cf_agent_tool_result",
      toolCallId: asked?.toolCallId,
      toolName: "ask",
      output: "Ada",
      autoContinue: true
    });
    await host.advance(1_000);
    await say(host, socket, "buy");
    const bought = callsOf(await storedMessages(host)).at(-1);
    expect(bought).toMatchObject({ input: { what: "buy" }, state: "approval-requested" });
    expect(ran).toEqual([]);
    socket.send({
      type: "cf_agent_tool_approval",
      toolCallId: bought?.toolCallId,
      approved: true,
      autoContinue: true
    });
    await host.advance(1_000);
    expect(ran).toEqual(["buy"]);
    expect(callsOf(await storedMessages(host))).toMatchObject([
      { input: { what: "who" }, output: "Ada" },
      { input: { what: "buy" }, output: "noted buy" }
    ]);
    expect(pairsOf(prompts.at(-1))).toEqual(["who: Ada", "buy: noted buy"]);
  });

  test("finds calls that were stored under one id before, each with its own result, and the log stays short", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    answer = callsNote("call_0");
    const host = open();
    const chat = await host.get(Chat, "a");
    const old = (id: string): UIMessage => ({
      id,
      role: "assistant",
      parts: [
        {
          type: "tool-note",
          toolCallId: "call_0",
          state: "output-available",
          input: { what: id },
          output: `noted ${id}`
        }
      ] as UIMessage["parts"]
    });
    await chat.addMessages([user("q1", "q1"), old("a1"), user("q2", "q2"), old("a2"), user("q3", "q3"), old("a3")]);
    await say(host, await connect(host), "new");
    expect(pairsOf(prompts.at(-1))).toEqual(["a1: noted a1", "a2: noted a2", "a3: noted a3", "new: noted new"]);
    expect(warn).not.toHaveBeenCalled();
  });

  test("loses nothing when the process dies anywhere", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    answer = callsNote("call_0");
    const { points } = await everyCrash({
      create: async () => {
        ran = [];
        const host = open();
        await say(host, await connect(host), "one");
        ran = [];
        return host;
      },
      script: async (host) => say(host, await connect(host), "two"),
      finish: async (host) => {
        if (host.crashed) await host.restart();
        await host.advance(120_000);
        const messages = await storedMessages(host);
        if (!messages.some(({ id }) => id === "u-two")) await say(host, await connect(host), "two");
        await host.advance(120_000);
      },
      inspect: async (host) => {
        const calls = callsOf(await storedMessages(host));
        expect(isUnique(calls.map(({ toolCallId }) => toolCallId))).toBe(true);
        expect(ran.length).toBeLessThanOrEqual(1);
        expect(calls[0]).toMatchObject({ input: { what: "one" }, output: "noted one" });
        // A call that was cut off is reported as such; the model may ask for it again.
        return [...new Set(calls.map(({ input }) => input.what))];
      }
    });
    expect(points).toBeGreaterThan(10);
  });
});
