// What the tests of the client library share: a WebSocket class, a fetch and timers that lead to the in-process host.
// The client is the real one; only the network is played. Nothing here waits for real time.
import {
  createThinkClient,
  type ThinkClient,
  type ThinkClientOptions,
  type ThinkClientSettings,
  type WebSocketClass
} from "../../src/client/index.ts";
import { ManualTimers } from "../../src/client/manual-timers.test-support.ts";
import type { TestHost, TestSocket } from "../../src/testing/index.ts";
import { linesOf } from "../kit/messages.ts";

type Handler = ((event: never) => unknown) | null;

/** The way from clients to one host. */
export class Network {
  readonly timers = new ManualTimers();
  /** Every frame is delivered this many times to clients. */
  copies = 1;
  /** The class of the agent. */
  agent = "Subject";
  /** False: no connection succeeds. */
  isUp = true;
  /** True: what clients send gets lost on the way. */
  losesFrames = false;
  /** Set: the server opens no connection, and answers requests with this. */
  answer: { readonly status: number; readonly words: string } | undefined;
  /** Sees what clients send. True: it goes no further. */
  onSent: (type: string | undefined) => boolean = () => false;
  /** What clients sent, in order. */
  readonly sent: { readonly type?: string }[] = [];
  /** Addresses that were connected to. */
  readonly urls: string[] = [];
  readonly fetched: string[] = [];
  readonly #host: TestHost<object>;
  readonly #sockets = new Set<HostSocket>();
  readonly #work = new Set<Promise<unknown>>();

  constructor(host: TestHost<object>) {
    this.#host = host;
  }

  client<Agent = unknown>(settings: ThinkClientSettings = {}, name = "a"): ThinkClient<Agent> {
    return createThinkClient<Agent>(this.options(settings, name));
  }

  options(settings: ThinkClientSettings, name: string): ThinkClientOptions {
    return {
      ...settings,
      host: "localhost:8787",
      agent: this.agent,
      name,
      timers: this.timers,
      random: () => 1,
      fetch: (url) => this.fetch(url),
      WebSocket: socketClass(this)
    };
  }

  fetch(url: string): Promise<Response> {
    this.fetched.push(url);
    if (this.answer)
      return this.track(Promise.resolve(new Response(this.answer.words, { status: this.answer.status })));
    if (!this.isUp) return this.track(Promise.reject(new TypeError("fetch failed")));
    return this.track(this.#host.fetch(pathOf(url)));
  }

  async open(socket: HostSocket, url: string): Promise<TestSocket | undefined> {
    this.urls.push(url);
    if (!this.isUp || this.answer || this.#host.crashed) return undefined;
    this.#sockets.add(socket);
    return this.track(this.#host.connect(pathOf(url)));
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#work.add(work);
    const done = () => void this.#work.delete(work);
    work.then(done, done);
    return work;
  }

  /** Until nothing is on its way any more. */
  async settle(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      await Promise.allSettled(this.#work);
      await this.#host.idle();
    }
  }

  /** Cables are pulled: clients notice, and the server does too. */
  async cut(): Promise<void> {
    for (const socket of this.#sockets) socket.lose(true);
    this.#sockets.clear();
    await this.settle();
  }

  /** Clients notice that their server died. */
  async notice(): Promise<void> {
    for (const socket of this.#sockets) socket.lose(false);
    this.#sockets.clear();
    await this.settle();
  }

  /** The server closes all connections. */
  async kick(code: number, reason: string): Promise<void> {
    for (const socket of this.#sockets) socket.lose(true, { code, reason });
    this.#sockets.clear();
    await this.settle();
  }

  /** The server says this to all clients. */
  tell(frame: object): void {
    for (const socket of this.#sockets) socket.receive(frame);
  }

  /** Time for the next attempt to connect. */
  async reconnect(): Promise<void> {
    this.timers.advance(10_000);
    await this.settle();
  }
}

class HostSocket {
  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  #socket: TestSocket | undefined;
  #isClosed = false;
  readonly #network: Network;

  constructor(network: Network, url: string) {
    this.#network = network;
    void network.track(this.#open(network, url));
  }

  async #open(network: Network, url: string): Promise<void> {
    const socket = await network.open(this, url);
    if (socket === undefined) return this.#emit(this.onclose, { code: 1006, reason: "" });
    this.#socket = socket;
    this.#emit(this.onopen, {});
    socket.listen((frame) => {
      if (this.#isClosed) return;
      for (let copy = 0; copy < network.copies; copy += 1) this.#emit(this.onmessage, { data: textOf(frame) });
    });
  }

  send(data: string): void {
    if (this.#socket === undefined || this.#socket.closed) throw new Error("The socket is not open.");
    const frame = JSON.parse(data) as { type?: string };
    this.#network.sent.push(frame);
    if (!this.#network.losesFrames && !this.#network.onSent(frame.type)) this.#socket.send(data);
  }

  close(code?: number): void {
    this.#isClosed = true;
    if (this.#socket && !this.#socket.closed) this.#socket.close(code);
  }

  receive(frame: object): void {
    if (!this.#isClosed) this.#emit(this.onmessage, { data: textOf(frame) });
  }

  lose(isOurSide: boolean, closed?: { readonly code: number; readonly reason: string }): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (isOurSide) this.#socket?.drop();
    const { code, reason } = closed ?? this.#socket?.closed ?? { code: 1006, reason: "" };
    this.#emit(this.onclose, { code, reason });
  }

  #emit(handler: Handler, event: object): void {
    // Each handler reads the fields its event has.
    handler?.(event as never);
  }
}

function socketClass(network: Network): WebSocketClass {
  return class extends HostSocket {
    constructor(url: string) {
      super(network, url);
    }
  };
}

const textOf = (frame: unknown): string => (typeof frame === "string" ? frame : JSON.stringify(frame));

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};

/** What can be watched, of whatever class. */
type Store = Pick<ThinkClient, "subscribe" | "getSnapshot">;

/** What a client shows, in short. */
export const shown = (client: Store): string[] => linesOf(client.getSnapshot().messages);

export const statusOf = (client: Store): string => client.getSnapshot().status;

/** Every status a client goes through. */
export function statuses(client: Store): string[] {
  const seen: string[] = [];
  const note = () => {
    const { status } = client.getSnapshot();
    if (seen.at(-1) !== status) seen.push(status);
  };
  note();
  client.subscribe(note);
  return seen;
}
