// Serves the pages on the loopback interface, apart from the worker: a page can be reloaded while workerd is down.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { bundlePage, type GenerationName, type PageFile } from "./page-bundle.ts";

const FAVICON = "data:,";

export class PageServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(generations: readonly GenerationName[], page: PageFile = "chat-page.tsx"): Promise<PageServer> {
    const scripts = new Map<string, string>();
    for (const generation of generations) scripts.set(`/${generation}.js`, await bundlePage(generation, page));
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://page");
      const script = scripts.get(pathname);
      if (script !== undefined) {
        response.setHeader("content-type", "text/javascript; charset=utf-8").end(script);
      } else if (scripts.has(`${pathname}.js`)) {
        response.setHeader("content-type", "text/html; charset=utf-8").end(pageHtml(pathname.slice(1)));
      } else {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new PageServer(server);
  }

  url(generation: GenerationName, query: string): string {
    // A server that listens on a port has an address of this kind.
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/${generation}?${query}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function pageHtml(generation: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat (${generation})</title>
<link rel="icon" href="${FAVICON}"><div id="root"></div><script type="module" src="/${generation}.js"></script></html>`;
}
