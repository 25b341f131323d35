// The object's end of a WebSocket, as its code sees it. State lives in the connection: after an eviction a new object
// of this class stands for the same connection.
import { deserialize, serialize } from "node:v8";
import type { SocketConnection, InboundFrame } from "./connection.ts";
import { checkClose, NO_CODE, ReadyState, toSocketData } from "./socket-frames.ts";

const ATTACHMENT_LIMIT_BYTES = 16_384;

export class ServerSocket extends EventTarget {
  readonly connection: SocketConnection;
  readonly url = null;
  readonly protocol = "";
  readonly extensions = "";
  binaryType = "arraybuffer";
  #isAccepted = false;

  constructor(connection: SocketConnection) {
    super();
    this.connection = connection;
  }

  get readyState(): number {
    return ReadyState[this.connection.serverState];
  }

  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** Plain acceptance: events go to listeners, and the socket ends with the object's memory. */
  accept(): void {
    this.#isAccepted = true;
  }

  send(message: unknown): void {
    if (this.connection.hasServerClosed) throw new TypeError("Can't call WebSocket send() after close().");
    if (this.connection.serverState === "closed") return;
    this.connection.sendToClient(toSocketData(message));
  }

  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    if (this.connection.hasServerClosed || this.connection.serverState === "closed") return;
    this.connection.closeFromServer(code ?? NO_CODE, reason ?? "");
  }

  serializeAttachment(value: unknown): void {
    const bytes = serialize(structuredClone(value));
    if (bytes.byteLength > ATTACHMENT_LIMIT_BYTES) {
      throw new Error(
        `A WebSocket 'attachment' cannot be larger than ${ATTACHMENT_LIMIT_BYTES} bytes.` +
          `'attachment' was ${bytes.byteLength} bytes.`
      );
    }
    this.connection.attachment = bytes;
  }

  deserializeAttachment(): unknown {
    const { attachment } = this.connection;
    return attachment === undefined ? null : deserialize(attachment);
  }

  /** For a plainly accepted socket. */
  emit(frame: InboundFrame): void {
    if (frame.kind === "message") this.dispatchEvent(new MessageEvent("message", { data: frame.data }));
    else if (frame.kind === "error") this.dispatchEvent(Object.assign(new Event("error"), { error: frame.error }));
    else {
      const close = frame.kind === "close" ? { ...frame, wasClean: true } : { code: 1006, reason: "", wasClean: false };
      this.dispatchEvent(Object.assign(new Event("close"), close));
    }
  }
}
