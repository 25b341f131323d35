import type { Tool, ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { OBJECT, rawMcp, textResult, type RawAnswer, type RawCall } from "./raw-mcp.test-support.ts";
import { toolKey } from "./tool-names.ts";
import type { McpApprovalPolicy } from "./tools.ts";

const ORIGIN = "https://a.example.com";

interface Offer {
  readonly tools: readonly unknown[];
  readonly call?: RawAnswer;
  readonly others?: Record<string, RawAnswer>;
}

async function worldOffering({ tools, call = () => textResult("done"), others = {} }: Offer) {
  const world = new McpWorld();
  world.origins.set(ORIGIN, rawMcp({ "tools/list": () => ({ tools }), "tools/call": call, ...others }));
  await world.manager.addServer("a", `${ORIGIN}/mcp`, { id: "a" });
  return world;
}

async function run(tools: ToolSet, name: string, options: { input?: unknown; abortSignal?: AbortSignal } = {}) {
  const { input = {}, abortSignal } = options;
  const tool: Tool = tools[name]!;
  return tool.execute!(input, { toolCallId: "c1", messages: [], abortSignal, context: undefined } as never) as unknown;
}

async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !until(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(until()).toBe(true);
}

const ONE = [{ name: "one", inputSchema: OBJECT }];

describe("names", () => {
  test("the model's name for a tool has the server's id and the tool's name", () => {
    expect(toolKey("a-b", "get_weather")).toBe("tool_ab_get_weather");
  });

  test("names of tools fit what every provider accepts, and different tools have different names", () => {
    const names = [
      "get.weather",
      "get_weather",
      "get weather",
      "get/weather",
      "wetter_für",
      "天気",
      "",
      "x".repeat(200)
    ];
    names.push(`${"x".repeat(200)}y`);
    const keys = names.map((name) => toolKey("server-1", name));
    for (const key of keys) expect(key).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/);
    expect(new Set(keys).size).toBe(names.length);
  });

  test("a tool's name does not depend on the server's other tools: a later one cannot take over its calls", async () => {
    const before = await worldOffering({ tools: [{ name: "get.weather", inputSchema: OBJECT }] });
    const after = await worldOffering({
      tools: [
        { name: "get_weather", inputSchema: OBJECT },
        { name: "get.weather", inputSchema: OBJECT }
      ]
    });
    const [key] = Object.keys(before.manager.getAITools());
    expect(Object.keys(after.manager.getAITools())).toEqual(["tool_a_get_weather", key]);
  });

  test.each(["a", "s-1", "x".repeat(58), "x".repeat(64)])(
    "the names of tools of the server %s are known as its own",
    async (id) => {
      const world = new McpWorld();
      world.manager.registerServer(id, { name: "one", url: ORIGIN });
      for (const tool of ["t", "get.weather", "y".repeat(200)]) {
        expect(world.manager.hasToolNamed(toolKey(id, tool))).toBe(true);
      }
      expect(world.manager.hasToolNamed(toolKey("other", "t"))).toBe(false);
    }
  );

  test("a server whose id would give its tools the names of another's is refused", async () => {
    const world = await worldOffering({ tools: ONE });
    world.manager.registerServer("a-b", { name: "x", url: ORIGIN });
    expect(() => world.manager.registerServer("ab", { name: "y", url: ORIGIN })).toThrow(/too much like "a-b"/);
    expect(() => world.manager.registerServer("a--b", { name: "x", url: ORIGIN })).not.toThrow();
    // The tool "c_one" of "ab", and "one" of "ab_c".
    expect(() => world.manager.registerServer("ab_c", { name: "z", url: ORIGIN })).toThrow(/too much like "a-b"/);
    world.manager.registerServer("x_y", { name: "xy", url: ORIGIN });
    expect(() => world.manager.registerServer("x", { name: "x", url: ORIGIN })).toThrow(/too much like "x_y"/);
    expect(() => world.manager.registerServer("xy", { name: "xy2", url: ORIGIN })).not.toThrow();
  });
});

