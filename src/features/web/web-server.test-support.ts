// A server of pages on this machine, which a class reaches because it names its address.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

export type Page = (request: IncomingMessage, response: ServerResponse) => void;

export interface WebServer {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Method and path of each request, in order. */
  readonly asked: string[];
  readonly headers: IncomingMessage["headers"][];
  close(): Promise<void>;
}

/** Serves pages by path; anything else is 404. */
export async function serveWeb(pages: Readonly<Record<string, Page>>): Promise<WebServer> {
  const asked: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    const page = pages[request.url ?? ""];
    if (page) page(request, response);
    else response.writeHead(404).end("not here");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    asked,
    headers,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  };
}

export function send(body: string | Uint8Array, type = "text/html; charset=utf-8", headers: object = {}): Page {
  return (_request, response) => response.writeHead(200, { "content-type": type, ...headers }).end(body);
}

export function redirectTo(location: string, status = 302): Page {
  return (_request, response) => response.writeHead(status, { location }).end("moved");
}

/** Sends for ever, as fast as it is read. */
export const endless: Page = (_request, response) => {
  response.writeHead(200, { "content-type": "text/plain" });
  const piece = "x".repeat(64 * 1024);
  const go = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", go);
  go();
};

/** Sends its head and a few bytes, and then nothing. */
export const stalled: Page = (_request, response) => {
  response.writeHead(200, { "content-type": "text/html" });
  response.write("<p>wait");
};

/** Never answers. */
export const silent: Page = () => undefined;

/** A few kilobytes that unpack to many megabytes. */
export function bomb(): Page {
  return send(gzipSync(Buffer.alloc(64 * 1024 * 1024, "x")), "text/plain", { "content-encoding": "gzip" });
}
