import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { getAgentByName, routeAgentRequest } from "../../src/agent-class/index.ts";
import { Room } from "../conformance/agents.ts";
import { ClientSocket } from "./client-socket.ts";
import { connect, env, errorOf, fetchPath, inside, rawStub, uniqueName, upgrade } from "./world.ts";

test("an agent is reachable under the kebab form of its binding, unknown bindings are refused, short paths fall through", async () => {
  const found = await fetchPath(`/agents/a-i-assistant/${uniqueName()}`);
  expect([found.status, await found.text()]).toEqual([404, "Not implemented"]);
  const unknown = await fetchPath("/agents/stranger/x");
  expect([unknown.status, await unknown.text()]).toEqual([400, "Invalid request"]);
  expect(await (await fetchPath("/agents/room")).text()).toBe("no agent");
  expect(await (await fetchPath("/agents/LOADER/x")).text()).toBe("Invalid request");
});

test("a preflight is answered without waking the agent, and every answer of a matched route carries the headers", async () => {
  const start = vi.spyOn(Room.prototype, "onStart");
  const path = `/agents/room/${uniqueName()}`;
  const preflight = await fetchPath(path, { method: "OPTIONS" });
  expect(preflight.headers.get("Access-Control-Allow-Methods")).toBe("GET, POST, HEAD, OPTIONS");
  expect(preflight.headers.get("Access-Control-Max-Age")).toBe("86400");
  expect(start).not.toHaveBeenCalled();
  start.mockRestore();
  for (const response of [preflight, await fetchPath(path), await fetchPath(`${path}/boom`)]) {
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    await response.body?.cancel();
  }
});

test("a name reached by URL and by getAgentByName is the same agent, whatever is in it", async () => {
  const suffix = uniqueName();
  for (const name of [`a b ${suffix}`, `a/b/${suffix}`, `grüß 😀 ${suffix}`, `100% ${suffix}`, `sub ${suffix}`]) {
    await (await getAgentByName(env.Room, name)).write({ count: 7 });
    const path = `/agents/room/${encodeURIComponent(name)}`;
    const socket = await connect(path);
    expect(await socket.next("cf_agent_identity")).toMatchObject({ name });
    expect(await socket.next("cf_agent_state")).toMatchObject({ state: { count: 7 } });
    const answer = await (await fetchPath(`${path}/x?y=1`)).json();
    expect(answer).toMatchObject({ name, search: "?y=1", sameRequest: true });
  }
});

test("a malformed name is used as it stands", async () => {
  const name = `%zz-${uniqueName()}`;
  expect(await (await fetchPath(`/agents/room/${name}/x`)).json()).toMatchObject({ name });
});

test("props reach onStart only through the call that starts the agent, with every character intact", async () => {
  const name = uniqueName();
  const route = async (greeting: string) => {
    const request = new Request(`http://agents.test/agents/room/${name}/x`);
    const response = await routeAgentRequest(request, env, { props: { greeting } });
    return response?.json();
  };
  expect(await route("grüß dich 😀\n")).toMatchObject({ name });
  expect(await route("again")).toMatchObject({ name });
  const stub = await getAgentByName(env.Room, name, { props: { greeting: "too late" } });
  expect(await stub.entries()).toEqual(["start:grüß dich 😀\n"]);
  await evictDurableObject(stub);
  expect(await stub.entries()).toEqual(["start:grüß dich 😀\n", "start:"]);
});

test("hooks decide before the agent is woken, and see the binding and the decoded name", async () => {
  const start = vi.spyOn(Room.prototype, "onStart");
  const name = `a b ${uniqueName()}`;
  const seen: unknown[] = [];
  const url = `http://agents.test/agents/room/${encodeURIComponent(name)}/x`;
  const refuse = (_request: Request, target: object) => {
    seen.push(target);
    return new Response("no", { status: 401 });
  };
  const hooks = { onBeforeConnect: refuse, onBeforeRequest: refuse, cors: true };
  const plain = await routeAgentRequest(new Request(url), env, hooks);
  expect([plain?.status, plain?.headers.get("Access-Control-Allow-Origin")]).toEqual([401, "*"]);
  const refused = await routeAgentRequest(new Request(url, { headers: { Upgrade: "websocket" } }), env, hooks);
  expect(refused?.status).toBe(401);
  expect(seen).toEqual([
    { className: "Room", name },
    { className: "Room", name }
  ]);
  expect(start).not.toHaveBeenCalled();
  start.mockRestore();
});

test("a request body and its answer stream through the route", async () => {
  const name = uniqueName();
  const response = await fetchPath(`/agents/room/${name}/x`, { method: "POST", body: "x".repeat(100_000) });
  expect(await response.json()).toMatchObject({ name });
});

test("a page of another site is refused, and one that the route allows connects, with its body streamed", async () => {
  const url = `http://agents.test/agents/room/${uniqueName()}/x`;
  const headers = { Origin: "https://app.example.com" };
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  expect((await upgrade(new URL(url).pathname, headers)).status).toBe(403);
  expect((await fetchPath(new URL(url).pathname, { method: "POST", headers, body: "x" })).status).toBe(403);
  warn.mockRestore();
  const options = { allowedOrigins: ["https://app.example.com"] };
  const opened = await routeAgentRequest(
    new Request(url, { headers: { ...headers, Upgrade: "websocket" } }),
    env,
    options
  );
  const socket = new ClientSocket(opened!.webSocket!);
  expect(await socket.next("cf_agent_identity")).toMatchObject({ agent: "room" });
  const post = new Request(url, { method: "POST", headers, body: "x".repeat(100_000) });
  expect((await routeAgentRequest(post, env, options))?.status).toBe(200);
});

test("a name longer than the platform keeps is refused in plain words, by URL and by name, and the longest works", async () => {
  const longest = "x".repeat(1024 - 40) + uniqueName().padEnd(40, "x");
  expect(await (await fetchPath(`/agents/room/${longest}/x`)).json()).toMatchObject({ name: longest });
  for (const name of [`${longest}x`, "ü".repeat(513)]) {
    const message = `The agent's name is too long: ${new TextEncoder().encode(name).byteLength} bytes, at most 1024.`;
    for (const response of [await fetchPath(`/agents/room/${name}/x`), await upgrade(`/agents/room/${name}`)]) {
      expect([response.status, await response.text()]).toEqual([400, message]);
    }
    expect(await errorOf(() => getAgentByName(env.Room, name))).toBe(message);
  }
});

test("a raw namespace stub starts the agent before any method runs, after an eviction too", async () => {
  const stub = rawStub(env.Room, uniqueName());
  expect(await stub.entries()).toEqual(["start:"]);
  await evictDurableObject(stub);
  expect(await stub.entries()).toEqual(["start:", "start:"]);
});

test("concurrent first calls on a raw stub start the agent once", async () => {
  const stub = rawStub(env.Room, uniqueName());
  await Promise.all(Array.from({ length: 10 }, () => stub.describe()));
  expect(await stub.entries()).toEqual(["start:"]);
});

test("a constructor's own calls stay synchronous and start nothing", async () => {
  const stub = rawStub(env.Clerk, uniqueName());
  const built = await inside(stub, (clerk, state) => {
    const tables = state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'log'").toArray();
    return { value: clerk.duringConstruction, tables };
  });
  expect(built).toEqual({ value: 42, tables: [] });
});

test("an agent addressed by a raw id is refused by name", async () => {
  const stub = env.Room.get(env.Room.newUniqueId());
  expect(await errorOf(() => stub.describe())).toBe("This Room has no name: it was addressed by a raw id.");
});
