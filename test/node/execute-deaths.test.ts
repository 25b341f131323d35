// Calls of code that a process died in: nothing is done a second time that does not say that it may be.
import { tool } from "ai";
import { beforeEach, expect, test, vi } from "vitest";
import { McpConnector, OpenApiConnector, type CodemodeConnector, type McpConnectionLike } from "everthink/codemode";
import { z } from "zod";
import type { Connector } from "../../src/features/execute/index.ts";
import { planModel } from "../../src/testing/index.ts";
import { coder, messages, open, say, scene, type Host } from "./execute-kit.ts";
import { RECOVERED_MS } from "../kit/time.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

/** Does not return the first time. */
function deadly() {
  const begun = Promise.withResolvers<void>();
  const execute = async () => {
    scene.effects.push("effect");
    if (scene.effects.length > 1) return "done";
    begun.resolve();
    return new Promise<string>(() => undefined);
  };
  return { execute, begun: begun.promise };
}

async function outcome(host: Host): Promise<Record<string, unknown> | undefined> {
  const parts = (await messages(host)).flatMap(({ parts: all }) => all as { output?: { status?: string } }[]);
  return parts.find(({ output }) => output?.status !== undefined)?.output as Record<string, unknown> | undefined;
}

/** The process dies while the code is in its call, and comes back. */
async function killedIn(code: string, begun: Promise<void>, options: Parameters<typeof open>[1]): Promise<Host> {
  const host = open([], options);
  const plan = { go: [{ calls: [{ tool: "execute", input: { code } }] }, { text: "Over." }] };
  Object.assign(scene, { model: planModel(plan) });
  void say(host).catch(() => undefined);
  await begun;
  await host.restart();
  await coder(host);
  await host.advance(RECOVERED_MS);
  return host;
}

test("a plain tool inside code is not run a second time: the code and the model are told that it may have run", async () => {
  const { execute, begun } = deadly();
  const mail = tool({ inputSchema: z.object({}), execute });
  const host = await killedIn(`await tools.mail({})`, begun, { tools: { mail } });
  expect(scene.effects).toEqual(["effect"]);
  expect(await outcome(host)).toMatchObject({
    status: "error",
    error: expect.stringContaining("tools.mail may have run")
  });
  expect(JSON.stringify(await messages(host))).toContain("Over.");
});

test("code may go on from a call that may have run", async () => {
  const { execute, begun } = deadly();
  const bank: Connector = { name: () => "bank", tools: () => ({ pay: { execute } }) };
  const code = `let said; try { await bank.pay({}) } catch (error) { said = error.name } said`;
  const host = await killedIn(code, begun, { connectors: [bank] });
  expect(scene.effects).toEqual(["effect"]);
  expect(await outcome(host)).toMatchObject({ status: "completed", result: "UnknownOutcome" });
});

test.each([
  ["retry", { onUnknownOutcome: "retry" as const }],
  ["a read of every pass", { replay: "reexecute" as const }]
])("a call that says it may be repeated is repeated: %s", async (_name, rule) => {
  const { execute, begun } = deadly();
  const bank: Connector = { name: () => "bank", tools: () => ({ look: { ...rule, execute } }) };
  const host = await killedIn(`await bank.look({})`, begun, { connectors: [bank] });
  expect(scene.effects).toEqual(["effect", "effect"]);
  expect(await outcome(host)).toMatchObject({ status: "completed", result: "done" });
});

/** Which of them are made again after the process died in them. */
async function repeatedOf<Case>(cases: readonly Case[], connectorOf: (one: Case, call: Call) => CodemodeConnector) {
  const repeated: Case[] = [];
  for (const one of cases) {
    const { execute, begun } = deadly();
    const connector = connectorOf(one, execute);
    const host = await killedIn(`await far.look({})`, begun, { connectors: [connector] });
    expect(await outcome(host)).toMatchObject({ status: scene.effects.length > 1 ? "completed" : "error" });
    if (scene.effects.length > 1) repeated.push(one);
  }
  return repeated;
}

type Call = () => Promise<string>;

test("a tool of an MCP server is repeated if the server says that it only reads or is idempotent, and no other", async () => {
  const reads = { readOnlyHint: true };
  const idempotent = { idempotentHint: true };
  const others = [undefined, {}, { readOnlyHint: false, idempotentHint: false }, { destructiveHint: false }];
  class Far extends McpConnector {
    readonly #connection: McpConnectionLike;
    constructor(connection: McpConnectionLike) {
      super();
      this.#connection = connection;
    }
    name() {
      return "far";
    }
    protected override createConnection() {
      return this.#connection;
    }
  }
  const repeated = await repeatedOf([reads, idempotent, ...others], (annotations, call) => {
    const listed = { name: "look", inputSchema: { type: "object" }, ...(annotations && { annotations }) };
    const callTool = async () => ({ content: [{ type: "text", text: await call() }] });
    return new Far({ listTools: async () => ({ tools: [listed] }), callTool });
  });
  expect(repeated).toEqual([reads, idempotent]);
});

test("GET, HEAD and OPTIONS of an OpenAPI service are repeated, and no other operation", async () => {
  class Far extends OpenApiConnector {
    readonly #method: string;
    readonly #call: Call;
    constructor(method: string, call: Call) {
      super();
      this.#method = method;
      this.#call = call;
    }
    name() {
      return "far";
    }
    protected override spec() {
      return { openapi: "3.0.0", paths: { "/things": { [this.#method]: { operationId: "look" } } } };
    }
    protected override request() {
      return this.#call();
    }
  }
  const methods = ["get", "head", "options", "post", "put", "patch", "delete"];
  expect(await repeatedOf(methods, (method, call) => new Far(method, call))).toEqual(["get", "head", "options"]);
});

test("a tool that asks is decided by a human, who is told that it may have run", async () => {
  const { execute, begun } = deadly();
  const mail = Object.assign(tool({ inputSchema: z.object({}), execute }), { onUnknownOutcome: "ask" });
  const host = await killedIn(`await tools.mail({})`, begun, { tools: { mail } });
  const agent = await coder(host);
  const [asked] = await agent.pendingApprovals();
  expect(asked).toMatchObject({ mayHaveRun: true, descriptor: { summary: expect.stringContaining("may have run") } });
  const { executionId = "", inputHash = "" } = asked ?? {};
  expect(await agent.approveExecution(executionId)).toMatchObject({ status: "error" });
  expect(scene.effects).toEqual(["effect"]);
  expect(await agent.approveExecution(executionId, { inputHash })).toMatchObject({
    status: "completed",
    result: "done"
  });
});

test("user code runs the tool with nothing but the code", async () => {
  const host = open([]);
  const agent = await coder(host);
  expect(await agent.runPlainly(`await tools.add({ a: 1, b: 2 })`)).toMatchObject({ status: "completed", result: 3 });
  const paused = await agent.runPlainly(`await tools.deploy({ ref: "main" })`);
  expect(paused).toMatchObject({ status: "paused", pending: [{ method: "deploy" }] });
  expect(await agent.approveExecution(paused.executionId)).toMatchObject({
    status: "completed",
    result: "deployed main"
  });
  expect(scene.effects).toEqual(["add 1 2", "deploy main"]);
});
