// What the fake providers share: a log of every call, failures on request, and a port to listen on.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { trackForeignWork } from "../inprocess/foreign-work.ts";

export interface ProviderCall {
  /** The API's name for it, such as `sendMessage`. */
  readonly name: string;
  readonly body: Record<string, unknown>;
}

export interface ProviderFailure {
  readonly status: number;
  readonly retryAfterSeconds?: number;
}

/**
 * What happens to a call: an answer that says it failed, a connection that breaks before the call is heard ("lost"), or
 * after it was carried out ("unanswered").
 */
export type ProviderFault = ProviderFailure | "lost" | "unanswered";

export abstract class FakeProvider {
  /** Every call that was heard, in order. */
  readonly calls: ProviderCall[] = [];
  readonly #plans: { readonly name: string; readonly fault: ProviderFault }[] = [];
  #server: Server | undefined;

  /** The next call of this name goes wrong; several wait in line. */
  failNext(name: string, fault: ProviderFault): void {
    this.#plans.push({ name, fault });
  }

  /** Takes the place of the global `fetch`. */
  readonly fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    trackForeignWork(this.#handle(input instanceof Request && init === undefined ? input : new Request(input, init)));

  /** Listens on a free port of this machine; answers its address. */
  async listen(): Promise<string> {
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("The fake provider has no port.");
    return `http://127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  protected abstract nameOf(request: Request): string;
  protected abstract failed(failure: ProviderFailure): Response;
  protected abstract answer(call: ProviderCall, request: Request): Promise<Response>;

  async #handle(request: Request): Promise<Response> {
    const name = this.nameOf(request);
    const index = this.#plans.findIndex((plan) => plan.name === name);
    const fault = index === -1 ? undefined : this.#plans.splice(index, 1)[0]?.fault;
    if (fault === "lost") throw new TypeError("fetch failed");
    const body = await bodyOf(request);
    const call = { name, body };
    this.calls.push(call);
    if (typeof fault === "object") return this.failed(fault);
    const response = await this.answer(call, request);
    if (fault === "unanswered") throw new TypeError("fetch failed");
    return response;
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const method = incoming.method ?? "GET";
    const headers = Object.entries(incoming.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === "string" ? [[name, value]] : []
    );
    const body = method === "GET" || method === "HEAD" ? null : Buffer.concat(chunks);
    const request = new Request(`http://127.0.0.1${incoming.url ?? "/"}`, { method, headers, body });
    try {
      const response = await this.#handle(request);
      outgoing.writeHead(response.status, {
        "Content-Type": response.headers.get("Content-Type") ?? "application/json"
      });
      outgoing.end(await response.text());
    } catch {
      incoming.socket.destroy();
    }
  }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const text = await request.clone().text();
  const type = request.headers.get("Content-Type") ?? "";
  if (type.includes("application/x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(text));
  try {
    const parsed: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
