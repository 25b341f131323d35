import { describe, expect, test } from "vitest";
import { z } from "zod";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { serveMcp, type Handler } from "./served-mcp.test-support.ts";

const ORIGIN = "https://a.example.com";
const URL_A = `${ORIGIN}/mcp`;

function counter(options?: { unknownSession: number }) {
  return serveMcp((server) => {
    let count = 0;
    server.registerTool("next", { inputSchema: z.object({}) }, () => {
      count += 1;
      return { content: [{ type: "text", text: String(count) }] };
    });
  }, options);
}

async function worldWithReady(handler: Handler, options = {}) {
  const world = new McpWorld();
  world.origins.set(ORIGIN, handler);
  const { id } = await world.manager.addServer("a", URL_A, options);
  const next = async () => {
    const result = (await world.manager.callTool({ serverId: id, name: "next" })) as { content: { text: string }[] };
    return result.content[0]!.text;
  };
  return { world, id, next };
}

async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !until(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(until()).toBe(true);
}

describe("after a restart", () => {
  test("a stored server connects in the background, and waiting for it makes its tools visible", async () => {
    const { world } = await worldWithReady(counter().handler);
    const manager = world.restart();
    expect(manager.listTools()).toEqual([]);
    expect(manager.listServers()).toMatchObject([{ state: "connecting" }]);
    await manager.waitForConnections({ timeout: 10_000 });
    expect(manager.listTools()).toMatchObject([{ name: "next" }]);
  });

  test("a refused first attempt is retried with growing pauses", async () => {
    const served = counter();
    const { world } = await worldWithReady(served.handler);
    world.origins.set(ORIGIN, () => {
      throw new TypeError("connection refused");
    });
    const manager = world.restart();
    await settle(() => world.clock.waits().includes(999));
    world.clock.advance(999);
    await settle(() => world.clock.waits().includes(1_998));
    world.origins.set(ORIGIN, served.handler);
    world.clock.advance(1_998);
    await manager.waitForConnections();
    expect(manager.listServers()).toMatchObject([{ state: "ready" }]);
  });

  test("after three attempts it has failed; a turn tries again, but not every turn", async () => {
    const served = counter();
    const { world } = await worldWithReady(served.handler);
    world.origins.delete(ORIGIN);
    const manager = world.restart();
    for (const pause of [999, 1_998]) {
      await settle(() => world.clock.waits().includes(pause));
      world.clock.advance(pause);
    }
    await manager.waitForConnections();
    expect(manager.listServers()).toMatchObject([{ state: "failed" }]);
    world.origins.set(ORIGIN, served.handler);
    const { length } = world.sent;
    world.clock.advance(29_999);
    manager.heal();
    await manager.waitForConnections();
    await world.idle();
    expect(world.sent).toHaveLength(length);
    expect(manager.listServers()).toMatchObject([{ state: "failed" }]);
    world.clock.advance(1);
    manager.heal();
    await manager.waitForConnections();
    expect(manager.listServers()).toMatchObject([{ state: "ready" }]);
  });

  test("waiting ends at its timeout, never rejects, and does not begin for 0 or less", async () => {
    const { world } = await worldWithReady(counter().handler);
    world.origins.set(ORIGIN, () => new Promise(() => undefined));
    const manager = world.restart();
    await manager.waitForConnections({ timeout: 0 });
    await manager.waitForConnections({ timeout: -1 });
    const waited = manager.waitForConnections({ timeout: 100 });
    await settle(() => world.clock.waits().includes(100));
    world.clock.advance(100);
    await waited;
    expect(manager.listServers()).toMatchObject([{ state: "connecting" }]);
  });

  test("the server's session goes on, without another handshake", async () => {
    const served = counter();
    const { world, next } = await worldWithReady(served.handler);
    expect(await next()).toBe("1");
    world.sent.length = 0;
    await world.restart().waitForConnections();
    expect(await next()).toBe("2");
    expect(world.rpcs()).toEqual(["tools/list", "tools/call"]);
    expect(Object.values(world.manager.state().servers)).toMatchObject([{ instructions: "Be kind." }]);
  });

  test.each([404, 400])(
    "a session that the server no longer knows (%i) is dropped and a new one opened",
    async (unknownSession) => {
      const served = counter({ unknownSession });
      const { world, next } = await worldWithReady(served.handler);
      await next();
      served.forget();
      await world.restart().waitForConnections();
      expect(world.manager.listServers()).toMatchObject([{ state: "ready" }]);
      expect(await next()).toBe("1");
      expect(world.store.list()[0]!.session?.id).toBe([...served.servers.keys()][0]);
    }
  );

  test("headers are sent again", async () => {
    const { world } = await worldWithReady(counter().handler, { transport: { headers: [["X-Key", "secret"]] } });
    world.sent.length = 0;
    await world.restart().waitForConnections();
    expect(world.sent.length).toBeGreaterThan(0);
    expect(world.sent.every(({ headers }) => headers.get("x-key") === "secret")).toBe(true);
    expect(JSON.stringify(world.manager.state())).not.toContain("secret");
  });

  test("headers are sent again over SSE too", async () => {
    const world = new McpWorld();
    world.origins.set(ORIGIN, () => new Response("later", { status: 503 }));
    const transport = { type: "sse" as const, headers: new Headers({ "x-key": "secret" }) };
    await expect(world.manager.addServer("a", URL_A, { transport, retry: { maxAttempts: 1 } })).rejects.toThrow();
    world.sent.length = 0;
    await world.restart().waitForConnections();
    expect(world.sent.map(({ method, headers }) => [method, headers.get("x-key")])).toEqual([["GET", "secret"]]);
  });

  test("adding a server that still connects waits for it", async () => {
    const { world, id } = await worldWithReady(counter().handler);
    const manager = world.restart();
    expect(await manager.addServer("a", URL_A)).toEqual({ id, state: "ready" });
    expect(manager.listTools()).toHaveLength(1);
  });

  test("a row that cannot be read costs its options, not the start", async () => {
    const { world } = await worldWithReady(counter().handler);
    world.sql.run("UPDATE cf_mcp_servers SET options = '{', session = '[]'");
    await world.restart().waitForConnections();
    expect(world.manager.listServers()).toMatchObject([{ state: "ready" }]);
  });
});

