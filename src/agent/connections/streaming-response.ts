// The answer of a streaming callable: chunks in order, then exactly one end or error.
import { errorMessage } from "../../util/errors.ts";
import { frames } from "./frames.ts";

/** Sends a frame to the caller; false when it is gone. */
type Send = (frame: string) => boolean;

/**
 * Given to a `callable({ streaming: true })` method before its arguments.
 *
 * @example
 * static callables = { count: { streaming: true } };
 * async count(stream: StreamingResponse, to: number) {
 *   for (let n = 1; n <= to && !stream.isClosed; n++) stream.send(n);
 * }
 */
export class StreamingResponse {
  /** Fires when the caller's socket closes. */
  readonly signal: AbortSignal;
  readonly #id: string;
  readonly #send: Send;
  #closed = false;

  constructor(id: string, send: Send, signal: AbortSignal) {
    this.#id = id;
    this.#send = send;
    this.signal = signal;
  }

  get isClosed(): boolean {
    return this.#closed || this.signal.aborted;
  }

  /** Sends one chunk. False, with a warning, after the stream was closed. */
  send(chunk: unknown): boolean {
    if (this.#closed) console.warn("StreamingResponse.send() after the stream was closed; the chunk is dropped.");
    return !this.isClosed && this.#send(frames.rpcResult(this.#id, chunk, false));
  }

  /** Closes the stream, with an optional last value. */
  end(final?: unknown): boolean {
    return this.#close(() => frames.rpcResult(this.#id, final, true));
  }

  /** Closes the stream with an error. */
  error(message: string): boolean {
    return this.#close(() => frames.rpcError(this.#id, message));
  }

  #close(frame: () => string): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    if (this.signal.aborted) return false;
    try {
      return this.#send(frame());
    } catch (error) {
      // The final value cannot be written as JSON; the caller must still hear an end.
      return this.#send(frames.rpcError(this.#id, errorMessage(error)));
    }
  }
}
