// Extensions in isolates that workerd loads, and what a hostile one can do there.
import { expect, test, vi } from "vitest";
import { ExtensionManager, type ExtensionManagerOptions } from "../../src/features/extensions/index.ts";
import { getAgentByName } from "../../src/agent-class/index.ts";
import { env, uniqueName } from "./world.ts";
import { user } from "../kit/messages.ts";

// Isolates are loaded, and some are left to run into their limits.
vi.setConfig({ testTimeout: 60_000 });

async function loaded(source: string, options: Partial<ExtensionManagerOptions> = {}, permissions = {}) {
  const manager = new ExtensionManager({ loader: env.LOADER as never, ...options });
  await manager.load({ name: "x", version: "1", permissions }, source);
  return (tool: string, input: object = {}) =>
    Promise.resolve(
      manager.getTools()[`x_${tool}`]?.execute?.(input as never, { toolCallId: "c", messages: [] } as never)
    );
}

test("a tool gets its input and its host, and answers", async () => {
  const workspace = {
    readFile: (path: string) => `text of ${path}`,
    writeFile: () => 0,
    readDir: () => [],
    rm: () => 0,
    stat: () => null
  };
  const source = `({ tools: { read: { execute: async ({ path }, host) => ({ text: await host.readFile(path), n: [1] }) } } })`;
  const call = await loaded(source, { workspace }, { workspace: "read" });
  expect(await call("read", { path: "/a" })).toEqual({ text: "text of /a", n: [1] });
});

test("a hostile one finds no network, no bindings and no way to make code, and cannot keep the process", async () => {
  const call = await loaded(
    `({ tools: {
    globals: { execute: () => ["fetch", "WebSocket", "process", "env", "caches"].map((name) => typeof globalThis[name]) },
    make: { execute: () => (() => {}).constructor("return 1")() },
    spin: { execute: () => { for (;;) {} } },
    wait: { execute: () => new Promise(() => {}) }
  } })`,
    { toolTimeout: 5_000 }
  );
  expect(await call("globals")).toEqual(Array.from({ length: 5 }, () => "undefined"));
  await expect(call("make")).rejects.toThrow();
  await expect(call("spin")).rejects.toThrow("timed out");
  await expect(call("wait")).rejects.toThrow();
});

test("with network it reaches the named hosts through the host's gate only", async () => {
  const fetched = vi.fn(async () => new Response("answer", { headers: { "Set-Cookie": "a=b" } }));
  const source = `({ tools: { get: { execute: async ({ url }) => { const r = await fetch(url); return [await r.text(), r.headers.get("set-cookie")] } } } })`;
  const call = await loaded(source, { fetch: fetched }, { network: ["api.example.com"] });
  expect(await call("get", { url: "https://api.example.com/" })).toEqual(["answer", null]);
  await expect(call("get", { url: "https://other.example.com/" })).rejects.toThrow("may not send");
  expect(fetched).toHaveBeenCalledTimes(1);
});

const agentOf = () => getAgentByName(env.Extended, uniqueName("extended"));

test("10: a class's extension calls its host, in a sub-agent its own, and nothing had to be exported", async () => {
  const agent = await agentOf();
  expect([await agent.run("notes_note"), await agent.inChild("notes_note")]).toEqual(["null", "null"]);
  expect([await agent.run("notes_note"), await agent.inChild("notes_note")]).toEqual(['"written"', '"written"']);
});

test("hooks of a class's extension run in its turns", async () => {
  const agent = await agentOf();
  await agent.saveMessages([user("q", "go")]);
  const { prompts, step } = await agent.seen();
  expect(prompts).toEqual([expect.stringContaining(" And be brief.")]);
  expect(step).toBe("Brief.");
});

test("a hostile one reaches neither its makers, nor builtins, nor prototypes of the host", async () => {
  const agent = await agentOf();
  await agent.load(
    "x",
    `({ tools: {
      make: { execute: (args, host) => [
        () => (() => {}).constructor.constructor("return this")(),
        () => host.readFile.constructor.constructor("return process")(),
        () => host.readFile.constructor("return 1")(),
        () => eval("1"),
        () => new Function("return 1")()
      ].map((one) => { try { return String(one()) } catch { return "refused" } }) },
      pollute: { execute: async (args, host) => {
        const evil = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
        await host.readFile(evil).catch(() => {});
        await host.readFile.apply(null, [{ toString: () => "/note" }]).catch(() => {});
        return evil;
      } },
      proto: { execute: (args, host) => Promise.allSettled(["__proto__", "constructor", "toString", "fetch"]
        .map((name) => Promise.resolve().then(() => host[name]("/note")))).then((all) => all.map(({ status }) => status)) }
    } })`,
    { workspace: "read" }
  );
  expect(await agent.run("x_make")).toBe(JSON.stringify(Array.from({ length: 5 }, () => "refused")));
  expect(await agent.run("x_pollute")).toBe("{}");
  expect(Reflect.get({}, "polluted")).toBeUndefined();
  expect(await agent.run("x_proto")).not.toContain("written");
  for (const source of [
    "({ tools: { a: { execute: () => import('node:fs') } } })",
    "({ tools: { a: { execute: async () => (await import('cloudflare:workers')).env } } })"
  ])
    expect(await agent.load("y", source)).toContain("imported");
});

test("a getter that spins and a source that spins are ended, and cost only that extension", async () => {
  const agent = await agentOf();
  expect(await agent.load("g", "({ get tools() { for (;;) {} } })")).toContain("timed out");
  await agent.load("x", "({ tools: { r: { execute: () => ({ get a() { for (;;) {} } }) } } })");
  expect(await agent.run("x_r")).toContain("timed out");
  expect(await agent.run("notes_note")).toBe("null");
});

test("strings of 100 MB and 10,000 host calls are refused at their limits", async () => {
  const agent = await agentOf();
  await agent.load(
    "x",
    `({ tools: {
      large: { execute: () => "x".repeat(100e6) },
      write: { execute: (args, host) => host.writeFile("/large", "x".repeat(30e6)) },
      path: { execute: (args, host) => host.readFile("x".repeat(30e6)) },
      many: { execute: async (args, host) => {
        const all = await Promise.allSettled(Array.from({ length: 10000 }, () => host.readFile("/note")));
        return [all.filter(({ status }) => status === "fulfilled").length, all.at(-1).reason.message];
      } }
    } })`,
    { workspace: "read-write" }
  );
  expect(await agent.run("x_large")).toMatch(/^\w*Error: /);
  expect(await agent.run("x_write")).toMatch(/^\w*Error: /);
  expect(await agent.run("x_path")).toMatch(/^\w*Error: /);
  expect(JSON.parse(await agent.run("x_many"))).toEqual([200, "Extension error: at most 200 calls are answered."]);
});

test("what one call kept of its host is of no use to the next, nor to another conversation", async () => {
  const source = `({ tools: { keep: { execute: async (args, host) => {
    const before = globalThis.kept;
    globalThis.kept = host;
    return before === undefined ? "nothing" : before.readFile("/note");
  } } } })`;
  const [one, two] = [await agentOf(), await agentOf()];
  await one.run("notes_note");
  for (const agent of [one, two]) await agent.load("k", source, { workspace: "read" });
  expect([await one.run("k_keep"), await one.run("k_keep"), await two.run("k_keep")]).toEqual(
    Array.from({ length: 3 }, () => '"nothing"')
  );
});