describe("while connected", () => {
  test.each([404, 400])(
    "a session that the server forgets (%i) is opened anew, and the call is answered",
    async (unknownSession) => {
      const served = counter({ unknownSession });
      const { next } = await worldWithReady(served.handler);
      await next();
      served.forget();
      expect(await next()).toBe("1");
    }
  );

  test("calls that find the session forgotten at the same time open one new session", async () => {
    const served = counter();
    const { next } = await worldWithReady(served.handler);
    served.forget();
    expect((await Promise.all([next(), next(), next()])).toSorted()).toEqual(["1", "2", "3"]);
    expect(served.servers.size).toBe(1);
  });

  test("a server that dies fails the call, and is connected to again in the background", async () => {
    const served = counter();
    const { world, next } = await worldWithReady(served.handler);
    world.origins.delete(ORIGIN);
    await expect(next()).rejects.toThrow(/connection to the MCP server "a" was lost/);
    await settle(() => world.clock.waits().includes(999));
    expect(world.manager.listServers()).toMatchObject([{ state: "failed" }]);
    expect(world.manager.listTools()).toEqual([]);
    world.origins.set(ORIGIN, served.handler);
    world.clock.advance(999);
    await world.manager.waitForConnections();
    expect(await next()).toBe("1");
  });
});

