// A client's end of a real WebSocket: everything it received, in order, and waits that end on an event. A wait that
// cannot end any more (the socket closed, or the deadline passed) fails with what did arrive.
import { isObject, parseJson } from "../../src/util/json.ts";

/** Longer than anything here takes on a busy machine, shorter than a test may last. */
const DEADLINE_MS = 8_000;

export interface Frame {
  type?: string;
  [key: string]: unknown;
}

type Wanted = string | ((frame: Frame) => boolean);

interface Waiter {
  check: () => boolean;
  fail: (reason: string) => void;
}

export class ClientSocket {
  /** All frames received: parsed where they are JSON objects, else `{ raw }`. */
  readonly frames: Frame[] = [];
  readonly #socket: WebSocket;
  #unread: Frame[] = [];
  #closed: { code: number; reason: string } | undefined;
  #waiters = new Set<Waiter>();
  #calls = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const frame = parseFrame(data);
      this.frames.push(frame);
      this.#unread.push(frame);
      this.#changed();
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.#closed ??= { code, reason };
      this.#changed();
    });
    socket.accept();
  }

  get types(): (string | undefined)[] {
    return this.frames.map(({ type }) => type);
  }

  /** Text and bytes go as they are, anything else as JSON. */
  send(message: unknown): void {
    const isRaw = typeof message === "string" || message instanceof ArrayBuffer || ArrayBuffer.isView(message);
    this.#socket.send(isRaw ? message : JSON.stringify(message));
  }

  /** The next unread frame of that type, or that satisfies the predicate. Frames it skips stay unread. */
  next(wanted: Wanted = () => true): Promise<Frame> {
    const matches = (frame: Frame) => (typeof wanted === "string" ? frame.type === wanted : wanted(frame));
    return this.#when(`a frame (${String(wanted)})`, () => {
      const index = this.#unread.findIndex(matches);
      return index === -1 ? undefined : this.#unread.splice(index, 1)[0];
    });
  }

  /** Calls a method and returns the answer's frame. */
  call(method: string, ...args: unknown[]): Promise<Frame> {
    const id = `call-${++this.#calls}`;
    this.send({ type: "rpc", id, method, args });
    return this.next((frame) => frame.type === "rpc" && frame["id"] === id && frame["done"] !== false);
  }

  /** Resolves when the socket has ended. */
  get ended(): Promise<{ code: number; reason: string }> {
    return this.#when("the end", () => this.#closed);
  }

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  #when<T>(what: string, find: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => waiter.fail("in time"), DEADLINE_MS);
      const finish = () => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        check: () => {
          const found = find();
          if (found === undefined) return false;
          finish();
          resolve(found);
          return true;
        },
        fail: (reason) => {
          finish();
          const unread = JSON.stringify(this.#unread).slice(0, 500);
          reject(
            new Error(`${what} did not come ${reason}; closed: ${JSON.stringify(this.#closed)}; unread: ${unread}`)
          );
        }
      };
      this.#waiters.add(waiter);
      if (!waiter.check() && this.#closed) waiter.fail("before the close");
    });
  }

  #changed(): void {
    for (const waiter of [...this.#waiters]) if (!waiter.check() && this.#closed) waiter.fail("before the close");
  }
}

function parseFrame(data: unknown): Frame {
  if (typeof data !== "string") return { raw: data };
  const parsed = parseJson(data);
  return parsed.ok && isObject(parsed.value) ? parsed.value : { raw: data };
}
