// What executed code can do, and what becomes of its runs: the promises 16 to 40 of the specification, in-process.
import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Connector } from "../../src/features/execute/index.ts";
import { reply, text, toolCall } from "../../src/testing/index.ts";
import {
  Coder,
  coder,
  messages,
  open,
  outcomeOf,
  output,
  part,
  runs,
  say,
  scene,
  TOOLS,
  type Host
} from "./execute-kit.ts";

const GATED = `const r = await tools.deploy({ ref: "main" }); ({ r })`;
const go = () => reply(text("I go on."));

async function paused(code: string, more = [go()], options?: Parameters<typeof open>[1]) {
  const host = open(runs(code, more), options);
  await say(host);
  const { executionId } = await output(host);
  return { host, executionId };
}

const approve = async (host: Host, id: string, decision?: object) => (await coder(host)).approveExecution(id, decision);
const rows = (host: Host, query: string) => host.sql(Coder, "a", query);

test("16: code calls tools and files through the one-liner", async () => {
  expect(await outcomeOf("await tools.add({ a: 2, b: 3 })")).toMatchObject({ status: "completed", result: 5 });
  const files = `await state.writeFile({ path: "/a.txt", content: "hello" }); await state.readFile({ path: "/a.txt" })`;
  expect(await outcomeOf(files)).toMatchObject({ status: "completed", result: "hello" });
});

test("17: a gated call pauses, and runs once when it is approved", async () => {
  const { host, executionId } = await paused(GATED);
  expect(await part(host)).toMatchObject({
    output: {
      status: "paused",
      pending: [{ executionId, seq: 0, connector: "tools", method: "deploy", args: { ref: "main" } }]
    },
    approvalDescriptor: { action: "tools.deploy", toolCallId: "c1", input: { ref: "main" }, kind: "durable-pause" }
  });
  expect(scene.effects).toEqual([]);
  expect(await (await coder(host)).pendingApprovals()).toMatchObject([{ executionId, source: "codemode" }]);
  expect(await approve(host, executionId)).toMatchObject({ status: "completed", result: { r: "deployed main" } });
  await host.idle();
  expect(scene.effects).toEqual(["deploy main"]);
  expect(await output(host)).toMatchObject({ status: "completed", result: { r: "deployed main" } });
  expect((await messages(host)).at(-1)?.parts.at(-1)).toMatchObject({ text: "I go on." });
});

test("18: a rejected call never runs, its reason is the outcome, and the conversation goes on", async () => {
  const { host, executionId } = await paused(GATED);
  expect(await (await coder(host)).rejectExecution(executionId, "not today")).toEqual({
    status: "rejected",
    executionId,
    reason: "not today"
  });
  await host.idle();
  expect(await output(host)).toEqual({ status: "rejected", executionId, reason: "not today" });
  expect(scene.effects).toEqual([]);
  expect((await messages(host)).at(-1)?.parts.at(-1)).toMatchObject({ text: "I go on." });
});

test("19: two gated calls in sequence need two approvals with one id", async () => {
  const { host, executionId } = await paused(
    `await tools.deploy({ ref: "one" }); await tools.deploy({ ref: "two" }); "both"`
  );
  expect(await approve(host, executionId)).toMatchObject({
    status: "paused",
    pending: [{ seq: 1, args: { ref: "two" } }]
  });
  expect(await part(host)).toMatchObject({
    output: { status: "paused", executionId },
    approvalDescriptor: { input: { ref: "two" } }
  });
  expect(await approve(host, executionId)).toMatchObject({ status: "completed", result: "both" });
  expect(scene.effects).toEqual(["deploy one", "deploy two"]);
});

test("20: a second approval and a late rejection change nothing", async () => {
  const { host, executionId } = await paused(GATED);
  await approve(host, executionId);
  await host.idle();
  const before = await messages(host);
  expect(await approve(host, executionId)).toMatchObject({
    status: "error",
    error: expect.stringContaining("not paused")
  });
  expect(await (await coder(host)).rejectExecution(executionId)).toMatchObject({
    status: "error",
    error: expect.stringContaining("no longer pending")
  });
  expect(await messages(host)).toEqual(before);
  expect(scene.effects).toEqual(["deploy main"]);
});

test("20: of two decisions at once one wins", async () => {
  const { host, executionId } = await paused(GATED);
  const stub = await coder(host);
  const both = await Promise.all([stub.approveExecution(executionId), stub.rejectExecution(executionId)]);
  expect(both.filter((one) => (one as object as { status: string }).status === "error")).toHaveLength(1);
});

