// One client of one agent. Everything it must remember lives in the socket's attachment, beside flags of ours that the
// user's state can neither see nor overwrite.
import type { Socket } from "./ports.ts";
import type { AgentPath } from "./path.ts";

/** What survives hibernation with a socket. */
export interface ConnectionAttachment {
  /** Minted by the server. The connection id is the client's, so two live sockets can share one. */
  socketId: string;
  id: string;
  uri: string;
  tags: string[];
  /** The sub-agent this socket is addressed to, below the object that owns it; empty for its own. */
  path: AgentPath;
  state: unknown;
  readonly: boolean;
  /** Identity, state and MCP frames are sent. */
  protocol: boolean;
  /** It carries a protocol of an extension's own, whose client takes no other frame. */
  dedicated?: true;
}

/** What a connection hook gets beside the connection. */
export interface ConnectionContext {
  /** The upgrade request. */
  request: Request;
}

export type ConnectionSocket = Socket<ConnectionAttachment>;

/** How a send is prepared: queued state frames go out first, so that frames arrive in call order. */
type BeforeSend = () => void;

let socketOf: (connection: Connection) => ConnectionSocket;

/** A client's connection. `ConnectionState` is what `setState` keeps for it. */
export class Connection<ConnectionState = unknown> {
  /** The name of the agent it is connected to. */
  readonly server: string;
  readonly #socket: ConnectionSocket;
  readonly #beforeSend: BeforeSend;

  constructor(socket: ConnectionSocket, server: string, beforeSend: BeforeSend) {
    this.#socket = socket;
    this.server = server;
    this.#beforeSend = beforeSend;
  }

  static {
    socketOf = (connection) => connection.#socket;
  }

  /** Chosen by the client and stable over its reconnects. */
  get id(): string {
    return this.#socket.attachment.id;
  }

  /** The URL of the upgrade request. */
  get uri(): string {
    return this.#socket.attachment.uri;
  }

  get tags(): readonly string[] {
    return this.#socket.attachment.tags;
  }

  /** Kept for this connection until it closes, through hibernation; `null` at first. */
  get state(): ConnectionState | null {
    return this.#socket.attachment.state as ConnectionState | null;
  }

  setState(
    next: ConnectionState | null | ((previous: ConnectionState | null) => ConnectionState | null)
  ): ConnectionState | null {
    // A state may not be a function, so a function is always the updating form.
    const value =
      typeof next === "function"
        ? (next as (previous: ConnectionState | null) => ConnectionState | null)(this.state)
        : next;
    this.#socket.setAttachment({ ...this.#socket.attachment, state: value ?? null });
    return value;
  }

  /** Sends a frame; false when the client is gone, or is a plain AI SDK client, which takes none. Never throws. */
  send(data: string | ArrayBuffer | ArrayBufferView): boolean {
    if (this.#socket.attachment.dedicated) return false;
    this.#beforeSend();
    return this.#socket.send(data);
  }

  /** Codes 1008 and 4000 to 4999 tell the public clients not to reconnect. */
  close(code?: number, reason?: string): void {
    this.#beforeSend();
    this.#socket.close(code, reason);
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }
}

export { socketOf };