describe("calls", () => {
  test("a call is sent with its input, and its result is the server's", async () => {
    const calls: RawCall[] = [];
    const call: RawAnswer = (given) => {
      calls.push(given);
      return { ...textResult("7"), _meta: { cost: 1 } };
    };
    const { manager } = await worldOffering({ tools: ONE, call });
    const result = await run(manager.getAITools(), "tool_a_one", { input: { x: 1 } });
    expect(result).toMatchObject({ content: [{ type: "text", text: "7" }], _meta: { cost: 1 } });
    expect(calls[0]!.params).toMatchObject({ name: "one", arguments: { x: 1 } });
  });

  test("an error that a tool reports is thrown with its first text", async () => {
    const answers = [
      {
        isError: true,
        content: [
          { type: "image", data: "", mimeType: "image/png" },
          { type: "text", text: "no such city" }
        ]
      },
      { isError: true, content: [] }
    ];
    const { manager } = await worldOffering({ tools: ONE, call: () => answers.shift() });
    await expect(run(manager.getAITools(), "tool_a_one")).rejects.toThrow("no such city");
    await expect(run(manager.getAITools(), "tool_a_one")).rejects.toThrow("Tool call failed");
  });

  test("a cancelled turn cancels its call, and the server is told", async () => {
    let isCancelled = false;
    const world = await worldOffering({
      tools: ONE,
      call: () => new Promise(() => undefined),
      others: { "notifications/cancelled": () => (isCancelled = true) }
    });
    const abort = new AbortController();
    const result = run(world.manager.getAITools(), "tool_a_one", { abortSignal: abort.signal }).catch(String);
    await settle(() => world.rpcs().includes("tools/call"));
    abort.abort(new Error("stopped by the user"));
    expect(await result).toMatch(/stopped by the user/);
    await settle(() => isCancelled);
    expect(world.manager.listServers()).toMatchObject([{ state: "ready" }]);
  });

  test("a call that takes too long fails in words for the model; the server stays usable", async () => {
    let isHanging = true;
    const call: RawAnswer = () => (isHanging ? new Promise(() => undefined) : textResult("late"));
    const world = await worldOffering({ tools: ONE, call });
    const result = run(world.manager.getAITools(), "tool_a_one").catch(String);
    await settle(() => world.rpcs().includes("tools/call"));
    world.clock.advance(60_000);
    expect(await result).toMatch(/"a" did not answer within 60000 ms/);
    isHanging = false;
    expect(await run(world.manager.getAITools(), "tool_a_one")).toMatchObject(textResult("late"));
  });

  test("a connection that ends before the answer fails the call at once", async () => {
    const body = () => new ReadableStream({ start: (controller) => void setTimeout(() => controller.close(), 0) });
    const broken = () =>
      new ReadableStream({ start: (controller) => void setTimeout(() => controller.error(new Error("reset")), 0) });
    const headers = { "content-type": "text/event-stream" };
    const answers = [new Response(body(), { headers }), new Response(broken(), { headers })];
    for (const answer of answers) {
      const world = await worldOffering({ tools: ONE, call: () => answer });
      await expect(run(world.manager.getAITools(), "tool_a_one")).rejects.toThrow(/was lost/);
      expect(world.clock.waits()).not.toContain(60_000);
    }
  });

  test("a result that is not what the tool's output schema says is an error, not a result", async () => {
    const outputSchema = { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] };
    const answers: unknown[] = [
      { ...textResult("21"), structuredContent: { degrees: 21 } },
      { ...textResult("warm"), structuredContent: { degrees: "warm" } },
      textResult("warm")
    ];
    const tools = [{ name: "one", inputSchema: OBJECT, outputSchema }];
    const { manager } = await worldOffering({ tools, call: () => answers.shift() });
    const set = manager.getAITools();
    expect(await run(set, "tool_a_one")).toMatchObject({ structuredContent: { degrees: 21 } });
    await expect(run(set, "tool_a_one")).rejects.toThrow(/does not match/);
    await expect(run(set, "tool_a_one")).rejects.toThrow(/did not return structured content/);
  });

  test("a pattern of the server's making is not run on a text of its making", async () => {
    const outputSchema = { type: "object", properties: { x: { type: "string", pattern: "^(a+)+$" } } };
    const structuredContent = { x: `${"a".repeat(50)}!` };
    const tools = [{ name: "one", inputSchema: OBJECT, outputSchema }];
    const { manager } = await worldOffering({ tools, call: () => ({ ...textResult(""), structuredContent }) });
    expect(await run(manager.getAITools(), "tool_a_one")).toMatchObject({ structuredContent });
  });

  test("the model reads texts and images, not their JSON", async () => {
    const content = [
      { type: "text", text: "a map" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource", resource: { uri: "x://y", text: "inside" } },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" }
    ];
    const { manager } = await worldOffering({ tools: ONE, call: () => ({ content }) });
    const tool = manager.getAITools()["tool_a_one"]!;
    const output = await run(manager.getAITools(), "tool_a_one");
    expect(await tool.toModelOutput!({ toolCallId: "c", input: {}, output })).toEqual({
      type: "content",
      value: [
        { type: "text", text: "a map" },
        { type: "image-data", data: "aGk=", mediaType: "image/png" },
        { type: "text", text: "inside" },
        { type: "text", text: "[audio: 4 characters, not shown]" }
      ]
    });
  });
});

