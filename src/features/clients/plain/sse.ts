// The UI message stream of the AI SDK as server-sent events: what `DefaultChatTransport` reads.
import type { PlainSink } from "./reader.ts";
import { TextStream } from "./text-stream.ts";

export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  "X-Vercel-AI-UI-Message-Stream": "v1",
  // Proxies would gather it.
  "X-Accel-Buffering": "no"
};

/** Chunks that `ai` 6 does not know. It fails over the first one. */
const NEWER_CHUNK = /^\{"type":"(?:custom|reasoning-file|reset-step|steering-message|tool-approval-response)"/;

const DONE = "data: [DONE]\n\n";

export class EventStream extends TextStream implements PlainSink {
  readonly #major: 6 | 7;

  /** `major` is the oldest version of the AI SDK that may read it. */
  constructor(major: 6 | 7) {
    super();
    this.#major = major;
  }

  chunk(body: string): boolean {
    if (this.#major === 6 && NEWER_CHUNK.test(body)) return true;
    return this.write(`data: ${body}\n\n`);
  }

  end(): void {
    this.close(DONE);
  }

  fail(errorText: string): void {
    this.close(this.errorText(errorText));
  }

  protected override errorText(message: string): string {
    return `data: ${JSON.stringify({ type: "error", errorText: message })}\n\n${DONE}`;
  }
}
