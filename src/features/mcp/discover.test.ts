import { describe, expect, test } from "vitest";
import { z } from "zod";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { OBJECT, rawMcp, RawError, textResult, type RawAnswer } from "./raw-mcp.test-support.ts";
import { serveMcp, type Handler } from "./served-mcp.test-support.ts";

const ORIGIN = "https://a.example.com";

async function worldWith(handler: Handler) {
  const world = new McpWorld();
  world.origins.set(ORIGIN, handler);
  await world.manager.addServer("a", `${ORIGIN}/mcp`, { id: "a" }).catch(() => undefined);
  return world;
}

async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !until(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(until()).toBe(true);
}

const toolsNamed = (names: readonly string[]) => names.map((name) => ({ name, inputSchema: OBJECT }));
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `t${from + index}`);

describe("what a server offers", () => {
  test("resources, templates and prompts are listed, read and asked for", async () => {
    const served = serveMcp((server) => {
      server.registerResource("about", "about://us", { title: "About", mimeType: "text/plain" }, () => ({
        contents: [{ uri: "about://us", text: "We are." }]
      }));
      server.registerPrompt("greet", { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }]
      }));
    });
    const { manager } = await worldWith(served.handler);
    expect(manager.listResources()).toMatchObject([{ serverId: "a", uri: "about://us", title: "About" }]);
    expect(manager.listPrompts({ serverName: "a" })).toMatchObject([{ serverId: "a", name: "greet" }]);
    expect(manager.listTools()).toEqual([]);
    expect(await manager.readResource({ serverId: "a", uri: "about://us" })).toMatchObject({
      contents: [{ text: "We are." }]
    });
    const prompt = await manager.getPrompt({ serverId: "a", name: "greet", arguments: { name: "Ada" } });
    expect(prompt).toMatchObject({ messages: [{ content: { text: "Greet Ada" } }] });
    await expect(manager.readResource({ serverId: "a", uri: "about://them" })).rejects.toThrow();
  });

  test("lists are read to their last page", async () => {
    const list: RawAnswer = ({ params }) => {
      const from = Number(params["cursor"] ?? 0);
      return { tools: toolsNamed(numbered(from, from + 200)), ...(from < 400 && { nextCursor: String(from + 200) }) };
    };
    const { manager } = await worldWith(rawMcp({ "tools/list": list }));
    expect(manager.listTools().map(({ name }) => name)).toEqual(numbered(0, 600));
  });

  test("a list that never ends is cut, with a warning", async () => {
    let pages = 0;
    const { manager, warnings } = await worldWith(
      rawMcp({ "tools/list": () => ({ tools: toolsNamed([`t${(pages += 1)}`]), nextCursor: "more" }) })
    );
    expect(manager.listTools()).toHaveLength(100);
    expect(warnings.join()).toMatch(/more than 100 pages/);
    const many = await worldWith(rawMcp({ "tools/list": () => ({ tools: toolsNamed(numbered(0, 5_000)) }) }));
    expect(many.manager.listTools()).toHaveLength(1_000);
    expect(many.warnings.join()).toMatch(/more than 1000 entries/);
  });

  test("a list that the server does not know after all is empty; the others are there", async () => {
    const { manager } = await worldWith(rawMcp({ "tools/list": () => ({ tools: toolsNamed(["one"]) }) }));
    expect(manager.listServers()).toMatchObject([{ state: "ready" }]);
    expect(manager.listTools()).toHaveLength(1);
  });

  test("a server whose lists cannot be read is connected, with the error, and is tried again", async () => {
    let isBroken = true;
    const tools: RawAnswer = () => {
      if (isBroken) throw new RawError(-32603, "out of order");
      return { tools: toolsNamed(["one"]) };
    };
    const world = await worldWith(rawMcp({ "tools/list": tools }));
    expect(world.manager.listServers()[0]).toMatchObject({ state: "connected" });
    expect(world.manager.listServers()[0]!.error).toMatch(/out of order/);
    isBroken = false;
    expect(await world.manager.discoverIfConnected("a")).toEqual({ state: "ready" });
  });

  test("lists that are not read within 15 seconds are an error", async () => {
    const world = new McpWorld();
    world.origins.set(ORIGIN, rawMcp({ "tools/list": () => new Promise(() => undefined) }));
    const added = world.manager.addServer("a", ORIGIN).catch(String);
    await settle(() => world.rpcs().includes("tools/list"));
    world.clock.advance(15_000);
    expect(await added).toMatch(/did not answer within 15000 ms/);
    expect(world.manager.listServers()).toMatchObject([{ state: "connected" }]);
  });

  test("a later reading of the lists takes over from one that is under way", async () => {
    const waiting: ((names: string[]) => void)[] = [];
    const tools: RawAnswer = async () =>
      new Promise((resolve) => waiting.push((names) => resolve({ tools: toolsNamed(names) })));
    const world = new McpWorld();
    world.origins.set(ORIGIN, rawMcp({ "tools/list": tools }));
    const added = world.manager.addServer("a", ORIGIN, { id: "a" });
    await settle(() => waiting.length === 1);
    const again = world.manager.discoverIfConnected("a");
    await settle(() => waiting.length === 2);
    waiting[1]!(["new"]);
    waiting[0]!(["old"]);
    expect(await added).toMatchObject({ state: "ready" });
    expect(await again).toEqual({ state: "ready" });
    expect(world.manager.listTools().map(({ name }) => name)).toEqual(["new"]);
  });
});

describe("lists that change", () => {
  test("a tool that the server adds is there after its notification, and clients are told", async () => {
    const served = serveMcp((server) => {
      server.registerTool("one", { inputSchema: z.object({}) }, () => textResult("1"));
    });
    const world = await worldWith(served.handler);
    await settle(() => world.sent.some(({ method }) => method === "GET"));
    let told = 0;
    world.manager.onServerStateChanged(() => (told += 1));
    const [server] = [...served.servers.values()];
    server!.registerTool("two", { inputSchema: z.object({}) }, () => textResult("2"));
    await settle(() => world.manager.listTools().length === 2);
    expect(told).toBeGreaterThan(0);
  });

  test("a server that announces changes all the time is listed once a second", async () => {
    const served = serveMcp((server) => {
      server.registerTool("one", { inputSchema: z.object({}) }, () => textResult("1"));
    });
    const world = await worldWith(served.handler);
    await settle(() => world.sent.some(({ method }) => method === "GET"));
    world.sent.length = 0;
    const [server] = [...served.servers.values()];
    for (let count = 0; count < 50; count += 1) await server!.server.sendToolListChanged();
    await settle(() => world.clock.waits().includes(1_000));
    expect(world.rpcs()).toEqual(["tools/list"]);
    world.clock.advance(1_000);
    await settle(() => world.rpcs().length === 2 && world.clock.waits().includes(1_000));
    world.clock.advance(1_000);
    await world.idle();
    expect(world.rpcs()).toEqual(["tools/list", "tools/list"]);
  });
});
