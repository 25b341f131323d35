// Extensions in contexts of this process; test/workers has the same in isolates of workerd.
import { groupOfTool } from "../../feature/tool-discovery.ts";
import { expect, test, vi } from "vitest";
import { createTestLoader } from "../../testing/index.ts";
import { ExtensionManager, sanitizeName, type ExtensionManagerOptions } from "./index.ts";

const GREETER = `({ tools: {
  greet: { description: "Greets.", parameters: { who: { type: "string" } }, required: ["who"], execute: async ({ who }) => "hello " + who },
  fail: { execute: () => { throw new Error("cannot greet") } }
} })`;
const greeter = { name: "greeter", version: "1.0.0" };

class Storage {
  readonly kept = new Map<string, unknown>();
  async put(key: string, value: unknown) {
    this.kept.set(key, structuredClone(value));
  }
  async delete(key: string) {
    this.kept.delete(key);
  }
  async list({ prefix }: { prefix: string }) {
    return new Map([...this.kept].filter(([key]) => key.startsWith(prefix)));
  }
}

const open = (options: Partial<ExtensionManagerOptions> = {}) =>
  new ExtensionManager({ loader: createTestLoader(), ...options });

function call(manager: ExtensionManager, name: string, input: unknown = {}): Promise<unknown> {
  const options = { toolCallId: "c", messages: [], context: {} };
  return Promise.resolve(manager.getTools()[name]?.execute?.(input as never, options as never));
}

test("1: an extension lists its tools, which return their value or reject with their message", async () => {
  const manager = open();
  expect(await manager.load(greeter, GREETER)).toMatchObject({
    tools: ["greeter_greet", "greeter_fail"],
    status: "loaded"
  });
  const greet = manager.getTools()["greeter_greet"];
  expect(greet?.description).toBe("[greeter] Greets.");
  expect(groupOfTool(greet, "extensions")).toEqual({ kind: "extension", name: "greeter" });
  expect(await call(manager, "greeter_greet", { who: "Ada" })).toBe("hello Ada");
  await expect(call(manager, "greeter_fail")).rejects.toThrow("cannot greet");
  await expect(call(manager, "greeter_greet", { who: 1 })).rejects.toThrow("input.who must be string");
});

test("2: a name is loaded once, again after it was unloaded, and a tool of before throws", async () => {
  const manager = open();
  await manager.load(greeter, GREETER);
  await expect(manager.load(greeter, GREETER)).rejects.toThrow("already loaded");
  const captured = manager.getTools()["greeter_greet"];
  expect([await manager.unload("greeter"), await manager.unload("greeter")]).toEqual([true, false]);
  await manager.load(greeter, GREETER);
  await expect(captured?.execute?.({ who: "x" } as never, {} as never)).rejects.toThrow("has been unloaded");
});

test("3: names become prefixes; empty ones and colliding ones are refused", async () => {
  expect(["my-cool-ext", "a--b", "--both--"].map(sanitizeName)).toEqual(["my_cool_ext", "a_b", "both"]);
  for (const name of ["", "  ", "---"]) expect(() => sanitizeName(name)).toThrow();
  const manager = open({ reservedNames: ["x_greet"] });
  await manager.load({ ...greeter, name: "a-b" }, GREETER);
  await expect(manager.load({ ...greeter, name: "a_b" }, GREETER)).rejects.toThrow('the same tool names as "a-b"');
  await expect(manager.load({ ...greeter, name: "x" }, GREETER)).rejects.toThrow('a tool "x_greet" already');
});

test.each([
  ["Invalid extension source format", "({ greet: { execute: () => 1 } })"],
  ["Invalid extension source format", "1 + 1"],
  ["no execute function", "({ tools: { a: { } } })"],
  ["cannot be used", "({ tools: { 'bad name': { execute() {} } } })"],
  ["early", "({ tools: { get a() { throw new Error('early') } } })"],
  ["line 2", "({\n tools: { a: { execute() { return 1 + } } }\n})"],
  ["imported", `({ tools: { a: { execute: () => import("node:fs") } } })`],
  ["more than 262144 bytes", `({ tools: {}, x: "${"y".repeat(270_000)}" })`]
])("4: a source that is no extension is refused and nothing is stored: %s", async (message, source) => {
  const storage = new Storage();
  const manager = open({ storage });
  await expect(manager.load(greeter, source)).rejects.toThrow(message);
  expect([manager.list(), storage.kept.size]).toEqual([[], 0]);
});

