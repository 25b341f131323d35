// Extensions in isolates that workerd loads, and what a hostile one can do there.
import { expect, test, vi } from "vitest";
import { ExtensionManager, type ExtensionManagerOptions } from "../../src/extensions/index.ts";
import { env } from "./world.ts";

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
