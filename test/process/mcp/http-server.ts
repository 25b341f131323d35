// A function from requests to responses behind a real port of this machine.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll } from "vitest";
import type { Handler } from "../../../src/features/mcp/served-mcp.test-support.ts";

const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
});

/** `handler` may be set later: a server that names its own address has to know it first. */
export async function listen(): Promise<{ origin: string; handle(handler: Handler): void; close(): void }> {
  let handler: Handler = () => new Response(null, { status: 503 });
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing, handler).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  closers.push(close);
  return {
    origin: `http://localhost:${port}`,
    handle: (next) => {
      handler = next;
    },
    close
  };
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse, handler: Handler): Promise<void> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method ?? "GET",
    headers,
    signal: gone.signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" })
  } as RequestInit);
  const response = await handler(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing);
}
