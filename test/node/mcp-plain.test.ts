// MCP servers of an agent without a conversation: added, shown, restored and logged in to as those of a Think. What becomes
// of their tools is the class's own business.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Agent } from "../../src/agent-class/index.ts";
import type { McpServerOptions, McpServersState } from "../../src/index.ts";
import { createTestHost, everyCrash, type TestSocket } from "../../src/testing/index.ts";
import { LIBRARY, library, open as resetScene, protectedLibrary, scene, URL_LIBRARY } from "./mcp-kit.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

class Porter extends Agent {
  static callables = ["add"];
  static atStart: ((porter: Porter) => void) | undefined;
  override mcpFetch = async (url: string | URL, init?: RequestInit) => {
    const handler = scene.origins.get(new URL(url).origin);
    if (handler === undefined) throw new TypeError("fetch failed");
    return handler(new Request(url, init));
  };
  override onStart() {
    Porter.atStart?.(this);
  }
  override shouldConnectionBeReadonly(_connection: unknown, { request }: { request: Request }) {
    return request.url.includes("readonly");
  }
  override async onRequest(request: Request) {
    return new Response(`own ${new URL(request.url).search}`);
  }
  async add(name: string, url: string, options?: McpServerOptions) {
    return this.addMcpServer(name, url, options);
  }
  async remove(id: string) {
    await this.removeMcpServer(id);
  }
  async servers(): Promise<string> {
    return JSON.stringify(this.getMcpServers());
  }
  async wait() {
    await this.mcp.waitForConnections();
  }
  async lend(book: string): Promise<string> {
    const result = await this.mcp.callTool({ serverId: "lib", name: "lend", arguments: { book } });
    return JSON.stringify(result);
  }
  async lendWithin(timeoutMs: number): Promise<string> {
    const call = { serverId: "lib", name: "lend", arguments: { book: "Emma" } };
    return JSON.stringify(await this.mcp.callTool(call, { timeoutMs }));
  }
  /** As a model call in user code would. */
  async lendAsTool(book: string): Promise<string> {
    const lend = this.mcp.getAITools({ serverId: "lib" })["tool_lib_lend"];
    return JSON.stringify(await lend?.execute({ book }, { toolCallId: "c" }));
  }
}

function open(atStart?: (porter: Porter) => void) {
  resetScene();
  Porter.atStart = atStart;
  return createTestHost({ agents: { Porter } });
}

type Host = ReturnType<typeof open>;
const porterOf = (host: Host) => host.get(Porter, "a");
const add = async (host: Host, options: object = {}) =>
  (await porterOf(host)).add("library", URL_LIBRARY, { id: "lib", ...options });
const statesOf = async (host: Host) => {
  const { servers, tools } = JSON.parse(await (await porterOf(host)).servers()) as McpServersState;
  return { states: Object.values(servers).map(({ state }) => state), tools: tools.length };
};
const shown = (socket: TestSocket) =>
  (socket.frames as { type: string; mcp: McpServersState }[]).filter(({ type }) => type === "cf_agent_mcp_servers");

test("an agent without a conversation adds a server, calls its tools, has them for the AI SDK, and removes it", async () => {
  const host = open();
  library();
  expect(await add(host)).toEqual({ id: "lib", state: "ready" });
  expect(await (await porterOf(host)).lend("Emma")).toContain("You have Emma.");
  expect(await (await porterOf(host)).lendAsTool("Persuasion")).toContain("You have Persuasion.");
  expect(scene.effects).toEqual(["lent Emma", "lent Persuasion"]);
  await (await porterOf(host)).remove("lib");
  expect(await statesOf(host)).toEqual({ states: [], tools: 0 });
});

test("a new client gets one frame with the servers, and one at every change", async () => {
  const host = open();
  library();
  const early = await host.connect("/agents/porter/a");
  await host.idle();
  expect(shown(early).map(({ mcp }) => mcp.servers)).toEqual([{}]);
  await add(host);
  await host.idle();
  expect(shown(early).at(-1)?.mcp.servers["lib"]).toMatchObject({ name: "library", state: "ready" });
  const late = await host.connect("/agents/porter/a");
  await host.idle();
  expect(shown(late)).toHaveLength(1);
  expect(shown(late)[0]?.mcp.tools.map(({ name }) => name)).toEqual(["lend", "broken"]);
});

test("a stored server reconnects after a restart without blocking the first request; a refused first attempt is retried", async () => {
  const host = open();
  const served = library();
  await add(host);
  scene.origins.delete(LIBRARY);
  await host.restart();
  expect(await (await host.fetch("/agents/porter/a")).text()).toBe("own ");
  expect((await statesOf(host)).tools).toBe(0);
  scene.origins.set(LIBRARY, served.handler);
  const waiting = (await porterOf(host)).wait();
  await host.advance(10_000);
  await waiting;
  expect(await statesOf(host)).toEqual({ states: ["ready"], tools: 2 });
});

test("a server that onStart registers connects when the start is over", async () => {
  const host = open((porter) => void porter.mcp.registerServer("lib", { name: "library", url: URL_LIBRARY }));
  library();
  await (await porterOf(host)).wait();
  expect(await statesOf(host)).toEqual({ states: ["ready"], tools: 2 });
});

