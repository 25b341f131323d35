// Studio's server before an app that fails it, and on a machine without a free port.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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

async function studioOf(origin: string, port = 0): Promise<string> {
  const target = { origin, prefix: "agents", token: undefined, query: {} };
  const options: StudioOptions = {
    folder: "/nowhere",
    target: () => target,
    agents: [],
    agent: undefined,
    instance: "default",
    canWrite: false,
    port
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
  await expect(studioOf("http://127.0.0.1:1", 65_535)).rejects.toMatchObject({
    message: expect.stringContaining("Studio cannot listen on port 65535 of 127.0.0.1: "),
    hint: expect.stringContaining("--port")
  });
});
