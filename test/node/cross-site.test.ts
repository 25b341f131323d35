// Pages of other sites: what they may not do by default, what an application can open, and where approvals are answered.
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { Agent, getAgentByName, routeAgentRequest, type AgentRoutingOptions } from "../../src/agent-class/index.ts";
import { action, Think } from "../../src/index.ts";
import { createScript, createTestHost, reply, scriptedModel, text, toolCall } from "../../src/testing/index.ts";

const starts: string[] = [];

class Desk extends Agent {
  override onStart() {
    starts.push(this.name);
  }
  override async onRequest(request: Request) {
    return new Response(`${this.constructor.name} ${request.method} ${new URL(request.url).pathname}`);
  }
}

class Open extends Desk {
  static override options = { allowedOrigins: ["https://app.example.com", "https://Port.example:443/"] };
}

class Below extends Desk {}

class Payer extends Think {
  override getModel() {
    return scriptedModel(createScript([reply(toolCall("pay", {}, { id: "c1" })), reply(text("Asked."))]));
  }
  override getActions() {
    return { pay: action({ description: "Pays.", inputSchema: z.object({}), approval: true, execute: () => "paid" }) };
  }
  override onRequest(request: Request) {
    return new Response(`mine: ${new URL(request.url).pathname}`);
  }
}

let warn: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  starts.length = 0;
  warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  warn.mockClear();
});

let options: AgentRoutingOptions;
function open(given: AgentRoutingOptions = {}) {
  options = given;
  return createTestHost({
    agents: { Desk, Open, Payer },
    exports: [Below],
    worker: {
      async fetch(request, env) {
        const { pathname } = new URL(request.url);
        // A route of the application's own.
        if (pathname.startsWith("/mine/")) return (await getAgentByName(env.Desk, "own")).fetch(request);
        return (await routeAgentRequest(request, env, options)) ?? new Response("none", { status: 404 });
      }
    }
  });
}

interface Sent {
  url: string;
  origin: string | undefined;
  method?: string;
  headers?: Record<string, string>;
}

/** `WS` is an upgrade. */
function requestOf({ url, origin, method = "POST", headers = {} }: Sent): Request {
  const all = { ...headers, ...(origin !== undefined && { Origin: origin }) };
  if (method === "WS") return new Request(url, { headers: { ...all, Upgrade: "websocket" } });
  return new Request(url, { method, headers: all });
}

const HERE = "https://agents.example.com";
const FOREIGN = [
  "https://evil.example",
  "http://evil.example",
  "https://agents.example.com.evil.example",
  "https://evil.example:8443",
  "https://example.com",
  "https://sub.agents.example.com",
  "https://agents.example.com:8443",
  "http://localhost",
  "http://localhost:3000",
  "http://127.0.0.1:8787",
  "http://192.168.1.2",
  "null",
  "",
  "not an origin",
  "file://",
  "chrome-extension://abcdefgh",
  "https://"
];
const CHANGING = ["WS", "POST", "PUT", "PATCH", "DELETE"];
const ADDRESSES = [
  "/agents/desk/a",
  "/agents/desk/a/some/path",
  "/agents/desk/a/sub/below/b",
  "/mine/desk",
  "/agents/payer/p/approvals/x",
  "/agents/payer/p/chat",
  "/agents/payer/p/v1/chat/completions",
  "/agents/payer/p/submit",
  "/agents/payer/p/workspace/notes.md",
  "/agents/payer/p/inspect/v1/turns"
];

test("a page of another site can neither connect nor send what changes something, whichever address it tries", async () => {
  const host = open();
  const answered = new Map<string, number>();
  for (const url of ADDRESSES) {
    for (const origin of FOREIGN) {
      for (const method of CHANGING) {
        const response = await host.fetch(requestOf({ url: HERE + url, origin, method }));
        answered.set(`${method} ${url} ${origin}`, response.status);
      }
    }
  }
  // The same against a server on the visitor's own machine, from a page on the internet.
  for (const origin of FOREIGN.filter((one) => !/localhost|127\./.test(one))) {
    for (const method of CHANGING) {
      const response = await host.fetch(requestOf({ url: "http://localhost:8787/agents/desk/a", origin, method }));
      answered.set(`${method} local ${origin}`, response.status);
    }
  }
  expect([...answered].filter(([, status]) => status !== 403)).toEqual([]);
  expect(answered.size).toBe(920);
  // Only "own" was started, by the application itself.
  expect(new Set(starts)).toEqual(new Set(["own"]));
});

test("the log names the origin and the option, once per origin", async () => {
  const host = open();
  for (let count = 0; count < 3; count += 1) {
    await host.fetch(requestOf({ url: `${HERE}/agents/desk/a`, origin: "https://logged.example" }));
  }
  expect(warn).toHaveBeenCalledTimes(1);
  expect(String(warn.mock.calls[0])).toMatch(/"https:\/\/logged\.example".*allowedOrigins/);
});

test.each<[string, Sent]>([
  ["a program, which sends no Origin", { url: HERE, origin: undefined }],
  ["a page of the same host", { url: HERE, origin: HERE }],
  ["a page of the same host behind a proxy that ends TLS", { url: "http://agents.example.com", origin: HERE }],
  ["a page of the same host and port", { url: "http://a.example:81", origin: "http://a.example:81" }],
  [
    "a page on this machine, for an agent on this machine",
    { url: "http://localhost:8787", origin: "http://127.0.0.1:5173" }
  ],
  ["the same over IPv6", { url: "http://[::1]:8787", origin: "http://app.localhost:5173" }],
  ["a page whose host a route rewrote", { url: "http://inside", origin: HERE, headers: { Host: "agents.example.com" } }]
])("%s gets through", async (_who, sent) => {
  const host = open();
  for (const method of CHANGING) {
    const response = await host.fetch(requestOf({ ...sent, url: `${sent.url}/agents/desk/a`, method }));
    expect([method, response.status]).toEqual([method, method === "WS" ? 101 : 200]);
  }
});

