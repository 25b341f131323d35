// One connection to the agent that comes back by itself, and says why it is not there. Text goes out only while it is
// open, and `send` says whether it did; what must survive a drop is kept in the outbox. Never retried: a refusal for good
// (1008, 4000 to 4999), and an address that the server refuses over HTTP as well.
import { backoffMs } from "../util/backoff.ts";
import { errorMessage } from "../util/errors.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { NoWebSocketError } from "./errors.ts";
import type { Timers } from "./timers.ts";

/** As much of a WebSocket as is needed here; the browser's, Node's and that of "ws" fit. */
export interface WebSocketLike {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  readonly readyState?: number;
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
/** Attempts in a row that did not open, before the server is asked over HTTP why. */
export const ASK_AFTER_FAILURES = 2;

/**
 * A server that had opened a connection before is believed only when it has refused for so long: while a new version is
 * started, what stands in front of it may not know the address for a moment.
 */
export const DISBELIEF_MS = 15_000;

/** WebSocket close codes. */
const BROKEN = 1006;
const POLICY = 1008;
export const TOO_LARGE = 1009;

/** The state of a WebSocket that is open. In any other it drops what it is given, most without a word. */
const OPEN = 1;

export type ConnectionState =
  /** Not asked to connect yet, or closed by the application. */
  | "closed"
  | "connecting"
  | "open"
  /** Lost; the next attempt is waiting for its time or under way. */
  | "reconnecting"
  /** The server does not want this client. */
  | "refused";

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export interface SocketInit {
  /** Asked before each attempt, so that it can carry a fresh token. */
  url(): string | Promise<string>;
  readonly WebSocket: WebSocketClass | undefined;
  readonly timers: Timers;
  /** Between 0 and 1: spreads the attempts of many clients. */
  random(): number;
  /** Attempts after the first failed one, in a row; then it gives up. */
  readonly maxRetries: number;
  /** Asks over HTTP why attempts fail: a page learns nothing about a failed handshake. Never rejects. */
  diagnose(): Promise<Diagnosis>;
  onOpen(): void;
  onText(text: string): void;
  /** It was open, and is no longer. */
  onDrop(closed: Closed | undefined): void;
  /** `problem`: why there is no connection. */
  onState(state: ConnectionState, problem?: string): void;
}

/** The pause before attempt `failures + 1`. */
export function reconnectDelayMs(failures: number, random: number): number {
  const policy = { baseMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS, factor: RETRY_FACTOR, jitter: 0.5 };
  return Math.round(backoffMs(failures, policy, random));
}

export class ReconnectingSocket {
  readonly #init: SocketInit;
  #socket: WebSocketLike | undefined;
  #state: ConnectionState = "closed";
  #problem: string | undefined;
  #failures = 0;
  /** Attempts in a row that did not open. */
  #unopened = 0;
  #isAsking = false;
  /** What was found out over HTTP since the last connection: it says more than the next failed attempt. */
  #diagnosis: string | undefined;
  /** What the server said over HTTP, if that is final. One more attempt follows: it may have been starting meanwhile. */
  #verdict: string | undefined;
  /** When the server began to give final answers only. */
  #refusedSince: number | undefined;
  #hasBeenOpen = false;
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
    if (this.#state !== "closed" && this.#state !== "refused") return;
    this.#failures = 0;
    this.#hasBeenOpen = false;
    this.#forget();
    this.#problem = undefined;
    this.#try("connecting");
  }

