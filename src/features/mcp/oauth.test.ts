import { describe, expect, test } from "vitest";
import { z } from "zod";
import { StoredCredentials } from "./credentials.ts";
import { checkedPage } from "./login.ts";
import { McpWorld } from "./mcp-kit.test-support.ts";
import { ProtectedMcp } from "./oauth-server.test-support.ts";
import { textResult } from "./raw-mcp.test-support.ts";
import { serveMcp } from "./served-mcp.test-support.ts";

const MCP_URL = "https://mcp.example.com/mcp";
const LOGIN = "https://login.example.com";
const CALLBACK = "https://agent.example.org/agents/assistant/me/callback";

function protectedWorld() {
  const served = serveMcp((server) => {
    server.registerTool("whoami", { inputSchema: z.object({}) }, () => textResult("you"));
  });
  const server = new ProtectedMcp({ mcpUrl: MCP_URL, loginOrigin: LOGIN, mcp: served.handler });
  const world = new McpWorld();
  world.origins.set("https://mcp.example.com", server.resource);
  world.origins.set(LOGIN, server.login);
  const add = () => world.manager.addServer("mine", MCP_URL, { id: "mine", callbackUrl: CALLBACK });
  /** What the user's browser does with a login page: the address it is sent back to. */
  const visit = async (authUrl: string) => {
    const response = await server.login(new Request(authUrl));
    return response.headers.get("location")!;
  };
  const callback = async (url: string, init?: RequestInit) =>
    world.manager.handleCallbackRequest(new Request(url, init));
  const whoami = () => world.manager.callTool({ serverId: "mine", name: "whoami" });
  return { world, served, server, add, visit, callback, whoami };
}

type Scene = ReturnType<typeof protectedWorld>;

async function authUrlOf({ add }: Scene): Promise<string> {
  const added = await add();
  if (added.state !== "authenticating") throw new Error("no login was asked for");
  return added.authUrl;
}

async function logIn(scene: Scene): Promise<void> {
  await scene.callback(await scene.visit(await authUrlOf(scene)));
  await scene.world.manager.waitForConnections();
  expect(scene.world.manager.listServers()).toMatchObject([{ state: "ready" }]);
}

function changed(url: string, change: (params: URLSearchParams) => void): string {
  const next = new URL(url);
  change(next.searchParams);
  return next.href;
}

