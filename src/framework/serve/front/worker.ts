// The Worker in front of the user's: it answers the health check, serves assets with their types, and hands everything
// else on untouched. It runs inside workerd, so it imports nothing of Node; the build makes one file of this folder.
import { answerWithBody } from "./body-timeout.ts";
import { contentType } from "./content-type.ts";
import { HostLog, isKnownHost } from "./host-check.ts";
import { PLUG_PATH, plugAnswer } from "./plug.ts";
import { findAsset, isServable, isWorkerFirst, notFoundPages } from "./routes.ts";
import type { AssetSettings } from "./settings.ts";

interface FrontEnvironment {
  MAIN: Fetcher;
  /** The folder of assets; absent when the build has none. */
  DISK?: Fetcher;
  SETTINGS: AssetSettings;
  /** Reserved for this server; the Worker never sees it. */
  HEALTH_PATH: string;
  /** How long the body of a request may be silent. */
  BODY_SILENCE_MS: number;
  /** The supervisor's ear; absent without --plug. */
  PLUG?: Fetcher;
  /** Present when the server is for this machine only: the names it answers to. */
  KNOWN_HOSTS?: readonly string[];
  /** Names of this machine under which the plug may be pulled. */
  PLUG_HOSTS?: readonly string[];
}

const hostLog = new HostLog();

/** What the port answers. */
export const front = {
  async fetch(request: Request, env: FrontEnvironment): Promise<Response> {
    const { pathname, hostname } = new URL(request.url);
    if (pathname === env.HEALTH_PATH)
      return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
    if (env.KNOWN_HOSTS && !isKnownHost(hostname, env.KNOWN_HOSTS)) {
      const line = hostLog.line(hostname);
      if (line !== undefined) console.warn(line);
      return new Response("This server does not answer to that host name.", { status: 403 });
    }
    if (env.PLUG && pathname === PLUG_PATH) {
      return answerPlug(request, { plug: env.PLUG, hosts: env.PLUG_HOSTS ?? [] });
    }
    const isAssetFirst = env.DISK && isReading(request) && !isWorkerFirst(pathname, env.SETTINGS.workerFirst);
    const asset = isAssetFirst ? await serveAsset(request, env, isNavigation(request)) : undefined;
    return asset ?? answerWithBody(request, env.BODY_SILENCE_MS, (whole) => env.MAIN.fetch(whole));
  }
};

/** What the Worker reaches through its assets binding: always an answer. */
export const assets = {
  async fetch(request: Request, env: FrontEnvironment): Promise<Response> {
    if (!isReading(request))
      return new Response("Method Not Allowed", { status: 405, headers: { allow: "GET, HEAD" } });
    return (await serveAsset(request, env, true)) ?? new Response("Not Found", { status: 404 });
  }
};

interface PlugPlace {
  plug: Fetcher;
  hosts: readonly string[];
}

async function answerPlug(request: Request, { plug, hosts }: PlugPlace): Promise<Response> {
  const headers = { "cache-control": "no-store" };
  switch (plugAnswer(request, hosts)) {
    case "tell":
      return Response.json({ plug: true }, { headers });
    case "pull":
      // The last thing this process says, unless it is not watched yet.
      return new Response(null, { status: (await plug.fetch("http://plug/", { method: "POST" })).status, headers });
    case "wrong-method":
      return new Response("Method Not Allowed", { status: 405, headers: { ...headers, allow: "GET, HEAD, POST" } });
    case "refuse":
      return new Response("Forbidden", { status: 403, headers });
  }
}

function isReading(request: Request): boolean {
  return (request.method === "GET" || request.method === "HEAD") && !request.headers.has("upgrade");
}

/** A browser opens a page, rather than a script fetching data. */
function isNavigation(request: Request): boolean {
  return request.headers.get("sec-fetch-mode") === "navigate";
}

async function serveAsset(
  request: Request,
  env: FrontEnvironment,
  withNotFoundPage: boolean
): Promise<Response | undefined> {
  const { DISK: disk, SETTINGS: settings } = env;
  if (!disk) return undefined;
  const url = new URL(request.url);
  const exists = (file: string) => isFile(disk, file);
  const answer = await findAsset(url.pathname, settings.htmlHandling, exists);
  if (answer?.do === "redirect") {
    return new Response(null, { status: 307, headers: { location: answer.to + url.search } });
  }
  if (answer) return sendFile({ request, disk, file: answer.file, status: 200 });
  if (!withNotFoundPage) return undefined;
  switch (settings.notFoundHandling) {
    case "single-page-application":
      return (await exists("/index.html")) ? sendFile({ request, disk, file: "/index.html", status: 200 }) : undefined;
    case "404-page":
      for (const file of notFoundPages(url.pathname).filter(isServable)) {
        if (await exists(file)) return sendFile({ request, disk, file, status: 404 });
      }
      return undefined;
    case "none":
      return undefined;
  }
}

/** The disk service lists folders as JSON and sends files as octets: that is how they differ. */
async function isFile(disk: Fetcher, file: string): Promise<boolean> {
  const answer = await disk.fetch(`http://disk${file}`, { method: "HEAD" });
  return answer.status === 200 && answer.headers.get("content-type") === "application/octet-stream";
}

interface FileAnswer {
  request: Request;
  disk: Fetcher;
  file: string;
  status: number;
}

async function sendFile({ request, disk, file, status }: FileAnswer): Promise<Response> {
  const range = status === 200 && !request.headers.has("if-range") ? request.headers.get("range") : null;
  const found = await disk.fetch(`http://disk${file}`, {
    method: request.method,
    headers: range === null ? {} : { range }
  });
  const headers = new Headers({
    "content-type": contentType(file),
    "cache-control": "public, max-age=0, must-revalidate"
  });
  for (const name of ["content-length", "content-range", "last-modified"]) {
    const value = found.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (found.status !== 200) return new Response(found.body, { status: found.status, headers });
  headers.set("accept-ranges", "bytes");
  const tag = entityTag(found.headers);
  headers.set("etag", tag);
  const known =
    request.headers
      .get("if-none-match")
      ?.split(",")
      .map((one) => one.trim()) ?? [];
  if (status === 200 && known.includes(tag)) {
    await found.body?.cancel();
    headers.delete("content-length");
    return new Response(null, { status: 304, headers });
  }
  return new Response(found.body, { status, headers });
}

/** Weak: size and second of the last change, which is all the disk tells without reading the file. */
function entityTag(headers: Headers): string {
  const changed = Date.parse(headers.get("last-modified") ?? "") / 1000;
  return `W/"${Number(headers.get("content-length")).toString(36)}-${changed.toString(36)}"`;
}