test("21: an expired run is not run, and its part says so, with nothing asked of the application", async () => {
  const { host, executionId } = await paused(GATED);
  await host.advance(86_400_000 + 1_000);
  expect(await output(host)).toMatchObject({
    status: "rejected",
    executionId,
    reason: expect.stringContaining("expired")
  });
  expect(await approve(host, executionId)).toMatchObject({ status: "error" });
  expect(scene.effects).toEqual([]);
  expect(await (await coder(host)).pendingApprovals()).toEqual([]);
});

test("22: after the part was compacted away the outcome is a message that names the run", async () => {
  const { host, executionId } = await paused(GATED);
  const [first, second] = await messages(host);
  await (await coder(host)).shorten(first?.id ?? "", second?.id ?? "");
  await approve(host, executionId);
  await host.idle();
  expect(scene.effects).toEqual(["deploy main"]);
  expect(JSON.stringify(await messages(host))).toContain(`The execution ${executionId}`);
});

test("23: after a restart, without a turn before and without a client, an approval runs and the conversation goes on", async () => {
  const { host, executionId } = await paused(GATED);
  await host.restart();
  expect(await (await coder(host)).pendingApprovals()).toMatchObject([{ executionId }]);
  const decided = await host.fetch(`/agents/coder/a/approvals/${executionId}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ decision: "approve", by: "ada" })
  });
  expect(await decided.json()).toMatchObject({ output: { status: "completed" } });
  await host.idle();
  expect(scene.effects).toEqual(["deploy main"]);
  expect((await messages(host)).at(-1)?.parts.at(-1)).toMatchObject({ text: "I go on." });
});

test("24: two paused runs are listed and decided on their own", async () => {
  const host = open([
    reply(
      toolCall("execute", { code: `await tools.deploy({ ref: "a" })` }, { id: "c1" }),
      toolCall("execute", { code: `await tools.deploy({ ref: "b" })` }, { id: "c2" })
    ),
    reply(text("two")),
    go(),
    go()
  ]);
  await say(host);
  const [one, two] = [await output(host, "c1"), await output(host, "c2")];
  const pending = await (await coder(host)).pendingExecutions();
  expect(pending.map(({ executionId }) => executionId).sort()).toEqual([one.executionId, two.executionId].sort());
  await approve(host, two.executionId);
  await host.idle();
  expect(scene.effects).toEqual(["deploy b"]);
  expect(await output(host, "c1")).toMatchObject({ status: "paused" });
  await approve(host, one.executionId);
  expect(scene.effects).toEqual(["deploy b", "deploy a"]);
});

test("25: long arguments are cut in the transcript and nowhere else", async () => {
  const { host, executionId } = await paused(`await tools.deploy({ ref: "x".repeat(5000) })`);
  expect(JSON.stringify(await output(host)).length).toBeLessThan(3_500);
  const [pending] = await (await coder(host)).pendingExecutions();
  expect(pending?.args).toEqual({ ref: "x".repeat(5000) });
  await approve(host, executionId);
  expect(scene.effects[0]).toBe(`deploy ${"x".repeat(5000)}`);
});

const counters: Connector = {
  name: () => "world",
  tools: () => ({
    logged: { execute: () => scene.effects.push("logged") },
    live: { replay: "reexecute", execute: () => scene.effects.push("live") }
  })
};

test("26: a logged read keeps its first value over a pause; a re-executable one is read again", async () => {
  const code = `const a = await world.logged({}); const b = await world.live({}); await tools.deploy({ ref: "r" }); [a, b]`;
  const { host, executionId } = await paused(code, [go()], { tools: TOOLS, connectors: [counters] });
  expect(scene.effects).toEqual(["logged", "live"]);
  expect(await approve(host, executionId)).toMatchObject({ status: "completed", result: [1, 3] });
  expect(scene.effects).toEqual(["logged", "live", "live", "deploy r"]);
});

test("27: code that differs from pass to pass is stopped; in a step it is repeated", async () => {
  const { host, executionId } = await paused(`await tools.deploy({ ref: String(Math.random()) })`);
  expect(await approve(host, executionId)).toMatchObject({
    status: "error",
    error: expect.stringContaining("replay divergence at step 0")
  });
  expect([scene.effects, await (await coder(host)).pendingExecutions()]).toEqual([[], []]);
  const steps = await paused(
    `const ref = await codemode.step("ref", () => String(Math.random())); await tools.deploy({ ref }); ref`
  );
  expect(await approve(steps.host, steps.executionId)).toMatchObject({ status: "completed" });
  expect(scene.effects).toHaveLength(1);
});

test("29: a failure that the code caught is thrown again and its tool is not called again", async () => {
  const code = `let m; try { await tools.fail({}) } catch (e) { m = e.name + " " + e.message } await tools.deploy({ ref: "f" }); m`;
  const { host, executionId } = await paused(code);
  expect(await approve(host, executionId)).toMatchObject({ status: "completed", result: "RangeError failed 1" });
  expect(scene.effects).toEqual(["fail", "deploy f"]);
});

test("30: code that swallows the pause has no further effect, and the run waits", async () => {
  const code = `try { await tools.deploy({ ref: "x" }) } catch {} try { await tools.add({ a: 1, b: 1 }) } catch {} "done"`;
  const { host } = await paused(code);
  expect(await output(host)).toMatchObject({ status: "paused", pending: [{ seq: 0 }] });
  expect(scene.effects).toEqual([]);
});

test("several calls of one batch wait together, and one approval decides one", async () => {
  const { host, executionId } = await paused(
    `await Promise.all([tools.deploy({ ref: "a" }), tools.deploy({ ref: "b" })])`
  );
  expect(await output(host)).toMatchObject({ pending: [{ seq: 0 }, { seq: 1 }] });
  expect(await approve(host, executionId, { seq: 1 })).toMatchObject({ status: "paused", pending: [{ seq: 0 }] });
  expect(scene.effects).toEqual(["deploy b"]);
  expect(await approve(host, executionId)).toMatchObject({ result: ["deployed a", "deployed b"] });
});

test("32: rollback undoes applied calls in reverse, ungated ones too, and goes on after a failure", async () => {
  const undo = (name: string, fails = false) => ({
    execute: () => scene.effects.push(name),
    revert: () => {
      scene.effects.push(`undo ${name}`);
      if (fails) throw new Error("cannot");
    }
  });
  const connectors: Connector[] = [
    { name: () => "w", tools: () => ({ a: undo("a"), b: undo("b", true), c: undo("c"), d: { execute: () => 1 } }) }
  ];
  const host = open(runs("await w.a({}); await w.b({}); await w.c({}); await w.d({})"), { connectors });
  await say(host);
  const { executionId } = await output(host);
  const stub = await coder(host);
  await expect(stub.use("rollback", { executionId })).rejects.toThrow("w.b: cannot");
  expect(scene.effects).toEqual(["a", "b", "c", "undo c", "undo b", "undo a"]);
  expect(await stub.use("executions")).toMatchObject([{ status: "rolled_back" }]);
});

test("33: a result that cannot be recorded fails the run; an oversize final result completes, shortened", async () => {
  const connectors: Connector[] = [
    {
      name: () => "w",
      tools: () => ({ big: { execute: () => "x".repeat(1_000_001) }, fn: { execute: () => () => 1 } })
    }
  ];
  expect(await outcomeOf("await w.big({})", { connectors })).toMatchObject({
    status: "error",
    error: expect.stringContaining("write it to a file")
  });
  expect(await outcomeOf("try { await w.fn({}) } catch {} 1", { connectors })).toMatchObject({
    status: "error",
    error: expect.stringContaining("it holds a function")
  });
  expect(await outcomeOf("1;".repeat(500_001))).toMatchObject({
    status: "error",
    executionId: "",
    error: expect.stringContaining("at most 1000000 are run")
  });
  const final = await outcomeOf(`"x".repeat(1_500_000)`);
  expect(final).toMatchObject({ status: "completed" });
  expect(JSON.stringify(final).length).toBeLessThan(25_000);
});

test("bytes, big integers and dates survive the log", async () => {
  const connectors: Connector[] = [
    {
      name: () => "w",
      tools: () => ({ get: { execute: () => ({ b: new Uint8Array([1, 255]), n: 2n ** 70n, d: new Date(5) }) } })
    }
  ];
  const code = `const v = await w.get({}); await tools.deploy({ ref: "x" }); [v.b.constructor.name, v.b[1], String(v.n), v.d.getTime()]`;
  const { host, executionId } = await paused(code, [go()], { tools: TOOLS, connectors });
  expect(await approve(host, executionId)).toMatchObject({ result: ["Uint8Array", 255, String(2n ** 70n), 5] });
});

test("34: errors name the globals and the position; TypeScript runs", async () => {
  expect(await outcomeOf("host.x()")).toMatchObject({
    status: "error",
    error: expect.stringContaining("tools, state, codemode")
  });
  const broken = await outcomeOf("const a = 1;\nconst = 2;");
  expect(broken).toMatchObject({ status: "error", error: expect.stringMatching(/line 2, column 7/) });
  const typed =
    "interface P { n: number }\nconst p: P = { n: 2 } as P;\nconst f = <T,>(x: T): T => x;\nf<number>(p.n) + 1";
  expect(await outcomeOf(typed)).toMatchObject({ status: "completed", result: 3 });
});

test.each([
  ["```js\n1 + 1\n```", 2],
  ["", undefined],
  ["async () => 7", 7],
  ["export default async function () { return 8 }", 8],
  ["export default { a: 1 }", { a: 1 }],
  ["async function main() { return 9 }", 9],
  ["const x = 3;\nreturn x * 2", 6],
  ["let x = 1; for (const y of [1, 2]) x += y; x", 4],
  ["const o = () => ({ a: 1 }); o()", { a: 1 }],
  ["const x = await Promise.all([1, 2].map(async (n) => n * 2)); x", [2, 4]],
  // A loop whose end is the beginning of the last expression, and of a default export.
  ["let x=1;for(const y of [1,2])x+=y;x", 4],
  ["let x=1;while(x<9)x++;export default x", 9],
  ["const f=()=>1;[1,2].map(()=>f())", [1, 1]],
  // The name of what a snippet is given.
  ["const { input } = { input: 3 };\ninput + 1", 4],
  ["const input = 5; export default input", 5]
])("code in the form %j returns its value", async (code, result) => {
  const outcome = await outcomeOf(code);
  expect(outcome).toMatchObject({ status: "completed" });
  expect((outcome as { result?: unknown }).result).toEqual(result);
});

test("35: there is no fetch, also with globalOutbound undefined", async () => {
  const outcome = await outcomeOf(`await fetch("https://example.com")`, {
    tools: TOOLS,
    globalOutbound: undefined
  } as never);
  expect(outcome).toMatchObject({ status: "error", error: expect.stringContaining("fetch is not defined") });
});

test("37: ended runs beyond 50 are deleted, paused ones are not", async () => {
  const host = open(runs(GATED, [reply(toolCall("execute", { code: "1" }, { id: "c2" })), reply(text("x"))]));
  await say(host);
  const seed = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO cm_executions (id, runtime, code, status, connectors, created_at, updated_at, tool_call_id, turn_id, request_id, message_id)
    SELECT printf('exec_%016d_x', i), 'execute', '', 'completed', '[]', i, i, '', '', '', '' FROM n`;
  host.sql(Coder, "a", seed);
  await say(host, "again");
  expect(rows(host, "SELECT status, COUNT(*) AS n FROM cm_executions GROUP BY status ORDER BY status")).toEqual([
    { status: "completed", n: 51 },
    { status: "paused", n: 1 }
  ]);
});

test("38: a snippet of fenced code runs by name with input; one whose connector is gone says so", async () => {
  const host = open([
    ...runs("```ts\nasync (n: number) => (await tools.add({ a: n, b: 1 }))\n```"),
    reply(toolCall("execute", { code: `await codemode.run("inc", 41)` }, { id: "c2" })),
    reply(text("x")),
    reply(toolCall("execute", { code: `[await codemode.run("inc", 1), await codemode.run("none")]` }, { id: "c3" })),
    reply(text("y"))
  ]);
  await say(host);
  const { executionId } = await output(host);
  const stub = await coder(host);
  await stub.use("saveSnippet", "inc", { executionId, description: "Adds one." });
  await say(host, "two");
  expect(await output(host, "c2")).toMatchObject({ status: "completed", result: 42 });
  scene.options = (agent) => ({ state: agent.workspace as never, connectors: [counters] });
  await say(host, "three");
  expect(await output(host, "c3")).toMatchObject({
    result: [{ error: expect.stringContaining("tools") }, { error: expect.stringContaining("no snippet") }]
  });
});

test("50 snippets are kept; one of the same name takes its place", async () => {
  const host = open(runs("1"));
  await say(host);
  const { executionId } = await output(host);
  const stub = await coder(host);
  for (let n = 0; n < 50; n++) await stub.use("saveSnippet", `s${n}`, { executionId });
  await expect(stub.use("saveSnippet", "more", { executionId })).rejects.toThrow("At most 50 snippets");
  await stub.use("saveSnippet", "s7", { executionId, description: "New." });
  expect(await stub.use("snippets")).toHaveLength(50);
});

test("39: a predicate gates only what it matches, and its decision survives; bad arguments fail before any pause", async () => {
  let asked = 0;
  const pay = tool({
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: ({ amount }) => {
      asked += 1;
      return amount > 100;
    },
    execute: ({ amount }) => scene.effects.push(`pay ${amount}`)
  });
  const code = `await tools.pay({ amount: 5 }); let e; try { await tools.pay({ amount: "much" }) } catch (x) { e = x.message } await tools.pay({ amount: 500 }); e`;
  const { host, executionId } = await paused(code, [go()], { tools: { pay } });
  expect([scene.effects, asked]).toEqual([["pay 5"], 2]);
  expect(await approve(host, executionId)).toMatchObject({
    result: expect.stringContaining("Invalid arguments for tools.pay")
  });
  expect([scene.effects, asked]).toEqual([["pay 5", "pay 500"], 2]);
});

test("40: a tool that beforeToolCall blocks is blocked inside code too, and hooks see where the call came from", async () => {
  const host = open(runs(`[await tools.add({ a: 1, b: 1 })]`));
  const seen: unknown[] = [];
  scene.before = (call) => (call.toolName === "add" ? { action: "block", reason: "no sums" } : undefined);
  scene.after = (call) => seen.push(Reflect.get(call, "toolName"), Reflect.get(call, "via"));
  await say(host);
  expect(await output(host)).toMatchObject({ result: ["no sums"] });
  expect([scene.effects, seen]).toEqual([[], ["add", "execute", "execute", undefined]]);
});

test("edited arguments are checked, run, recorded and shown to the model", async () => {
  const { host, executionId } = await paused(GATED);
  expect(await approve(host, executionId, { args: { ref: 1 } })).toMatchObject({ status: "error" });
  expect(await approve(host, executionId, { args: { ref: "other" } })).toMatchObject({
    status: "completed",
    edited: [{ seq: 0, args: { ref: "other" } }]
  });
  expect(scene.effects).toEqual(["deploy other"]);
});

test("what was shown is what is approved, and the class says who may", async () => {
  const { host, executionId } = await paused(GATED);
  expect(await approve(host, executionId, { inputHash: "other" })).toMatchObject({ status: "error" });
  const [pending] = await (await coder(host)).pendingApprovals();
  expect(await approve(host, executionId, { inputHash: pending?.inputHash, by: "ada" })).toMatchObject({
    status: "completed"
  });
  expect(rows(host, "SELECT decided_by FROM cm_log")).toEqual([{ decided_by: "ada" }]);
});

test("console output is part of every outcome, and is bounded", async () => {
  expect(await outcomeOf(`console.log("a", { b: 1 }); console.warn("w"); throw new Error("x")`)).toMatchObject({
    status: "error",
    error: "x",
    logs: ['a {"b":1}', "[warn] w"]
  });
  const many = await outcomeOf(`for (let i = 0; i < 1000; i++) console.log("line " + i); 1`);
  expect((many as { logs: string[] }).logs).toHaveLength(200);
});

test("code finds what it may call", async () => {
  const found = await outcomeOf(
    `[await codemode.search("add numbers"), await codemode.describe("tools.add"), await codemode.describe("nope")]`
  );
  expect(found).toMatchObject({
    result: [
      { results: [{ path: "tools.add", kind: "method" }], total: 1, truncated: false },
      { types: "add(args: { a: number; b: number }): Promise<unknown>", kind: "method" },
      { kind: "unknown" }
    ]
  });
});

test("a run may make 1,000 calls and not one more", async () => {
  const connectors: Connector[] = [
    { name: () => "w", tools: () => ({ n: { execute: () => scene.effects.push("n") } }) }
  ];
  const outcome = await outcomeOf("for (let i = 0; i < 10000; i++) { try { await w.n({}) } catch {} }", { connectors });
  expect(outcome).toMatchObject({ status: "error", error: "A run may make at most 1000 calls." });
  expect(scene.effects).toHaveLength(1_000);
});

test("clearing the conversation deletes its runs", async () => {
  const { host } = await paused(GATED);
  await (await coder(host)).clearMessages();
  expect(rows(host, "SELECT * FROM cm_executions")).toEqual([]);
});
