import { hasToolCall, Output, tool, type ToolSet, type UIMessage } from "ai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { CONTINUE_TEXT, installedSdk, type StepStart } from "../model/index.ts";
import { reply, scriptedModel, text } from "../testing/index.ts";
import { assistant, user } from "../turn/engine.test-support.ts";
import { Assembly, type AssemblyInit } from "./assemble.ts";
import { ChatCaller } from "../feature/client-tools.ts";
import type { TurnConfig, TurnContext } from "../feature/hooks.ts";
import { engineTurn, DETAILS, featuresOf, overridesOf } from "./overrides.test-support.ts";
import type { Overrides } from "./overrides.ts";
import { CAPABILITY_SENTINEL } from "./prompt.ts";
import type { CallOwner, Feature, FeatureLayer, Roles } from "../feature/feature.ts";

const sdk = installedSdk();
const named = (description: string) => tool({ description, inputSchema: z.object({}), execute: () => description });
const history = [user("u1", "Hello")];
const clientTool = (name: string) => ({ name, description: "client", parameters: null });

interface Setup extends Partial<Omit<AssemblyInit, "overrides" | "features">> {
  overrides?: Partial<Overrides>;
  features?: Feature[];
}

function assembly({ overrides, features = [], warn = () => {}, ...more }: Setup = {}): Assembly {
  return new Assembly({ sdk, warn, ...more, features: featuresOf(...features), overrides: overridesOf(overrides) });
}

function assemble(setup: Setup = {}, turn = engineTurn(), messages: UIMessage[] = history) {
  return assembly(setup).assemble(turn, { history: messages, overflows: 0, modelHooks: {} });
}

const feature = (layer: FeatureLayer, tools: ToolSet, more: Partial<Feature> = {}): Feature => ({
  name: layer,
  inTurn: () => ({ tools: { [layer]: tools } }),
  ...more
});
const channels = (channelPolicy: Roles["channelPolicy"]): Feature => ({ name: "channels", roles: { channelPolicy } });

afterEach(() => void vi.restoreAllMocks());

describe("the order of assembly", () => {
  test("is fixed, and each step happens once", async () => {
    const trace: string[] = [];
    const note = <T>(what: string, value: T): T => {
      trace.push(what);
      return value;
    };
    await assemble(
      {
        overrides: {
          getTools: () => note("getTools", {}),
          getSystemPrompt: () => note("getSystemPrompt", "Base."),
          getModel: () => note("getModel", scriptedModel([])),
          beforeTurn: () => note("beforeTurn", undefined)
        },
        features: [
          {
            name: "mcp",
            roles: { untilConnected: async () => note("mcp ready", undefined) },
            inTurn: () => note("mcp tools", { begin: () => note("mcp begin", undefined) })
          },
          channels(() => ({
            tools: (all) => note("channel tools", all),
            instructions: async () => note("channel instructions", "Brief.")
          }))
        ],
        sessionPrompt: async () => note("session prompt", undefined)
      },
      engineTurn({ channel: "slack" })
    );
    expect(trace).toEqual([
      "mcp ready",
      "getTools",
      "mcp tools",
      "channel tools",
      "channel instructions",
      "session prompt",
      "getSystemPrompt",
      "getModel",
      "beforeTurn",
      "mcp begin"
    ]);
  });

  test("an empty history fails before the model is asked for", async () => {
    const getModel = vi.fn(() => scriptedModel([]));
    await expect(assemble({ overrides: { getModel } }, engineTurn(), [])).rejects.toMatchObject({
      code: "no-messages"
    });
    expect(getModel).not.toHaveBeenCalled();
  });

  test.each(["getModel", "getTools", "getSystemPrompt", "beforeTurn"] as const)(
    "a throw of %s fails the turn",
    async (name) => {
      const overrides = {
        [name]: () => {
          throw new Error(`${name} threw`);
        }
      };
      await expect(assemble({ overrides })).rejects.toThrow(`${name} threw`);
    }
  );
});

