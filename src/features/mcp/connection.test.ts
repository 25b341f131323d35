import { describe, expect, test } from "vitest";
import { z } from "zod";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { openProtocol } from "./protocol.ts";
import { serveMcp, type Handler } from "./served-mcp.test-support.ts";

const ORIGIN = "https://a.example.com";
const URL_A = `${ORIGIN}/mcp`;

function arithmetic() {
  return serveMcp((server) => {
    server.registerTool(
      "add",
      { description: "Adds", inputSchema: z.object({ a: z.number(), b: z.number() }) },
      ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] })
    );
  });
}

function worldWith(handler: Handler): McpWorld {
  const world = new McpWorld();
  world.origins.set(ORIGIN, handler);
  return world;
}

const add = { name: "add", arguments: { a: 2, b: 3 } };
const FIVE = { content: [{ type: "text", text: "5" }] };

/** Lets everything run that waits for nothing but promises and streams. */
async function settle(until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !until(); turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(until()).toBe(true);
}

describe("connecting", () => {
  test("a server that is added is ready, with its tools, instructions and capabilities", async () => {
    const world = worldWith(arithmetic().handler);
    const added = await world.manager.addServer("a", URL_A);
    expect(added).toEqual({ id: expect.stringMatching(/^[a-z][a-z0-9]{7}$/), state: "ready" });
    const state = world.manager.state();
    expect(state.servers[added.id]).toMatchObject({ name: "a", state: "ready", instructions: "Be kind.", error: null });
    expect(state.servers[added.id]?.capabilities).toMatchObject({ tools: {} });
    expect(state.tools).toMatchObject([{ name: "add", serverId: added.id, toolKey: `tool_${added.id}_add` }]);
    expect(await world.manager.callTool({ serverId: added.id, ...add })).toMatchObject(FIVE);
  });

  test("clients are told of every state on the way", async () => {
    const world = worldWith(arithmetic().handler);
    const states: string[] = [];
    world.manager.onServerStateChanged(() => states.push(Object.values(world.manager.state().servers)[0]!.state));
    await world.manager.addServer("a", URL_A);
    expect([...new Set(states)]).toEqual(["connecting", "connected", "discovering", "ready"]);
    expect(world.events.map(([name]) => name)).toEqual([
      "mcp:client:preconnect",
      "mcp:client:connect",
      "mcp:client:discover"
    ]);
  });

  test("a server that cannot be reached fails the call, stays stored, and is retried by the next one", async () => {
    const world = new McpWorld();
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow(/"a" could not be reached: .*refused/);
    expect(world.manager.listServers()[0]).toMatchObject({ state: "failed" });
    world.origins.set(ORIGIN, arithmetic().handler);
    expect(await world.manager.addServer("a", URL_A)).toMatchObject({ state: "ready" });
    expect(world.manager.listServers()).toHaveLength(1);
  });

  test("a server that never answers fails after 15 seconds", async () => {
    const world = worldWith(() => new Promise(() => undefined));
    const added = world.manager.addServer("a", URL_A).catch(String);
    await settle(() => world.sent.length > 0 && world.clock.waits().includes(15_000));
    world.clock.advance(15_000);
    expect(await added).toMatch(/did not answer within 15000 ms/);
  });

  test("what a server says about a failure is cut and cleaned before clients see it", async () => {
    const world = worldWith(() => new Response(`\u001b[31mbad\u0007\n${"x".repeat(5_000)}`, { status: 400 }));
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow(/bad/);
    const [server] = world.manager.listServers();
    expect(server!.error).not.toMatch(/\p{Cc}/u);
    expect(server!.error).toHaveLength(503);
    expect(server!.error).toMatch(/\.\.\.$/);
  });

  test("without the client package the error names it", async () => {
    const world = worldWith(arithmetic().handler);
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    const { McpPackageMissingError } = await import("./errors.ts");
    world.loadProtocol = async () => {
      throw new McpPackageMissingError(missing);
    };
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow(/"@modelcontextprotocol\/client"/);
  });

  test("nothing about sampling, elicitation or roots is advertised", async () => {
    let initialize: unknown;
    const served = arithmetic();
    const world = worldWith(async (request) => {
      const body = request.method === "POST" ? ((await request.clone().json()) as { method?: string }) : {};
      if (body.method === "initialize") initialize = body;
      return served.handler(request);
    });
    await world.manager.addServer("a", URL_A);
    expect(initialize).toMatchObject({ params: { capabilities: {} } });
    expect(JSON.stringify(initialize)).not.toMatch(/elicitation|sampling|roots/);
  });
});

