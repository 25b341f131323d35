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

export class EventStream extends TextStream implements PlainSink {
  chunk(body: string): boolean {
    return this.write(`data: ${body}\n\n`);
  }

  end(): void {
    this.write("data: [DONE]\n\n");
    this.close();
  }

  fail(errorText: string): void {
    this.chunk(JSON.stringify({ type: "error", errorText }));
    this.end();
  }
}
