// `everthink/codemode`: connectors for MCP servers and OpenAPI services, other executors, and the names that code
// written for the original finds.
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import {
  CodemodeConnector,
  createCodemodeRuntime,
  DynamicWorkerExecutor,
  generateTypesFromJsonSchema,
  McpConnector,
  normalizeCode,
  OpenApiConnector,
  truncateResponse,
  truncateResult,
  type CodeExecutor,
  type ConnectorTool,
  type McpConnectionLike,
  type OpenApiRequest,
  type PassFunctions
} from "everthink/codemode";
import { createExecuteRuntime } from "everthink/tools/execute";
import { createTestLoader, reply, text } from "../../src/testing/index.ts";
import { coder, open, output, outcomeOf, runs, say, scene, TOOLS } from "./execute-kit.ts";

class Server extends McpConnector {
  connection: McpConnectionLike;
  gated: string | undefined;
  constructor(connection: McpConnectionLike, gated?: string) {
    super();
    this.connection = connection;
    this.gated = gated;
  }
  name() {
    return "server";
  }
  protected override createConnection() {
    return this.connection;
  }
  protected override tool(name: string, tool: ConnectorTool) {
    return name === this.gated ? { ...tool, requiresApproval: true } : tool;
  }
}

const LISTED = [
  {
    name: "get-user",
    description: "A user.",
    inputSchema: {
      type: "object",
      properties: { id: { $ref: "#/$defs/Id" } },
      required: ["id"],
      $defs: { Id: { type: "number" } }
    }
  },
  { name: "fails", inputSchema: { type: "object" } },
  {
    name: "structured",
    inputSchema: { type: "object" },
    outputSchema: { type: "object", properties: { n: { type: "number" } } }
  },
  { name: "text", inputSchema: { type: "object" } }
];

const ANSWERS: Record<string, unknown> = {
  fails: { isError: true, content: [{ type: "text", text: "no such user" }] },
  structured: { structuredContent: { n: 1 }, content: [{ type: "text", text: "{}" }] },
  text: { content: [{ type: "text", text: "plain words" }] }
};

function client() {
  const calls: object[] = [];
  return {
    calls,
    // In two pages.
    listTools: async ({ cursor }: { cursor?: string } = {}) =>
      cursor === undefined ? { tools: LISTED.slice(0, 2), nextCursor: "2" } : { tools: LISTED.slice(2) },
    callTool: async (call: { name: string; arguments: Record<string, unknown> }) => {
      calls.push(call);
      return ANSWERS[call.name] ?? { content: [{ type: "text", text: JSON.stringify({ id: call.arguments["id"] }) }] };
    }
  };
}

describe("McpConnector", () => {
  test("has a method for each tool; answers are values, and what the server calls an error is thrown", async () => {
    const code = `let failure; try { await server.fails() } catch (e) { failure = e.message }
      [await server.get_user({ id: 7 }), failure, await server.structured(), await server.text()]`;
    expect(await outcomeOf(code, { connectors: [new Server({ client: client() })] })).toMatchObject({
      result: [{ id: 7 }, "no such user", { n: 1 }, "plain words"]
    });
  });

  test("types come from the schemas, and arguments are checked against them before anything is called", async () => {
    const mcp = client();
    const code = `let failure; try { await server.get_user({ id: "x" }) } catch (e) { failure = e.message }
      [(await codemode.describe("server.get_user")).types, (await codemode.describe("server.structured")).types, failure]`;
    const { result } = (await outcomeOf(code, { connectors: [new Server(mcp)] })) as { result: string[] };
    expect(result).toEqual([
      "get_user(args: { id: number }): Promise<unknown>",
      "structured(args: object): Promise<{ n?: number }>",
      "Invalid arguments for server.get_user: args.id must be number"
    ]);
    expect(mcp.calls).toEqual([]);
  });

  test("a tool that the class lets wait is called once, after its approval", async () => {
    const gated = client();
    const waiting = open(runs("await server.get_user({ id: 1 })", [reply(text("ended"))]), {
      connectors: [new Server(gated, "get_user")]
    });
    await say(waiting);
    expect(gated.calls).toEqual([]);
    const { executionId } = await output(waiting);
    expect(await (await coder(waiting)).approveExecution(executionId)).toMatchObject({ result: { id: 1 } });
    expect(gated.calls).toHaveLength(1);
  });

  test("of a server of the agent: its mcpApproval holds in code, and hidden tools are not there", async () => {
    const calls: string[] = [];
    const tools = ["read", "write", "secret"].map((name) => ({
      name,
      serverId: "s1",
      inputSchema: { type: "object" as const, properties: {} }
    }));
    const agent = {
      mcp: {
        waitForConnections: async () => undefined,
        listServers: () => [{ id: "s1", name: "files", url: "", state: "ready" as const, authUrl: null, error: null }],
        listTools: () => tools,
        callTool: async ({ name }: { name: string }) => calls.push(name)
      },
      mcpApproval: ({ name }: { name: string }) => (name === "secret" ? ("hide" as const) : name === "write")
    } as never;
    const host = open(runs(`await server.read(); await server.write()`), {
      connectors: [new Server({ agent, server: "files" })]
    });
    await say(host);
    expect(await output(host)).toMatchObject({ status: "paused", pending: [{ method: "write" }] });
    expect(calls).toEqual(["read"]);
    const hidden = await outcomeOf("await server.secret()", { connectors: [new Server({ agent, server: "files" })] });
    expect(hidden).toMatchObject({ error: expect.stringContaining("server.secret is not a function") });
  });

  test("a server that is down when a human approves: nothing is done, and it can be approved later", async () => {
    const mcp = client();
    let isDown = false;
    const listTools: typeof mcp.listTools = async (page) => {
      if (isDown) throw new Error("connection refused");
      return mcp.listTools(page);
    };
    const host = open(runs("await server.get_user({ id: 1 })", [reply(text("ended"))]), {
      connectors: [new Server({ ...mcp, listTools }, "get_user")]
    });
    await say(host);
    const agent = await coder(host);
    const { executionId } = await output(host);
    isDown = true;
    expect(await agent.approveExecution(executionId)).toMatchObject({
      status: "error",
      error: "Nothing was done: connection refused"
    });
    isDown = false;
    expect(await agent.pendingExecutions()).toHaveLength(1);
    expect(await agent.approveExecution(executionId)).toMatchObject({ status: "completed" });
    expect(mcp.calls).toHaveLength(1);
  });
});

