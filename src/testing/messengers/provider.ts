// What the fake providers share: a log of every call, failures on request, and a port to listen on.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
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
 * What happens to a call: an answer that says it failed, a connection that breaks before the call arrives ("lost") or
 * after it was carried out ("unanswered"), or one that stays open without an answer to a call that was ("silent").
 */
export type ProviderFault = ProviderFailure | "lost" | "unanswered" | "silent";

/** A file in a chat, of a user or of the bot. */
export interface FakeFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** A message of the bot as the chat shows it now. */
export interface FakeMessage {
  readonly id: string | number;
  text: string;
  readonly files?: readonly FakeFile[];
  /** The labels of its buttons. */
  buttons: readonly string[];
  /** Every text it had, the first one included. */
  readonly versions: string[];
}

/** What a provider allows in one chat: at most `calls` in any `perMs`. */
export interface FakePace {
  readonly calls: number;
  readonly perMs: number;
  /** Default: both. */
  readonly of?: "posts" | "edits";
}

/** A call that changes what a chat shows. */
export interface FakeWrite {
  readonly chat: string;
  readonly kind: "posts" | "edits";
  readonly limits: readonly FakePace[];
}

export abstract class FakeProvider {
  /** The API's name for posting a message, for `failNext`. */
  abstract readonly postCall: string;
  /** The API's name for changing one. */
  abstract readonly editCall: string;
  /** Every call that arrived, in order. */
  readonly calls: ProviderCall[] = [];
  /** Calls that came faster than the provider allows; each was answered 429. */
  readonly tooFast: ProviderCall[] = [];
  readonly #writes: (FakeWrite & { readonly at: number })[] = [];
  #now: (() => number) | undefined;
  readonly #plans: { readonly name: string; readonly fault: ProviderFault }[] = [];
  #server: Server | undefined;
  /** Sockets that a client has upgraded: the server does not know them any more. */
  readonly #streams = new Set<Duplex>();

  /** The bot's messages, oldest first. */
  abstract messages(): readonly FakeMessage[];

  texts(): string[] {
    return this.messages().map(({ text }) => text);
  }

  /** The next call of this name goes wrong; several wait in line. */
  failNext(name: string, fault: ProviderFault): void {
    this.#plans.push({ name, fault });
  }

  /**
   * From now on calls that come faster than the provider documents are answered 429, by the clock of the test.
   *
   * @example
   * telegram.enforcePace(() => host.now);
   */
  enforcePace(now: () => number): void {
    this.#now = now;
  }

  /** Takes the place of the global `fetch`. */
  readonly fetch = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    trackForeignWork(
      this.#handle(input instanceof Request && init === undefined ? input : new Request(input, init))
    ).then((response) => response ?? new Promise<never>(() => undefined));

  /** Listens on a free port of this machine; answers its address. */
  async listen(): Promise<string> {
    // Asked for by name: a bundle for workerd has the fakes without Node's modules.
    const { createServer } = process.getBuiltinModule("node:http");
    const server = createServer((request, response) => {
      // A client that was killed in the middle of its request has sent none.
      this.#serve(request, response).catch(() => request.socket.destroy());
    });
    server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
      this.#streams.add(stream);
      stream.once("close", () => this.#streams.delete(stream));
      this.upgrade(request, stream, head);
    });
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
    for (const stream of this.#streams) stream.destroy();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  protected abstract nameOf(request: Request, body: Record<string, unknown>): string;
  protected abstract failed(failure: ProviderFailure): Response;
  protected abstract answer(call: ProviderCall, request: Request): Promise<Response>;
  /** Undefined: it shows nothing. */
  protected writeOf(_call: ProviderCall, _request: Request): FakeWrite | undefined {
    return undefined;
  }

  #refusedByPace(call: ProviderCall, request: Request): Response | undefined {
    const now = this.#now?.();
    const write = now === undefined ? undefined : this.writeOf(call, request);
    if (now === undefined || !write) return undefined;
    const freeAt = write.limits.map((limit) => this.#freeAt(write, limit)).reduce((a, b) => Math.max(a, b), now);
    if (freeAt <= now) {
      this.#writes.push({ ...write, at: now });
      return undefined;
    }
    this.tooFast.push(call);
    return this.failed({ status: 429, retryAfterSeconds: Math.ceil((freeAt - now) / 1_000) });
  }

  #freeAt({ chat, kind }: FakeWrite, { calls, perMs, of }: FakePace): number {
    if (of !== undefined && of !== kind) return 0;
    const counted = this.#writes.filter((one) => one.chat === chat && (of ?? one.kind) === one.kind);
    return (counted.at(-calls)?.at ?? Number.NEGATIVE_INFINITY) + perMs;
  }

  /** A client wants a WebSocket. Most providers have none. */
  protected upgrade(_request: IncomingMessage, stream: Duplex, _head: Buffer): void {
    stream.destroy();
  }

  /** Undefined: it is never answered. */
  async #handle(request: Request): Promise<Response | undefined> {
    const body = await bodyOf(request);
    const name = this.nameOf(request, body);
    const index = this.#plans.findIndex((plan) => plan.name === name);
    const fault = index === -1 ? undefined : this.#plans.splice(index, 1)[0]?.fault;
    if (fault === "lost") throw new TypeError("fetch failed");
    const call = { name, body };
    this.calls.push(call);
    if (typeof fault === "object") return this.failed(fault);
    const refused = this.#refusedByPace(call, request);
    if (refused) return refused;
    const response = await this.answer(call, request);
    if (fault === "unanswered") throw new TypeError("fetch failed");
    if (fault === "silent") return undefined;
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
    const response = await this.#handle(
      new Request(`http://127.0.0.1${incoming.url ?? "/"}`, { method, headers, body })
    );
    if (!response) return;
    const retryAfter = response.headers.get("Retry-After");
    outgoing.writeHead(response.status, {
      "Content-Type": response.headers.get("Content-Type") ?? "application/json",
      ...(retryAfter !== null && { "Retry-After": retryAfter })
    });
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const type = request.headers.get("Content-Type") ?? "";
  if (type.includes("multipart/form-data")) return formOf(await request.clone().formData());
  const text = await request.clone().text();
  if (type.includes("application/x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(text));
  try {
    const parsed: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Files as `FakeFile`, other fields as texts. */
async function formOf(form: FormData): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of form.entries()) {
    // Workers and Node differ in the type of an entry.
    const part: string | File = value;
    body[name] = typeof part === "string" ? part : await fakeFile(part);
  }
  return body;
}

async function fakeFile(file: File): Promise<FakeFile> {
  return { name: file.name, mediaType: file.type, bytes: new Uint8Array(await file.arrayBuffer()) };
}

/** The bytes of a file as a provider serves them. */
export function fileResponse(file: FakeFile | undefined): Response {
  return file
    ? new Response(file.bytes as Uint8Array<ArrayBuffer>, { headers: { "Content-Type": file.mediaType } })
    : new Response("Not Found", { status: 404 });
}