describe("logging in", () => {
  test("a server that asks for it gives a page; after the callback its tools are there", async () => {
    const scene = protectedWorld();
    const { world, server } = scene;
    const page = new URL(await authUrlOf(scene));
    expect(page.origin).toBe(LOGIN);
    expect(page.searchParams.get("state")).toMatch(/^[\w-]{21}\.mine$/);
    expect(world.manager.state().servers["mine"]).toMatchObject({ state: "authenticating", auth_url: page.href });
    const response = await scene.callback(await scene.visit(page.href));
    expect(response?.status).toBe(302);
    expect(response?.headers.get("location")).toBe("https://agent.example.org/");
    await world.manager.waitForConnections();
    expect(world.manager.state().servers["mine"]).toMatchObject({ state: "ready", auth_url: null, error: null });
    expect(await scene.whoami()).toMatchObject(textResult("you"));
    expect(server.registrations).toEqual([{ clientId: "client-1", redirectUris: [CALLBACK] }]);
    expect(world.events.map(([name]) => name)).toContain("mcp:client:authorize");
    expect(world.store.get("mine")).toMatchObject({ clientId: "client-1", authUrl: null });
  });

  test("a restart between the page and the callback loses nothing", async () => {
    const scene = protectedWorld();
    const page = await authUrlOf(scene);
    const sent = scene.world.sent.length;
    scene.world.restart();
    expect(scene.world.manager.state().servers["mine"]).toMatchObject({ state: "authenticating", auth_url: page });
    expect(scene.world.sent).toHaveLength(sent);
    expect(await scene.add()).toMatchObject({ state: "authenticating", authUrl: page });
    await scene.callback(await scene.visit(page));
    await scene.world.manager.waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("a restart after the login uses the tokens", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    await scene.world.restart().waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
    expect(scene.server.exchanges).toHaveLength(1);
  });

  test("a process that dies after the state was used up asks for a new login at its next start", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    // The exchange never comes back.
    scene.world.origins.set(LOGIN, () => new Promise(() => undefined));
    void scene.callback(back);
    await new Promise((resolve) => setImmediate(resolve));
    scene.world.origins.set(LOGIN, scene.server.login);
    await scene.world.restart().waitForConnections();
    const { state, auth_url: page } = scene.world.manager.state().servers["mine"]!;
    expect(state).toBe("authenticating");
    await scene.callback(await scene.visit(page!));
    await scene.world.manager.waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("two windows can log in side by side, each with its own verifier", async () => {
    const scene = protectedWorld();
    const first = await authUrlOf(scene);
    scene.world.clock.advance(9 * 60_000 + 45_000);
    const second = await authUrlOf(scene);
    expect(second).not.toBe(first);
    const [backOfFirst, backOfSecond] = [await scene.visit(first), await scene.visit(second)];
    await scene.callback(backOfFirst);
    await scene.world.manager.waitForConnections();
    expect(scene.world.manager.listServers()).toMatchObject([{ state: "ready" }]);
    // The other window is late, and no error.
    expect((await scene.callback(backOfSecond))?.headers.get("location")).toBe("https://agent.example.org/");
    expect(scene.server.exchanges).toHaveLength(1);
    expect(scene.world.sql.all("SELECT kind FROM cf_mcp_credentials WHERE kind LIKE 'state:%'")).toEqual([]);
  });

  test("a server that was carried over can be logged in to under the id it had", async () => {
    const scene = protectedWorld();
    scene.world.manager.registerServer("mine", { name: "mine", url: MCP_URL, callbackUrl: CALLBACK });
    scene.world.sql.run("UPDATE cf_mcp_servers SET id = '-V1St_X8'");
    await scene.world.restart().waitForConnections();
    const { state, auth_url: page } = scene.world.manager.state().servers["-V1St_X8"]!;
    expect(state).toBe("authenticating");
    await scene.callback(await scene.visit(page!));
    await scene.world.manager.waitForConnections();
    expect(scene.world.manager.listServers()).toMatchObject([{ id: "-V1St_X8", state: "ready" }]);
  });

  test("without a callback address the error says what to give", async () => {
    const scene = protectedWorld();
    await expect(scene.world.manager.addServer("mine", MCP_URL)).rejects.toThrow(/callbackHost/);
  });

  test("a login page that has an address without end is never shown", async () => {
    const scene = protectedWorld();
    const login = scene.server.login;
    scene.world.origins.set(LOGIN, async (request) => {
      const response = await login(request);
      if (!request.url.includes("well-known")) return response;
      const endpoint = `${LOGIN}/${"x".repeat(20_000)}`;
      return Response.json({ ...((await response.json()) as object), authorization_endpoint: endpoint });
    });
    await expect(scene.add()).rejects.toThrow(/login page has more than 16384 characters/);
    expect(scene.world.store.get("mine")!.authUrl).toBeNull();
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "blob:https://a.example/x"
  ])("%s is never shown as a login page", (page) => {
    expect(() => checkedPage(new URL(page))).toThrow("The server's login page is not a web page.");
  });

  test("a login page on the web is shown", () => {
    for (const page of ["https://login.example.com/", "http://localhost:3000/authorize?x=1"]) {
      expect(checkedPage(new URL(page)).href).toBe(page);
    }
  });

  test.each(["http://169.254.169.254/", "http://localhost:9000/", "http://10.1.2.3/"])(
    "a server cannot have the agent ask %s by naming it as its authorization server",
    async (evil) => {
      const scene = protectedWorld();
      scene.world.origins.set("https://mcp.example.com", (request) => {
        if (!request.url.includes("well-known")) {
          const header = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"`;
          return new Response(null, { status: 401, headers: { "www-authenticate": header } });
        }
        return Response.json({ resource: MCP_URL, authorization_servers: [evil] });
      });
      await expect(scene.add()).rejects.toThrow(/Blocked URL/);
      expect(scene.world.sent.filter(({ url }) => url.startsWith(evil))).toEqual([]);
    }
  );

  test("the address of a server's metadata is guarded too", async () => {
    const scene = protectedWorld();
    scene.world.origins.set("https://mcp.example.com", () => {
      const header = `Bearer resource_metadata="http://169.254.169.254/latest"`;
      return new Response(null, { status: 401, headers: { "www-authenticate": header } });
    });
    await expect(scene.add()).rejects.toThrow(/could not be reached/);
    expect(scene.world.sent.length).toBeGreaterThan(1);
    expect(scene.world.sent.filter(({ url }) => url.includes("169.254"))).toEqual([]);
  });
});

describe("callbacks that should change nothing", () => {
  test("only a GET at the server's own callback address with a state of ours is one", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    expect(await scene.callback(back, { method: "POST" })).toBeUndefined();
    expect(await scene.callback(back.replace("agent.example.org", "other.example.org"))).toBeUndefined();
    expect(await scene.callback(back.replace("/callback", "/elsewhere"))).toBeUndefined();
    for (const state of ["", "x", "a.b.c", "nonce.unknown", "../.mine"]) {
      expect(await scene.callback(changed(back, (params) => params.set("state", state)))).toBeUndefined();
    }
    expect(scene.world.manager.listServers()).toMatchObject([{ state: "authenticating" }]);
  });

  test("a forged state changes nothing, with a code or with an error", async () => {
    const scene = protectedWorld();
    const page = await authUrlOf(scene);
    const back = await scene.visit(page);
    for (const extra of [{ code: "stolen" }, { error: "access_denied", error_description: "<script>" }]) {
      const forged = changed(back, (params) => {
        params.set("state", "forgedforgedforged123.mine");
        params.delete("code");
        for (const [key, value] of Object.entries(extra)) params.set(key, value);
      });
      const response = await scene.callback(forged);
      expect(new URL(response!.headers.get("location")!).searchParams.get("error")).toMatch(/expired or was used/);
      expect(scene.world.manager.state().servers["mine"]).toMatchObject({ state: "authenticating", auth_url: page });
    }
    expect(scene.server.exchanges).toEqual([]);
    await scene.callback(back);
    await scene.world.manager.waitForConnections();
    expect(scene.world.manager.listServers()).toMatchObject([{ state: "ready" }]);
  });

  test("a state of one server does not log in to another", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    scene.world.manager.registerServer("other", {
      name: "other",
      url: "https://other.example.com",
      callbackUrl: CALLBACK
    });
    const nonce = new URL(back).searchParams.get("state")!.split(".")[0];
    await scene.callback(changed(back, (params) => params.set("state", `${nonce}.other`)));
    expect(scene.server.exchanges).toEqual([]);
  });

  test("a state works once", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    await Promise.all([scene.callback(back), scene.callback(back)]);
    await scene.world.manager.waitForConnections();
    expect(scene.server.exchanges).toHaveLength(1);
  });

  test("a login whose time is over is refused, and the page that clients are shown is replaced", async () => {
    const scene = protectedWorld();
    const page = await authUrlOf(scene);
    const back = await scene.visit(page);
    scene.world.clock.advance(10 * 60_000);
    const response = await scene.callback(back);
    expect(response?.headers.get("location")).toMatch(/error=/);
    expect(scene.server.exchanges).toEqual([]);
    await scene.world.manager.waitForConnections();
    const { auth_url: next, state } = scene.world.manager.state().servers["mine"]!;
    expect(state).toBe("authenticating");
    expect(next).not.toBe(page);
  });

  test("a page that is too old is replaced when the server is added again", async () => {
    const scene = protectedWorld();
    const page = await authUrlOf(scene);
    scene.world.clock.advance(10 * 60_000);
    const next = await authUrlOf(scene);
    expect(next).not.toBe(page);
    expect(scene.server.registrations).toHaveLength(1);
  });
});

