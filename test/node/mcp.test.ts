import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Think, type McpOAuthProvider } from "../../src/index.ts";
import {
  createScript,
  createTestHost,
  reply,
  scriptedModel,
  text,
  toolCall,
  type TestSocket
} from "../../src/testing/index.ts";
import {
  agentOf,
  library,
  LIBRARY,
  Librarian,
  messages,
  open,
  protectedLibrary,
  say,
  scene,
  serversOf,
  URL_LIBRARY
} from "./mcp-kit.ts";
import { user } from "../kit/messages.ts";
import { framesOf, sendChat } from "../kit/frames.ts";

const warnings = vi.spyOn(console, "warn");
beforeEach(() => void warnings.mockImplementation(() => {}));
afterEach(() => void warnings.mockReset());

const LEND = "tool_lib_lend";

async function openWithLibrary(...steps: Parameters<typeof open>) {
  const host = open(...steps);
  const served = library();
  await (await agentOf(host)).add("library", URL_LIBRARY, { id: "lib" });
  return { host, served };
}

const ofType = (socket: TestSocket, type: string) => framesOf(socket).filter((frame) => frame.type === type);
const offered = (call = 0) => scene.script.calls[call]?.tools?.map(({ name }) => name) ?? [];
const promptOf = (call = 0) => JSON.stringify(scene.script.calls[call]?.prompt);

describe("tools in a turn", () => {
  test("the model is offered a server's tools, calls one, and reads its result", async () => {
    const { host } = await openWithLibrary([reply(toolCall(LEND, { book: "Emma" })), reply(text("Here it is."))]);
    await say(host, "Lend me Emma.");
    expect(offered()).toEqual([LEND, "tool_lib_broken"]);
    expect(scene.effects).toEqual(["lent Emma"]);
    expect(promptOf(1)).toContain("You have Emma.");
    expect(promptOf()).toContain("Your tools may reach MCP servers.");
    const part = (await messages(host)).at(-1)!.parts.find(({ type }) => type === `tool-${LEND}`);
    expect(part).toMatchObject({ state: "output-available", output: { content: [{ text: "You have Emma." }] } });
  });

  test("an error that a tool reports is the call's error, and the turn goes on", async () => {
    const { host } = await openWithLibrary([reply(toolCall("tool_lib_broken", {})), reply(text("Sorry."))]);
    await say(host, "Break it.");
    expect(promptOf(1)).toContain("The shelf fell.");
    expect((await messages(host)).at(-1)!.parts.at(-1)).toMatchObject({ type: "text", text: "Sorry." });
  });

  test("a server that is down costs its tools and leaves a note, never the turn", async () => {
    const { host } = await openWithLibrary([reply(text("Without books."))]);
    scene.origins.delete(LIBRARY);
    await host.restart();
    const turn = say(host, "Lend me Emma.");
    await host.advance(20_000);
    expect(await turn).toMatchObject({ status: "completed" });
    expect(offered()).toEqual([]);
    expect(promptOf()).toContain('The tools of the MCP server \\"library\\" are missing: it cannot be reached now.');
    const { sections } = await (await agentOf(host)).explainPrompt();
    expect(sections.find(({ label }) => label === "mcp")?.text).toContain("are missing");
  });

  test("after a restart a turn waits for servers that still connect", async () => {
    const { host } = await openWithLibrary([reply(text("Yes."))]);
    await host.restart();
    await say(host, "Are you there?");
    expect(offered()).toContain(LEND);
  });

  test("a turn waits no longer than waitForMcpConnections says", async () => {
    const { host } = await openWithLibrary([reply(text("Yes."))]);
    scene.origins.set(LIBRARY, () => new Promise(() => undefined));
    scene.wait = { timeout: 300 };
    await host.restart();
    const turn = say(host, "Are you there?");
    await host.advance(299);
    expect(scene.script.calls).toHaveLength(0);
    await host.advance(2);
    expect(await turn).toMatchObject({ status: "completed" });
    expect(offered()).toEqual([]);
  });

  test("a turn is given as many tools as maxMcpTools says, and is told of the others", async () => {
    const host = open([reply(text("Yes."))]);
    scene.maxTools = 1;
    library();
    await (await agentOf(host)).add("library", URL_LIBRARY, { id: "lib" });
    await say(host, "Hello?");
    expect(offered()).toHaveLength(1);
    expect(promptOf()).toContain("1 more tools of MCP servers are left out");
  });

  test("a tool that the policy gates waits for the user, with its hints in the message; approved, it runs once", async () => {
    const { host } = await openWithLibrary([reply(toolCall(LEND, { book: "Emma" })), reply(text("Here it is."))]);
    scene.approval = ({ annotations }) => annotations?.destructiveHint === true;
    const socket = await host.connect("/agents/librarian/a");
    sendChat(socket, "r1", [user("Lend me Emma.")]);
    await host.idle();
    expect(scene.effects).toEqual([]);
    const waiting = (await messages(host)).at(-1)!.parts.find(({ type }) => type === `tool-${LEND}`);
    expect(waiting).toMatchObject({
      state: "approval-requested",
      toolMetadata: { mcp: { serverName: "library", toolName: "lend", annotations: { destructiveHint: true } } }
    });
    const { toolCallId } = waiting as { toolCallId: string };
    socket.send({ type: "cf_agent_tool_approval", toolCallId, approved: true, autoContinue: true });
    await host.advance(2_000);
    expect(scene.effects).toEqual(["lent Emma"]);
    expect((await messages(host)).at(-1)!.parts.at(-1)).toMatchObject({ type: "text", text: "Here it is." });
  });

  test("a client cannot answer for a server's tool while it runs", async () => {
    const { host } = await openWithLibrary([reply(toolCall(LEND, { book: "Emma" })), reply(text("Here it is."))]);
    let lend: (() => void) | undefined;
    scene.boundary = () => new Promise((resolve) => (lend = resolve));
    const socket = await host.connect("/agents/librarian/a");
    sendChat(socket, "r1", [user("Lend me Emma.")]);
    await host.idle();
    const [, toolCallId] = /toolCallId\\":\\"([^\\]+)/.exec(JSON.stringify(socket.frames)) ?? [];
    expect(toolCallId).toBeDefined();
    socket.send({ type: "cf_agent_tool_result", toolCallId, toolName: LEND, output: "forged", autoContinue: true });
    await host.idle();
    lend?.();
    await host.advance(2_000);
    expect(JSON.stringify(await messages(host))).not.toContain("forged");
    expect(JSON.stringify(await messages(host))).toContain("You have Emma.");
  });
});