describe("schemas that lie", () => {
  const LIES: [what: string, inputSchema: unknown][] = [
    ["nothing", undefined],
    ["a text", "object"],
    ["a list", []],
    ["another type", { type: "string" }],
    ["properties that are a list", { type: "object", properties: [] }],
    ["a type that does not exist", { type: "object", properties: { x: { type: "strng" } } }],
    ["required fields that are a text", { type: "object", required: "x" }],
    ["an empty enum", { type: "object", properties: { x: { enum: [] } } }],
    ["a schema of another host", { type: "object", properties: { x: { $ref: "https://evil.example/s.json" } } }],
    ["a reference to nothing", { type: "object", properties: { x: { $ref: "#/$defs/missing" } } }],
    ["a pattern that is none", { type: "object", properties: { x: { type: "string", pattern: "(" } } }],
    ["a hundred thousand characters", { type: "object", description: "x".repeat(100_000) }],
    ["a hundred levels", Array.from({ length: 100 }).reduce((inner) => ({ properties: { x: inner } }), {})]
  ];

  test.each(LIES)(
    "a tool whose input schema is %s is left out with a warning; the others stay",
    async (_, inputSchema) => {
      const { manager, warnings } = await worldOffering({ tools: [{ name: "liar", inputSchema }, ...ONE] });
      expect(Object.keys(manager.getAITools())).toEqual(["tool_a_one"]);
      expect(warnings.join()).toMatch(/"liar" is left out/);
    }
  );

  test("a schema that refers to its own parts, also in a circle, is used as it is", async () => {
    const inputSchema = {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" }, pattern: { type: "string" } },
      $defs: { tree: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/tree" } } } } }
    };
    const { manager } = await worldOffering({ tools: [{ name: "one", inputSchema }] });
    const schema = manager.getAITools()["tool_a_one"]!.inputSchema as { jsonSchema: unknown };
    expect(schema.jsonSchema).toEqual(inputSchema);
  });

  test("an output schema that cannot be used costs the check of results, not the tool", async () => {
    const tools = [{ name: "one", inputSchema: OBJECT, outputSchema: { type: "object", required: 5 } }];
    const { manager, warnings } = await worldOffering({ tools });
    expect(await run(manager.getAITools(), "tool_a_one")).toMatchObject(textResult("done"));
    expect(warnings.join()).toMatch(/output schema of the tool "one" is ignored/);
  });

  test("entries that are none, and names listed twice, cost themselves", async () => {
    const tools = [
      null,
      "x",
      { name: 5 },
      { name: "" },
      { name: "x".repeat(300), inputSchema: OBJECT },
      ...ONE,
      ...ONE
    ];
    const { manager } = await worldOffering({ tools });
    expect(Object.keys(manager.getAITools())).toEqual(["tool_a_one"]);
  });
});

describe("many tools", () => {
  const many = Array.from({ length: 500 }, (_, index) => ({
    name: `tool${index}`,
    description: "x".repeat(2_000),
    inputSchema: { type: "object", properties: { text: { type: "string", description: "y".repeat(1_000) } } }
  }));

  test("500 tools are listed; a turn is given as many as its limit, and is told how many it is not", async () => {
    const { manager } = await worldOffering({ tools: many });
    expect(Object.keys(manager.getAITools())).toHaveLength(500);
    const limited = manager.toolSet({ limit: 128 });
    expect(Object.keys(limited.tools)).toHaveLength(128);
    expect(limited.omitted).toBe(372);
  });

  test("what clients are sent about them is bounded", async () => {
    const { manager } = await worldOffering({ tools: many });
    const frame = JSON.stringify(manager.state());
    expect(frame.length).toBeLessThan(512 * 1024);
    expect(manager.state().tools.length).toBeGreaterThan(100);
  });

  /** A server that says so many characters in each place where it can say anything about itself. */
  const wordy = (length: number): RawAnswer => {
    const words = "x".repeat(length);
    return ({ id, params: { protocolVersion } }) => {
      const capabilities = { tools: { listChanged: true }, experimental: { words: { words } } };
      const serverInfo = { name: words, version: words };
      const result = { protocolVersion, capabilities, serverInfo, instructions: words };
      return Response.json({ jsonrpc: "2.0", id, result }, { headers: { "mcp-session-id": "s1" } });
    };
  };

  test("what a server says about itself is cut before it is stored, and its session goes on", async () => {
    const world = await worldOffering({ tools: ONE, others: { initialize: wordy(1_000_000) } });
    const { instructions, capabilities } = world.manager.state().servers["a"]!;
    expect(instructions).toHaveLength(8_192);
    expect(capabilities).toEqual({ tools: { listChanged: true } });
    expect(JSON.stringify(world.store.get("a")!.session).length).toBeLessThan(10_000);
    await world.restart().waitForConnections();
    expect(world.manager.listServers()).toMatchObject([{ state: "ready" }]);
    expect(world.rpcs().filter((rpc) => rpc === "initialize")).toHaveLength(1);
  });

  test("what many servers say about themselves makes room for what they list", async () => {
    const tools = Array.from({ length: 10 }, (_, index) => ({ name: `tool${index}`, inputSchema: OBJECT }));
    const world = await worldOffering({ tools, others: { initialize: wordy(12_000) } });
    for (let count = 1; count < 50; count += 1) {
      const id = world.manager.registerServer(`s${count}`, { name: `s${count}`, url: `${ORIGIN}/s${count}` });
      expect(await world.manager.connectToServer(id)).toEqual({ state: "ready" });
    }
    const state = world.manager.state();
    expect(JSON.stringify(state).length).toBeLessThan(512 * 1024);
    expect([Object.keys(state.servers).length, state.tools.length]).toEqual([50, 500]);
  });

  test("a tool is converted once per listing", async () => {
    const { manager } = await worldOffering({ tools: many });
    const [first, second] = [manager.getAITools(), manager.getAITools()];
    expect(first["tool_a_tool7"]).toBe(second["tool_a_tool7"]);
    await manager.discoverIfConnected("a");
    expect(manager.getAITools()["tool_a_tool7"]).not.toBe(first["tool_a_tool7"]);
  });
});

describe("approval", () => {
  const tools = [
    { name: "read", inputSchema: OBJECT, annotations: { readOnlyHint: true, title: "Read it" } },
    { name: "drop", inputSchema: OBJECT, annotations: { destructiveHint: true, evil: "x" } },
    { name: "pay", inputSchema: OBJECT },
    { name: "secret", inputSchema: OBJECT }
  ];

  test("a policy decides per tool: run, ask, ask by input, or hide", async () => {
    const { manager } = await worldOffering({ tools });
    const set = manager.toolSet({
      approval: ({ name, annotations }) => {
        if (name === "secret") return "hide";
        if (name === "pay") return (input) => (input as { euros: number }).euros > 10;
        return annotations?.destructiveHint === true;
      }
    }).tools;
    expect(Object.keys(set)).toEqual(["tool_a_read", "tool_a_drop", "tool_a_pay"]);
    expect(set["tool_a_read"]!.needsApproval).toBeUndefined();
    expect(set["tool_a_drop"]!.needsApproval).toBe(true);
    const pay = set["tool_a_pay"]!.needsApproval as (input: unknown) => Promise<boolean>;
    expect([await pay({ euros: 5 }), await pay({ euros: 50 })]).toEqual([false, true]);
  });

  test.each<[string, unknown]>([
    ["throws over an input", () => () => (undefined as never as { euros: number }).euros > 10],
    ["rejects", () => async () => Promise.reject(new Error("bug"))],
    ["forgets to decide by an input", () => () => undefined],
    ["forgets to decide", () => undefined],
    ["is asynchronous", async () => false]
  ])("a policy that %s asks the user", async (_what, approval) => {
    const { manager } = await worldOffering({ tools });
    // As a class without types may have it.
    const set = manager.toolSet({ approval: approval as McpApprovalPolicy }).tools;
    const asks = set["tool_a_pay"]!.needsApproval as (input: unknown) => Promise<boolean>;
    expect(await asks({ euros: 5 })).toBe(true);
  });

  test("a policy that throws asks the user", async () => {
    const { manager, warnings } = await worldOffering({ tools });
    const set = manager.toolSet({
      approval: () => {
        throw new Error("bug");
      }
    }).tools;
    expect(Object.values(set).map(({ needsApproval }) => needsApproval)).toEqual([true, true, true, true]);
    expect(warnings.join()).toMatch(/mcpApproval failed/);
  });

  test("a tool carries what an approval card shows: its server, its name there, and its hints", async () => {
    const { manager } = await worldOffering({ tools });
    const drop = manager.getAITools()["tool_a_drop"]!;
    expect(drop.metadata).toEqual({
      mcp: { serverId: "a", serverName: "a", toolName: "drop", annotations: { destructiveHint: true } }
    });
    expect(manager.getAITools()["tool_a_read"]!.title).toBe("Read it");
  });
});

describe("filters", () => {
  test("conditions must all hold; a list holds if one of its values does", async () => {
    const world = new McpWorld();
    for (const id of ["a", "b", "c"]) {
      world.origins.set(`https://${id}.example.com`, rawMcp({ "tools/list": () => ({ tools: ONE }) }));
      await world.manager.addServer(`name-${id}`, `https://${id}.example.com/`, { id });
    }
    await world.manager.closeConnection("c");
    const ids = (filter?: object) => world.manager.listServers(filter).map(({ id }) => id);
    expect(ids()).toEqual(["a", "b", "c"]);
    expect(ids({ serverId: ["a", "c"] })).toEqual(["a", "c"]);
    expect(ids({ serverId: ["a", "c"], state: "ready" })).toEqual(["a"]);
    expect(ids({ serverName: "name-b", serverId: "a" })).toEqual([]);
    expect(Object.keys(world.manager.getAITools({ serverId: "b" }))).toEqual(["tool_b_one"]);
    expect(world.warnings).toEqual([]);
    world.manager.getAITools();
    world.manager.getAITools();
    expect(world.warnings).toEqual(['The tools of the MCP server "name-c" are missing: it is not-connected.']);
  });
});
