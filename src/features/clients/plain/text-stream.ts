// A body that is written while it is read, for a client that may leave, or stop reading.
import type { Clock } from "../../../host/ports.ts";
import { encodeText } from "../../../util/bytes.ts";
import { wireErrors } from "../../../wire/errors.ts";
import { NO_STORE } from "../../../util/json.ts";

/** The headers of a stream of server-sent events. Without the last one proxies would gather it. */
export const EVENT_HEADERS = { ...NO_STORE, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no" };

/** The last event of a stream. */
export const DONE = "data: [DONE]\n\n";

/** Bytes that may wait for a client that reads slowly; beyond it the client is cut off, with an error that it can read. */
export const UNREAD_STREAM_BYTES = 32 * 1024 * 1024;

/** The time between two looks, so that a stream is silent for less than twice as long. Some proxies close it after half a minute. */
export const KEEP_ALIVE_MS = 10_000;

/** A comment of server-sent events: their readers skip it. */
const KEEP_ALIVE = ": keep-alive\n\n";

export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Called when the client leaves before the end. */
  onLeave: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #over = new AbortController();
  /** Whether nothing was sent since the last look. */
  #isSilent = true;

  constructor() {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        cancel: () => {
          this.#end();
          this.onLeave();
        }
      },
      { highWaterMark: UNREAD_STREAM_BYTES, size: (chunk) => chunk?.byteLength ?? 0 }
    );
  }

  /** Writes a text. False: the client is gone, or was cut off. */
  write(text: string): boolean {
    const controller = this.#controller;
    if (!controller) return false;
    this.#isSilent = false;
    if ((controller.desiredSize ?? 0) > 0) {
      controller.enqueue(encodeText(text));
      return true;
    }
    this.close(this.errorText(wireErrors.SlowClientError().message));
    return false;
  }

  /** Ends the stream. The last words reach the client, however much it has not read yet: they say how the stream ended. */
  close(last = ""): void {
    if (last !== "") this.#controller?.enqueue(encodeText(last));
    this.#controller?.close();
    this.#end();
  }

  /** Writes an error as readers of this stream know one. */
  protected errorText(message: string): string {
    return message;
  }

  /** Sends comments, as server-sent events have them, while there is nothing else to send. Resolves with the stream's end. */
  async keepAlive(clock: Pick<Clock, "sleep">): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      this.#isSilent = true;
      // Rejects with the end of the stream.
      await clock.sleep(KEEP_ALIVE_MS, signal).catch(() => undefined);
      // A client that has something to read, and does not, is cut off by what is sent next.
      const isRead = this.#controller?.desiredSize === UNREAD_STREAM_BYTES;
      if (this.#isSilent && isRead) this.write(KEEP_ALIVE);
    }
  }

  #end(): void {
    this.#controller = undefined;
    this.#over.abort();
  }
}