describe("beforeTurn", () => {
  test("sees the assembled turn with its details", async () => {
    let seen: TurnContext | undefined;
    const model = scriptedModel([reply(text("x"))]);
    const signal = new AbortController().signal;
    await assemble(
      {
        overrides: {
          getModel: () => model,
          getTools: () => ({ a: named("a") }),
          beforeTurn: (context) => void (seen = context)
        }
      },
      engineTurn({ continuation: true, body: { x: 1 }, signal })
    );
    expect(seen).toMatchObject({ ...DETAILS, continuation: true, body: { x: 1 } });
    expect(seen?.signal).toBe(signal);
    expect(seen?.model).toBe(model);
    expect(Object.keys(seen?.tools ?? {})).toEqual(["a"]);
    expect(seen?.messages).toEqual([{ role: "user", content: [{ type: "text", text: "Hello" }] }]);
    expect(seen?.system).toMatch(/^You are a test\.\n\n/);
    expect(seen?.system).toContain(CAPABILITY_SENTINEL);
  });

  test("changes nothing by changing what it was shown", async () => {
    const assembled = await assemble({
      overrides: {
        getTools: () => ({ a: named("a") }),
        beforeTurn: (context) => {
          context.messages.length = 0;
          delete context.tools["a"];
        }
      }
    });
    expect(assembled.messages).toHaveLength(1);
    expect(Object.keys(assembled.tools)).toEqual(["a"]);
  });

  test("replaces model, messages and system as they are", async () => {
    const other = scriptedModel([]);
    const messages: TurnConfig["messages"] = [{ role: "user", content: "Other" }];
    const assembled = await assemble({
      overrides: { beforeTurn: () => ({ model: other, messages, system: "Mine alone.", tools: { b: named("b") } }) }
    });
    expect(assembled.model).toBe(other);
    expect(assembled.messages).toEqual(messages);
    expect(assembled.system).toBe("Mine alone.");
  });

  test("adds tools on top, and the capability block knows of them", async () => {
    const assembled = await assemble({
      overrides: {
        getTools: () => ({ a: named("class"), b: named("class") }),
        beforeTurn: () => ({ tools: { b: named("turn"), execute: named("turn") } })
      }
    });
    expect(Object.entries(assembled.tools).map(([name, { description }]) => [name, description])).toEqual([
      ["a", "class"],
      ["b", "turn"],
      ["execute", "turn"]
    ]);
    expect(assembled.system).toContain("sandboxed execution");
  });

  test("forwards every other setting, and none of its own fields", async () => {
    const output = Output.object({ schema: z.object({ x: z.number() }) });
    const settings = { temperature: 0, headers: { a: "b" }, toolChoice: "required" as const, activeTools: [], output };
    const assembled = await assemble({
      overrides: { beforeTurn: () => ({ ...settings, maxSteps: 2, sendReasoning: false, stopWhen: hasToolCall("a") }) }
    });
    expect(assembled.settings).toEqual(settings);
    expect(assembled).toMatchObject({ maxSteps: 2, sendReasoning: false });
    expect(assembled.stopWhen).toBeTypeOf("function");
  });

  test.each<[string, number | undefined, number | undefined, number]>([
    ["the turn", 2, 3, 2],
    ["then the channel", undefined, 3, 3],
    ["then the class", undefined, undefined, 7]
  ])("maxSteps: %s decides", async (_who, own, maxTurns, expected) => {
    const assembled = await assemble(
      {
        overrides: { maxSteps: 7, beforeTurn: () => (own === undefined ? undefined : { maxSteps: own }) },
        features: [channels(() => (maxTurns === undefined ? {} : { maxTurns }))]
      },
      engineTurn({ channel: "slack" })
    );
    expect(assembled.maxSteps).toBe(expected);
  });

  test("reasoning is sent as the class says unless the turn says otherwise", async () => {
    expect((await assemble({ overrides: { sendReasoning: false } })).sendReasoning).toBe(false);
    const turned = { sendReasoning: false, beforeTurn: () => ({ sendReasoning: true }) };
    expect((await assemble({ overrides: turned })).sendReasoning).toBe(true);
  });
});

describe("messages", () => {
  test("that end in an answer are followed by a request to go on, which beforeTurn does not see", async () => {
    let seen = 0;
    const assembled = await assemble(
      { overrides: { beforeTurn: (context) => void (seen = context.messages.length) } },
      engineTurn({ continuation: true }),
      [...history, assistant("a1", "Well")]
    );
    expect(seen).toBe(2);
    expect(assembled.messages.at(-1)).toEqual({ role: "user", content: [{ type: "text", text: CONTINUE_TEXT }] });
  });

  test("of the turn's own making get that request too", async () => {
    const assembled = await assemble({
      overrides: { beforeTurn: () => ({ messages: [{ role: "assistant", content: "So" }] }) }
    });
    expect(assembled.messages).toHaveLength(2);
  });

  const long = "x".repeat(2_000);
  const called = (id: string, toolName: string): UIMessage => ({
    id,
    role: "assistant",
    parts: [{ type: `tool-${toolName}`, toolCallId: id, state: "output-available", input: { id }, output: long }]
  });
  const old = [user("u1"), called("c1", "whole"), called("c2", "other"), called("c3", "skill")];
  const aged = [...old, ...Array.from({ length: 12 }, (_, index) => user(`u${index + 2}`))];

  test("that are old are shortened, except outputs that the class or a feature keeps", async () => {
    const keepOutput: CallOwner["keepOutput"] = ({ toolName }) => (toolName === "skill" ? "skill" : undefined);
    const { messages } = await assemble(
      {
        overrides: { historyTruncation: { wholeOutputs: ["whole"] } },
        features: [feature("skills", {}, { calls: { keepOutput } })]
      },
      engineTurn(),
      structuredClone(aged)
    );
    const outputs = messages
      .filter(({ role }) => role === "tool")
      .map((message) => JSON.stringify(message).length > 2_000);
    expect(outputs).toEqual([true, false, true]);
  });

  test("are shortened as the class says", async () => {
    const { messages } = await assemble(
      { overrides: { historyTruncation: { keepRecent: 16 } } },
      engineTurn(),
      structuredClone(aged)
    );
    expect(JSON.stringify(messages)).not.toContain("truncated");
  });
});

