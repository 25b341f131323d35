// A facet's view of client sockets that its root owns. Everything a facet does to them goes through one outbox, in
// call order: while one batch is on its way the next one gathers.
import type { Sockets } from "../../host/ports.ts";
import type { ConnectionAttachment, ConnectionSocket } from "../../host/connection.ts";
import type { SocketAction } from "./internal.ts";
import { pathKey, type AgentPath } from "../../host/path.ts";

/** Carries a batch to the root; answers with the sockets that no longer exist. */
type Deliver = (actions: SocketAction[]) => Promise<string[]>;

export class RemoteSockets {
  readonly #own = new Map<string, RemoteSocket>();
  /** Connections of descendants, for their cold starts. */
  readonly #below = new Map<string, ConnectionAttachment>();
  readonly #ownKey: string;
  readonly #deliver: Deliver;
  #isRestored = false;
  #outbox: SocketAction[] = [];
  #sending: Promise<void> | undefined;

  constructor(path: AgentPath, deliver: Deliver) {
    this.#ownKey = pathKey(path);
    this.#deliver = deliver;
  }

  get isRestored(): boolean {
    return this.#isRestored;
  }

  restore(known: ConnectionAttachment[]): void {
    this.#isRestored = true;
    for (const attachment of known) this.note(attachment);
  }

  list(): ConnectionSocket[] {
    return [...this.#own.values()].filter((socket) => socket.isOpen);
  }

  /** The socket of a forwarded event; the root's copy of its attachment is the newer one. */
  adopt(attachment: ConnectionAttachment): ConnectionSocket {
    const known = this.#own.get(attachment.socketId);
    if (known) return known;
    const socket = new RemoteSocket(attachment, (action) => this.#act(action));
    this.#own.set(attachment.socketId, socket);
    return socket;
  }

  /** Remembers a connection of this agent or of one below it. */
  note(attachment: ConnectionAttachment): void {
    if (pathKey(attachment.path) === this.#ownKey) this.adopt(attachment);
    else this.#below.set(attachment.socketId, attachment);
  }

  /** The client has gone. */
  drop(socketId: string): void {
    this.#own.get(socketId)?.markClosed();
    this.#own.delete(socketId);
    this.#below.delete(socketId);
  }

  /** The connections to tell a child about when it starts. */
  below(path: AgentPath): ConnectionAttachment[] {
    return attachmentsBelow([...this.#below.values()], path);
  }

  /** Resolves when everything sent so far has reached the root. */
  async sent(): Promise<void> {
    while (this.#sending) await this.#sending;
  }

  #act(action: SocketAction): void {
    const last = this.#outbox.at(-1);
    if (action.do === "send" && last?.do === "send" && last.data === action.data) {
      // A broadcast is one payload for many sockets: it crosses to the root once.
      last.socketIds.push(...action.socketIds);
      return;
    }
    this.#outbox.push(action);
    this.#sending ??= this.#drain();
  }

  async #drain(): Promise<void> {
    try {
      // The rest of this tick joins the first batch.
      await Promise.resolve();
      while (this.#outbox.length > 0) {
        const batch = this.#outbox;
        this.#outbox = [];
        for (const socketId of await this.#deliver(batch)) this.drop(socketId);
      }
    } catch (error) {
      // The root is gone, and its sockets with it: their clients reconnect.
      console.error("Frames of a sub-agent could not be delivered:", error);
      this.#outbox = [];
    } finally {
      this.#sending = undefined;
    }
  }
}

class RemoteSocket implements ConnectionSocket {
  #attachment: ConnectionAttachment;
  readonly #act: (action: SocketAction) => void;
  #open = true;

  constructor(attachment: ConnectionAttachment, act: (action: SocketAction) => void) {
    this.#attachment = attachment;
    this.#act = act;
  }

  get attachment(): ConnectionAttachment {
    return this.#attachment;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  setAttachment(next: ConnectionAttachment): void {
    this.#attachment = structuredClone(next);
    this.#act({ do: "attach", attachment: this.#attachment });
  }

  send(data: string | ArrayBuffer | ArrayBufferView): boolean {
    if (!this.#open) return false;
    this.#act({ do: "send", socketIds: [this.#attachment.socketId], data: portable(data) });
    return true;
  }

  close(code?: number, reason?: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#act({ do: "close", socketIds: [this.#attachment.socketId], code, reason });
  }

  markClosed(): void {
    this.#open = false;
  }
}

/** Bytes are copied: the sender may reuse its buffer before the batch leaves. */
function portable(data: string | ArrayBuffer | ArrayBufferView): string | ArrayBuffer {
  if (typeof data === "string") return data;
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  return bytes.slice().buffer;
}

/** Those of `attachments` that belong to the agent at `path` or below it. */
export function attachmentsBelow(attachments: ConnectionAttachment[], path: AgentPath): ConnectionAttachment[] {
  const key = pathKey(path);
  return attachments.filter((attachment) => pathKey(attachment.path.slice(0, path.length)) === key);
}

/** The root's half: performs a child's actions on the real sockets and names those that are gone. */
export function performSocketActions(
  sockets: Sockets<ConnectionAttachment>,
  actions: SocketAction[],
  changed: (attachment: ConnectionAttachment) => void
): string[] {
  const open = new Map(sockets.list().map((socket) => [socket.attachment.socketId, socket]));
  const gone = new Set<string>();
  const each = (socketIds: string[], act: (socket: ConnectionSocket) => void) => {
    for (const socketId of socketIds) {
      const socket = open.get(socketId);
      if (socket) act(socket);
      else gone.add(socketId);
    }
  };
  for (const action of actions) {
    if (action.do === "send") each(action.socketIds, (socket) => socket.send(action.data));
    else if (action.do === "close") each(action.socketIds, (socket) => socket.close(action.code, action.reason));
    else {
      each([action.attachment.socketId], (socket) => {
        socket.setAttachment(action.attachment);
        changed(action.attachment);
      });
    }
  }
  return [...gone];
}
