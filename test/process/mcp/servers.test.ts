// The MCP client against servers that are not ours: `@modelcontextprotocol/server-everything` as a process, over both
// transports, and an OAuth-protected server of the official package behind a real port.
import { describe, expect, test } from "vitest";
import { McpWorld, REAL_CLOCK } from "../../../src/features/mcp/mcp-kit.test-support.ts";
import { textResult } from "../../../src/features/mcp/raw-mcp.test-support.ts";
import { startEverything } from "./everything.ts";
import { serveProtected } from "./protected-server.ts";

const transports = [
  ["streamable HTTP", "streamableHttp"],
  ["SSE", "sse"]
] as const;

async function connected(transport: "streamableHttp" | "sse") {
  const server = await startEverything(transport);
  const world = new McpWorld(REAL_CLOCK);
  const retry = { maxAttempts: 500, baseDelayMs: 20, maxDelayMs: 100 };
  expect(await world.manager.addServer("everything", server.url, { id: "all", retry })).toMatchObject({
    state: "ready"
  });
  const call = (name: string, input: Record<string, unknown> = {}, signal?: AbortSignal) =>
    world.manager.callTool({ serverId: "all", name, arguments: input }, { signal });
  return { server, world, call };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe.each(transports)("server-everything over %s", (_, transport) => {
  test("its tools, resources and prompts are listed and work", async () => {
    const { world, call } = await connected(transport);
    const { manager } = world;
    const names = manager.listTools().map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["echo", "get-sum", "get-structured-content", "get-tiny-image"]));
    // Sampling and elicitation were not advertised, so the server offers no tool that needs them.
    expect(names.filter((name) => /sampling|elicitation/.test(name))).toEqual([]);
    expect(Object.keys(manager.getAITools())).toHaveLength(names.length);
    expect(await call("echo", { message: "hello" })).toMatchObject({ content: [{ text: "Echo: hello" }] });
    expect(JSON.stringify(await call("get-sum", { a: 2, b: 40 }))).toContain("42");
    expect(await call("get-structured-content", { location: "New York" })).toHaveProperty("structuredContent");
    expect(await call("get-tiny-image")).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: "image", mimeType: "image/png" })])
    });
    const [resource] = manager.listResources();
    expect(await manager.readResource({ serverId: "all", uri: resource!.uri })).toHaveProperty("contents");
    const simple = manager.listPrompts().find((prompt) => !prompt.arguments?.some(({ required }) => required));
    expect(await manager.getPrompt({ serverId: "all", name: simple!.name })).toHaveProperty("messages");
    await manager.removeServer("all");
  });

  test("a call ends when its turn is cancelled", async () => {
    const { call, world } = await connected(transport);
    const abort = new AbortController();
    const running = call("trigger-long-running-operation", { duration: 60, steps: 5 }, abort.signal).catch(String);
    await until(() => world.rpcs().includes("tools/call"));
    abort.abort(new Error("the user stopped it"));
    expect(await running).toMatch(/the user stopped it/);
    expect(await call("echo", { message: "still here" })).toMatchObject({ content: [{ text: "Echo: still here" }] });
    await world.manager.removeServer("all");
  });

  test("a server that is killed in the middle of a call fails it soon, and is used again when it is back", async () => {
    const { server, world, call } = await connected(transport);
    const running = call("trigger-long-running-operation", { duration: 60, steps: 60 }).catch(String);
    await until(() => world.rpcs().includes("tools/call"));
    await server.kill();
    // At its deadline it would say that the server did not answer.
    expect(await running).toMatch(/was lost/);
    await server.start();
    await until(() => world.manager.listServers()[0]!.state === "ready");
    expect(await call("echo", { message: "back" })).toMatchObject({ content: [{ text: "Echo: back" }] });
    await world.manager.removeServer("all");
  });

  test("an agent that restarts has its tools again", async () => {
    const { world, call } = await connected(transport);
    await world.restart().waitForConnections();
    expect(await call("echo", { message: "again" })).toMatchObject({ content: [{ text: "Echo: again" }] });
    await world.manager.removeServer("all");
  });
});

test("a server behind OAuth: a login through real redirects, a renewed token, and a restart", async () => {
  const { mcpUrl, server } = await serveProtected();
  const world = new McpWorld(REAL_CLOCK);
  const callbackUrl = "http://localhost:1/agents/assistant/me/callback";
  const added = await world.manager.addServer("mine", mcpUrl, { id: "mine", callbackUrl });
  if (added.state !== "authenticating") throw new Error("No login was asked for.");
  const page = await fetch(added.authUrl, { redirect: "manual" });
  const back = await world.manager.handleCallbackRequest(new Request(page.headers.get("location")!));
  expect(back?.headers.get("location")).toBe("http://localhost:1/");
  await world.manager.waitForConnections();
  const whoami = () => world.manager.callTool({ serverId: "mine", name: "whoami" });
  expect(await whoami()).toMatchObject(textResult("you"));
  server.expireTokens();
  expect(await whoami()).toMatchObject(textResult("you"));
  expect(server.refreshes).toHaveLength(1);
  await world.restart().waitForConnections();
  expect(await whoami()).toMatchObject(textResult("you"));
  await world.manager.removeServer("mine");
});
