// Discord's Gateway for tests: sockets that say hello, take a session or resume one, and are sent what they missed. In the
// place of the global `WebSocket`, or as a server on the port of its `FakeDiscord`.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { trackForeignWork } from "../inprocess/foreign-work.ts";
import { ServedWebSocket } from "./websocket-server.ts";

const MESSAGE_CONTENT = 1 << 15;

/** A client's socket as the Gateway sees it. */
interface GatewayClient {
  deliver(frame: object): void;
  end(code: number): void;
}

interface Dispatched {
  readonly s: number;
  readonly t: string;
  readonly d: object;
}

export class FakeDiscordGateway {
  /** Takes the place of the global `WebSocket`. */
  readonly WebSocket: new (url: string) => FakeGatewaySocket;
  /** What clients began: a new session, or one that goes on. */
  readonly sessions: ("identify" | "resume")[] = [];
  /** The number after which each client that resumed was to be sent the rest. */
  readonly resumedAfter: number[] = [];
  /** Where clients connected to, oldest first. */
  readonly addresses: string[] = [];
  heartbeats = 0;
  /** The heartbeat interval that clients are given. */
  heartbeatMs = 41_250;
  /** Of the server that listens. */
  url: string | undefined;
  /** The address at which clients resume. Default: the server that listens, or an address of Discord's. */
  resumeUrl: string | undefined;
  /** False: heartbeats stay without an answer. */
  answersHeartbeats = true;
  readonly #token: string;
  readonly #sent: Dispatched[] = [];
  readonly #open = new Set<GatewayClient>();
  #session = 0;

  constructor(token: string) {
    this.#token = token;
    const onOpen = (socket: FakeGatewaySocket) => this.#hello(socket);
    this.WebSocket = class extends FakeGatewaySocket {
      constructor(url: string) {
        super(url, onOpen);
      }
    };
  }

  /** The sockets that have a session now. */
  get connected(): number {
    return this.#open.size;
  }

  /** Kept for those that resume. */
  dispatch(t: string, d: object): void {
    const dispatched = { s: this.#sent.length + 1, t, d };
    this.#sent.push(dispatched);
    for (const socket of this.#open) socket.deliver({ op: 0, ...dispatched });
  }

  /** The connection breaks; with a code, Discord says why. */
  disconnect(code = 1006): void {
    for (const socket of [...this.#open]) socket.end(code);
  }

  /** Any frame, such as `{ op: 7 }`: reconnect. */
  sends(frame: object): void {
    for (const socket of this.#open) socket.deliver(frame);
  }

  /** Sessions are forgotten: a client that resumes learns it. */
  forgetSessions(): void {
    this.#session += 1;
    this.#sent.length = 0;
  }

  /** A client's upgrade, on the port of the server that listens. */
  accept(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const socket = new ServedWebSocket(request, stream, head);
    const client: GatewayClient = {
      deliver: (frame) => socket.send(JSON.stringify(frame)),
      end: (code) => socket.end(code)
    };
    socket.onText = (text) => {
      const { op, d } = JSON.parse(text) as { op: number; d: unknown };
      this.#receive(client, op, d);
    };
    socket.onEnd = () => this.#open.delete(client);
    this.#greet(client, `ws://${request.headers.host ?? ""}${request.url ?? ""}`);
  }

  #hello(socket: FakeGatewaySocket): void {
    socket.onFrame = (op, d) => this.#receive(socket, op, d);
    socket.onEnd = () => this.#open.delete(socket);
    this.#greet(socket, socket.url);
  }

  #greet(client: GatewayClient, address: string): void {
    this.addresses.push(address);
    const { searchParams } = new URL(address);
    const isKnown = searchParams.get("v") === "10" && searchParams.get("encoding") === "json";
    if (isKnown) client.deliver({ op: 10, d: { heartbeat_interval: this.heartbeatMs } });
    else client.end(4012);
  }

  #receive(socket: GatewayClient, op: number, d: unknown): void {
    const { token, intents, session_id: id, seq } = (d ?? {}) as Record<string, unknown>;
    if (op === 1) {
      this.heartbeats += 1;
      if (this.answersHeartbeats) socket.deliver({ op: 11 });
      return;
    }
    if (token !== this.#token) return socket.end(4004);
    if (op === 2) {
      // The content of messages is only for bots that ask for it.
      if ((Number(intents) & MESSAGE_CONTENT) === 0) return socket.end(4014);
      this.sessions.push("identify");
      this.#open.add(socket);
      const resumeUrl = this.resumeUrl ?? this.url ?? "wss://gateway-us-east1-b.discord.gg";
      const ready = { session_id: `session-${this.#session}`, resume_gateway_url: resumeUrl };
      socket.deliver({
        op: 0,
        s: this.#sent.push({ s: this.#sent.length + 1, t: "READY", d: ready }),
        t: "READY",
        d: ready
      });
    } else if (op === 6) {
      if (id !== `session-${this.#session}`) return socket.deliver({ op: 9, d: false });
      this.sessions.push("resume");
      this.resumedAfter.push(Number(seq));
      this.#open.add(socket);
      for (const sent of this.#sent) if (sent.s > Number(seq)) socket.deliver({ op: 0, ...sent });
      socket.deliver({ op: 0, s: this.#sent.length, t: "RESUMED", d: {} });
    } else socket.end(4001);
  }
}

type Listener = (event: { readonly data?: unknown; readonly code?: number }) => void;

/** As much of a WebSocket as a client uses. */
export class FakeGatewaySocket {
  readonly url: string;
  onFrame: (op: number, d: unknown) => void = () => undefined;
  onEnd: () => void = () => undefined;
  readonly #listeners = new Map<string, Listener[]>();
  #isOpen = true;

  constructor(url: string, onOpen: (socket: FakeGatewaySocket) => void) {
    this.url = url;
    void this.#later(() => onOpen(this));
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  send(data: string): void {
    if (!this.#isOpen) throw new Error("The socket is closed.");
    const { op, d } = JSON.parse(data) as { op: number; d: unknown };
    void this.#later(() => this.onFrame(op, d));
  }

  close(code = 1000): void {
    this.end(code);
  }

  deliver(frame: object): void {
    void this.#later(() => this.#emit("message", { data: JSON.stringify(frame) }));
  }

  end(code: number): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.onEnd();
    void this.#later(() => this.#emit("close", { code }), true);
  }

  #later(work: () => void, isEnd = false): Promise<void> {
    return trackForeignWork(
      Promise.resolve().then(() => {
        if (this.#isOpen || isEnd) work();
      })
    );
  }

  #emit(type: string, event: { data?: unknown; code?: number }): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event);
  }
}