test("an output that is cut only after a compaction in the middle of a turn names its call, and can be read", async () => {
  const called = (id: string): UIMessage => ({
    id: `m-${id}`,
    role: "assistant",
    parts: [{ type: "tool-fetch", toolCallId: id, state: "output-available", input: {}, output: id.repeat(1_000) }]
  });
  const given = [user("u1"), called("c1"), called("c2"), user("u2")];
  const compacting = new Assembly({
    sdk,
    features: featuresOf(),
    overrides: overridesOf({
      historyTruncation: { keepRecent: 2, step: 1 },
      contextOverflow: { proactive: { maxInputTokens: 100 } }
    }),
    overflow: {
      compact: async () => true,
      path: () => [called("c2"), user("u1"), user("u2")],
      has: () => true
    }
  });
  const turn = await compacting.assemble(engineTurn(), { history: given, overflows: 0, modelHooks: {} });
  expect(JSON.stringify(turn.messages)).toMatch(/id \\"c1\\" gives the whole/);
  expect(JSON.stringify(turn.messages)).not.toMatch(/id \\"c2\\"/);
  const usage = { inputTokens: 1_000, outputTokens: 1, totalTokens: 1_001 };
  const event = { steps: [{ usage }], messages: turn.messages, responseMessages: [], stepNumber: 1 };
  const rebuilt = await turn.modelHooks.rebase?.(event as object as StepStart);
  expect(JSON.stringify(rebuilt)).toMatch(/id \\"c2\\" gives the whole/);
  const read = turn.tools["read_result"]?.execute;
  expect(await read?.({ id: "c2" }, { toolCallId: "r", messages: [], context: undefined })).toMatchObject({
    totalChars: 2_000
  });
});

describe("tools", () => {
  test("come from all layers, later ones winning", async () => {
    const { tools } = await assemble(
      {
        overrides: {
          allowClientToolOverrides: true,
          getTools: () => ({ a: named("class"), b: named("class"), c: named("class") })
        },
        features: [
          feature("mcp", { c: named("mcp"), d: named("mcp") }),
          feature("workspace", { a: named("workspace") })
        ]
      },
      engineTurn({ clientTools: [clientTool("d")] })
    );
    const origins = Object.fromEntries(Object.entries(tools).map(([name, { description }]) => [name, description]));
    expect(origins).toEqual({ a: "class", b: "class", c: "mcp", d: "client" });
  });

  test("keep what the SDK reads off them, approval included", async () => {
    const guarded = { ...named("guarded"), needsApproval: true };
    expect((await assemble({ overrides: { getTools: () => ({ guarded }) } })).tools["guarded"]).toBe(guarded);
  });

  test("a client's that takes the place of one of the server, where the class allows it, is warned of once", async () => {
    const warn = vi.fn();
    const shared = assembly({
      warn,
      overrides: { allowClientToolOverrides: true, getTools: () => ({ a: named("class") }) }
    });
    for (let turn = 0; turn < 3; turn += 1) {
      const { tools } = await shared.assemble(engineTurn({ clientTools: [clientTool("a")] }), {
        history,
        overflows: 0,
        modelHooks: {}
      });
      expect(tools["a"]?.description).toBe("client");
    }
    expect(warn.mock.calls).toEqual([[expect.stringContaining('A client tool replaces "a"')]]);
  });

  test("a client's cannot take the place of one of the server unless the class says so", async () => {
    const warn = vi.fn();
    const { tools } = await assemble(
      { warn, overrides: { getTools: () => ({ a: named("class") }) } },
      engineTurn({ clientTools: [clientTool("a"), clientTool("b")] })
    );
    expect([tools["a"]?.description, tools["b"]?.description]).toEqual(["class", "client"]);
    expect(warn).toHaveBeenCalledOnce();
  });

  test("a client that describes a name twice is warned of", async () => {
    const warn = vi.fn();
    await assemble({ warn }, engineTurn({ clientTools: [clientTool("a"), clientTool("a")] }));
    expect(warn.mock.calls).toEqual([[expect.stringContaining("more than once")]]);
  });

  test("a caller who runs client tools itself is asked; any other client answers later", async () => {
    const clientTools = [clientTool("a")];
    const origin = new ChatCaller(() => "from the caller");
    const { tools } = await assemble({}, engineTurn({ clientTools, origin }));
    const options = { toolCallId: "c", messages: [], context: undefined };
    expect(await tools["a"]?.execute?.({}, options)).toBe("from the caller");
    expect((await assemble({}, engineTurn({ clientTools, origin: {} }))).tools["a"]).not.toHaveProperty("execute");
  });

  test("a throw of a feature's tools fails the turn", async () => {
    const broken = feature("mcp", {}, { inTurn: () => Promise.reject(new Error("no tools")) });
    await expect(assemble({ features: [broken] })).rejects.toThrow("no tools");
  });
});

