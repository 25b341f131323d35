// Studio's own server: a static page, and a proxy to one app's agents. It listens on 127.0.0.1 only and answers to no other
// host name, because it adds the inspection key to what it passes on: the key never reaches the page. Without `canWrite` it
// passes on nothing but GET, and with it only what carries a header that pages of other sites cannot send.
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from "node:http";
import { request as httpsRequest } from "node:https";
import { readFile } from "node:fs/promises";
import { once } from "node:events";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream";
import { errorMessage } from "../../util/errors.ts";
import { isLoopback } from "../../util/loopback.ts";
import { ServeError, serveErrors } from "../serve/errors.ts";
import type { WaitingAgents } from "../local-data/waiting-agents.ts";
import type { LocalInstances } from "./local-instances.ts";
import { ProjectInbox } from "./project-inbox.ts";

export const STUDIO_PORT = 4321;
/** Ports that are tried, one after the other. */
const STUDIO_PORTS = 20;
/** Sent by the page with everything that changes something. */
const STUDIO_HEADER = "x-everthink-studio";

const CONFIG_PATH = "/__studio/config.json";
const INSTANCES_PATH = "/__studio/instances.json";
const WAITING_PATH = "/__studio/waiting.json";
const PROXY = /^\/__studio\/agents\/((?:[^/?#]+\/){1,12}inspect\/v1\/[^#]*)$/;
const MAX_BODY_BYTES = 2 * 1024 * 1024;

export interface StudioTarget {
  /** With its scheme, without a slash at the end. */
  readonly origin: string;
  /** In front of `<agent>/<instance>`. */
  readonly prefix: string;
  readonly token: string | undefined;
  /** Further query parameters of every request. */
  readonly query: Readonly<Record<string, string>>;
}

export interface StudioOptions {
  /** The built page. */
  readonly folder: string;
  readonly target: () => StudioTarget;
  readonly agents: readonly { readonly id: string; readonly label: string }[];
  readonly agent: string | undefined;
  readonly instance: string | undefined;
  readonly canWrite: boolean;
  readonly port: number;
  /** Of an agent of the list; without it, Studio knows none. */
  readonly instances?: (agent: string) => Promise<LocalInstances>;
  /** Agents that wait, of the whole project; without it, Studio knows of the one that is shown only. */
  readonly waiting?: () => Promise<WaitingAgents>;
}

export interface RunningStudio {
  readonly url: string;
  close(): Promise<void>;
}

/** Throws an AddressError when none of the ports is free. */
export async function startStudio(options: StudioOptions): Promise<RunningStudio> {
  const { waiting, target } = options;
  const inbox = waiting && new ProjectInbox(waiting, target);
  const server = createServer((request, response) => {
    respond(request, response, { ...options, inbox }).catch((error: unknown) => {
      console.error("Studio could not answer:", error);
      if (!response.headersSent) sendText(response, 500, "Internal Server Error");
      else response.destroy();
    });
  });
  const port = await listen(server, options.port);
  const url = `http://127.0.0.1:${port}/`;
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    }
  };
}

async function listen(server: Server, first: number): Promise<number> {
  // Port 0 takes any free one.
  const last = first === 0 ? 0 : Math.min(65_535, first + STUDIO_PORTS - 1);
  for (let port = first; ; port += 1) {
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : port;
    } catch (error) {
      if (port >= last) throw noFreePort(error, { first, last });
    }
  }
}

function noFreePort(error: unknown, { first, last }: { first: number; last: number }): Error {
  const ports = first === last ? `port ${first}` : `any port from ${first} to ${last}`;
  return serveErrors.AddressError(
    `Studio cannot listen on ${ports} of 127.0.0.1: ${errorMessage(error)}.`,
    "End another Studio, or choose another port: everthink studio --port <number>"
  );
}

interface ServedOptions extends StudioOptions {
  readonly inbox: ProjectInbox | undefined;
}

async function respond(request: IncomingMessage, response: ServerResponse, options: ServedOptions): Promise<void> {
  // A name of another site that leads to this machine must not get past the browser's rules that way.
  const host = request.headers.host ?? "";
  if (!URL.canParse(`http://${host}`) || !isLoopback(new URL(`http://${host}`).hostname)) {
    return sendText(response, 403, "Forbidden");
  }
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  if (path === CONFIG_PATH) return sendConfig(response, options);
  if (path === INSTANCES_PATH) return sendInstances(request, response, options);
  if (path === WAITING_PATH) return sendWaiting(request, response, options.inbox);
  const proxied = PROXY.exec(request.url ?? "")?.[1];
  if (proxied !== undefined) return proxy(request, response, { path: proxied, options });
  if (path.startsWith("/__studio/")) return sendText(response, 404, "Not found");
  return request.method === "GET" || request.method === "HEAD"
    ? sendFile(response, options.folder, path)
    : sendText(response, 405, "Method not allowed");
}

