// The Sockets port over hibernating WebSockets. A socket is the same object for the length of an activation, sending
// never throws, and only sockets accepted here are seen: those a user accepted by hand stay the user's.
import { openSocketPair } from "#platform";
import { hostErrors } from "./errors.ts";
import type { Socket, Sockets } from "./ports.ts";

/** The platform's limit for what a hibernating socket can remember. */
export const ATTACHMENT_LIMIT_BYTES = 16_384;
/** WebSocket close code for "the server failed". */
const INTERNAL_ERROR = 1011;
/** Marks an attachment as ours; `v` allows a later shape. */
interface Envelope<Attachment> {
  everthink: { v: 1; order: number; attachment: Attachment };
}

export function openSockets<Attachment>(ctx: DurableObjectState): Sockets<Attachment> {
  const known = new WeakMap<WebSocket, PlatformSocket<Attachment>>();
  const adopt = (platformSocket: WebSocket): PlatformSocket<Attachment> | undefined => {
    const existing = known.get(platformSocket);
    if (existing) return existing;
    const attachment = readEnvelope<Attachment>(platformSocket);
    if (!attachment) return undefined;
    const socket = new PlatformSocket(platformSocket, attachment.value, attachment.order);
    known.set(platformSocket, socket);
    return socket;
  };
  let newest: number | undefined;
  const nextOrder = (): number => {
    newest ??= Math.max(0, ...ctx.getWebSockets().map((socket) => adopt(socket)?.order ?? 0));
    newest += 1;
    return newest;
  };
  return {
    adopt,
    accept(attachment) {
      const { server, response } = openSocketPair();
      const socket = new PlatformSocket(server, attachment, nextOrder());
      // Before accepting: an attachment that is too large must fail the upgrade, not leave an anonymous socket.
      socket.setAttachment(attachment);
      ctx.acceptWebSocket(server);
      known.set(server, socket);
      return { socket, response };
    },
    refuse({ code, reason, frame }) {
      const { server, response } = openSocketPair();
      // Not as a hibernating socket: workerd holds the connection of one that is closed before its client has sent
      // anything until the object sleeps, and some clients report the close only then, after 10 s.
      server.accept();
      if (frame !== undefined) server.send(frame);
      server.close(code, reason);
      return response;
    },
    list: () =>
      ctx
        .getWebSockets()
        .map(adopt)
        .filter((socket) => socket !== undefined)
        .filter((socket) => socket.isOpen)
        // The platform's own order is not that of acceptance.
        .sort((a, b) => a.order - b.order)
  };
}

class PlatformSocket<Attachment> implements Socket<Attachment> {
  readonly order: number;
  readonly #socket: WebSocket;
  #attachment: Attachment;

  constructor(socket: WebSocket, attachment: Attachment, order: number) {
    this.order = order;
    this.#socket = socket;
    this.#attachment = attachment;
  }

  get attachment(): Attachment {
    return this.#attachment;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  setAttachment(next: Attachment): void {
    const envelope: Envelope<Attachment> = { everthink: { v: 1, order: this.order, attachment: next } };
    try {
      this.#socket.serializeAttachment(envelope);
    } catch (error) {
      throw hostErrors.AttachmentTooLargeError(ATTACHMENT_LIMIT_BYTES, error);
    }
    this.#attachment = next;
  }

  send(data: string | ArrayBuffer | ArrayBufferView): boolean {
    if (!this.isOpen) return false;
    try {
      this.#socket.send(data);
      return true;
    } catch {
      // A socket that cannot be written is gone; its client reconnects. The other sockets must not notice.
      this.close(INTERNAL_ERROR, "Send failed");
      return false;
    }
  }

  close(code?: number, reason?: string): void {
    try {
      this.#socket.close(code, reason);
    } catch {
      // Closing a socket that is already closed has nothing left to do.
    }
  }
}

function readEnvelope<Attachment>(socket: WebSocket): { value: Attachment; order: number } | undefined {
  // Written by `setAttachment` above, or by the user on a socket of their own.
  const envelope = socket.deserializeAttachment() as Partial<Envelope<Attachment>> | null;
  return envelope?.everthink?.v === 1
    ? { value: envelope.everthink.attachment, order: envelope.everthink.order }
    : undefined;
}