describe("waiting for what a feature connects to", () => {
  test("that cannot be reached costs their tools and not the turn", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const ready = () => Promise.reject(new Error("unreachable"));
    await assemble({
      features: [feature("mcp", {}, { roles: { untilConnected: ready } })]
    });
    expect(warn).toHaveBeenCalledOnce();
  });

  test("ends when the turn is stopped meanwhile", async () => {
    const stop = new AbortController();
    const ready = async () => stop.abort(new Error("stopped"));
    const beforeTurn = vi.fn();
    const features = [feature("mcp", {}, { roles: { untilConnected: ready } })];
    const setup = { overrides: { waitForMcpConnections: true, beforeTurn }, features };
    await expect(assemble(setup, engineTurn({ signal: stop.signal }))).rejects.toThrow("stopped");
    expect(beforeTurn).not.toHaveBeenCalled();
  });
});

describe("a channel", () => {
  test("narrows the tools and speaks first, and the capability block follows the narrowed set", async () => {
    const assembled = await assemble(
      {
        overrides: { getTools: () => ({ read: named("read"), execute: named("execute") }) },
        features: [channels(() => ({ instructions: "Be brief.", tools: ({ execute: _none, ...rest }) => rest }))]
      },
      engineTurn({ channel: "slack" })
    );
    expect(Object.keys(assembled.tools)).toEqual(["read"]);
    expect(assembled.system).toMatch(/^Be brief\.\n\nYou are a test\./);
    expect(assembled.system).not.toContain("sandboxed execution");
  });

  test("that is not registered changes nothing and is warned of", async () => {
    const warn = vi.fn();
    await assemble({ warn, features: [channels(() => undefined)] }, engineTurn({ channel: "pager" }));
    expect(warn.mock.calls).toEqual([[expect.stringContaining('"pager" is not registered')]]);
  });
});

describe("a continuation is asked", () => {
  const asked = async (turn: Parameters<typeof engineTurn>[0], last: UIMessage) => {
    const assembled = await assembly({}).assemble(engineTurn({ continuation: true, ...turn }), {
      history: [user("u1"), last],
      overflows: 0,
      modelHooks: {}
    });
    return JSON.stringify(assembled.messages.at(-1));
  };

  test.each<[string, Parameters<typeof engineTurn>[0], string, RegExp]>([
    ["to go on where the newest answer stopped", {}, "a1", /Continue your previous response/],
    ["to go on from an action that was decided", { trigger: "approval" }, "a1", /has been decided/],
    ["to go on from an earlier call that was answered", { resolvesMessageId: "a0" }, "a1", /has been answered/],
    ["to go on where its own text was cut off", { resolvesMessageId: "a0", messageId: "a2" }, "a2", /Continue your/],
    ["the same after an action", { trigger: "approval", messageId: "a2" }, "a2", /Continue your/]
  ])("%s", async (_what, turn, lastId, request) => {
    expect(await asked(turn, assistant(lastId, "So far"))).toMatch(request);
  });
});

test("what stands behind the stored history stays in the prompt when the history is made shorter between two steps", async () => {
  const running: UIMessage = {
    id: "a2:calls",
    role: "assistant",
    parts: [{ type: "tool-pay", toolCallId: "c1", state: "output-available", input: {}, output: "paid" }]
  };
  const compacting = new Assembly({
    sdk,
    features: featuresOf(),
    overrides: overridesOf({ contextOverflow: { proactive: { maxInputTokens: 100 } } }),
    overflow: { compact: async () => true, path: () => [user("short")], has: (id) => id !== running.id }
  });
  const history = [user("u1"), user("u2"), running];
  const turn = await compacting.assemble(engineTurn(), { history, overflows: 0, modelHooks: {} });
  const usage = { inputTokens: 1_000, outputTokens: 1, totalTokens: 1_001 };
  const event = { steps: [{ usage }], messages: turn.messages, responseMessages: [], stepNumber: 1 };
  const rebuilt = JSON.stringify(await turn.modelHooks.rebase?.(event as object as StepStart));
  expect(rebuilt).toContain("short");
  expect(rebuilt).toContain("c1");
});
