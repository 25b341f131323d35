// A client's WebSocket in a test: everything it received, in order, and ways to misbehave as networks do.
import type { SocketConnection } from "./inprocess/connection.ts";
import type { Engine } from "./inprocess/engine.ts";
import { checkClose, NO_CODE, type SocketData, toSocketData } from "./inprocess/socket-frames.ts";
import { isObject, parseJson } from "../util/json.ts";
import { NoSuchFrame } from "./errors.ts";

/** What a test looks for: a frame's `type`, or anything it can say about a frame. */
export type FramePredicate<Frame> = string | ((frame: Frame) => boolean);

export class TestSocket {
  /** All frames received: parsed where they are JSON, text otherwise, bytes as Uint8Array. */
  readonly frames: unknown[] = [];
  readonly #engine: Engine;
  readonly #connection: SocketConnection;
  #unread: unknown[] = [];
  #closed: { code: number; reason: string } | undefined;
  #extraCopies = 0;
  #listener: ((frame: unknown) => void) | undefined;

  constructor(engine: Engine, connection: SocketConnection) {
    this.#engine = engine;
    this.#connection = connection;
    connection.attachClient({
      message: (data) => {
        const frame = parseFrame(data);
        this.frames.push(frame);
        this.#unread.push(frame);
        this.#listener?.(frame);
      },
      close: ({ code, reason }) => {
        this.#closed ??= { code, reason };
      }
    });
  }

  /** How the socket ended, once both sides know. A server that never answers a close leaves it undefined. */
  get closed(): { code: number; reason: string } | undefined {
    return this.#closed;
  }

  /** Frames `next` has not handed out yet. */
  get unread(): readonly unknown[] {
    return this.#unread;
  }

  /** Hears every frame as it arrives, those that arrived before first: for a client that answers in the middle of a stream. */
  listen(listener: (frame: unknown) => void): void {
    this.#listener = listener;
    for (const frame of [...this.frames]) listener(frame);
  }

  /** Text and bytes go as they are, anything else as JSON. */
  send(message: unknown): void {
    const isRaw = typeof message === "string" || message instanceof ArrayBuffer || ArrayBuffer.isView(message);
    const data = toSocketData(isRaw ? message : JSON.stringify(message));
    const copies = 1 + this.#extraCopies;
    this.#extraCopies = 0;
    for (let copy = 0; copy < copies; copy++) this.#connection.sendToServer({ kind: "message", data });
  }

  /**
   * The next unread frame of that `type`, or that satisfies the predicate. Frames it skips stay unread. The type
   * parameter is the test's own claim about what its agent sends.
   */
  async next<Frame = Record<string, unknown>>(wanted: FramePredicate<Frame> = () => true): Promise<Frame> {
    const matches = (frame: unknown) =>
      typeof wanted === "string" ? isObject(frame) && frame["type"] === wanted : wanted(frame as Frame);
    if (!this.#unread.some(matches)) await this.#engine.idle();
    const index = this.#unread.findIndex(matches);
    if (index === -1) {
      const name = typeof wanted === "string" ? `type "${wanted}"` : wanted.toString();
      throw new NoSuchFrame(name, this.#unread, this.#closed);
    }
    return this.#unread.splice(index, 1)[0] as Frame;
  }

  /** The next frame sent arrives this many times more than once. */
  duplicateNext(times = 1): void {
    this.#extraCopies = times;
  }

  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    this.#connection.sendToServer({ kind: "close", code: code ?? NO_CODE, reason: reason ?? "" });
  }

  /** The network goes away without a close frame. */
  drop(): void {
    this.#closed ??= { code: 1006, reason: "" };
    this.#connection.sendToServer({ kind: "lost" });
  }

  /** The connection breaks with an error that the object receives. */
  fail(error: Error): void {
    this.#closed ??= { code: 1006, reason: "" };
    this.#connection.sendToServer({ kind: "error", error });
  }
}

function parseFrame(data: SocketData): unknown {
  if (typeof data !== "string") return new Uint8Array(data);
  const parsed = parseJson(data);
  return parsed.ok ? parsed.value : data;
}
