// One connection to the agent that comes back by itself. Text goes out only while it is open, and `send` says whether it
// did; what must survive a drop is kept by those who send. A refusal for good (1008, 4000 to 4999) is never retried.
import { NoWebSocketError } from "./errors.ts";
import type { Timers } from "./timers.ts";

/** As much of a WebSocket as is needed here; the browser's, Node's and that of "ws" fit. */
export interface WebSocketLike {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

export type WebSocketClass = new (url: string) => WebSocketLike;

/** An attempt that is not open after this is given up. */
export const CONNECT_TIMEOUT_MS = 10_000;
export const FIRST_RETRY_MS = 500;
export const RETRY_FACTOR = 1.6;
export const MAX_RETRY_MS = 10_000;
/** A connection that lasted this long was a good one: the next drop is retried quickly again. */
export const STABLE_AFTER_MS = 5_000;

export type ConnectionState =
  /** Not asked to connect yet, or closed by the application. */
  | "closed"
  | "connecting"
  | "open"
  /** Lost; the next attempt is waiting for its time or under way. */
  | "reconnecting"
  /** The server does not want this client. */
  | "refused";

export interface SocketInit {
  /** Asked before each attempt, so that it can carry a fresh token. */
  url(): string | Promise<string>;
  readonly WebSocket: WebSocketClass | undefined;
  readonly timers: Timers;
  /** Between 0 and 1: spreads the attempts of many clients. */
  random(): number;
  onOpen(): void;
  onText(text: string): void;
  /** It was open, and is no longer. */
  onDrop(): void;
  onState(state: ConnectionState, reason?: string): void;
}

/** The pause before attempt `failures + 1`. */
export function retryDelayMs(failures: number, random: number): number {
  const full = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * RETRY_FACTOR ** failures);
  return Math.round(full * (0.5 + random / 2));
}

export class ReconnectingSocket {
  readonly #init: SocketInit;
  #socket: WebSocketLike | undefined;
  #state: ConnectionState = "closed";
  #failures = 0;
  #openedAt = 0;
  /** Of the attempt under way; a later one makes it stale. */
  #attempt = 0;
  #cancelTimer: () => void = () => undefined;

  constructor(init: SocketInit) {
    this.#init = init;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  connect(): void {
    if (this.#state === "closed" || this.#state === "refused") this.#try("connecting");
  }

  /** Now, without waiting for the next attempt's time: for pages that know the network is back. */
  retryNow(): void {
    if (this.#state === "reconnecting" && this.#socket === undefined) this.#try("reconnecting");
  }

  /** False: it is not open, and nothing was sent. Never throws. */
  send(text: string): boolean {
    if (this.#state !== "open" || this.#socket === undefined) return false;
    try {
      this.#socket.send(text);
      return true;
    } catch {
      // Closing already; the close event is on its way and says so to everybody.
      return false;
    }
  }

  close(): void {
    const wasOpen = this.#state === "open";
    this.#abandon(1000);
    this.#become("closed");
    if (wasOpen) this.#init.onDrop();
  }

  #try(state: ConnectionState): void {
    this.#abandon();
    const attempt = this.#attempt;
    this.#become(state);
    this.#cancelTimer = this.#init.timers.after(CONNECT_TIMEOUT_MS, () => this.#lost(attempt, undefined));
    const open = (url: string) => {
      if (attempt === this.#attempt) this.#open(url, attempt);
    };
    try {
      const url = this.#init.url();
      if (typeof url === "string") open(url);
      // A token that cannot be had now may be had later.
      else url.then(open).catch(() => this.#lost(attempt, undefined));
    } catch (error) {
      this.#abandon();
      this.#become("closed");
      throw error;
    }
  }

  #open(url: string, attempt: number): void {
    const { WebSocket } = this.#init;
    if (WebSocket === undefined) throw new NoWebSocketError();
    const socket = new WebSocket(url);
    this.#socket = socket;
    const isCurrent = () => attempt === this.#attempt;
    socket.onopen = () => {
      if (isCurrent()) this.#opened();
    };
    socket.onmessage = (event: { readonly data: unknown }) => {
      if (isCurrent() && typeof event.data === "string") this.#init.onText(event.data);
    };
    // A close event follows, always.
    socket.onerror = () => undefined;
    socket.onclose = (event: { readonly code: number; readonly reason: unknown }) =>
      this.#lost(attempt, { code: event.code, reason: String(event.reason ?? "") });
  }

  #opened(): void {
    this.#cancelTimer();
    this.#openedAt = this.#init.timers.now();
    this.#become("open");
    this.#init.onOpen();
  }

  #lost(attempt: number, close: { readonly code: number; readonly reason: string } | undefined): void {
    if (attempt !== this.#attempt) return;
    const { timers, random, onDrop } = this.#init;
    const wasOpen = this.#state === "open";
    this.#abandon();
    if (wasOpen && timers.now() - this.#openedAt >= STABLE_AFTER_MS) this.#failures = 0;
    if (close && isRefusal(close.code)) this.#become("refused", close.reason || `code ${close.code}`);
    else {
      this.#become("reconnecting");
      this.#cancelTimer = timers.after(retryDelayMs(this.#failures, random()), () => this.#try("reconnecting"));
      this.#failures += 1;
    }
    if (wasOpen) onDrop();
  }

  /** Whatever is under way no longer counts. */
  #abandon(code?: number): void {
    this.#cancelTimer();
    this.#attempt += 1;
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    try {
      socket.close(code);
    } catch {
      // Some refuse to be closed before they are open; its events are ignored from here on.
    }
  }

  #become(state: ConnectionState, reason?: string): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#init.onState(state, reason);
  }
}

function isRefusal(code: number): boolean {
  return code === 1008 || (code >= 4000 && code <= 4999);
}
