// The client's end of a WebSocket, carried by a response with status 101. A test kit attaches to the connection directly;
// an object that connects to another one calls accept() and listens.
import type { SocketConnection } from "./connection.ts";
import { checkClose, NO_CODE, ReadyState, toSocketData } from "./socket-frames.ts";

export class ClientSocket extends EventTarget {
  readonly connection: SocketConnection;
  #readyState: number = ReadyState.open;

  constructor(connection: SocketConnection) {
    super();
    this.connection = connection;
  }

  get readyState(): number {
    return this.#readyState;
  }

  accept(): void {
    this.connection.attachClient({
      message: (data) => this.dispatchEvent(new MessageEvent("message", { data })),
      close: (close) => {
        this.#readyState = ReadyState.closed;
        this.dispatchEvent(Object.assign(new Event("close"), close));
      }
    });
  }

  send(message: unknown): void {
    this.connection.sendToServer({ kind: "message", data: toSocketData(message) });
  }

  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    if (this.#readyState !== ReadyState.open) return;
    this.#readyState = ReadyState.closing;
    this.connection.sendToServer({ kind: "close", code: code ?? NO_CODE, reason: reason ?? "" });
  }
}
