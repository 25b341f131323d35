// Chat over a WebSocket, in the frames of the AI SDK's `WebSocketChatTransport`: `send`, `resume` and `abort` in, `start`,
// `chunk`, `end`, `error` and `no-active` out. One socket carries any number of requests. The client closes the connection
// over any other frame, so such a socket is sent nothing else.
import { isUsableId } from "../../../util/ids.ts";
import { isObject, parseJson } from "../../../util/json.ts";
import { whenDone, type MaybePromise } from "../../../util/maybe-promise.ts";
import { wireErrors } from "../../../wire/errors.ts";
import { readPlainRequest } from "./commands.ts";
import { READER_LIMIT, type PlainChat } from "./plain-chat.ts";
import type { PlainReader, PlainSink } from "./reader.ts";

/** Requests of one socket that are open at one time. */
export const SOCKET_REQUEST_LIMIT = 100;

export interface PlainSocket {
  /** Identifies the socket: the same object each time. */
  readonly key: object;
  readonly isReadonly: boolean;
  send(frame: string): boolean;
}

type Frame = Readonly<Record<string, unknown>>;

export class SocketChat {
  readonly #chat: PlainChat;
  readonly #open = new Map<object, Map<string, PlainReader>>();

  constructor(chat: PlainChat) {
    this.#chat = chat;
  }

  /** Takes a frame, and never throws over what a client sends. A frame without an id cannot be answered and is ignored. */
  receive(socket: PlainSocket, text: string): MaybePromise<void> {
    const parsed = parseJson(text);
    const frame: Frame = parsed.ok && isObject(parsed.value) ? parsed.value : {};
    const { type, requestId } = frame;
    if (!isUsableId(requestId)) return;
    switch (type) {
      case "send":
        return this.#send(socket, requestId, frame);
      case "resume":
        return this.#resume(socket, requestId);
      case "abort":
        return this.#abort(socket, requestId);
      default:
        // A later version's frame.
        return;
    }
  }

  /** Says that the client is gone; what it asked goes on. */
  closed(key: object): void {
    const readers = this.#open.get(key);
    this.#open.delete(key);
    for (const reader of readers?.values() ?? []) reader.cut();
  }

  #send(socket: PlainSocket, requestId: string, { body, messages, messageId, trigger }: Frame): MaybePromise<void> {
    const sink = new FrameSink(socket, requestId);
    if (socket.isReadonly) return sink.fail(wireErrors.ForbiddenFrameError().message);
    const fields = isObject(body) ? body : {};
    const request = readPlainRequest({ ...fields, messages, messageId, trigger });
    if (!request.ok) return sink.fail(request.error.message);
    const reader = this.#openReader(socket, requestId, sink);
    if (!reader) return;
    return whenDone(this.#chat.send(request.value, reader), (result) => {
      if (result.kind === "refused") reader.fail(result.errorText);
    });
  }

  #resume(socket: PlainSocket, requestId: string): void {
    const sink = new FrameSink(socket, requestId);
    const reader = this.#openReader(socket, requestId, sink);
    if (!reader) return;
    if (!this.#chat.resume(reader)) {
      this.#open.get(socket.key)?.delete(requestId);
      sink.refuseResume();
    } else if (reader.isOpen) sink.start();
  }

  #abort({ key, isReadonly }: PlainSocket, requestId: string): void {
    const reader = this.#open.get(key)?.get(requestId);
    this.#open.get(key)?.delete(requestId);
    if (!reader?.isOpen) return;
    if (isReadonly) reader.cut();
    else this.#chat.abort(reader);
  }

  /** Opens the reader of a request. Undefined: it was refused, or repeats one that is open. */
  #openReader(socket: PlainSocket, requestId: string, sink: FrameSink): PlainReader | undefined {
    const readers = this.#open.get(socket.key) ?? new Map<string, PlainReader>();
    for (const [id, reader] of readers) if (!reader.isOpen) readers.delete(id);
    this.#open.set(socket.key, readers);
    if (readers.has(requestId)) return undefined;
    if (this.#chat.isFull || readers.size >= SOCKET_REQUEST_LIMIT) {
      sink.fail(wireErrors.TooManyReadersError(READER_LIMIT).message);
      return undefined;
    }
    const reader = this.#chat.newReader(sink, socket.key);
    readers.set(requestId, reader);
    return reader;
  }
}

class FrameSink implements PlainSink {
  readonly #socket: PlainSocket;
  readonly #requestId: string;
  /** The number of the next chunk: the client takes them in this order only, from 0 on. */
  #sequence = 0;

  constructor(socket: PlainSocket, requestId: string) {
    this.#socket = socket;
    this.#requestId = requestId;
  }

  chunk(body: string): boolean {
    const sequence = this.#sequence++;
    // The chunk is JSON already.
    return this.#socket.send(
      `{"type":"chunk","requestId":${JSON.stringify(this.#requestId)},"sequence":${sequence},"chunk":${body}}`
    );
  }

  end(): void {
    this.#send("end");
  }

  fail(errorText: string): void {
    this.#send("error", { errorText });
  }

  /** Says that there is a stream, although nothing may come for a while. */
  start(): void {
    this.#send("start");
  }

  /** Says that there is nothing to resume. */
  refuseResume(): void {
    this.#send("no-active");
  }

  #send(type: "start" | "end" | "error" | "no-active", fields: object = {}): void {
    this.#socket.send(JSON.stringify({ type, requestId: this.#requestId, ...fields }));
  }
}
