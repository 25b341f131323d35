// A body that is written while it is read, for a client that may leave, or stop reading.
import { encodeText } from "../../util/bytes.ts";

/** What may wait for a client that reads slowly; beyond it the client is cut off. */
export const UNREAD_STREAM_BYTES = 32 * 1024 * 1024;

export class TextStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Called when the client leaves before the end. */
  onLeave: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor() {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        cancel: () => {
          this.#controller = undefined;
          this.onLeave();
        }
      },
      { highWaterMark: UNREAD_STREAM_BYTES, size: (chunk) => chunk?.byteLength ?? 0 }
    );
  }

  /** False: the client is gone, or was cut off. */
  write(text: string): boolean {
    const controller = this.#controller;
    if (!controller) return false;
    if ((controller.desiredSize ?? 0) > 0) {
      controller.enqueue(encodeText(text));
      return true;
    }
    this.#controller = undefined;
    controller.error(new Error("The client reads too slowly."));
    return false;
  }

  close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