describe("logins that fail", () => {
  test("what the login page says is the server's error; adding it again starts over", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    const denied = changed(back, (params) => {
      params.delete("code");
      params.set("error", "access_denied");
      params.set("error_description", "The user\u0007 said no");
    });
    const response = await scene.callback(denied);
    expect(new URL(response!.headers.get("location")!).searchParams.get("error")).toBe(
      "access_denied: The user said no"
    );
    expect(scene.world.manager.state().servers["mine"]).toMatchObject({
      state: "failed",
      error: "access_denied: The user said no"
    });
    expect(await scene.add()).toMatchObject({ state: "authenticating" });
  });

  test("a code that the server refuses is an error", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    await scene.callback(changed(back, (params) => params.set("code", "wrong")));
    expect(scene.world.manager.listServers()).toMatchObject([{ state: "failed" }]);
  });

  test("redirects keep what their address already asks, and a handler of one's own wins", async () => {
    const scene = protectedWorld();
    const { manager } = scene.world;
    manager.configureOAuthCallback({ successRedirect: "/done?tab=mcp", errorRedirect: "/oops?tab=mcp" });
    const back = await scene.visit(await authUrlOf(scene));
    const failed = await scene.callback(changed(back, (params) => params.set("error", "no & more")));
    expect(failed?.headers.get("location")).toBe("https://agent.example.org/oops?tab=mcp&error=no+%26+more");
    const done = await scene.callback(await scene.visit(await authUrlOf(scene)));
    expect(done?.headers.get("location")).toBe("https://agent.example.org/done?tab=mcp");
    await manager.waitForConnections();
    manager.configureOAuthCallback({ customHandler: (result) => Response.json(result) });
    const handled = await scene.callback(back);
    expect(await handled?.json()).toEqual({ serverId: "mine", authSuccess: true });
  });
});