const ORDERS = {
  openapi: "3.1.0",
  paths: {
    "/orders/{orderId}": {
      parameters: [{ name: "orderId", in: "path", required: true, schema: { type: "string" } }],
      get: {
        operationId: "get_order",
        summary: "Get an order by its id.",
        parameters: [
          { name: "fields", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "x-trace", in: "header", schema: { type: "string" } }
        ],
        responses: { 200: { content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } } } }
      },
      delete: { operationId: "delete_order" }
    },
    "/orders": {
      post: {
        summary: "Create an order.",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } }
        }
      }
    }
  },
  components: {
    schemas: {
      Order: {
        type: "object",
        properties: { product: { type: "string" }, parent: { $ref: "#/components/schemas/Order" } },
        required: ["product"]
      }
    }
  }
};

class Orders extends OpenApiConnector {
  requests: OpenApiRequest[] = [];
  document: object;
  constructor(document: object = ORDERS) {
    super();
    this.document = document;
  }
  name() {
    return "orders";
  }
  protected override spec() {
    return this.document;
  }
  protected override request(request: OpenApiRequest) {
    this.requests.push(request);
    return { done: request.path };
  }
  protected override tool(name: string, tool: ConnectorTool) {
    return name === "delete_order" ? { ...tool, requiresApproval: true } : tool;
  }
}