test("types are taken out of a source", async () => {
  const manager = open();
  await manager.load(greeter, "{ tools: { n: { execute: (args: { a: number }): number => (args.a as number) + 1 } } }");
  expect(await call(manager, "greeter_n", { a: 1 })).toBe(2);
});

test("5: without the permission there is no network; with it only the named hosts, and redirects are checked again", async () => {
  const source = `({ tools: { get: { execute: async ({ url }) => await (await fetch(url)).text() } } })`;
  const closed = open();
  await closed.load(greeter, source);
  await expect(call(closed, "greeter_get", { url: "https://api.example.com/" })).rejects.toThrow(
    "fetch is not defined"
  );
  const fetched = vi.fn(async (url: string | URL | Request) =>
    String(url).endsWith("/away")
      ? new Response(null, { status: 302, headers: { Location: "https://evil.test/" } })
      : new Response("ok")
  );
  const manager = open({ fetch: fetched });
  await manager.load({ ...greeter, permissions: { network: ["api.example.com", "*.cdn.test"] } }, source);
  const get = (url: string) => call(manager, "greeter_get", { url });
  expect([await get("https://api.example.com/x"), await get("https://a.cdn.test/")]).toEqual(["ok", "ok"]);
  for (const url of [
    "https://evil.test/",
    "http://api.example.com/",
    "https://1.2.3.4/",
    "https://api.example.com:8443/",
    "https://cdn.test/",
    "https://api.example.com/away"
  ])
    await expect(get(url), url).rejects.toThrow("may not send a request");
  expect(fetched).toHaveBeenCalledTimes(3);
});

test.each([
  ["a form is not posted again after 302", 302, "https://api.example.com/done", "GET", "", "Bearer x"],
  ["nor after 303", 303, "https://api.example.com/done", "GET", "", "Bearer x"],
  ["it is after 307", 307, "https://api.example.com/done", "POST", "a=1", "Bearer x"],
  ["another host is not given the credentials", 307, "https://a.cdn.test/", "POST", "a=1", null]
])("5: redirects are followed as a browser does: %s", async (_what, status, Location, method, body, authorization) => {
  const sent: Request[] = [];
  const fetched = vi.fn(async (url: string | URL | Request, init?: RequestInit) => {
    sent.push(new Request(url, init));
    return sent.length === 1 ? new Response(null, { status, headers: { Location } }) : new Response("ok");
  });
  const manager = open({ fetch: fetched });
  const source = `({ tools: { post: { execute: async () => {
    const headers = { Authorization: "Bearer x", Cookie: "a=b", "X-Own": "1" };
    return await (await fetch("https://api.example.com/form", { method: "post", body: "a=1", headers })).text();
  } } } })`;
  await manager.load({ ...greeter, permissions: { network: ["api.example.com", "*.cdn.test"] } }, source);
  expect(await call(manager, "greeter_post", {})).toBe("ok");
  const [first, second] = sent;
  expect([first?.method, first?.headers.get("Authorization")]).toEqual(["POST", "Bearer x"]);
  expect([second?.url, second?.method, await second?.text()]).toEqual([Location, method, body]);
  expect([second?.headers.get("Authorization"), second?.headers.get("X-Own")]).toEqual([
    authorization,
    authorization && "1"
  ]);
  // Cookies are the agent's own, of whichever host.
  expect(sent.map(({ headers }) => headers.get("Cookie"))).toEqual([null, null]);
});

test("6: what is stored is there after restore, once", async () => {
  const storage = new Storage();
  await open({ storage }).load(greeter, GREETER);
  const later = open({ storage });
  expect(later.list()).toEqual([]);
  await Promise.all([later.restore(), later.restore()]);
  await later.restore();
  expect(later.list().map(({ name }) => name)).toEqual(["greeter"]);
  expect(await call(later, "greeter_greet", { who: "Bo" })).toBe("hello Bo");
});