describe("a server that is not used", () => {
  test("is hung up after 30 seconds, so that the object can sleep; it stays ready with its tools", async () => {
    let open = 0;
    const served = counter();
    const { world } = await worldWithReady(async (request) => {
      if (request.method === "GET") {
        open += 1;
        request.signal.addEventListener("abort", () => (open -= 1));
      }
      return served.handler(request);
    });
    await settle(() => open === 1);
    world.clock.advance(29_999);
    await settle(() => open === 1);
    world.clock.advance(1);
    await settle(() => open === 0);
    expect(world.manager.state()).toMatchObject({
      servers: { [world.manager.listServers()[0]!.id]: { state: "ready", instructions: "Be kind." } },
      tools: [{ name: "next" }]
    });
    expect(world.clock.sleepers).toBe(0);
  });

  test("is called with the session it had", async () => {
    const { world, next } = await worldWithReady(counter().handler);
    expect(await next()).toBe("1");
    world.clock.advance(30_000);
    world.sent.length = 0;
    expect(await next()).toBe("2");
    expect(world.rpcs()).not.toContain("initialize");
  });

  test("is not hung up while a call runs", async () => {
    let answer: (() => void) | undefined;
    const served = serveMcp((server) => {
      server.registerTool("slow", { inputSchema: z.object({}) }, async () => {
        await new Promise<void>((resolve) => (answer = resolve));
        return { content: [{ type: "text", text: "late" }] };
      });
    });
    const { world, id } = await worldWithReady(served.handler, { timeoutMs: 600_000 });
    const result = world.manager.callTool({ serverId: id, name: "slow" });
    await settle(() => answer !== undefined);
    world.clock.advance(30_000);
    await settle(() => world.clock.waits().includes(30_000));
    answer?.();
    expect(await result).toMatchObject({ content: [{ text: "late" }] });
  });

  test("and dies meanwhile costs its tools at the next turn", async () => {
    const { world } = await worldWithReady(counter().handler, { retry: { maxAttempts: 1 } });
    world.clock.advance(30_000);
    await settle(() => world.clock.sleepers === 0);
    world.origins.delete(ORIGIN);
    world.manager.heal();
    await world.manager.waitForConnections();
    expect(world.manager.listServers()).toMatchObject([{ state: "failed" }]);
    expect(world.manager.listTools()).toEqual([]);
  });

  test("reads its lists again when it is asked to", async () => {
    const { world, id } = await worldWithReady(counter().handler);
    world.clock.advance(30_000);
    await settle(() => world.clock.sleepers === 0);
    world.sent.length = 0;
    expect(await world.manager.discoverIfConnected(id)).toEqual({ state: "ready" });
    expect(world.rpcs()).toEqual(["tools/list"]);
  });

  test("is hung up also when its lists could not be read, and is tried again like one that failed", async () => {
    let [open, isBroken] = [0, true];
    const served = counter();
    const world = new McpWorld();
    world.origins.set(ORIGIN, async (request) => {
      if (request.method === "GET") {
        open += 1;
        request.signal.addEventListener("abort", () => (open -= 1));
      }
      const isList = request.method === "POST" && (await request.clone().text()).includes("tools/list");
      return isList && isBroken ? new Response("no", { status: 500 }) : served.handler(request);
    });
    await expect(world.manager.addServer("a", URL_A, { id: "a" })).rejects.toThrow();
    expect(world.manager.listServers()).toMatchObject([{ state: "connected" }]);
    await settle(() => open === 1);
    world.clock.advance(30_000);
    await settle(() => open === 0);
    expect(world.clock.sleepers).toBe(0);
    isBroken = false;
    expect(await world.manager.callTool({ serverId: "a", name: "next" })).toMatchObject({ content: [{ text: "1" }] });
    expect(world.manager.listServers()).toMatchObject([{ state: "ready" }]);
  });

  test("and is removed ends its session all the same", async () => {
    const served = counter();
    const { world, id } = await worldWithReady(served.handler);
    world.clock.advance(30_000);
    await settle(() => world.clock.sleepers === 0);
    await world.manager.removeServer(id);
    expect(served.servers.size).toBe(0);
  });
});
