// The UI message stream of the AI SDK as server-sent events: what `DefaultChatTransport` reads.
import { encodeText } from "../../util/bytes.ts";
import type { PlainSink } from "./reader.ts";

/** What may wait for a client that reads slowly; beyond it the client is cut off, and may resume. */
export const UNREAD_LIMIT_BYTES = 32 * 1024 * 1024;

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  "X-Vercel-AI-UI-Message-Stream": "v1",
  // Proxies would gather it.
  "X-Accel-Buffering": "no"
};

export class EventStream implements PlainSink {
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
      { highWaterMark: UNREAD_LIMIT_BYTES, size: (chunk) => chunk?.byteLength ?? 0 }
    );
  }

  chunk(body: string): boolean {
    return this.write(`data: ${body}\n\n`);
  }

  end(): void {
    this.write("data: [DONE]\n\n");
    this.#close();
  }

  fail(errorText: string): void {
    this.chunk(JSON.stringify({ type: "error", errorText }));
    this.end();
  }

  protected write(text: string): boolean {
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

  #close(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }
}