  /** Now, without waiting for the next attempt's time: for pages that know the network is back. */
  retryNow(): void {
    if (this.#state === "reconnecting" && this.#socket === undefined) this.#try("reconnecting");
  }

  /** False: it is not open, and nothing was sent. Never throws. */
  send(text: string): boolean {
    const socket = this.#socket;
    if (this.#state !== "open" || socket === undefined || (socket.readyState ?? OPEN) !== OPEN) return false;
    try {
      socket.send(text);
      return true;
    } catch {
      // Closing already: the close event follows and is handled there.
      return false;
    }
  }

  close(): void {
    const wasOpen = this.#state === "open";
    this.#abandon(1000);
    this.#become("closed");
    if (wasOpen) this.#init.onDrop(undefined);
  }

  #try(state: ConnectionState): void {
    this.#abandon();
    const attempt = this.#attempt;
    this.#become(state, this.#problem);
    this.#cancelTimer = this.#init.timers.after(CONNECT_TIMEOUT_MS, () =>
      this.#failed(attempt, `The server did not answer within ${CONNECT_TIMEOUT_MS / 1_000} s.`)
    );
    const open = (url: string) => {
      if (attempt === this.#attempt) this.#open(url, attempt);
    };
    try {
      const url = this.#init.url();
      if (typeof url === "string") open(url);
      // A token that cannot be had now may be had later.
      else url.then(open).catch((error: unknown) => this.#failed(attempt, `No address: ${errorMessage(error)}`));
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
    // Before it was open this is all that happens in Node. A connection that was open always has a close event too.
    socket.onerror = (event: { readonly message?: unknown }) => {
      if (isCurrent() && this.#state !== "open") this.#failed(attempt, handshakeProblem(event));
    };
    socket.onclose = (event: { readonly code: number; readonly reason: unknown }) => {
      const closed = { code: event.code, reason: String(event.reason ?? "") };
      this.#failed(attempt, closeProblem(closed, this.#state === "open"), closed);
    };
  }

  #opened(): void {
    this.#cancelTimer();
    this.#openedAt = this.#init.timers.now();
    this.#hasBeenOpen = true;
    this.#forget();
    this.#become("open");
    this.#init.onOpen();
  }

  /** What was known about failed attempts. */
  #forget(): void {
    this.#unopened = 0;
    this.#diagnosis = undefined;
    this.#verdict = undefined;
    this.#refusedSince = undefined;
  }

  /** The attempt, or the connection it led to, is over. */
  #failed(attempt: number, problem: string, closed?: Closed): void {
    if (attempt !== this.#attempt) return;
    const { timers, maxRetries, onDrop } = this.#init;
    const wasOpen = this.#state === "open";
    this.#abandon();
    if (wasOpen && timers.now() - this.#openedAt >= STABLE_AFTER_MS) this.#failures = 0;
    if (!wasOpen) this.#unopened += 1;
    if (closed && isRefusal(closed.code)) this.#become("refused", problem);
    else if (this.#verdict !== undefined) this.#become("refused", this.#verdict);
    else if (this.#failures >= maxRetries) this.#become("refused", this.#diagnosis ?? problem);
    else this.#retryLater(this.#diagnosis ?? problem);
    if (wasOpen) onDrop(closed);
  }

  #retryLater(problem: string): void {
    const { timers, random } = this.#init;
    this.#become("reconnecting", problem);
    this.#cancelTimer = timers.after(reconnectDelayMs(this.#failures, random()), () => this.#try("reconnecting"));
    this.#failures += 1;
    if (this.#unopened >= ASK_AFTER_FAILURES) void this.#ask();
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { problem, isFinal } = await this.#init.diagnose();
    this.#isAsking = false;
    if (this.#state !== "reconnecting") return;
    this.#diagnosis = problem;
    this.#become("reconnecting", problem);
    const now = this.#init.timers.now();
    this.#refusedSince = isFinal ? (this.#refusedSince ?? now) : undefined;
    if (!isFinal || (this.#hasBeenOpen && now - (this.#refusedSince ?? now) < DISBELIEF_MS)) return;
    this.#verdict = problem;
    this.#try("reconnecting");
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

  #become(state: ConnectionState, problem?: string): void {
    if (this.#state === state && this.#problem === problem) return;
    this.#state = state;
    this.#problem = problem;
    this.#init.onState(state, problem);
  }
}

function isRefusal(code: number): boolean {
  return code === POLICY || (code >= 4000 && code <= 4999);
}

/** Node and "ws" say a little; browsers say nothing. */
function handshakeProblem({ message }: { readonly message?: unknown }): string {
  return typeof message === "string" && message !== ""
    ? `The connection could not be opened: ${message}`
    : "The connection could not be opened.";
}

function closeProblem({ code, reason }: Closed, wasOpen: boolean): string {
  if (code === BROKEN) return wasOpen ? "The connection broke." : handshakeProblem({});
  return `The server closed the connection: ${reason || "it gave no reason"} (${code}).`;
}
