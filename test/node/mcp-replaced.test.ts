// A class that is deployed with another registration of an MCP server: every agent starts, has the server that the class
// names now, and nothing that the old address was given, or gave, goes to the new one.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { Agent } from "../../src/agent-class/index.ts";
import { ProtectedMcp } from "../../src/features/mcp/oauth-server.test-support.ts";
import { textResult } from "../../src/features/mcp/raw-mcp.test-support.ts";
import { serveMcp, type Handler } from "../../src/features/mcp/served-mcp.test-support.ts";
import type { McpOAuthProvider, McpServerOptions, McpServersState } from "../../src/index.ts";
import { createTestHost, everyCrash } from "../../src/testing/index.ts";

const warnings = vi.spyOn(console, "warn");
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  warnings.mockReset().mockImplementation(() => undefined);
});

const OLD = "https://old.example.com";
const NEW = "https://new.example.com";
const LOGIN = "https://login.example.com";

/** The network outlives the process, as servers do. */
const world = {
  origins: new Map<string, Handler>(),
  sent: [] as { origin: string; headers: string; body: string }[],
  /** What the class's `onStart` does in this deploy. */
  onStart: (_agent: Reader): void | Promise<void> => undefined,
  provider: undefined as ((callbackUrl: string) => McpOAuthProvider) | undefined
};

class Reader extends Agent {
  static callables = ["add"];
  override mcpFetch = async (url: string | URL, init?: RequestInit) => {
    const request = new Request(url, init);
    const { origin } = new URL(url);
    const headers = JSON.stringify([...request.headers]);
    world.sent.push({ origin, headers, body: request.method === "POST" ? await request.clone().text() : "" });
    const handler = world.origins.get(origin);
    if (handler === undefined) throw new TypeError("fetch failed");
    return handler(request);
  };
  override onStart() {
    return world.onStart(this);
  }
  override createMcpOAuthProvider(callbackUrl: string) {
    return world.provider?.(callbackUrl);
  }
  override async onRequest() {
    return new Response("here");
  }
  async add(name: string, url: string, options?: McpServerOptions) {
    return this.addMcpServer(name, url, options);
  }
  async servers(): Promise<string> {
    return JSON.stringify(this.getMcpServers());
  }
  async wait() {
    await this.mcp.waitForConnections();
  }
  async read(serverId: string): Promise<string> {
    return JSON.stringify(await this.mcp.callTool({ serverId, name: "read" }));
  }
}

function open() {
  world.origins.clear();
  world.sent.length = 0;
  world.onStart = () => undefined;
  world.provider = undefined;
  serve(OLD);
  serve(NEW);
  return createTestHost({ agents: { Reader } });
}

type Host = ReturnType<typeof open>;

/** A server that says where it is. */
function serve(origin: string): Handler {
  const { handler } = serveMcp((server) => {
    server.registerTool("read", { inputSchema: z.object({}) }, () => textResult(`from ${origin}`));
  });
  world.origins.set(origin, handler);
  return handler;
}

/** The same behind a login, whose pages are at an origin of its own. */
function protect(origin: string, loginOrigin: string): ProtectedMcp {
  const server = new ProtectedMcp({ mcpUrl: `${origin}/mcp`, loginOrigin, mcp: serve(origin) });
  world.origins.set(origin, server.resource);
  world.origins.set(loginOrigin, server.login);
  return server;
}

type Registration = McpServerOptions & { name?: string };

const registers =
  (origin: string, { name = "docs", ...options }: Registration = {}) =>
  (agent: Reader) =>
    void agent.mcp.registerServer("docs", { name, url: `${origin}/mcp`, ...options });

const readerOf = (host: Host) => host.get(Reader, "a");

async function deploy(host: Host, onStart: typeof world.onStart): Promise<void> {
  world.onStart = onStart;
  await host.restart();
  world.sent.length = 0;
  expect((await host.fetch("/agents/reader/a")).status).toBe(200);
  await (await readerOf(host)).wait();
  await host.idle();
}

async function shown(host: Host) {
  const { servers, tools } = JSON.parse(await (await readerOf(host)).servers()) as McpServersState;
  const states = Object.entries(servers).map(([id, { name, server_url: url, state }]) => [
    id,
    name,
    new URL(url).origin,
    state
  ]);
  return { servers: states, tools: tools.map(({ toolKey }) => toolKey) };
}