function sendConfig(response: ServerResponse, options: ServedOptions): void {
  const { target, agents, agent, instance, canWrite, inbox } = options;
  const { origin, prefix } = target();
  const config = {
    target: { origin, prefix, agent: agent ?? null, instance: instance ?? null },
    ...{ agents, canWrite, hasInbox: inbox !== undefined }
  };
  send(response, 200, { type: "application/json", body: JSON.stringify(config) });
}

/** `{}`: they are not known here. */
async function sendInstances(
  request: IncomingMessage,
  response: ServerResponse,
  { instances, agents }: StudioOptions
): Promise<void> {
  const asked = new URL(request.url ?? "", "http://localhost").searchParams.get("agent");
  const agent = agents.find(({ id }) => id === asked);
  const known = agent && instances ? await instances(agent.id) : {};
  send(response, 200, { type: "application/json", body: JSON.stringify(known) });
}

/** Asks agents with the key: like a change, it is for the page only. */
async function sendWaiting(
  request: IncomingMessage,
  response: ServerResponse,
  inbox: ProjectInbox | undefined
): Promise<void> {
  if (request.method !== "GET") return sendError(response, 405, "Method not allowed");
  if (request.headers[STUDIO_HEADER] !== "1") return sendError(response, 403, "Forbidden");
  if (!inbox) return sendError(response, 404, "Not found");
  const isFresh = new URL(request.url ?? "", "http://localhost").searchParams.has("fresh");
  try {
    send(response, 200, { type: "application/json", body: JSON.stringify(await inbox.read(isFresh)) });
  } catch (error) {
    if (!(error instanceof ServeError)) throw error;
    sendError(response, 502, error.message);
  }
}

/** A path of the page's files, of an unknown page (then it is the page), or one that leads elsewhere (404). */
async function sendFile(response: ServerResponse, folder: string, path: string): Promise<void> {
  const name = decodedPath(path);
  const file = name === undefined ? undefined : join(folder, name);
  if (name === undefined || file === undefined || (!file.startsWith(folder + sep) && file !== folder + sep)) {
    return sendText(response, 404, "Not found");
  }
  const isFile = /\.[a-z0-9]+$/i.test(name);
  const shown = isFile ? file : join(folder, "index.html");
  try {
    const body = await readFile(shown);
    response.setHeader("Content-Security-Policy", PAGE_POLICY);
    send(response, 200, { type: TYPES[extname(shown)] ?? "application/octet-stream", body });
  } catch {
    // There is no such file.
    sendText(response, 404, "Not found");
  }
}

/** Of the page's files. Not the table of the served app's front: that one must stay a module of its own. */
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8"
};

/** Nothing but its own files: what agents have stored cannot load or send anything. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function decodedPath(path: string): string | undefined {
  try {
    const decoded = decodeURIComponent(path);
    return decoded.includes("\0") || decoded.includes("\\") || decoded.split("/").includes("..") ? undefined : decoded;
  } catch {
    // A malformed escape.
    return undefined;
  }
}

async function proxy(
  request: IncomingMessage,
  response: ServerResponse,
  { path, options }: { path: string; options: StudioOptions }
): Promise<void> {
  const { method = "GET" } = request;
  const isRead = method === "GET";
  if (!isRead && (method !== "POST" || !options.canWrite || request.headers[STUDIO_HEADER] !== "1")) {
    return sendError(response, 403, "Studio is read-only: start it with --write.");
  }
  const body = isRead ? undefined : await bodyOf(request);
  if (body === null) return sendError(response, 413, "Too large.");
  const target = options.target();
  if (decodedPath(path.split("?")[0] ?? "") === undefined) return sendError(response, 404, "Not found");
  const url = new URL(`${target.origin}/${target.prefix}/${path}`);
  for (const [name, value] of Object.entries(target.query)) url.searchParams.set(name, value);
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const upstream = send(url, {
    method,
    headers: {
      ...(target.token !== undefined && { authorization: `Bearer ${target.token}` }),
      ...(body && { "content-type": "application/json", "content-length": body.length })
    }
  });
  response.on("close", () => upstream.destroy());
  upstream.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, { "content-type": "application/json", "cache-control": "no-store" });
    // An app that dies in the middle must not leave the page waiting for the rest: this ends the page's request too.
    pipeline(answer, response, () => {});
  });
  upstream.on("error", () => sendError(response, 502, `The app at ${target.origin} cannot be reached.`));
  upstream.end(body);
}

/** Null: too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part: Buffer = chunk;
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return null;
    chunks.push(part);
  }
  return Buffer.concat(chunks);
}

function sendError(response: ServerResponse, status: number, error: string): void {
  if (!response.headersSent) send(response, status, { type: "application/json", body: JSON.stringify({ error }) });
}

function sendText(response: ServerResponse, status: number, body: string): void {
  send(response, status, { type: "text/plain", body });
}

function send(response: ServerResponse, status: number, { type, body }: { type: string; body: string | Buffer }): void {
  response.writeHead(status, {
    "Content-Type": type,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer"
  });
  response.end(body);
}
