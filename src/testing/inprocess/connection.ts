// One WebSocket between a client and an object. It belongs to neither end's memory: an evicted object's connection stays
// open and wakes it with the next frame. Frames keep their order in each direction; each arrives in a turn of its own.
import type { Engine } from "./engine.ts";
import type { HostProcess } from "./host-process.ts";
import { OUTSIDE } from "./host-process.ts";
import type { ObjectActivation } from "./activation.ts";
import type { ObjectRecord } from "./object-record.ts";
import type { Party } from "./party.ts";
import { ABNORMAL, type SocketClose, type SocketData } from "./socket-frames.ts";
import { ServerSocket } from "./server-socket.ts";

export interface ConnectionClient {
  message(data: SocketData): void;
  close(close: SocketClose): void;
}

/** What the client sends. `lost` is a connection that ends without a close frame; `error` one that breaks in transit. */
export type InboundFrame =
  | { kind: "message"; data: SocketData }
  | { kind: "close"; code: number; reason: string }
  | { kind: "lost" }
  | { kind: "error"; error: Error };

export class SocketConnection {
  readonly tags: string[] = [];
  /** Serialised; what a hibernating socket remembers. */
  attachment: Uint8Array | undefined;
  autoResponseAt: number | undefined;
  #engine: Engine | undefined;
  #process: HostProcess | undefined;
  #record: ObjectRecord | undefined;
  #plainOwner: { party: Party; socket: ServerSocket } | undefined;
  #client: ConnectionClient | undefined;
  #undelivered: ((client: ConnectionClient) => void)[] = [];
  #clientState: "open" | "closing" | "closed" = "open";
  #serverState: "open" | "closing" | "closed" = "open";
  #hasServerClosed = false;

  get serverState(): "open" | "closing" | "closed" {
    return this.#serverState;
  }

  get hasServerClosed(): boolean {
    return this.#hasServerClosed;
  }

  get isHibernatable(): boolean {
    return this.#record !== undefined;
  }

  /** ctx.acceptWebSocket: from now on the object's handlers get the events. */
  hibernateIn(activation: ObjectActivation, socket: ServerSocket, tags: string[]): void {
    this.#record = activation.record;
    this.tags.push(...tags);
    activation.record.connections.add(this);
    activation.sockets.set(this, socket);
    this.bind(activation.engine);
  }

  /** The response that carries the client's end has left the object. */
  leave(engine: Engine, party: Party, socket: ServerSocket): void {
    if (this.#record === undefined) this.#plainOwner = { party, socket };
    this.bind(engine);
  }

  bind(engine: Engine): void {
    if (this.#engine !== undefined) return;
    this.#engine = engine;
    this.#process = engine.process;
    // A plain socket lives in its object's memory; only hibernatable ones are broken off by their record.
    this.#process.onDeath(() => this.breakOff());
  }

  /** The client reads from now on; what was sent before is delivered first. */
  attachClient(client: ConnectionClient): void {
    this.#client = client;
    const waiting = this.#undelivered;
    this.#undelivered = [];
    for (const deliver of waiting) deliver(client);
  }

  /** The platform object for this connection in an activation; the same one every time. */
  socketIn(activation: ObjectActivation): ServerSocket {
    const known = activation.sockets.get(this);
    if (known !== undefined) return known;
    const socket = new ServerSocket(this);
    activation.sockets.set(this, socket);
    return socket;
  }

  sendToClient(data: SocketData): void {
    this.#toClient((client) => {
      if (this.#clientState !== "closed") client.message(data);
    });
  }

  closeFromServer(code: number, reason: string): void {
    const isAnswer = this.#serverState === "closing";
    this.#hasServerClosed = true;
    this.#serverState = isAnswer ? "closed" : "closing";
    this.#toClient((client) => {
      if (this.#clientState === "closed") return;
      this.#clientState = "closed";
      client.close({ code, reason, wasClean: true });
      // A client answers a close frame by itself.
      if (!isAnswer) this.#engine?.inbound.push(this, { kind: "close", code, reason: "" });
    });
  }

  sendToServer(frame: InboundFrame): void {
    if (this.#clientState !== "open") return;
    if (frame.kind === "close") this.#clientState = "closing";
    if (frame.kind === "lost" || frame.kind === "error") this.#clientState = "closed";
    this.#engine?.inbound.push(this, frame);
  }

  /** A frame has arrived at the object. */
  receive(frame: InboundFrame): void {
    if (this.#serverState === "closed") return;
    if (frame.kind === "message" && this.#answersByItself(frame.data)) return;
    if (frame.kind !== "message") this.#serverState = this.#hasServerClosed ? "closed" : "closing";
    if (frame.kind === "lost" || frame.kind === "error") this.#serverState = "closed";
    if (this.#record !== undefined) this.#wakeHandler(this.#record, frame);
    else if (this.#plainOwner !== undefined) {
      const { party, socket } = this.#plainOwner;
      void party
        .enter(() => socket.emit(frame))
        .catch(() => {
          // The owner is gone; its connection breaks with it.
          this.breakOff();
        });
    }
  }

  /** The object or its process is gone: the client sees an abnormal end, the object sees nothing. */
  breakOff(): void {
    this.#record?.connections.delete(this);
    this.#serverState = "closed";
    if (this.#clientState === "closed") return;
    this.#clientState = "closed";
    this.#engine?.turns.push(OUTSIDE, () => this.#client?.close(ABNORMAL));
  }

  #toClient(deliver: (client: ConnectionClient) => void): void {
    if (this.#engine === undefined || this.#process === undefined) {
      this.#undelivered.push(deliver);
      return;
    }
    // Queued, not handed over: what was sent inside a transaction that dies must never be seen.
    this.#engine.turns.push(this.#process, () => {
      if (this.#client === undefined) this.#undelivered.push(deliver);
      else deliver(this.#client);
    });
  }

  #answersByItself(data: SocketData): boolean {
    const pair = this.#record?.autoResponse;
    if (pair === undefined || data !== pair.request) return false;
    this.autoResponseAt = this.#engine?.clock.now;
    this.sendToClient(pair.response);
    return true;
  }

  #wakeHandler(record: ObjectRecord, frame: InboundFrame): void {
    const handling = record.deliver((instance, activation) => {
      const [handler, ...args] = handlerCall(frame);
      const method: unknown = Reflect.get(instance, handler);
      if (typeof method !== "function") return undefined;
      return Reflect.apply(method, instance, [this.socketIn(activation), ...args]);
    });
    // A failing handler is the object's own affair: the platform logs it and the socket stays.
    const done = () => {
      if (frame.kind !== "message") record.connections.delete(this);
    };
    handling.then(done, done);
  }
}

function handlerCall(frame: InboundFrame): [string, ...unknown[]] {
  switch (frame.kind) {
    case "message":
      return ["webSocketMessage", frame.data];
    case "close":
      return ["webSocketClose", frame.code, frame.reason, true];
    case "lost":
      return ["webSocketClose", ABNORMAL.code, "WebSocket disconnected without sending Close frame.", false];
    case "error":
      return ["webSocketError", frame.error];
  }
}