/** Logs the agent in to the server that its class has registered. */
async function logIn(host: Host, server: ProtectedMcp, id = "docs"): Promise<void> {
  const { servers } = JSON.parse(await (await readerOf(host)).servers()) as McpServersState;
  const back = (await server.login(new Request(servers[id]!.auth_url!))).headers.get("location")!;
  await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
  await host.idle();
  await (await readerOf(host)).wait();
}

const secretsOf = (host: Host) =>
  JSON.stringify(host.sql(Reader, "a", "SELECT value FROM cf_mcp_credentials")).match(/[\da-f]{8}-[\da-f-]{27}/g) ?? [];
const sentTo = (origin: string) => JSON.stringify(world.sent.filter((request) => request.origin === origin));
const CALLBACK = { callbackHost: "http://localhost" };

describe("another address", () => {
  test("every agent starts, and has the tools of the new address only", async () => {
    const host = open();
    await deploy(host, registers(OLD));
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${OLD}`);
    await deploy(host, registers(NEW));
    expect(await shown(host)).toEqual({ servers: [["docs", "docs", NEW, "ready"]], tools: ["tool_docs_read"] });
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    expect(sentTo(OLD)).not.toContain("tools/call");
    expect(warnings.mock.calls.flat().join()).toContain('"docs" is at another address now: new.example.com');
  });

  test("an address that is down starts the agent all the same; it is there when the server is", async () => {
    const host = open();
    await deploy(host, registers(OLD));
    world.origins.delete(NEW);
    world.onStart = registers(NEW, { retry: { maxAttempts: 1 } });
    await host.restart();
    expect((await host.fetch("/agents/reader/a")).status).toBe(200);
    await host.idle();
    expect((await shown(host)).servers).toEqual([["docs", "docs", NEW, "failed"]]);
    serve(NEW);
    await host.restart();
    await (await readerOf(host)).wait();
    expect((await shown(host)).servers).toEqual([["docs", "docs", NEW, "ready"]]);
  });

  test("headers of the old address are not sent to the new one; those that the class names are", async () => {
    const host = open();
    await deploy(host, registers(OLD, { transport: { headers: { authorization: "Bearer old-key" } } }));
    expect(sentTo(OLD)).toContain("old-key");
    await deploy(host, registers(NEW));
    expect(sentTo(NEW)).toContain("tools/list");
    expect(sentTo(NEW)).not.toContain("old-key");
    await deploy(host, registers(OLD, { transport: { headers: { "x-key": "third" } } }));
    expect(sentTo(OLD)).toContain("third");
    expect(sentTo(OLD)).not.toContain("old-key");
  });

  test("a login at the old address is dropped: neither its tokens nor its registration nor its session reach the new one", async () => {
    const host = open();
    const old = protect(OLD, LOGIN);
    await deploy(host, registers(OLD, CALLBACK));
    await logIn(host, old);
    expect((await shown(host)).servers).toEqual([["docs", "docs", OLD, "ready"]]);
    const secrets = secretsOf(host);
    expect(secrets).toHaveLength(2);
    const session = String(host.sql(Reader, "a", "SELECT session ->> 'id' AS id FROM cf_mcp_servers")[0]!["id"]);
    const renewed = protect(NEW, "https://login.example.org");
    await deploy(host, registers(NEW, CALLBACK));
    expect((await shown(host)).servers).toEqual([["docs", "docs", NEW, "authenticating"]]);
    const sent = sentTo(NEW) + sentTo("https://login.example.org");
    for (const secret of [...secrets, session]) expect(sent).not.toContain(secret);
    expect(renewed.registrations).toHaveLength(1);
    await logIn(host, renewed);
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    const left = secretsOf(host);
    for (const secret of secrets) expect(left).not.toContain(secret);
  });

  test("a login page of the old address leads nowhere", async () => {
    const host = open();
    const old = protect(OLD, LOGIN);
    await deploy(host, registers(OLD, CALLBACK));
    const { servers } = JSON.parse(await (await readerOf(host)).servers()) as McpServersState;
    const back = (await old.login(new Request(servers["docs"]!.auth_url!))).headers.get("location")!;
    await deploy(host, registers(NEW, CALLBACK));
    const answer = await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
    expect(answer.headers.get("location")).not.toContain("code");
    await host.idle();
    expect(old.exchanges).toEqual([]);
    expect(sentTo(NEW)).not.toContain(new URL(back).searchParams.get("code"));
    expect((await shown(host)).servers).toEqual([["docs", "docs", NEW, "ready"]]);
  });

  test("a token that the old address renews while the class registers the new one is not kept", async () => {
    const host = open();
    const old = protect(OLD, LOGIN);
    await deploy(host, registers(OLD, CALLBACK));
    await logIn(host, old);
    old.expireTokens();
    let [answer, asked]: (() => void)[] = [() => undefined, () => undefined];
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const isAnswered = new Promise<void>((resolve) => (answer = resolve));
    let renewed = "";
    world.origins.set(LOGIN, async (request) => {
      const response = await old.login(request.clone() as Request);
      if (!request.url.endsWith("/token")) return response;
      asked?.();
      await isAnswered;
      renewed = ((await response.clone().json()) as { access_token: string }).access_token;
      return response;
    });
    world.onStart = async (agent) => {
      // The stored server connects from the start on, and has asked for a new token by now.
      await isAsked;
      registers(NEW, CALLBACK)(agent);
      answer?.();
    };
    await host.restart();
    world.sent.length = 0;
    expect((await host.fetch("/agents/reader/a")).status).toBe(200);
    await host.idle();
    expect(renewed).not.toBe("");
    expect(secretsOf(host)).toEqual([]);
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    expect(sentTo(NEW)).not.toContain(renewed);
  });

  test("what a provider of the class's own holds for the old address is not sent to the new one", async () => {
    const host = open();
    const kept: Record<string, unknown> = {};
    world.provider = (callbackUrl) => ({
      redirectUrl: callbackUrl,
      clientMetadata: { redirect_uris: [callbackUrl] },
      clientInformation: () => kept["client"],
      saveClientInformation: (information: unknown) => void (kept["client"] = information),
      tokens: () => kept["tokens"],
      saveTokens: (tokens: unknown) => void (kept["tokens"] = tokens)
    });
    const old = protect(OLD, LOGIN);
    await deploy(host, registers(OLD, CALLBACK));
    await logIn(host, old);
    const { access_token: secret } = kept["tokens"] as { access_token: string };
    const renewed = protect(NEW, "https://login.example.org");
    await deploy(host, registers(NEW, CALLBACK));
    expect((await shown(host)).servers).toEqual([["docs", "docs", NEW, "authenticating"]]);
    await logIn(host, renewed);
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    expect(sentTo(NEW)).not.toContain(secret);
    await host.restart();
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    expect(renewed.exchanges).toHaveLength(1);
  });

  test("killed at any write of that start, the next one has the new address and no login of the old", async () => {
    const { points } = await everyCrash({
      create: async () => {
        const host = open();
        const old = protect(OLD, LOGIN);
        await deploy(host, registers(OLD, CALLBACK));
        await logIn(host, old);
        world.onStart = registers(NEW, CALLBACK);
        await host.restart();
        return host;
      },
      script: async (host) => {
        await host.fetch("/agents/reader/a");
        await (await readerOf(host)).wait();
      },
      finish: async (host) => {
        await host.fetch("/agents/reader/a");
        await (await readerOf(host)).wait();
      },
      inspect: async (host) => ({
        ...(await shown(host)),
        secrets: secretsOf(host),
        tokens: sentTo(NEW).includes("Bearer")
      }),
      points: "both"
    });
    expect(points).toBeGreaterThan(2);
  });
});

describe("another name, transport or id", () => {
  test("a server that only has another name keeps its login", async () => {
    const host = open();
    const server = protect(OLD, LOGIN);
    await deploy(host, registers(OLD, CALLBACK));
    await logIn(host, server);
    await deploy(host, registers(OLD, { ...CALLBACK, name: "manuals" }));
    expect((await shown(host)).servers).toEqual([["docs", "manuals", OLD, "ready"]]);
    expect(server.exchanges).toHaveLength(1);
  });

  test("another transport and other headers are used from the next start on", async () => {
    const host = open();
    await deploy(host, registers(OLD, { transport: { headers: { "x-key": "one" } } }));
    await deploy(host, registers(OLD, { transport: { headers: { "x-key": "two" }, type: "streamable-http" } }));
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${OLD}`);
    expect(sentTo(OLD)).toContain("two");
  });

  test("a server that the class no longer registers stays until it is removed", async () => {
    const host = open();
    await deploy(host, registers(OLD));
    await deploy(host, () => undefined);
    expect((await shown(host)).servers).toEqual([["docs", "docs", OLD, "ready"]]);
    await deploy(host, (agent) => agent.mcp.removeServer("docs"));
    await deploy(host, (agent) => agent.mcp.removeServer("docs"));
    expect((await shown(host)).servers).toEqual([]);
  });

  test("an id too much like one of an earlier deploy does not stop the agent", async () => {
    const host = open();
    await deploy(host, registers(OLD));
    await deploy(host, (agent) => void agent.mcp.registerServer("docs_v2", { name: "docs", url: `${NEW}/mcp` }));
    const { servers, tools } = await shown(host);
    expect(servers).toEqual([
      [expect.not.stringMatching(/^docs/), "docs", OLD, "ready"],
      ["docs_v2", "docs", NEW, "ready"]
    ]);
    expect(tools).toContain("tool_docs_v2_read");
  });

  test("two addresses under one id in one start are an error that says so", async () => {
    const host = open();
    world.onStart = (agent) => {
      registers(OLD)(agent);
      expect(() => registers(NEW)(agent)).toThrow('Two MCP servers are registered under the id "docs".');
    };
    expect((await host.fetch("/agents/reader/a")).status).toBe(200);
    expect((await shown(host)).servers).toMatchObject([["docs", "docs", OLD, expect.any(String)]]);
  });

  test("onStart may also use addMcpServer with an id", async () => {
    const host = open();
    const adds = (origin: string) => async (agent: Reader) => {
      await agent.addMcpServer("docs", `${origin}/mcp`, { id: "docs" });
    };
    await deploy(host, adds(OLD));
    await deploy(host, adds(NEW));
    expect(await shown(host)).toEqual({ servers: [["docs", "docs", NEW, "ready"]], tools: ["tool_docs_read"] });
  });
});