test("7: one that cannot be loaded again is listed as failed and keeps no other from loading", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const storage = new Storage();
  await open({ storage }).load(greeter, GREETER);
  storage.kept.set("ext:broken", { manifest: { name: "broken", version: "1" }, source: "({" });
  storage.kept.set("ext:ruined", 5);
  const manager = open({ storage });
  await manager.restore();
  expect(manager.list().map(({ name, status }) => `${name} ${status}`)).toEqual([
    "greeter loaded",
    "broken failed",
    "ruined failed"
  ]);
  expect(await manager.unload("broken")).toBe(true);
});

test("of two that are loaded at once under one name or one prefix, one is loaded and stored", async () => {
  for (const names of [
    ["a-b", "a-b"],
    ["a-b", "a_b"]
  ]) {
    const storage = new Storage();
    const manager = open({ storage });
    const loads = await Promise.allSettled(names.map((name) => manager.load({ name, version: "1.0.0" }, GREETER)));
    expect(loads.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(manager.list()).toHaveLength(1);
    expect(storage.kept.size).toBe(1);
  }
});

test("what could not be read at the first restore is there after the second", async () => {
  const storage = new Storage();
  await open({ storage }).load(greeter, GREETER);
  const manager = open({ storage });
  vi.spyOn(storage, "list").mockRejectedValueOnce(new Error("busy"));
  await expect(manager.restore()).rejects.toThrow("busy");
  await manager.restore();
  expect(manager.list()).toMatchObject([{ name: "greeter", status: "loaded" }]);
});

test("a storage that fails undoes the load", async () => {
  const storage = Object.assign(new Storage(), { put: () => Promise.reject(new Error("full")) });
  const manager = open({ storage });
  await expect(manager.load(greeter, GREETER)).rejects.toThrow("could not be stored");
  expect(manager.list()).toEqual([]);
});

test("9: files need the permission, which the error names; without any there is no host", async () => {
  const source = `({ tools: {
    has: { execute: (args, host) => host === null },
    read: { execute: (args, host) => host.readFile("/a") },
    write: { execute: (args, host) => host.writeFile("/a", "text") },
    drop: { execute: async (args, host) => [await host.deleteFile("/a"), await host.deleteFile("/a")] }
  } })`;
  const files = new Map([["/a", "old"]]);
  const workspace = {
    readFile: (path: string) => files.get(path) ?? null,
    writeFile: (path: string, text: string) => void files.set(path, text),
    readDir: () => [],
    rm: (path: string) => void files.delete(path),
    stat: (path: string) => (files.has(path) ? {} : null)
  };
  const manager = open({ workspace });
  await manager.load({ ...greeter, name: "none" }, source);
  await manager.load({ ...greeter, name: "reader", permissions: { workspace: "read" } }, source);
  await manager.load({ ...greeter, name: "writer", permissions: { workspace: "read-write" } }, source);
  expect([await call(manager, "none_has"), await call(manager, "reader_has")]).toEqual([true, false]);
  expect(await call(manager, "reader_read")).toBe("old");
  await expect(call(manager, "reader_write")).rejects.toThrow('Extension error: no permission workspace "read-write"');
  await call(manager, "writer_write");
  expect(files.get("/a")).toBe("text");
  expect(await call(manager, "writer_drop")).toEqual([true, false]);
});

test("13: a call that takes too long ends, and reaches nothing afterwards", async () => {
  const written: string[] = [];
  const workspace = {
    readFile: () => null,
    writeFile: (path: string) => void written.push(path),
    readDir: () => [],
    rm: () => 0,
    stat: () => null
  };
  const source = `({ tools: { slow: { execute: async (args, host) => { await new Promise((done) => setTimeout(done, 120)); await host.writeFile("/late", ""); } } } })`;
  const manager = open({ workspace, toolTimeout: 30 });
  await manager.load({ ...greeter, permissions: { workspace: "read-write" } }, source);
  await expect(call(manager, "greeter_slow")).rejects.toThrow("timed out after 30 ms");
  await new Promise((done) => setTimeout(done, 200));
  expect(written).toEqual([]);
});

test("calls share nothing: what one leaves in its globals the next does not see", async () => {
  const manager = open();
  await manager.load(greeter, `({ tools: { count: { execute: () => (globalThis.n = (globalThis.n ?? 0) + 1) } } })`);
  expect([await call(manager, "greeter_count"), await call(manager, "greeter_count")]).toEqual([1, 1]);
});