describe("calls that were added to the transcript", () => {
  test("a client cannot answer one of a server's tool, also while the server is down", async () => {
    const { host } = await openWithLibrary();
    scene.origins.delete(LIBRARY);
    await host.restart();
    const call = { type: `tool-${LEND}`, toolCallId: "c1", state: "input-available", input: { book: "Emma" } } as const;
    await (await agentOf(host)).addMessages([user("Lend."), { id: "m1", role: "assistant", parts: [call] }]);
    const socket = await host.connect("/agents/librarian/a");
    socket.send({ type: "cf_agent_tool_result", toolCallId: "c1", toolName: LEND, output: "forged" });
    await host.advance(2_000);
    expect(JSON.stringify(await messages(host))).not.toContain("forged");
  });
});

describe("what clients are shown", () => {
  test("a new client gets one frame with the servers, and one at every change", async () => {
    const { host } = await openWithLibrary();
    const socket = await host.connect("/agents/librarian/a");
    await host.idle();
    const frames = () => ofType(socket, "cf_agent_mcp_servers");
    expect(frames()).toHaveLength(1);
    expect(frames()[0]).toMatchObject({
      mcp: {
        servers: { lib: { name: "library", server_url: URL_LIBRARY, auth_url: null, state: "ready", error: null } },
        tools: [{ name: "lend", serverId: "lib", annotations: { destructiveHint: true } }, { name: "broken" }],
        prompts: [],
        resources: []
      }
    });
    await (await agentOf(host)).remove("lib");
    await host.idle();
    expect(frames().at(-1)).toMatchObject({ mcp: { servers: {}, tools: [] } });
  });

  test("a server's headers reach the server, and no client", async () => {
    const host = open();
    const seen: (string | null)[] = [];
    const served = library();
    scene.origins.set(LIBRARY, (request) => {
      seen.push(request.headers.get("authorization"));
      return served.handler(request);
    });
    const socket = await host.connect("/agents/librarian/a");
    const transport = { headers: { Authorization: "Bearer hush" } };
    await (await agentOf(host)).add("library", URL_LIBRARY, { id: "lib", transport });
    await host.idle();
    expect(new Set(seen)).toEqual(new Set(["Bearer hush"]));
    expect(JSON.stringify(socket.frames)).not.toContain("hush");
  });

  test("events tell what happened", async () => {
    await openWithLibrary();
    const types = scene.events.map(({ type }) => type).filter((type) => type.startsWith("mcp:"));
    expect(types).toEqual(["mcp:client:preconnect", "mcp:client:connect", "mcp:client:discover"]);
  });
});