describe("adding again", () => {
  test("the same name and address is the same server, however the address is spelled", async () => {
    const world = worldWith(arithmetic().handler);
    const first = await world.manager.addServer("a", URL_A);
    const again = await world.manager.addServer("a", "https://A.example.com:443/mcp/");
    expect(again).toEqual(first);
    expect(world.rpcs().filter((rpc) => rpc === "initialize")).toHaveLength(1);
    await world.manager.addServer("b", URL_A);
    await world.manager.addServer("a", `${ORIGIN}/other`);
    expect(world.manager.listServers()).toHaveLength(3);
  });

  test("an id is normalized, and refused where another server has it", async () => {
    const world = worldWith(arithmetic().handler);
    expect(await world.manager.addServer("a", URL_A, { id: "  My Server!! 2 " })).toMatchObject({ id: "my-server-2" });
    expect(await world.manager.addServer("b", URL_A, { id: "42" })).toMatchObject({ id: "id-42" });
    await expect(world.manager.addServer("c", URL_A, { id: "my-server-2" })).rejects.toThrow(/belongs to another/);
    expect(world.manager.listServers()).toHaveLength(2);
  });

  test("a server gets the id it is added with later, and keeps its tools", async () => {
    const world = worldWith(arithmetic().handler);
    await world.manager.addServer("a", URL_A);
    expect(await world.manager.addServer("a", URL_A, { id: "calc" })).toEqual({ id: "calc", state: "ready" });
    expect(world.manager.listTools()).toMatchObject([{ serverId: "calc", name: "add" }]);
    expect(world.manager.listServers()).toHaveLength(1);
  });

  test("new headers replace the stored ones and are used at once; a call without options keeps them", async () => {
    const world = worldWith(arithmetic().handler);
    const last = () => world.sent.findLast(({ method }) => method === "POST")!.headers.get("x-key");
    await world.manager.addServer("a", URL_A, { transport: { headers: new Headers({ "X-Key": "one" }) } });
    expect(last()).toBe("one");
    await world.manager.addServer("a", URL_A, { transport: { headers: { "X-Key": "two" } } });
    expect(last()).toBe("two");
    const { length } = world.sent;
    await world.manager.addServer("a", URL_A);
    expect(world.sent).toHaveLength(length);
    expect(world.store.list()[0]!.options.headers).toEqual({ "x-key": "two" });
  });

  test("headers that could not survive a restart are refused", async () => {
    const world = new McpWorld();
    const headers = (() => ({ a: "b" })) as never;
    await expect(world.manager.addServer("a", URL_A, { transport: { headers } })).rejects.toThrow(/function/);
    const invalid = { transport: { headers: { "bad name": "x" } } };
    await expect(world.manager.addServer("a", URL_A, invalid)).rejects.toThrow(/cannot be sent/);
    expect(world.manager.listServers()).toEqual([]);
  });

  test("the 51st server is refused", async () => {
    const world = new McpWorld();
    for (let count = 0; count < 50; count += 1) {
      world.manager.registerServer(`s${count}`, { name: `s${count}`, url: URL_A });
    }
    expect(() => world.manager.registerServer("last", { name: "last", url: URL_A })).toThrow(/already has 50/);
  });
});

describe("transports", () => {
  test.each([404, 405, 501])("a server that answers %i to streamable HTTP is tried over SSE", async (status) => {
    const world = worldWith((request) =>
      request.method === "POST" ? new Response("no", { status }) : new Response("nor this", { status: 418 })
    );
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow();
    expect(world.sent.map(({ method }) => method)).toContain("GET");
  });

  test.each([400, 403, 500, 503])("a server that answers %i is not", async (status) => {
    const world = worldWith(() => new Response("error 404 405", { status }));
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow();
    expect(world.sent.map(({ method }) => method)).not.toContain("GET");
  });

  test("a server that fails at messages it does not know is spoken to in the older way", async () => {
    const served = arithmetic();
    const world = worldWith(async (request) => {
      const isProbe = request.method === "POST" && (await request.clone().text()).includes("server/discover");
      return isProbe ? new Response("unknown method", { status: 500 }) : served.handler(request);
    });
    expect(await world.manager.addServer("a", URL_A)).toMatchObject({ state: "ready" });
  });

  test("a transport that is named is the only one that is tried", async () => {
    const world = worldWith(() => new Response("no", { status: 404 }));
    const options = { transport: { type: "streamable-http" as const } };
    await expect(world.manager.addServer("a", URL_A, options)).rejects.toThrow();
    expect(world.sent.map(({ method }) => method)).not.toContain("GET");
  });
});

