// A transport for a caller in the same process: the chat of an agent without a network in between.
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { isObject, parseJson } from "../../../util/json.ts";
import { readPlainRequest } from "./commands.ts";
import type { PlainChat } from "./plain-chat.ts";
import type { PlainSink } from "./reader.ts";

/** Makes the transport. `chat` is called for each request, and may throw. */
export function inProcessTransport(chat: () => PlainChat): Pick<ChatTransport<UIMessage>, "sendMessages"> {
  return {
    sendMessages: async ({ messages, messageId, trigger, body, abortSignal }) => {
      const request = readPlainRequest({ ...body, messages, messageId, trigger });
      if (!request.ok) throw request.error;
      abortSignal?.throwIfAborted();
      const open = chat();
      const stream = new ChunkStream();
      const reader = open.newReader(stream);
      stream.onLeave = () => reader.cut();
      const result = await open.send(request.value, reader);
      if (result.kind === "refused") reader.fail(result.errorText);
      const abort = () => reader.isOpen && open.abort(reader);
      if (abortSignal?.aborted) abort();
      else abortSignal?.addEventListener("abort", abort, { once: true });
      return stream.chunks;
    }
  };
}

class ChunkStream implements PlainSink {
  readonly chunks: ReadableStream<UIMessageChunk>;
  onLeave: () => void = () => undefined;
  #controller: ReadableStreamDefaultController<UIMessageChunk> | undefined;

  constructor() {
    this.chunks = new ReadableStream<UIMessageChunk>({
      start: (controller) => void (this.#controller = controller),
      cancel: () => {
        this.#controller = undefined;
        this.onLeave();
      }
    });
  }

  chunk(body: string): boolean {
    const parsed = parseJson(body);
    // What the engine reports is a chunk.
    if (this.#controller && parsed.ok && isObject(parsed.value))
      this.#controller.enqueue(parsed.value as UIMessageChunk);
    return this.#controller !== undefined;
  }

  end(): void {
    this.#controller?.close();
    this.#controller = undefined;
  }

  fail(errorText: string): void {
    this.#controller?.enqueue({ type: "error", errorText });
    this.end();
  }
}
