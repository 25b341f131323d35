// Executed code in isolates that workerd loads, and what hostile code can do there.
import { beforeAll, describe, expect, test, vi } from "vitest";
import { getAgentByName } from "../../src/agent-class/index.ts";
import { env, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

// Parsers are transformed and loaded on first use.
vi.setConfig({ testTimeout: 60_000 });

const programmer = (name = uniqueName("programmer")) => getAgentByName(env.Programmer, name);
let shared: Awaited<ReturnType<typeof programmer>>;

beforeAll(async () => {
  shared = await programmer();
});

const run = async (code: string, timeout?: number) =>
  (await shared.run(code, timeout)) as object as Record<string, unknown>;

test("a run calls tools, waits for a human, and goes on", async () => {
  const agent = await programmer();
  await agent.saveMessages([user("q", "go")]);
  const [pending] = await agent.pendingExecutions();
  expect(pending).toMatchObject({ connector: "tools", method: "deploy", seq: 1, args: { ref: "v5" } });
  expect(await agent.approveExecution(pending?.executionId ?? "")).toMatchObject({ status: "completed", result: 1 });
});

test("files, steps, search and values of all kinds cross the boundary", async () => {
  const code = `await state.writeFile({ path: "/x", content: "hello" });
    const kinds = await tools.kinds({ b: new Uint8Array([1, 2]), n: 5n, d: new Date(7), m: new Map([[1, 2]]) });
    const found = await codemode.search("deploy");
    [await state.readFile({ path: "/x" }), kinds, found.results[0].path, await codemode.step("r", () => 4)]`;
  expect(await run(code)).toMatchObject({
    status: "completed",
    result: ["hello", ["Uint8Array", "Date", "Map", "BigInt"], "tools.deploy", 4]
  });
});

describe("hostile code", () => {
  test("finds no network, no bindings, no Node and no way to make code", async () => {
    const names = ["fetch", "WebSocket", "connect", "process", "require", "caches", "host", "env", "Buffer"];
    const code = `${JSON.stringify(names)}.map((name) => typeof globalThis[name])`;
    expect(await run(code)).toMatchObject({ result: names.map(() => "undefined") });
    const made = `const tries = [() => eval("1"), () => new Function("return 1")(), () => (() => {}).constructor("return 1")(),
      () => ({}).constructor.constructor("return this")().fetch("https://example.com"),
      () => (async () => {}).constructor("return 1")(), () => tools.constructor.constructor("return 1")()];
      tries.map((one) => { try { return String(one()) } catch (e) { return "refused" } })`;
    expect(await run(made)).toMatchObject({ result: Array.from({ length: 6 }, () => "refused") });
  });

  test.each([
    "await import('node:fs')",
    "import fs from 'node:fs'; 1",
    "await import('cloudflare:workers')",
    "export * from 'x'"
  ])("cannot import: %s", async (code) => {
    expect(await run(code)).toMatchObject({ status: "error", error: expect.stringContaining("imported") });
  });

  test("cannot pollute a prototype on the other side", async () => {
    const code = `const evil = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}');
      const { value, isPolluted } = await tools.echo(evil); Object.prototype.polluted = 1; [isPolluted, Object.keys(value)]`;
    expect(await run(code)).toMatchObject({ status: "completed", result: [false, ["constructor"]] });
    expect(await run("({}).polluted ?? 'clean'")).toMatchObject({ result: "clean" });
  });

  test("cannot pass functions, streams or objects of the platform", async () => {
    expect(await run("await tools.echo({ f: () => 1 })")).toMatchObject({ status: "error" });
    expect(await run("await tools.echo(codemode)")).toMatchObject({ status: "error" });
  });

  test("changes its own globals in vain: calls, numbers and gates are kept outside", async () => {
    const code = `Promise.prototype.then = function () { return this }; JSON.stringify = () => "x"; Map.prototype.get = () => () => {}; 1`;
    expect((await run(code, 2_000))["executionId"]).toMatch(/^exec_/);
    expect(await run("await tools.add({ a: 1, b: 2 })")).toMatchObject({ result: 3 });
  });

  test("leaves nothing behind for the next run, of its own or of another conversation", async () => {
    expect(await run("globalThis.leak = { tools, codemode }; 1")).toMatchObject({ result: 1 });
    expect(await run("typeof globalThis.leak")).toMatchObject({ result: "undefined" });
    const other = await programmer();
    expect(await other.run("typeof globalThis.leak")).toMatchObject({ result: "undefined" });
  });

  test("is stopped in a loop, in a getter, in a recursion, and while it waits for ever", async () => {
    expect(await run("for (;;) {}")).toMatchObject({ status: "error", error: expect.stringContaining("timed out") });
    expect(await run("({ get x() { while (true); } })")).toMatchObject({ status: "error" });
    expect(await run("tools.echo({ get x() { while (true); } })")).toMatchObject({ status: "error" });
    expect(await run("const f = () => f(); f()")).toMatchObject({ status: "error" });
    expect(await run("await new Promise(() => {})", 300)).toMatchObject({
      status: "error",
      error: expect.stringContaining("timed out")
    });
    expect(await run("while (true) await null", 5_000)).toMatchObject({ status: "error" });
  });

  test("cannot flood the host with long strings or many calls", async () => {
    expect(await run(`await tools.echo({ s: "x".repeat(100_000_000) })`)).toMatchObject({ status: "error" });
    expect(await run(`"x".repeat(100_000_000)`)).toMatchObject({ executionId: expect.stringMatching(/^exec_/) });
    const calls = await run(
      "for (let i = 0; i < 10000; i++) { try { await tools.add({ a: 1, b: 1 }) } catch {} }",
      30_000
    );
    expect(calls).toMatchObject({ status: "error", error: "A run may make at most 1000 calls." });
    expect(await run("1 + 1")).toMatchObject({ result: 2 });
  });

  test("cannot keep the host busy with searching", async () => {
    const code = `let found = 0, refused = "";
      for (let i = 0; i < 1100 && refused === ""; i++) await codemode.search("add").then(() => found++, (e) => { refused = e.message });
      [found, refused]`;
    expect(await run(code)).toMatchObject({ result: [1_000, "A run may search at most 1000 times."] });
  });

  test("cannot make a call of another run, of its own conversation or of another", async () => {
    const other = await programmer();
    await other.saveMessages([user("q", "go")]);
    const [pending] = await other.pendingExecutions();
    const id = JSON.stringify(pending?.executionId);
    // What a call says about itself is not asked: whose it is follows from the functions that its isolate was given.
    const forged = `const seen = [];
      for (const args of [{ executionId: ${id}, seq: 1, ref: "v5" }, { a: 1, b: 2, executionId: ${id}, agent: "other" }])
        for (const method of ["add", "deploy"]) { try { await tools[method](args) } catch (e) { seen.push(e.name) } }
      seen`;
    await run(forged);
    expect(await other.pendingExecutions()).toEqual([pending]);
    expect(await other.made()).toEqual([]);
    // Nothing that leads to an agent, a stub or the platform is within reach of what the code is given.
    const reach = `const names = new Set();
      const look = (value, depth) => {
        if (value === null || (typeof value !== "object" && typeof value !== "function") || depth > 4) return;
        for (const key of Reflect.ownKeys(value)) {
          names.add(String(key));
          let child; try { child = value[key] } catch {}
          if (value !== globalThis || key === "tools") look(child, depth + 1);
        }
      };
      [tools, state, codemode, console, globalThis].forEach((one) => look(one, 0));
      ["env", "ctx", "LOADER", "getAgentByName", "idFromName", "storage", "host", "run"].filter((name) => names.has(name))`;
    // "run" is codemode.run.
    expect(await run(reach)).toMatchObject({ result: ["run"] });
  });

  test("that outlives its run gets nothing of the functions it kept, whatever it calls", async () => {
    const agent = await programmer();
    const code = `const kept = tools.add; globalThis.kept = kept;
      setTimeout(async () => { for (let i = 0; i < 50; i++) await kept({ a: i, b: 1 }).catch(() => {}) }, 10); 1`;
    expect(await agent.run(code)).toMatchObject({ result: 1 });
    await agent.run("await new Promise((resolve) => setTimeout(resolve, 100)); 1");
    const [, first] = (await agent.executions()) as { log: unknown[] }[];
    expect(first?.log).toEqual([]);
  });

  test("cannot change what its own approval was asked for", async () => {
    const agent = await programmer();
    const paused = (await agent.run(`const args = { ref: "shown" };
      const call = tools.deploy(args); args.ref = "other"; await call`)) as { executionId: string };
    expect(await agent.pendingExecutions()).toMatchObject([{ args: { ref: "shown" } }]);
    await agent.approveExecution(paused.executionId);
    expect(await agent.made()).toEqual(["deploy shown"]);
  });

  test("does not get at the host after its end", async () => {
    const code = `setTimeout(() => tools.deploy({ ref: "late" }).catch(() => {}), 20); 1`;
    expect(await run(code)).toMatchObject({ result: 1 });
    expect(await run("await new Promise((resolve) => setTimeout(resolve, 60)); 2")).toMatchObject({ result: 2 });
    expect((await shared.pendingExecutions()).filter(({ args }) => JSON.stringify(args).includes("late"))).toEqual([]);
  });
});
