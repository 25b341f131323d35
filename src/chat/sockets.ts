// The clients as this room sees them. Whoever owns the connections adapts them; nothing here knows ids, tags or
// attachments, so two sockets of one client can never be taken for each other.

export interface ChatSocket {
  /** The same object for the same socket, and for no other: everything remembered about a client hangs on it. */
  readonly key: object;
  /** False when the client is gone. */
  send(frame: string): boolean;
  readonly isOpen: boolean;
}

export interface ChatSockets {
  /** Open sockets that want to hear of things they did not ask for, in order of acceptance. */
  list(): ChatSocket[];
}