describe("the guard on every hop", () => {
  test("a blocked address is refused before anything is stored", async () => {
    const world = new McpWorld();
    await expect(world.manager.addServer("a", "http://169.254.169.254/")).rejects.toThrow(/^Blocked URL/);
    expect(world.manager.listServers()).toEqual([]);
    expect(world.sql.all("SELECT name FROM sqlite_master WHERE name LIKE 'cf_mcp%'")).toEqual([]);
  });

  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://localhost:9000/admin",
    "http://10.0.0.1.nip.io/",
    "https://elsewhere.example.net/mcp"
  ])("a redirect to %s is not followed", async (location) => {
    const world = worldWith(() => new Response(null, { status: 307, headers: { location } }));
    await expect(world.manager.addServer("a", URL_A)).rejects.toThrow();
    expect(new Set(world.sent.map(({ url }) => new URL(url).origin))).toEqual(new Set([ORIGIN]));
  });

  test("a redirect within the server's own origin is followed", async () => {
    const served = arithmetic();
    const world = worldWith((request) => {
      if (new URL(request.url).pathname === "/v2") return served.handler(request);
      return new Response(null, { status: 307, headers: { location: "/v2" } });
    });
    expect(await world.manager.addServer("a", URL_A)).toMatchObject({ state: "ready" });
  });
});

describe("removing", () => {
  test("a removed server's session is ended and nothing of it is left", async () => {
    const served = arithmetic();
    const world = worldWith(served.handler);
    const { id } = await world.manager.addServer("a", URL_A);
    expect(served.servers.size).toBe(1);
    world.store.writeCredential(world.store.get(id)!, "tokens", { access_token: "secret" });
    await world.manager.removeServer(id);
    expect(served.servers.size).toBe(0);
    expect(world.manager.state()).toEqual({ servers: {}, tools: [], prompts: [], resources: [] });
    expect(world.sql.all("SELECT * FROM cf_mcp_credentials")).toEqual([]);
    await expect(world.manager.callTool({ serverId: id, ...add })).rejects.toThrow(/no MCP server with the id/);
  });

  test("a server that hangs when its session is ended is removed all the same", async () => {
    const served = arithmetic();
    const world = worldWith((request) =>
      request.method === "DELETE" ? new Promise<Response>(() => undefined) : served.handler(request)
    );
    const { id } = await world.manager.addServer("a", URL_A);
    const removed = world.manager.removeServer(id);
    await settle(() => world.clock.waits().includes(5_000));
    world.clock.advance(5_000);
    await removed;
    expect(world.manager.listServers()).toEqual([]);
  });

  test("a server that is removed while it connects leaves nothing behind", async () => {
    const served = arithmetic();
    let release: (() => void) | undefined;
    const world = worldWith(async (request) => {
      await new Promise<void>((resolve) => (release = resolve));
      return served.handler(request);
    });
    const added = world.manager.addServer("a", URL_A).catch(String);
    await settle(() => release !== undefined);
    await world.manager.removeServer(world.manager.listServers()[0]!.id);
    release?.();
    expect(await added).toMatch(/removed/);
    expect(world.manager.listServers()).toEqual([]);
  });

  test("a line that is open at the moment its server is removed is closed, and its session ended", async () => {
    const served = arithmetic();
    const world = worldWith(served.handler);
    let removed: Promise<void> | undefined;
    world.loadProtocol = async (services) => {
      const protocol = await openProtocol(services);
      const connect = protocol.connect.bind(protocol);
      protocol.connect = async (init) => {
        const link = await connect(init);
        removed = world.manager.removeServer("a");
        return link;
      };
      return protocol;
    };
    const added = world.manager.addServer("a", URL_A, { id: "a" }).catch(String);
    expect(await added).toMatch(/removed/);
    await removed;
    await settle(() => served.servers.size === 0);
    expect(world.sent.filter(({ method }) => method === "DELETE")).toHaveLength(1);
    expect(world.manager.listServers()).toEqual([]);
  });

  test("a connection that is closed keeps its server", async () => {
    const world = worldWith(arithmetic().handler);
    const { id } = await world.manager.addServer("a", URL_A);
    await world.manager.closeConnection(id);
    expect(world.manager.listServers()).toMatchObject([{ id, state: "not-connected" }]);
    expect(world.manager.listTools()).toEqual([]);
    expect(await world.manager.establishConnection(id)).toEqual({ state: "ready" });
  });
});
