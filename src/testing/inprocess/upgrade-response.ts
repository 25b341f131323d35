// A response with status 101 and the client's socket. Node's Response refuses that status, so it is reported, not passed.
import { standIn } from "./stand-in.ts";
import { SocketConnection } from "./connection.ts";
import { ServerSocket } from "./server-socket.ts";
import { checkClose, NO_CODE, ReadyState, toSocketData } from "./socket-frames.ts";

const upgrades = new WeakMap<Response, { client: ClientSocket; server: ServerSocket }>();

/** Both ends of a new WebSocket, and the response that hands the client its end. */
export function createSocketPair(): { server: WebSocket; response: Response } {
  const connection = new SocketConnection();
  const server = new ServerSocket(connection);
  const client = new ClientSocket(connection);
  const response = new Response(null);
  Object.defineProperties(response, {
    status: { value: 101 },
    statusText: { value: "Switching Protocols" },
    ok: { value: false },
    webSocket: { value: client }
  });
  upgrades.set(response, { client, server });
  return { server: standIn<WebSocket>(server), response };
}

export function upgradeOf(response: Response): { client: ClientSocket; server: ServerSocket } | undefined {
  return upgrades.get(response);
}

/**
 * The client's end of a WebSocket. A test kit attaches to the connection directly; an object that connects to another one
 * calls accept() and listens.
 */
class ClientSocket extends EventTarget {
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