describe("OpenApiConnector", () => {
  test("has a method for each operation, whose arguments go to their place", async () => {
    const orders = new Orders();
    const code = `await orders.get_order({ orderId: "a/b c", fields: ["x", "y"], "x-trace": "t" });
      await orders.post_orders({ body: { product: "lamp" } })`;
    expect(await outcomeOf(code, { connectors: [orders] })).toMatchObject({ result: { done: "/orders" } });
    expect(orders.requests).toEqual([
      {
        method: "GET",
        path: "/orders/a%2Fb%20c",
        query: { fields: ["x", "y"] },
        headers: { "x-trace": "t" },
        operationId: "get_order"
      },
      { method: "POST", path: "/orders", query: {}, headers: {}, body: { product: "lamp" } }
    ]);
  });

  test("types come from the document, with its references in place, also one that leads back to itself", async () => {
    const code = `[(await codemode.describe("orders.get_order")).types, (await codemode.search("create order")).results[0].path]`;
    expect(await outcomeOf(code, { connectors: [new Orders()] })).toMatchObject({
      result: [
        'get_order(args: { orderId: string; fields?: string[]; "x-trace"?: string }): Promise<{ product: string; parent?: unknown }>',
        "orders.post_orders"
      ]
    });
  });

  test.each([
    [`orders.get_order({ orderId: ".." })`, "cannot be part of a path"],
    [`orders.get_order({ orderId: "" })`, "cannot be part of a path"],
    [`orders.get_order({})`, "orderId is missing"],
    [`orders.get_order({ orderId: "1", extra: 1 })`, "extra is not expected"],
    [`orders.request({ method: "GET", path: "//evil.example.com/x" })`, "not a path of the service"],
    [`orders.request({ method: "GET", path: "/orders/../admin" })`, "not a path of the service"],
    [`orders.request({ method: "GET", path: "/orders/%2e%2e/admin" })`, "not a path of the service"],
    [`orders.request({ method: "GET", path: "https://evil.example.com" })`, "not a path of the service"],
    [`orders.request({ method: "GET", path: "/orders?x=1" })`, 'has no "?"']
  ])("refuses %s", async (call, problem) => {
    const orders = new Orders();
    expect(await outcomeOf(`await ${call}`, { connectors: [orders] })).toMatchObject({
      status: "error",
      error: expect.stringContaining(problem)
    });
    expect(orders.requests).toEqual([]);
  });

  test.each([
    [`{ method: "GET", path: "/orders/1" }`, "completed"],
    // What waits under its own name waits under this one too.
    [`{ method: "delete", path: "/orders/1" }`, "paused"],
    [`{ method: "DELETE", path: "/orders/1/" }`, "paused"],
    [`{ method: "GET", path: "/ORDERS/1" }`, "paused"],
    [`{ method: "PUT", path: "/somewhere" }`, "paused"]
  ])("a plain request passes no gate: %s is %s", async (request, status) => {
    const orders = new Orders();
    expect(await outcomeOf(`await orders.request(${request})`, { connectors: [orders] })).toMatchObject({ status });
    expect(orders.requests).toHaveLength(status === "completed" ? 1 : 0);
  });

  test("who asks is the host's: headers with credentials are not the code's to give", async () => {
    const orders = new Orders();
    const code = `await orders.request({ method: "GET", path: "/orders/1", headers: { Authorization: "x", cookie: "y", accept: "z" } })`;
    await outcomeOf(code, { connectors: [orders] });
    expect(orders.requests[0]?.headers).toEqual({ accept: "z" });
  });

  test("of thousands of operations the description names none, and search finds them", async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, n) => [
        `/things/${n}`,
        { get: { operationId: `get_thing_${n}`, summary: `Thing ${n}` } }
      ])
    );
    const orders = new Orders({ openapi: "3.0.0", paths });
    const small = new Orders();
    small.name = () => "small";
    const { tool } = createExecuteRuntime({ loader: createTestLoader(), connectors: [orders, small] });
    expect(tool.description).toContain("It has 3001 methods: find them with codemode.search.");
    expect(tool.description).toContain("declare const small: {");
    expect(tool.description?.length).toBeLessThan(10_000);
    const code = `const { results, total } = await codemode.search("thing 2999"); [results[0].path, total, await orders.get_thing_2999()]`;
    expect(await outcomeOf(code, { connectors: [orders] })).toMatchObject({
      result: ["orders.get_thing_2999", 1, { done: "/things/2999" }]
    });
  });
});

describe("other executors", () => {
  /** As one that has no modules: it evaluates a function. */
  const inContext: CodeExecutor = {
    execute: async (code, providers) => {
      const globals = Object.fromEntries(providers.map(({ name, fns }) => [name, fns]));
      const run = runInNewContext(`(${code})`, {
        ...globals,
        setTimeout,
        setInterval,
        clearInterval,
        structuredClone
      }) as () => Promise<unknown>;
      return { result: structuredClone(await run()) };
    }
  };

  test("an executor that user code brings: calls, steps, snippets, pauses and replay are those of an isolate", async () => {
    const code = `const tick = 1, r = await codemode.step("r", () => Math.random()); const sum = await tools.add({ a: tick, b: 2 });
      const out = await tools.deploy({ ref: "v" + r }); [sum, out, typeof Calls, typeof runPass]`;
    const host = open(runs(code, [reply(text("ended"))]), { tools: TOOLS, executor: inContext });
    await say(host);
    const { executionId } = await output(host);
    const done = await (await coder(host)).approveExecution(executionId);
    expect(done).toMatchObject({ result: [3, expect.stringMatching(/^deployed v0\./), "undefined", "undefined"] });
    expect(scene.effects).toEqual(["add 1 2", expect.stringMatching(/^deploy v0\./)]);
  });

  test("an executor that fails ends the run with its error", async () => {
    const executor: CodeExecutor = {
      execute: async () => ({ result: undefined, error: "no space left", logs: ["a"] })
    };
    expect(await outcomeOf("1", { tools: TOOLS, executor })).toMatchObject({
      status: "error",
      error: "no space left",
      logs: ["a"]
    });
  });

  test("DynamicWorkerExecutor runs code once, with functions it can call", async () => {
    const executor = new DynamicWorkerExecutor({ loader: createTestLoader(), timeout: 500 });
    const add = async (args: unknown) => (args as { a: number }).a + 1;
    const fail = () => Promise.reject(new Error("broken"));
    const code = `console.log("hi"); let failure; try { await math.fail() } catch (e) { failure = e.message } [await math.add({ a: 1 }), failure]`;
    const fns: PassFunctions = { add, fail };
    expect(await executor.execute(code, [{ name: "math", fns }])).toEqual({ result: [2, "broken"], logs: ["hi"] });
    expect(await executor.execute("await tools.add({ a: 2 })", { add })).toMatchObject({ result: 3 });
    expect(await executor.execute("let = 1", [])).toMatchObject({ error: expect.stringContaining("line 1") });
    expect(await executor.execute("throw new Error('x')", [])).toMatchObject({ error: "x" });
    expect(await executor.execute("await new Promise(() => {})", [])).toMatchObject({
      error: expect.stringContaining("timed out")
    });
    expect(() => new DynamicWorkerExecutor({} as never)).toThrow(/LOADER|loader/);
  });
});

