// What the client takes from the page or program it runs in.
import { NoWebSocketError } from "./errors.ts";
import type { WebSocketClass } from "./socket.ts";
import { realTimers, type Timers } from "./timers.ts";

/** What the platform gives, where there is another. */
export interface ThinkClientPlatform {
  /** Default: the global one. */
  readonly WebSocket?: WebSocketClass;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  readonly timers?: Timers;
  readonly random?: () => number;
}

export function resolvePlatform(options: ThinkClientPlatform): Required<ThinkClientPlatform> {
  const WebSocket = options.WebSocket ?? globalThis.WebSocket;
  if (WebSocket === undefined) throw new NoWebSocketError();
  return {
    WebSocket,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timers: options.timers ?? realTimers,
    random: options.random ?? Math.random
  };
}

/** Pages get an event when the network is back; other environments have none. Adding it twice is adding it once. */
export function watchNetwork(method: "addEventListener" | "removeEventListener", listener: () => void): void {
  if (typeof globalThis[method] === "function") globalThis[method]("online", listener);
}

/** Where the page came from; outside a page, nothing. */
export function pageOrigin(): string | undefined {
  return typeof location === "undefined" ? undefined : location.origin;
}
