// What travels over a WebSocket, and the platform's rules for what may be sent.
import { byteLength } from "../../util/bytes.ts";

export type SocketData = string | ArrayBuffer;

export interface SocketClose {
  code: number;
  reason: string;
  wasClean: boolean;
}

export const NO_CODE = 1005;
export const ABNORMAL: SocketClose = { code: 1006, reason: "", wasClean: false };
const REASON_LIMIT_BYTES = 123;

/** A copy, so that later changes to a buffer do not travel. Anything but text and bytes becomes text. */
export function toSocketData(message: unknown): SocketData {
  if (message instanceof ArrayBuffer) return message.slice(0);
  if (ArrayBuffer.isView(message)) {
    return new Uint8Array(message.buffer, message.byteOffset, message.byteLength).slice().buffer;
  }
  return String(message);
}

export function checkClose(code: number | undefined, reason: string | undefined): void {
  const isReserved = code !== undefined && [1004, 1005, 1006, 1015].includes(code);
  if (code !== undefined && (code < 1000 || code >= 5000 || isReserved)) {
    throw new DOMException(`Invalid WebSocket close code: ${code}.`, "InvalidAccessError");
  }
  if (reason !== undefined && byteLength(reason) > REASON_LIMIT_BYTES) {
    throw new DOMException(
      `WebSocket close reason must not be longer than ${REASON_LIMIT_BYTES} bytes when UTF-8 encoded.`,
      "SyntaxError"
    );
  }
}

export const ReadyState = { open: 1, closing: 2, closed: 3 } as const;