describe("a server that a user added", () => {
  test("under an id that the class registers later, it keeps its login under another id", async () => {
    const host = open();
    const server = protect(OLD, LOGIN);
    await (await readerOf(host)).add("mine", `${OLD}/mcp`, { id: "docs", ...CALLBACK });
    await logIn(host, server);
    await deploy(host, registers(NEW));
    const { servers } = await shown(host);
    expect(servers).toEqual([
      [expect.not.stringMatching(/^docs$/), "mine", OLD, "ready"],
      ["docs", "docs", NEW, "ready"]
    ]);
    expect(await (await readerOf(host)).read(String(servers[0]![0]))).toContain(`from ${OLD}`);
    expect(await (await readerOf(host)).read("docs")).toContain(`from ${NEW}`);
    expect(server.exchanges).toHaveLength(1);
    expect(warnings.mock.calls.flat().join()).toContain('The MCP server "mine" has the id');
    await deploy(host, registers(NEW));
    expect((await shown(host)).servers).toEqual(servers);
  });

  test("cannot take the place of one that the class registered", async () => {
    const host = open();
    await deploy(host, registers(OLD));
    const added = (await readerOf(host)).add("docs", `${NEW}/mcp`, { id: "docs" });
    await expect(added).rejects.toThrow(/belongs to another MCP server/);
    expect((await shown(host)).servers).toEqual([["docs", "docs", OLD, "ready"]]);
  });

  test("at the address that the class registers is the class's server with the user's headers", async () => {
    const host = open();
    const headers = { "x-key": "mine" };
    await (await readerOf(host)).add("docs", `${OLD}/mcp`, { transport: { headers } });
    await deploy(host, registers(OLD));
    expect((await shown(host)).servers).toEqual([["docs", "docs", OLD, "ready"]]);
    expect(sentTo(OLD)).toContain("mine");
  });
});
