// The published chat clients as far as their behaviour is documented (wire protocol, sections 3.3 to 4.4 and 8): what
// they do with each frame to the list they show. Written to be unkind: everything a client folds itself is marked as its
// own copy, so that it equals the stored message only after the server has sent that.
import type { UIMessage, UIMessageChunk } from "ai";
import { continueFold, foldChunk, startFold, type MessageFold } from "../model/message-fold.ts";
import { requestFrame, user, type Frame, type TestChat, type TestSocket } from "./chat-kit.test-support.ts";

export interface ClientTraits {
  /** Joins streams it is offered. */
  readonly acknowledges: boolean;
  /** Older SDKs append a continuation to the last message, newer ones open a message under an id of their own. */
  readonly appendsContinuations: boolean;
}

export class ClientModel {
  readonly socket: TestSocket;
  messages: UIMessage[];
  readonly #chat: TestChat;
  readonly #traits: ClientTraits;
  /** Streams it reads as their requester, its own or resumed ones. */
  readonly #reading = new Map<string, MessageFold | undefined>();
  /** The stream it watches. */
  #watched: { id: string; fold: MessageFold } | undefined;
  readonly #stopped = new Set<string>();
  #count = 0;

  constructor(chat: TestChat, traits: ClientTraits) {
    this.#chat = chat;
    this.#traits = traits;
    // Fetched over HTTP before the socket opens.
    this.messages = chat.engine.transcript();
    this.socket = chat.connect();
    for (const frame of this.socket.take()) this.#receive(frame);
    this.socket.onFrame = (frame) => this.#receive(frame);
    chat.ask(this.socket);
  }

  submit(id: string): void {
    this.messages = [...this.messages, user(`u-${id}`)];
    this.#post(id, "submit-message");
  }

  regenerate(id: string): void {
    if (this.messages.at(-1)?.role !== "assistant") return;
    this.messages = this.messages.slice(0, -1);
    this.#post(id, "regenerate-message");
  }

  stop(id: string): void {
    this.#reading.delete(id);
    if (this.#watched?.id === id) this.#watched = undefined;
    this.#stopped.add(id);
    this.#chat.receive(this.socket, { type: "cf_agent_chat_request_cancel", id });
  }

  clear(): void {
    this.messages = [];
    this.#chat.receive(this.socket, { type: "cf_agent_chat_clear" });
  }

  answer(toolCallId: string): void {
    const frame = { type: "cf_agent_tool_result", toolCallId, toolName: "ask", output: 1, autoContinue: true };
    this.#chat.receive(this.socket, frame);
  }

  #post(id: string, trigger: string): void {
    this.#reading.set(id, undefined);
    this.#chat.receive(this.socket, requestFrame(id, { messages: this.messages, trigger }));
  }

  #receive(frame: Frame): void {
    switch (frame.type) {
      case "cf_agent_use_chat_response":
        return this.#response(frame);
      case "cf_agent_chat_messages":
        return this.#snapshot(frame.messages as UIMessage[]);
      case "cf_agent_message_updated":
        return this.#updated(frame.message as UIMessage);
      case "cf_agent_chat_clear":
        this.messages = [];
        this.#watched = undefined;
        return;
      case "cf_agent_stream_resuming":
        if (!this.#traits.acknowledges) return;
        this.#reading.set(String(frame.id), undefined);
        this.#chat.acknowledge(this.socket, String(frame.id));
    }
  }

  #response(frame: Frame): void {
    const id = String(frame.id);
    if (this.#stopped.has(id)) {
      if (frame.done) this.#stopped.delete(id);
    } else if (frame.done) this.#ended(id, frame);
    else if (frame.body !== "") this.#chunk(id, JSON.parse(String(frame.body)) as UIMessageChunk, frame);
  }

  #ended(id: string, frame: Frame): void {
    if (this.#reading.delete(id)) return;
    if (this.#watched?.id === id) {
      // A watching tab merges its copy a last time.
      this.#overlay(this.#watched.fold.message);
      this.#watched = undefined;
    } else if (!frame.replay) this.messages = [...this.messages, this.#own(startFold(this.#newId()).message)];
  }

  #chunk(id: string, chunk: UIMessageChunk, frame: Frame): void {
    if (this.#reading.has(id)) {
      const fold = foldChunk(this.#foldFor(this.#reading.get(id), chunk, frame), chunk);
      this.#reading.set(id, fold);
      this.#writeLast(fold.message);
      return;
    }
    const watched = this.#watched?.id === id ? this.#watched.fold : undefined;
    const fold = foldChunk(this.#foldFor(watched, chunk, frame), chunk);
    this.#watched = { id, fold };
    this.#overlay(fold.message);
  }

  #foldFor(fold: MessageFold | undefined, chunk: UIMessageChunk, frame: Frame): MessageFold {
    if (fold && chunk.type !== "start") return fold;
    if (chunk.type === "start" && chunk.messageId !== undefined) return startFold(chunk.messageId);
    const last = this.messages.at(-1);
    const appends = frame.continuation === true && this.#traits.appendsContinuations && last?.role === "assistant";
    return appends ? continueFold(last) : startFold(this.#newId());
  }

  /** The SDK only looks at the last message. */
  #writeLast(message: UIMessage): void {
    const own = this.#own(message);
    const kept = this.messages.at(-1)?.id === own.id ? this.messages.slice(0, -1) : this.messages;
    this.messages = [...kept, own];
  }

  #overlay(message: UIMessage): void {
    const own = this.#own(message);
    const index = this.messages.findIndex(({ id }) => id === own.id);
    this.messages = index < 0 ? [...this.messages, own] : this.messages.with(index, own);
  }

  #snapshot(messages: UIMessage[]): void {
    this.messages = messages;
    for (const fold of this.#reading.values()) {
      const index = messages.findIndex(({ id }) => id === fold?.message.id);
      if (fold && index >= 0) this.messages = this.messages.with(index, this.#own(fold.message));
    }
    if (this.#watched) this.#overlay(this.#watched.fold.message);
  }

  #updated(message: UIMessage): void {
    const calls = new Set(message.parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])));
    const holdsCall = (other: UIMessage) =>
      other.parts.some((part) => "toolCallId" in part && calls.has(part.toolCallId));
    let index = this.messages.findIndex(({ id }) => id === message.id);
    if (index < 0) index = this.messages.findIndex(holdsCall);
    const shown = this.messages[index];
    if (shown) this.messages = this.messages.with(index, { ...message, id: shown.id });
  }

  #own(message: UIMessage): UIMessage {
    return { ...message, metadata: { copyOf: "client" } };
  }

  #newId(): string {
    this.#count += 1;
    return `client-made-${this.#count}`;
  }
}