test("what only reads is answered for every site: browsers keep the answer from its page", async () => {
  const host = open();
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    const response = await host.fetch(
      requestOf({ url: `${HERE}/agents/desk/a`, origin: "https://evil.example", method })
    );
    expect([method, response.status]).toEqual([method, 200]);
  }
});

const APP = "https://app.example.com";
const OTHER = "https://other.example.com";
const status = async (host: ReturnType<typeof open>, sent: Sent) => (await host.fetch(requestOf(sent))).status;

test.each<[string, AgentRoutingOptions["allowedOrigins"]]>([
  ["a list", [APP]],
  ["a list with a slash and the default port", ["https://app.example.com:443/"]],
  ["a function", (origin) => origin === APP]
])("allowedOrigins of the route opens it for %s, and for no other", async (_how, allowedOrigins) => {
  const host = open({ allowedOrigins });
  for (const method of CHANGING) {
    const url = `${HERE}/agents/desk/a`;
    expect(await status(host, { url, origin: APP, method })).toBe(method === "WS" ? 101 : 200);
    expect(await status(host, { url: `${url}/sub/below/b`, origin: APP, method })).toBe(method === "WS" ? 101 : 200);
    expect(await status(host, { url, origin: OTHER, method })).toBe(403);
    expect(await status(host, { url, origin: "null", method })).toBe(403);
  }
});

test("a route's refusal wakes no agent and asks no hook, and carries the headers a page needs to read it", async () => {
  const asked: string[] = [];
  const host = open({ allowedOrigins: [], cors: true, onBeforeRequest: () => void asked.push("asked") });
  const response = await host.fetch(requestOf({ url: `${HERE}/agents/desk/a`, origin: OTHER }));
  expect([response.status, response.headers.get("Access-Control-Allow-Origin")]).toEqual([403, "*"]);
  expect([starts, asked]).toEqual([[], []]);
});

test('"*" allows every site, "null" pages without one', async () => {
  const url = `${HERE}/agents/desk/a`;
  expect(await status(open({ allowedOrigins: ["*"] }), { url, origin: "null", method: "WS" })).toBe(101);
  expect(await status(open({ allowedOrigins: ["null"] }), { url, origin: "null", method: "WS" })).toBe(101);
  expect(await status(open({ allowedOrigins: ["null"] }), { url, origin: OTHER, method: "WS" })).toBe(403);
});

test("allowedOrigins of the class opens it too, also under a route without a list; a route's list wins", async () => {
  const url = `${HERE}/agents/open/a`;
  expect(await status(open(), { url, origin: APP, method: "WS" })).toBe(101);
  expect(await status(open(), { url, origin: "https://port.example" })).toBe(200);
  expect(await status(open(), { url, origin: OTHER })).toBe(403);
  expect(await status(open({ allowedOrigins: [OTHER] }), { url, origin: APP })).toBe(403);
  expect(await status(open({ allowedOrigins: [OTHER] }), { url, origin: OTHER })).toBe(200);
});

test("a client's own word for its origin counts for nothing", async () => {
  const headers = { "x-everthink-origin": "allowed" };
  expect(await status(open(), { url: `${HERE}/agents/desk/a`, origin: OTHER, headers })).toBe(403);
  expect(await status(open({ allowedOrigins: [APP] }), { url: `${HERE}/agents/desk/a`, origin: OTHER, headers })).toBe(
    403
  );
});

test("a list with something that is no origin is refused where it is written", async () => {
  const host = open({ allowedOrigins: ["app.example.com"] });
  await expect(host.fetch(requestOf({ url: `${HERE}/agents/desk/a`, origin: APP }))).rejects.toMatchObject({
    code: "allowed-origins-invalid",
    message: 'allowedOrigins contains "app.example.com", which is not an origin.'
  });
});

test("approvals are answered at the agent's own address and nowhere else", async () => {
  const host = open();
  const mine = async (path: string, init?: RequestInit) => (await host.fetch(path, init)).text();
  for (const path of [
    "/agents/payer/a/approvals",
    "/agents/payer/a/approvals/some-id",
    "/agents/payer/a%20b/approvals"
  ]) {
    expect([path, await mine(path)]).toEqual([path, "[]"]);
  }
  for (const path of [
    "/agents/payer/a/files/approvals",
    "/agents/payer/a/files/approvals/1",
    "/agents/payer/a/payer/a/approvals",
    "/agents/payer/a/approvals/1/2",
    "/agents/payer/a/approvals/",
    "/agents/payer/a/my-approvals"
  ]) {
    for (const init of [{}, { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } }]) {
      expect([path, await mine(path, init)]).toEqual([path, `mine: ${path}`]);
    }
  }
});

// Last: what was logged is remembered as long as the process.
test("a hundred origins are logged, each once, and no more: the log is not a client's to fill", async () => {
  const host = open();
  const refused = async (origin: string) =>
    (await host.fetch(requestOf({ url: `${HERE}/agents/desk/a`, origin }))).status;
  for (let count = 0; count < 150; count += 1) expect(await refused(`https://site-${count}.example`)).toBe(403);
  expect(warn.mock.calls.length).toBeLessThanOrEqual(100);
});
