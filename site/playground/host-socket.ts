// The client's WebSocket, which leads to the host of the same page.
import type { WebSocketClass } from "../../src/client/socket.ts";
import type { TestHost } from "../../src/testing/test-host.ts";
import type { TestSocket } from "../../src/testing/test-socket.ts";

type Handler = ((event: never) => unknown) | null;

export class HostSockets {
  readonly #host: TestHost<object>;
  readonly #open = new Set<HostSocket>();

  constructor(host: TestHost<object>) {
    this.#host = host;
  }

  /** What `createThinkClient` is given as `WebSocket`. */
  get socketClass(): WebSocketClass {
    const connect = (socket: HostSocket, url: string) => void this.#connect(socket, url);
    return class extends HostSocket {
      constructor(url: string) {
        super();
        connect(this, url);
      }
    };
  }

  /** The process died: every socket is broken. */
  breakAll(): void {
    for (const socket of this.#open) socket.lose();
    this.#open.clear();
  }

  async #connect(socket: HostSocket, url: string): Promise<void> {
    // The client listens once it has the socket.
    await Promise.resolve();
    const { pathname, search } = new URL(url);
    const connected = this.#host.crashed
      ? undefined
      : await this.#host.connect(pathname + search).catch(() => undefined);
    if (connected === undefined) return socket.lose();
    this.#open.add(socket);
    socket.begin(connected);
  }
}

class HostSocket {
  onopen: Handler = null;
  onmessage: Handler = null;
  onclose: Handler = null;
  onerror: Handler = null;
  #socket: TestSocket | undefined;
  #isClosed = false;

  begin(socket: TestSocket): void {
    this.#socket = socket;
    this.#emit(this.onopen, {});
    socket.listen((frame) => {
      const data = typeof frame === "string" ? frame : JSON.stringify(frame);
      if (!this.#isClosed) this.#emit(this.onmessage, { data });
    });
  }

  send(data: string): void {
    this.#socket?.send(data);
  }

  close(code?: number): void {
    this.#isClosed = true;
    if (this.#socket && !this.#socket.closed) this.#socket.close(code);
  }

  lose(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#emit(this.onclose, { code: 1006, reason: "" });
  }

  #emit(handler: Handler, event: object): void {
    // Each handler reads the fields that its event has.
    handler?.(event as never);
  }
}
