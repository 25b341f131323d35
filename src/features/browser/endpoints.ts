// Where a browser is: behind Cloudflare's binding, or at a WebSocket of the Chrome DevTools Protocol. Both become a socket
// that carries one text per message. https://developers.cloudflare.com/browser-run/cdp/
import { FEATURE } from "../../feature/feature.ts";
import { isObject } from "../../util/json.ts";
import { browserErrors } from "./errors.ts";
import { openBrowserFeature } from "./feature.ts";
import { browserSettings, type Browser, type BrowserOptions } from "./options.ts";

/** A socket of either platform, open. */
export type CdpSocket = Pick<WebSocket, "send" | "close" | "addEventListener">;

export interface BrowserLink {
  readonly socket: CdpSocket;
  /** Ends the browser itself, where it was started for this link. */
  readonly release?: () => Promise<void>;
}

/** The part of Cloudflare's binding that is used. */
export interface BrowserBinding {
  fetch(url: string, init?: RequestInit): Promise<Response>;
}

export interface CloudflareBrowserOptions extends BrowserOptions {
  /** The name of the binding, or the binding itself. Default `BROWSER`. */
  readonly binding?: string | BrowserBinding;
}

export interface CdpBrowserOptions extends BrowserOptions {
  /**
   * The address of the browser: `ws://` or `wss://` of the protocol itself, or `http://` or `https://` of the port that Chrome
   * was started with. Default: the variable BROWSER_URL. It is the class's to choose and no address of a page.
   */
  readonly url?: string;
}

const URL_VARIABLE = "BROWSER_URL";
/** The binding answers whatever the host is. */
const BINDING_HOST = "https://browser";
/** Cloudflare ends a browser that is silent for longer; it takes at most 10 minutes. */
const MAX_KEEP_ALIVE_MS = 600_000;

/**
 * The browser of Cloudflare's Browser Run (once Browser Rendering), by its binding.
 *
 * @example
 * browser = cloudflareBrowser({ allow: ["*.example.com"] });
 */
export function cloudflareBrowser({ binding = "BROWSER", ...options }: CloudflareBrowserOptions = {}): Browser {
  return {
    options: browserSettings(options),
    connect: async (env, keepAliveMs) => await acquire(bindingOf(binding, env), keepAliveMs),
    [FEATURE]: openBrowserFeature
  };
}

/**
 * A browser of your own, or of a service, that speaks the Chrome DevTools Protocol.
 *
 * @example
 * browser = cdpBrowser({ url: "http://127.0.0.1:9222" });
 */
export function cdpBrowser({ url, ...options }: CdpBrowserOptions = {}): Browser {
  return {
    options: browserSettings(options),
    connect: async (env) => ({ socket: await openSocket(await socketAddress(addressOf(url, env))) }),
    [FEATURE]: openBrowserFeature
  };
}

function bindingOf(given: string | BrowserBinding, env: unknown): BrowserBinding {
  const binding: unknown = typeof given === "string" && isObject(env) ? env[given] : given;
  // A binding is a stub: any name is a method of it.
  if (typeof binding === "object" && binding !== null && "fetch" in binding) return binding as BrowserBinding;
  const hint = `Add "browser": { "binding": "${String(given)}" } to the configuration of the Worker.`;
  throw browserErrors.BrowserSetupError("The browser has no binding.", hint);
}

async function acquire(binding: BrowserBinding, keepAliveMs: number): Promise<BrowserLink> {
  const keepAlive = Math.min(keepAliveMs, MAX_KEEP_ALIVE_MS);
  const acquired = await binding.fetch(`${BINDING_HOST}/v1/devtools/browser?keep_alive=${keepAlive}`, {
    method: "POST"
  });
  const text = await acquired.text();
  if (!acquired.ok)
    throw unavailable(acquired.status === 429 ? "all of its sessions are in use" : `${acquired.status}`);
  const sessionId = sessionIdIn(text);
  const address = `${BINDING_HOST}/v1/devtools/browser/${encodeURIComponent(sessionId)}`;
  const release = async () => void (await binding.fetch(address, { method: "DELETE" }));
  const { webSocket } = await binding.fetch(address, { headers: { Upgrade: "websocket" } });
  if (!webSocket) {
    await release();
    throw unavailable("it opened no connection");
  }
  webSocket.accept();
  return { socket: webSocket, release };
}

function sessionIdIn(text: string): string {
  const parsed: unknown = parsedOf(text);
  const sessionId = isObject(parsed) ? parsed["sessionId"] : undefined;
  if (typeof sessionId === "string" && sessionId !== "") return sessionId;
  throw unavailable("it named no session");
}

function addressOf(given: string | undefined, env: unknown): URL {
  const value: unknown = given ?? (isObject(env) ? env[URL_VARIABLE] : undefined);
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url && /^(?:wss?|https?):$/.test(url.protocol)) return url;
  const hint = `Set the variable ${URL_VARIABLE}, or give \`url\`: ws://, wss://, http:// or https://.`;
  throw browserErrors.BrowserSetupError("The browser has no address.", hint);
}

/** Chrome names the socket of its protocol at the port that it was started with. */
async function socketAddress(url: URL): Promise<string> {
  if (url.protocol.startsWith("ws")) return url.href;
  const answer = await fetch(new URL("/json/version", url));
  const parsed: unknown = parsedOf(await answer.text());
  const address = isObject(parsed) ? parsed["webSocketDebuggerUrl"] : undefined;
  if (typeof address !== "string") throw unavailable("it does not say where its connection is");
  // It names itself as it was asked; behind a proxy that may be another name.
  const socket = new URL(address);
  socket.host = url.host;
  socket.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return socket.href;
}

async function openSocket(address: string): Promise<CdpSocket> {
  const socket = new WebSocket(address);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(unavailable("it could not be reached")));
    socket.addEventListener("close", () => reject(unavailable("it closed the connection")));
  });
  return socket;
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unavailable(reason: string): Error {
  return browserErrors.BrowserActionError(`The browser is not available: ${reason}.`);
}