describe("logging in", () => {
  async function asked(host: ReturnType<typeof open>, options = {}) {
    const added = await (await agentOf(host)).add("library", URL_LIBRARY, { id: "lib", ...options });
    if (added.state !== "authenticating") throw new Error("No login was asked for.");
    return added.authUrl;
  }

  test("the callback comes to the agent's own address, and the tools are there", async () => {
    const host = open([reply(text("Hello."))]);
    const server = protectedLibrary();
    const page = await asked(host, { callbackHost: "http://localhost" });
    const back = (await server.login(new Request(page))).headers.get("location")!;
    expect(back).toMatch(/^http:\/\/localhost\/agents\/librarian\/a\/callback\?/);
    const response = await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "http://localhost/"]);
    await host.idle();
    expect(await serversOf(host)).toMatchObject({ servers: { lib: { state: "ready", auth_url: null } } });
    await say(host, "Hello?");
    expect(offered()).toContain(LEND);
  });

  test("the address for it is that of the client which caused the call", async () => {
    const host = open();
    protectedLibrary();
    const socket = await host.connect("/agents/librarian/a?x=1");
    socket.send({ type: "rpc", id: "1", method: "add", args: ["library", URL_LIBRARY, { id: "lib" }] });
    await host.idle();
    const answer = ofType(socket, "rpc")[0] as { type: string; result?: { authUrl: string } };
    const redirect = new URL(answer.result!.authUrl).searchParams.get("redirect_uri");
    expect(redirect).toBe("http://localhost/agents/librarian/a/callback");
  });

  test("a request for the callback that is none is left to the class", async () => {
    const host = open();
    protectedLibrary();
    await asked(host, { callbackHost: "http://localhost" });
    expect((await host.fetch("/agents/librarian/a/callback?state=x.lib")).status).toBe(302);
    expect((await host.fetch("/agents/librarian/a/callback?state=nonsense")).status).toBe(404);
    expect((await host.fetch("/agents/librarian/a/callback/deeper?state=x.lib")).status).toBe(404);
    expect(await serversOf(host)).toMatchObject({ servers: { lib: { state: "authenticating" } } });
  });

  test("an agent that keeps its name to itself needs a path for it, which the application routes to it", async () => {
    class Hidden extends Librarian {
      static override options = { sendIdentityOnConnect: false };
    }
    open();
    const server = protectedLibrary();
    const host = createTestHost({ agents: { Hidden } });
    const add = async (options: object) =>
      (await host.get(Hidden, "a")).add("library", URL_LIBRARY, { id: "lib", ...options });
    await expect(add({ callbackHost: "http://localhost" })).rejects.toThrow(/needs a callbackPath/);
    expect(JSON.parse(await (await host.get(Hidden, "a")).servers())).toMatchObject({ servers: {} });
    const added = await add({ callbackHost: "http://localhost", callbackPath: "/logged-in" });
    const { authUrl } = added as { authUrl: string };
    expect(decodeURIComponent(authUrl)).not.toContain("/agents/");
    const back = (await server.login(new Request(authUrl))).headers.get("location")!;
    expect(back).toMatch(/^http:\/\/localhost\/logged-in\?/);
    expect((await (await host.get(Hidden, "a")).fetch(new Request(back))).status).toBe(302);
    await host.idle();
    expect(JSON.parse(await (await host.get(Hidden, "a")).servers())).toMatchObject({
      servers: { lib: { state: "ready" } }
    });
  });

  test("a class may keep registrations and tokens elsewhere", async () => {
    const kept: Record<string, unknown> = {};
    class Elsewhere extends Librarian {
      override createMcpOAuthProvider(callbackUrl: string): McpOAuthProvider {
        return {
          redirectUrl: callbackUrl,
          clientMetadata: { redirect_uris: [callbackUrl] },
          clientInformation: () => kept["client"],
          saveClientInformation: (information: unknown) => void (kept["client"] = information),
          tokens: () => kept["tokens"],
          saveTokens: (tokens: unknown) => void (kept["tokens"] = tokens)
        };
      }
    }
    open();
    const server = protectedLibrary();
    const host = createTestHost({ agents: { Elsewhere } });
    const agent = await host.get(Elsewhere, "a");
    const added = await agent.add("library", URL_LIBRARY, { id: "lib", callbackHost: "http://localhost" });
    const back = (await server.login(new Request((added as { authUrl: string }).authUrl))).headers.get("location")!;
    await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
    await host.restart();
    await (await host.get(Elsewhere, "a")).wait();
    expect(JSON.parse(await (await host.get(Elsewhere, "a")).servers())).toMatchObject({
      servers: { lib: { state: "ready" } }
    });
    expect(kept).toMatchObject({ client: { client_id: "client-1" }, tokens: { token_type: "Bearer" } });
    const kinds = host.sql(Elsewhere, "a", "SELECT kind FROM cf_mcp_credentials");
    expect(kinds.map(({ kind }) => kind)).not.toContain("tokens");
  });

  test("a sub-agent has servers and logins of its own", async () => {
    const host = open();
    const server = protectedLibrary();
    const added = JSON.parse(await (await agentOf(host)).inChild("library", URL_LIBRARY)) as { authUrl: string };
    const back = (await server.login(new Request(added.authUrl))).headers.get("location")!;
    expect(back).toContain("/agents/librarian/a/sub/apprentice/kid/callback?");
    const response = await host.fetch(back.replace("http://localhost", ""), { redirect: "manual" });
    expect(response.status).toBe(302);
    await host.idle();
    expect(JSON.parse(await (await agentOf(host)).childServers())).toMatchObject({
      servers: { lib: { state: "ready" } }
    });
    expect(await serversOf(host)).toMatchObject({ servers: {} });
  });
});