describe("a server that was down", () => {
  /** Connected once, dead at the last start, and alive again. */
  async function revived() {
    const host = open();
    const served = library();
    await add(host, { retry: { maxAttempts: 1 } });
    scene.origins.delete(LIBRARY);
    await host.restart();
    await (await porterOf(host)).wait();
    expect((await statesOf(host)).states).toEqual(["failed"]);
    const asked = { count: 0 };
    scene.origins.set(LIBRARY, (request) => {
      asked.count += 1;
      return served.handler(request);
    });
    return { host, asked };
  }

  test("is tried by the call that needs it, half a minute after the last attempt at the earliest", async () => {
    const { host, asked } = await revived();
    await host.advance(29_000);
    await expect((await porterOf(host)).lend("Emma")).rejects.toThrow('The MCP server "library" is not connected');
    expect(asked.count).toBe(0);
    await host.advance(1_000);
    expect(await (await porterOf(host)).lend("Emma")).toContain("You have Emma.");
    expect(scene.effects).toEqual(["lent Emma"]);
    expect((await statesOf(host)).states).toEqual(["ready"]);
  });

  test("is tried by waitForConnections", async () => {
    const { host } = await revived();
    await host.advance(30_000);
    await (await porterOf(host)).wait();
    expect(await statesOf(host)).toEqual({ states: ["ready"], tools: 2 });
  });

  test("is tried by a look at its tools, which has them the next time", async () => {
    const { host } = await revived();
    await host.advance(30_000);
    expect(await (await porterOf(host)).lendAsTool("Emma")).toBeUndefined();
    await host.idle();
    expect(await (await porterOf(host)).lendAsTool("Emma")).toContain("You have Emma.");
  });

  test("and hangs now costs the call its own time, and no more", async () => {
    const { host } = await revived();
    await host.advance(30_000);
    scene.origins.set(LIBRARY, () => new Promise(() => undefined));
    const call = (await porterOf(host)).lendWithin(2_000).catch(String);
    await host.advance(2_000);
    expect(await call).toContain("did not answer within 2000 ms");
  });
});

test("a login ends at the agent's own address; a GET with an unrelated state reaches onRequest", async () => {
  const host = open();
  const server = protectedLibrary();
  const added = await add(host, { callbackHost: "http://localhost" });
  expect(added).toMatchObject({ state: "authenticating" });
  const other = await host.fetch("/agents/porter/a/callback?state=unrelated&code=x");
  expect([other.status, await other.text()]).toEqual([200, "own ?state=unrelated&code=x"]);
  const page = (added as { authUrl: string }).authUrl;
  const back = (await server.login(new Request(page))).headers.get("location")!;
  await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
  await host.idle();
  expect(await statesOf(host)).toEqual({ states: ["ready"], tools: 2 });
});

test.each(["http://[::ffff:a00:1]/", "http://169.254.169.254/"])("%s is refused as an MCP server", async (url) => {
  const host = open();
  await expect((await porterOf(host)).add("inside", url)).rejects.toThrow("Blocked URL");
  expect(host.sql(Porter, "a", "SELECT name FROM sqlite_master WHERE name LIKE 'cf_mcp%'")).toEqual([]);
});

describe("a server with a name of a private network", () => {
  const url = "http://mcp:8080/mcp";

  test.each([
    "http://mcp:8080/mcp",
    "http://db.internal/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://[2001::1]/"
  ])("%s is refused", async (address) => {
    const host = open();
    await expect((await porterOf(host)).add("inside", address)).rejects.toThrow("Blocked URL");
  });

  test("is used where the operator lets agents reach that network", async () => {
    resetScene();
    Porter.atStart = undefined;
    const host = createTestHost({ agents: { Porter }, env: { EVERTHINK_PRIVATE_NETWORK: "1" } });
    const served = library();
    scene.origins.set("http://mcp:8080", served.handler);
    expect(await (await host.get(Porter, "a")).add("inside", url, { id: "lib" })).toEqual({
      id: "lib",
      state: "ready"
    });
    expect(await (await host.get(Porter, "a")).lend("Emma")).toContain("You have Emma.");
    await expect((await host.get(Porter, "a")).add("number", "http://10.0.0.1/")).rejects.toThrow("Blocked URL");
  });
});

test("a readonly client cannot add a server", async () => {
  const host = open();
  library();
  const socket = await host.connect("/agents/porter/a?readonly");
  socket.send(JSON.stringify({ type: "rpc", id: "1", method: "add", args: ["library", URL_LIBRARY] }));
  await host.idle();
  expect(JSON.stringify(socket.frames)).toContain("Connection is readonly");
  expect(await statesOf(host)).toEqual({ states: [], tools: 0 });
});

test("an agent that never adds a server has no row of them: its start and its clients cost what they did", async () => {
  const host = open();
  const tables = () => host.sql(Porter, "a", "SELECT name FROM sqlite_master WHERE type = 'table'");
  await host.fetch("/agents/porter/a");
  await host.connect("/agents/porter/a");
  await host.restart();
  await host.fetch("/agents/porter/a");
  await (await porterOf(host)).remove("nothing");
  expect(tables()).toEqual([{ name: "cf_meta" }]);
});

test("killed while it connects: added again, the server is there once, ready", async () => {
  const { points } = await everyCrash({
    create: () => {
      const host = open();
      library();
      return host;
    },
    script: (host) => add(host),
    finish: async (host) => {
      await add(host);
      await host.idle();
    },
    inspect: statesOf,
    points: "writes"
  });
  expect(points).toBeGreaterThan(2);
});
