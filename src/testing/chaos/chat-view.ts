// The list of messages a chat client shows, as a fold of the frames it gets: streamed chunks, snapshots, updates and
// clears of the `cf_agent_*` protocol, the way the published clients treat them. Nothing here sends anything.
import type { UIMessage, UIMessageChunk } from "ai";
import { continueFold, foldChunk, foldedMessage, isChunk, type MessageFold, startFold } from "../../model/index.ts";
import { parseJson } from "../../util/json.ts";

export type ChatFrame = Readonly<Record<string, unknown>>;

/** How a request ended, as its client received it. */
export interface RequestEnd {
  readonly outcome: string;
  readonly error?: string;
  readonly isReplay: boolean;
}

interface OpenStream {
  fold: MessageFold;
  /** Number of the newest chunk in it. */
  sequence: number;
  /** Its socket is gone. The next snapshot replaces it; without one, a replay goes on with it. */
  isSuspended: boolean;
}

/** A streamed answer whose end was received, and what was stored of it according to what came right behind that end. */
export interface StreamedAnswer {
  readonly requestId: string;
  readonly streamed: UIMessage;
  readonly stored: UIMessage | undefined;
}

export class ChaosChatView {
  messages: UIMessage[] = [];
  /** Streams being read, by request. */
  readonly #streams = new Map<string, OpenStream>();
  /** Ended streams; what was stored of them comes next, as a snapshot or as the message. */
  #unconfirmed: { requestId: string; streamed: UIMessage }[] = [];
  readonly answers: StreamedAnswer[] = [];
  #madeIds = 0;

  get isStreaming(): boolean {
    return [...this.#streams.values()].some(({ isSuspended }) => !isSuspended);
  }

  /** The socket is gone: what was streamed stays on show, as with any client, until the server says more. */
  interrupt(): void {
    this.#unconfirmed = [];
    for (const stream of this.#streams.values()) stream.isSuspended = true;
  }

  /** A connection that finds nothing going on: streams from before will never go on. */
  forgetStreams(): void {
    this.#streams.clear();
  }

  receive(frame: ChatFrame): void {
    switch (frame["type"]) {
      case "cf_agent_use_chat_response":
        return this.#response(frame);
      case "cf_agent_chat_messages":
        return this.#snapshot(messagesOf(frame["messages"]));
      case "cf_agent_message_updated":
        return messagesOf([frame["message"]]).forEach((message) => this.#update(message));
      case "cf_agent_chat_clear":
        this.#streams.clear();
        this.messages = [];
    }
  }

  #response(frame: ChatFrame): void {
    const requestId = String(frame["id"]);
    if (frame["done"] === true) return this.#end(requestId, frame);
    if (typeof frame["body"] !== "string" || frame["body"] === "") return;
    const parsed = parseJson(frame["body"]);
    if (parsed.ok && isChunk(parsed.value)) this.#chunk(requestId, parsed.value, frame);
  }

  #end(requestId: string, frame: ChatFrame): void {
    const stream = this.#streams.get(requestId);
    this.#streams.delete(requestId);
    if (stream === undefined || frame["error"] === true || frame["replay"] === true) return;
    if (frame["outcome"] === "completed") {
      this.#unconfirmed.push({ requestId, streamed: foldedMessage(stream.fold) });
    }
  }

  #chunk(requestId: string, chunk: UIMessageChunk, frame: ChatFrame): void {
    const known = this.#streams.get(requestId);
    const sequence = typeof frame["seq"] === "number" ? frame["seq"] : undefined;
    // A continuation is replayed onto a message that may hold its first chunks already.
    const isRepeated = known !== undefined && sequence !== undefined && sequence <= known.sequence;
    if (frame["continuation"] === true && frame["replay"] === true && isRepeated) return;
    const fold = foldChunk(this.#foldFor(known, chunk, frame), chunk);
    this.#streams.set(requestId, { fold, sequence: sequence ?? known?.sequence ?? -1, isSuspended: false });
    this.#show(foldedMessage(fold));
  }

  #foldFor(known: OpenStream | undefined, chunk: UIMessageChunk, frame: ChatFrame): MessageFold {
    if (chunk.type === "start" && chunk.messageId !== undefined) return startFold(chunk.messageId);
    if (known !== undefined) return known.fold;
    const last = this.messages.at(-1);
    if (frame["continuation"] === true && last?.role === "assistant") return continueFold(last);
    this.#madeIds += 1;
    return startFold(`client-made-${this.#madeIds}`);
  }

  #snapshot(stored: UIMessage[]): void {
    const byId = new Map(stored.map((message) => [message.id, message]));
    for (const { requestId, streamed } of this.#unconfirmed) {
      this.answers.push({ requestId, streamed, stored: byId.get(streamed.id) });
    }
    this.#unconfirmed = [];
    this.messages = stored;
    for (const [requestId, { fold, isSuspended }] of this.#streams) {
      if (isSuspended) this.#streams.delete(requestId);
      // A message that is still streaming is known better here than in storage.
      else if (byId.has(fold.message.id)) this.#show(foldedMessage(fold));
    }
  }

  #update(message: UIMessage): void {
    for (const { requestId, streamed } of this.#unconfirmed) {
      if (streamed.id === message.id) this.answers.push({ requestId, streamed, stored: message });
    }
    this.#unconfirmed = this.#unconfirmed.filter(({ streamed }) => streamed.id !== message.id);
    if (!this.messages.some(({ id }) => id === message.id)) return;
    this.#show(message);
    for (const stream of this.#streams.values()) {
      if (stream.fold.message.id === message.id) stream.fold = { ...stream.fold, message };
    }
  }

  #show(message: UIMessage): void {
    const index = this.messages.findIndex(({ id }) => id === message.id);
    this.messages = index < 0 ? [...this.messages, message] : this.messages.with(index, message);
  }
}

/** How a request ended, if the frame says that one did. */
export function endOf(frame: ChatFrame): RequestEnd | undefined {
  if (frame["type"] !== "cf_agent_use_chat_response" || frame["done"] !== true) return undefined;
  const isError = frame["error"] === true;
  const outcome = typeof frame["outcome"] === "string" ? frame["outcome"] : isError ? "error" : "completed";
  return { outcome, isReplay: frame["replay"] === true, ...(isError && { error: String(frame["body"]) }) };
}

function messagesOf(value: unknown): UIMessage[] {
  // What the agent under test sends as messages; the checks compare it with what it stores.
  return Array.isArray(value) ? (value as UIMessage[]) : [];
}
