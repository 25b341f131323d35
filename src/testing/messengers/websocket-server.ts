// The server's side of one WebSocket, as much of it as a fake provider needs: texts, pings and the end. Over Node's own
// socket: the test kit brings no package for it.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

const HANDSHAKE_KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
/** The connection broke: no side has said so. */
const ABNORMAL = 1_006;

interface Frame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
  /** Bytes of the frame as it came. */
  readonly size: number;
}

export class ServedWebSocket {
  onText: (text: string) => void = () => undefined;
  onEnd: () => void = () => undefined;
  readonly #stream: Duplex;
  #received: Buffer;
  #parts: Buffer[] = [];
  #isOpen = true;

  /** Accepts the upgrade. `head` is what came behind it. */
  constructor(request: IncomingMessage, stream: Duplex, head: Buffer) {
    this.#stream = stream;
    this.#received = head;
    const { createHash } = process.getBuiltinModule("node:crypto");
    const accept = createHash("sha1")
      .update(`${request.headers["sec-websocket-key"] ?? ""}${HANDSHAKE_KEY}`)
      .digest("base64");
    const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    stream.write(`${[...lines, `Sec-WebSocket-Accept: ${accept}`].join("\r\n")}\r\n\r\n`);
    stream.on("data", (chunk: Buffer) => this.#receive(chunk));
    // A client that is killed ends the connection, or resets it. Node keeps its own half open: it has to be closed here.
    stream.on("end", () => stream.destroy());
    stream.on("error", () => this.#ended());
    stream.on("close", () => this.#ended());
  }

  send(text: string): void {
    if (this.#isOpen) this.#stream.write(frameOf(TEXT, Buffer.from(text)));
  }

  /** 1006: the connection breaks, without a word. */
  end(code: number): void {
    if (!this.#isOpen) return;
    if (code === ABNORMAL) this.#stream.destroy();
    else this.#stream.end(frameOf(CLOSE, codeOf(code)));
    this.#ended();
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.onEnd();
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (let frame = readFrame(this.#received); frame; frame = readFrame(this.#received)) {
      this.#received = this.#received.subarray(frame.size);
      this.#take(frame);
    }
  }

  #take({ opcode, isLast, payload }: Frame): void {
    if (opcode === PING) this.#stream.write(frameOf(PONG, payload));
    if (opcode === CLOSE) this.end(payload.length >= 2 ? viewOf(payload).getUint16(0) : 1_000);
    if (opcode !== TEXT && opcode !== CONTINUATION) return;
    this.#parts.push(payload);
    if (!isLast) return;
    const text = Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    if (this.#isOpen) this.onText(text);
  }
}

/** Undefined: not all of it is there. */
function readFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const isMasked = (second & 0x80) !== 0;
  const start = 2 + lengthBytes + (isMasked ? 4 : 0);
  if (bytes.length < start) return undefined;
  const view = viewOf(bytes);
  const length = lengthBytes === 2 ? view.getUint16(2) : lengthBytes === 8 ? Number(view.getBigUint64(2)) : short;
  if (bytes.length < start + length) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + length));
  if (isMasked)
    for (let at = 0; at < length; at += 1) payload[at] = (payload[at] ?? 0) ^ (bytes[start - 4 + (at % 4)] ?? 0);
  return { opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload, size: start + length };
}

/** A server's frames are not masked. */
function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) viewOf(head).setUint16(2, length);
  if (head.length === 10) viewOf(head).setBigUint64(2, BigInt(length));
  return Buffer.concat([head, payload]);
}

function codeOf(code: number): Buffer {
  const bytes = Buffer.alloc(2);
  viewOf(bytes).setUint16(0, code);
  return bytes;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
