// Studio's server before an app that fails it, and on a machine without a free port.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { startStudio, type StudioOptions } from "./studio-server.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  open.push(server);
  return (server.address() as AddressInfo).port;
}

async function studioOf(origin: string, more: Partial<StudioOptions> = {}): Promise<string> {
  const target = { origin, prefix: "agents", token: "the key", query: {} };
  const options: StudioOptions = {
    folder: "/nowhere",
    target: () => target,
    agents: [],
    agent: undefined,
    instance: "default",
    canWrite: false,
    port: 0,
    ...more
  };
  const studio = await startStudio(options);
  open.push(studio);
  return studio.url;
}

test("an app that dies in the middle of an answer ends the page's request", async () => {
  const app = createServer((_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{", () => response.destroy());
  });
  const studio = await studioOf(`http://127.0.0.1:${await listening(app)}`);
  const response = await fetch(`${studio}__studio/agents/a/b/inspect/v1/agent`);
  await expect(response.text()).rejects.toThrow();
});

test("without a free port it says which were tried, and what to do", async () => {
  // The last port there is: none follows it.
  const app = createServer();
  const isOurs = await once(app.listen(65_535, "127.0.0.1"), "listening").then(
    () => true,
    () => false // Taken by another process: that serves as well.
  );
  if (isOurs) open.push(app);
  await expect(studioOf("http://127.0.0.1:1", { port: 65_535 })).rejects.toMatchObject({
    message: expect.stringContaining("Studio cannot listen on port 65535 of 127.0.0.1: "),
    hint: expect.stringContaining("--port")
  });
});

/** An app that notes what it is asked, and Studio before it. */
async function studioBeforeApp(more: Partial<StudioOptions> = {}): Promise<{ studio: string; asked: string[] }> {
  const asked: string[] = [];
  const app = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    incoming.resume().on("end", () => response.end("{}"));
  });
  return { asked, studio: await studioOf(`http://127.0.0.1:${await listening(app)}`, more) };
}

/** As it is written: `fetch` would take the dots out. */
async function statusOf(studio: string, path: string): Promise<number | undefined> {
  const sent = request({ port: new URL(studio).port, host: "127.0.0.1", path }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test.each([
  "%2e%2e/secret/inspect/v1/agent",
  "%2E%2e/%2e%2E/inspect/v1/agent",
  "../secret/inspect/v1/agent",
  "a/b/inspect/v1/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret",
  "a%2f..%2f..%2fsecret/inspect/v1/agent",
  "a/b%5c..%5c..%5c/inspect/v1/agent",
  "a/%00/inspect/v1/agent",
  "a/%zz/inspect/v1/agent"
])("no path leads out of the agents' prefix with the key: %s", async (path) => {
  const { studio, asked } = await studioBeforeApp();
  expect(await statusOf(studio, `/__studio/agents/${path}`)).toBe(404);
  expect(asked).toEqual([]);
});

test("a path of an agent is passed on as it is written", async () => {
  const { studio, asked } = await studioBeforeApp();
  expect(await statusOf(studio, "/__studio/agents/a/b%2Fc/inspect/v1/turns?limit=5")).toBe(200);
  expect(asked).toEqual(["GET /agents/a/b%2Fc/inspect/v1/turns?limit=5"]);
});

test("a body over 2 MB is refused and does not reach the app; one below it does", async () => {
  const { studio, asked } = await studioBeforeApp({ canWrite: true });
  const post = (bytes: number) =>
    fetch(`${studio}__studio/agents/a/b/inspect/v1/try`, {
      method: "POST",
      headers: { "x-everthink-studio": "1" },
      body: "x".repeat(bytes)
    });
  expect((await post(2 * 1024 * 1024 + 1)).status).toBe(413);
  expect(asked).toEqual([]);
  expect((await post(2 * 1024 * 1024)).status).toBe(200);
  expect(asked).toEqual(["POST /agents/a/b/inspect/v1/try"]);
});

test.each(["", "index.html", "agents/somewhere", "app.js"])(
  "/%s has a policy that loads and sends nothing elsewhere",
  async (path) => {
    const folder = mkdtempSync(join(tmpdir(), "everthink-studio-page-"));
    open.push({ close: () => rmSync(folder, { recursive: true, force: true }) });
    for (const name of ["index.html", "app.js"]) writeFileSync(join(folder, name), "");
    const response = await fetch((await studioOf("http://127.0.0.1:1", { folder })) + path);
    expect(response.status).toBe(200);
    const policy = Object.fromEntries(
      (response.headers.get("content-security-policy") ?? "")
        .split("; ")
        .map((rule) => rule.split(/ (.*)/s).slice(0, 2))
    ) as Record<string, string>;
    expect(policy).toMatchObject({
      "default-src": "'none'",
      "script-src": "'self'",
      "connect-src": "'self'",
      "form-action": "'none'",
      "base-uri": "'none'",
      "frame-ancestors": "'none'"
    });
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  }
);