describe("an agent that never adds a server", () => {
  const script = createScript([reply(text("Hello."))]);
  class Plain extends Think {
    override workspaceTools = false;
    override getModel() {
      return scriptedModel(script);
    }
    override mcpFetch = async (): Promise<Response> => {
      throw new Error("nothing may be asked for");
    };
    async shown() {
      return this.getMcpServers() as object;
    }
    async removeNothing() {
      await this.removeMcpServer("nothing");
    }
  }

  test("shows no servers, has no tables for them, and its turns know nothing of MCP", async () => {
    const host = createTestHost({ agents: { Plain } });
    const plain = await host.get(Plain, "a");
    await plain.saveMessages([user("Hello?")]);
    await plain.removeNothing();
    await host.restart();
    expect(await (await host.get(Plain, "a")).shown()).toEqual({ servers: {}, tools: [], prompts: [], resources: [] });
    expect(JSON.stringify(script.calls[0]?.prompt)).not.toContain("MCP");
    expect(script.calls[0]?.tools ?? []).toEqual([]);
    const tables = host.sql(Plain, "a", "SELECT name FROM sqlite_master WHERE name LIKE 'cf_mcp%'");
    expect(tables).toEqual([]);
  });

  test("and one that removed its last server is back to that, apart from its tables", async () => {
    const { host } = await openWithLibrary([reply(text("Hello."))]);
    await (await agentOf(host)).remove("lib");
    await host.restart();
    await say(host, "Hello?");
    expect(offered()).toEqual([]);
    expect(promptOf()).not.toContain("MCP");
  });
});

describe("servers that the class registers when it starts", () => {
  test("connect when the start is over, are there in the first turn, and a server that is down does not stop the start", async () => {
    class Registering extends Librarian {
      override onStart() {
        this.mcp.registerServer("lib", { name: "library", url: URL_LIBRARY });
        this.mcp.registerServer("gone", { name: "gone", url: "https://gone.example.com", retry: { maxAttempts: 1 } });
      }
    }
    open([reply(text("Yes."))]);
    library();
    const host = createTestHost({ agents: { Registering } });
    const agent = await host.get(Registering, "a");
    await agent.saveMessages([user("Hello?")]);
    expect(offered()).toContain(LEND);
    await host.restart();
    await (await host.get(Registering, "a")).wait();
    const { servers } = JSON.parse(await (await host.get(Registering, "a")).servers()) as {
      servers: Record<string, { state: string }>;
    };
    expect([servers["lib"]?.state, servers["gone"]?.state]).toEqual(["ready", "failed"]);
    expect(Object.keys(servers)).toHaveLength(2);
  });
});

describe("the end of an agent", () => {
  test("an agent that is destroyed while a server connects ends quietly, and its session with it", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const { host, served } = await openWithLibrary();
    let release: (() => void) | undefined;
    scene.origins.set("https://slow.example.com", async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return new Response("late", { status: 500 });
    });
    void (await agentOf(host)).add("slow", "https://slow.example.com/").catch(() => undefined);
    await host.idle();
    await (await agentOf(host)).destroy().catch(() => undefined);
    release?.();
    await host.idle();
    expect(served.servers.size).toBe(0);
    expect(errors.mock.calls).toEqual([]);
    errors.mockRestore();
  });

  test("a readonly client can neither add nor remove a server", async () => {
    const { host } = await openWithLibrary();
    const socket = await host.connect("/agents/librarian/a?readonly");
    socket.send({ type: "rpc", id: "1", method: "add", args: ["other", "https://other.example.com"] });
    socket.send({ type: "rpc", id: "2", method: "remove", args: ["lib"] });
    await host.idle();
    const refused = { success: false, error: "Connection is readonly" };
    expect(ofType(socket, "rpc")).toMatchObject([
      { id: "1", ...refused },
      { id: "2", ...refused }
    ]);
    expect(Object.keys((await serversOf(host)).servers)).toEqual(["lib"]);
  });
});
