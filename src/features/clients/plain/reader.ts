// One plain client that is sent one answer, as chunks of the AI SDK and one end. The reader follows a turn by its request
// id, and tracks what the client shows of tool calls, so that an outcome that is not part of the turn's stream reaches it too.
import type { UIMessage, UIMessageChunk } from "ai";
import { isSettledToolPart, isToolPart, outcomeChunk } from "../../../model/index.ts";
import { isObject, parseJson } from "../../../util/json.ts";
import { OtherClient } from "../../../wire/clients.ts";

/** Writes an answer in the encoding of one client. After an end nothing more comes. */
export interface PlainSink {
  /** Writes one UI message chunk, given as JSON. False: the client is gone. */
  chunk(body: string): boolean;
  end(): void;
  /** Says in the client's own way that the model has said nothing since then. Without it a data part says so. */
  silent?(sinceMs: number): boolean;
  /** Ends the answer with plain words for a person. */
  fail(errorText: string): void;
}

const START_CHUNK = '{"type":"start"';
const FINISH_CHUNK = '{"type":"finish"';
const TOOL_CHUNK = '{"type":"tool-';

/** The data part of a silence. It is transient: clients hand it to `onData` and keep nothing of it. */
const SILENCE_CHUNK = "data-silence";

export class PlainReader extends OtherClient {
  readonly #sink: PlainSink;
  readonly #onCut: (reader: PlainReader) => void;
  readonly #connection: object | undefined;
  /** Calls that the client shows, and whether it knows their end. */
  readonly #calls = new Map<string, boolean>();
  #requestIds: readonly string[] = [];
  /** The last chunk of a turn. It is the answer's if no other turn takes over. */
  #finish: string | undefined;
  #messageId: string | undefined;
  /** Whether the answer has begun on the client's side: a further `start` would begin another. */
  #hasStarted = false;
  /** The turn that it follows has begun its answer. */
  #hasBegun = false;
  #isOver = false;

  /** `onCut` is called for a client that left, or was too slow, before it had everything. */
  constructor(sink: PlainSink, onCut: (reader: PlainReader) => void, connection?: object) {
    super();
    this.#sink = sink;
    this.#onCut = onCut;
    this.#connection = connection;
  }

  get key(): object {
    return this.#connection ?? this;
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** The turn that the client is sent. */
  get requestId(): string | undefined {
    return this.#requestIds.at(-1);
  }

  /** The same, after those that it took over from. */
  get requestIds(): readonly string[] {
    return this.#requestIds;
  }

  /** The message that the client shows, and adds to. */
  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** Says that the client is about to ask under this id. */
  expect(requestId: string): void {
    this.#requestIds = [requestId];
  }

  follow(requestId: string, messageId: string): void {
    this.#requestIds = [requestId];
    this.#messageId = messageId;
  }

  /** Another turn goes on in place of the one it followed, whose answer is stored as this. */
  goOn(requestId: string, messageId: string, stored: UIMessage | undefined): void {
    if (stored) this.catchUp(stored);
    this.#finish = undefined;
    this.#hasStarted ||= this.#hasBegun;
    this.#requestIds = [...this.#requestIds, requestId];
    this.#messageId = messageId;
  }

  /** Says that the client shows this answer already, and adds the rest to it. */
  shows({ parts }: UIMessage): void {
    this.#hasStarted = true;
    for (const part of parts) if (isToolPart(part)) this.#calls.set(part.toolCallId, isSettledToolPart(part));
  }

  /** Sends a chunk of the turn's stream. */
  chunk(body: string): void {
    if (body.startsWith(TOOL_CHUNK)) this.#noteCall(body);
    // A client adds to the message it shows; the id of another would make it repeat what it has.
    if (this.#hasStarted && body.startsWith(START_CHUNK)) return;
    this.#hasBegun ||= body.startsWith(START_CHUNK);
    if (body.startsWith(FINISH_CHUNK)) this.#finish = body;
    else this.#send(body);
  }

  /** Sends that the model has said nothing since then: a status, which is no part of the message. */
  silent(sinceMs: number): void {
    if (this.#isOver) return;
    const isSent =
      this.#sink.silent?.(sinceMs) ??
      this.#sink.chunk(JSON.stringify({ type: SILENCE_CHUNK, data: { since: sinceMs }, transient: true }));
    if (!isSent) this.cut();
  }

  /** Sends chunks that are not of the stream. */
  chunks(chunks: readonly UIMessageChunk[]): void {
    for (const chunk of chunks) this.#write(chunk);
  }

  /** Sends the ends of calls that the client shows as open. */
  catchUp({ parts }: UIMessage): void {
    for (const part of parts) {
      if (!isToolPart(part) || this.#calls.get(part.toolCallId) !== false || !isSettledToolPart(part)) continue;
      const outcome = outcomeChunk(part);
      if (outcome) this.#write(outcome);
    }
  }

  end(): void {
    if (this.#finish !== undefined) this.#send(this.#finish);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.end();
  }

  fail(errorText: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.fail(errorText);
  }

  /** Says that the client is gone, or cannot keep up. The turn that it follows goes on. */
  cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onCut(this);
  }

  #write(chunk: UIMessageChunk): void {
    const body = JSON.stringify(chunk);
    if (body.startsWith(TOOL_CHUNK)) this.#noteCall(body);
    if (chunk.type === "start") this.#hasStarted = true;
    this.#send(body);
  }

  #send(body: string): void {
    if (!this.#isOver && !this.#sink.chunk(body)) this.cut();
  }

  #noteCall(body: string): void {
    const parsed = parseJson(body);
    if (!parsed.ok || !isObject(parsed.value)) return;
    const { type, toolCallId, preliminary } = parsed.value;
    if (typeof toolCallId !== "string" || typeof type !== "string") return;
    const isEnd = type.startsWith("tool-output-") || type === "tool-input-error";
    this.#calls.set(toolCallId, isEnd && preliminary !== true);
  }
}