describe("tokens", () => {
  test("an expired token is renewed without the user, once, however many calls find it expired", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    scene.server.expireTokens();
    await Promise.all([scene.whoami(), scene.whoami(), scene.whoami(), scene.whoami()]);
    expect(scene.server.refreshes).toHaveLength(1);
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("a refusal that comes after the token was renewed does not renew it again", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    scene.server.expireTokens();
    const late: (() => void)[] = [];
    scene.world.origins.set("https://mcp.example.com", async (request) => {
      const response = await scene.server.resource(request);
      if (response.status === 401 && late.length === 0) await new Promise<void>((resolve) => late.push(resolve));
      return response;
    });
    const first = scene.whoami();
    await scene.whoami();
    late[0]!();
    expect(await first).toMatchObject(textResult("you"));
    expect(scene.server.refreshes).toHaveLength(1);
  });

  test("a login that was revoked asks the user again, and the call says so", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    scene.server.revokeEverything();
    await expect(scene.whoami()).rejects.toThrow(/asks the user to log in again/);
    const { state, auth_url: page } = scene.world.manager.state().servers["mine"]!;
    expect(state).toBe("authenticating");
    await scene.callback(await scene.visit(page!));
    await scene.world.manager.waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("a token endpoint that is down does not cost the login", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    scene.server.expireTokens();
    scene.server.tokenFailure = 503;
    await expect(scene.whoami()).rejects.toThrow(/answered with status 503/);
    expect(scene.world.store.get("mine")!.authUrl).toBeNull();
    scene.server.tokenFailure = undefined;
    expect(await scene.world.manager.addServer("mine", MCP_URL)).toMatchObject({ state: "ready" });
    expect(scene.server.exchanges).toHaveLength(1);
  });

  test("another callback address is another registration", async () => {
    const scene = protectedWorld();
    await authUrlOf(scene);
    const callbackUrl = "https://new.example.org/agents/assistant/me/callback";
    scene.world.clock.advance(10 * 60_000);
    await scene.world.manager.addServer("mine", MCP_URL, { callbackUrl });
    expect(scene.server.registrations.map(({ redirectUris }) => redirectUris[0])).toEqual([CALLBACK, callbackUrl]);
  });

  test("a login page for another callback address is replaced at once", async () => {
    const scene = protectedWorld();
    const page = await authUrlOf(scene);
    const callbackUrl = "https://new.example.org/agents/assistant/me/callback";
    const again = await scene.world.manager.addServer("mine", MCP_URL, { callbackUrl });
    if (again.state !== "authenticating") throw new Error("no login was asked for");
    expect(again.authUrl).not.toBe(page);
    await scene.callback(await scene.visit(again.authUrl));
    await scene.world.manager.waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("a login that ends after its server was removed leaves nothing behind", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    const answers: (() => void)[] = [];
    scene.world.origins.set(LOGIN, async (request) => {
      const response = await scene.server.login(request);
      await new Promise<void>((resolve) => answers.push(resolve));
      return response;
    });
    const finished = scene.callback(back);
    while (answers.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await scene.world.manager.removeServer("mine");
    scene.world.origins.set(LOGIN, scene.server.login);
    answers[0]!();
    await finished;
    await scene.world.idle();
    expect(scene.server.exchanges).toHaveLength(1);
    expect(scene.world.sql.all("SELECT * FROM cf_mcp_credentials")).toEqual([]);
  });

  test("a login page of the id that a server had before it was renamed leads nowhere", async () => {
    const scene = protectedWorld();
    const back = await scene.visit(await authUrlOf(scene));
    scene.world.manager.registerServer("ours", { name: "mine", url: MCP_URL });
    expect(scene.world.sql.all("SELECT kind FROM cf_mcp_credentials WHERE kind LIKE 'state:%'")).toEqual([]);
    const forged = changed(back, (params) => params.set("state", params.get("state")!.replace(".mine", ".ours")));
    for (const url of [back, forged]) await scene.callback(url);
    await scene.world.idle();
    expect(scene.server.exchanges).toEqual([]);
  });

  test("a server that is renamed keeps its tokens", async () => {
    const scene = protectedWorld();
    await logIn(scene);
    expect(await scene.world.manager.addServer("mine", MCP_URL, { id: "ours" })).toEqual({
      id: "ours",
      state: "ready"
    });
    expect(scene.server.exchanges).toHaveLength(1);
  });

  test("a provider of one's own keeps registration and tokens, for new and for restored servers", async () => {
    const scene = protectedWorld();
    const kept = new Map<string, unknown>();
    class OwnProvider extends StoredCredentials {
      override clientInformation = () => kept.get("client");
      override saveClientInformation = (information: unknown) => void kept.set("client", information);
      override tokens = () => kept.get("tokens");
      override saveTokens = (tokens: unknown) => void kept.set("tokens", tokens);
    }
    scene.world.createOAuthProvider = (callbackUrl) =>
      new OwnProvider(scene.world.store, {
        server: { id: "mine", url: MCP_URL },
        callbackUrl,
        clientName: "own"
      });
    await logIn(scene);
    expect(kept.get("tokens")).toMatchObject({ token_type: "Bearer" });
    const kinds = scene.world.sql.all("SELECT kind FROM cf_mcp_credentials");
    expect(kinds).toEqual([{ kind: "discovery" }]);
    await scene.world.restart().waitForConnections();
    expect(await scene.whoami()).toMatchObject(textResult("you"));
  });

  test("logins that are begun again and again leave at most ten rows", async () => {
    const scene = protectedWorld();
    for (let count = 0; count < 15; count += 1) {
      await scene.add();
      await scene.world.manager.connectToServer("mine");
    }
    const rows = scene.world.sql.all("SELECT kind FROM cf_mcp_credentials WHERE kind LIKE 'state:%'");
    expect(rows).toHaveLength(10);
  });
});