describe("createCodemodeRuntime", () => {
  class Math2 extends CodemodeConnector {
    ended: string[] = [];
    name() {
      return "math";
    }
    protected override instructions() {
      return "Numbers.";
    }
    protected override tools() {
      // A tool of the AI SDK as it is: what it says about approvals holds.
      return {
        square: { execute: (n: unknown) => Number((n as { n: number }).n) ** 2 },
        deploy: TOOLS["deploy"] as never
      };
    }
    protected override disposeExecution(_id: string, status: string) {
      this.ended.push(status);
    }
  }

  test("connectors that are classes, an executor, a shape for results and a number of runs that are kept", async () => {
    const math = new Math2();
    const transformResult = vi.fn((result: unknown) => `shaped ${JSON.stringify(result)}`);
    const executor = new DynamicWorkerExecutor({ loader: createTestLoader() });
    const runtime = createCodemodeRuntime({ ctx: {}, connectors: [math], executor, maxExecutions: 1, transformResult });
    expect(runtime.name).toBe("default");
    expect(runtime.tool().description).toContain("Numbers.");
    const code = `const n = await math.square({ n: 3 }); await math.deploy({ ref: "v" + n }); n`;
    const host = open(runs(code, [reply(text("ended"))]), {});
    scene.tools = () => ({ execute: runtime.tool() });
    await say(host);
    const { executionId } = await output(host);
    expect(scene.effects).toEqual([]);
    const done = await (await coder(host)).approveExecution(executionId);
    expect(done).toMatchObject({ status: "completed", result: "shaped 9" });
    expect(await output(host)).toMatchObject({ result: "shaped 9" });
    expect(scene.effects).toEqual(["deploy v9"]);
    expect(math.ended).toEqual(["completed"]);
  });

  test("a shape that fails yields the result", async () => {
    const transformResult = () => {
      throw new Error("no");
    };
    expect(await outcomeOf("[1]", { tools: TOOLS, transformResult })).toMatchObject({ result: [1] });
  });
});

test("code, types and results as texts", async () => {
  expect(await normalizeCode("```js\nconst a: number = 1;\na + 1\n```")).toMatch(/return \(a \+ 1\)/);
  expect(await normalizeCode("let = 1")).toContain("let = 1");
  expect(
    generateTypesFromJsonSchema({
      add: {
        inputSchema: {
          type: "object",
          properties: {
            a: { allOf: [{ type: "number" }] },
            m: { type: "object", additionalProperties: { type: "string" } }
          }
        }
      }
    })
  ).toBe("declare const tools: {\n  add(args: { a?: number; m?: Record<string, string> }): Promise<unknown>;\n};");
  expect(truncateResponse("x".repeat(100), { maxChars: 50 }).length).toBeLessThanOrEqual(50);
  expect(truncateResult([1, 2])).toEqual([1, 2]);
});

test("a connector says the types of its functions", async () => {
  class Clock extends CodemodeConnector {
    name() {
      return "clock";
    }
    protected override tools() {
      const inputSchema = { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] };
      return { now: { description: "The time.", inputSchema, execute: () => 0 } };
    }
  }
  const types = await new Clock().getTypeScriptTypes();
  expect(types).toContain("declare const clock: {");
  expect(types).toContain("/** The time. */");
  expect(types).toMatch(/now\(.*zone: string/);
});
