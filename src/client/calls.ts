// Calls of the agent's methods. They live above the socket: a call made while there is no connection waits for one, each
// has a deadline, and one that was on its way when the connection broke is reported as lost and never repeated.
import { CallFailedError, CallLostError, CallTimeoutError, ClientClosedError, ClientQueueFullError } from "./errors.ts";
import { clientFrames, type CallAnswer } from "./frames.ts";
import type { Timers } from "./timers.ts";

export const DEFAULT_CALL_TIMEOUT_MS = 30_000;
/** Unanswered calls of one client; the next one is refused. */
export const MAX_OPEN_CALLS = 256;

export interface CallOptions {
  /** From the moment of the call, waiting for a connection included. Default 30 s; for streams none. `Infinity`: none. */
  readonly timeoutMs?: number;
  /** Gives up waiting for the answer. The method is not stopped. */
  readonly signal?: AbortSignal;
  /** Each chunk of a streaming method; the promise resolves with what it ended with. */
  readonly onChunk?: (chunk: unknown) => void;
}

interface OpenCall {
  readonly method: string;
  readonly frame: string;
  isSent: boolean;
  readonly onChunk: ((chunk: unknown) => void) | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface CallsInit {
  send(text: string): boolean;
  readonly timers: Timers;
  newId(): string;
}

export class Calls {
  readonly #init: CallsInit;
  readonly #open = new Map<string, OpenCall>();

  constructor(init: CallsInit) {
    this.#init = init;
  }

  call(method: string, args: readonly unknown[], options: CallOptions = {}): Promise<unknown> {
    if (this.#open.size >= MAX_OPEN_CALLS) {
      return Promise.reject(new ClientQueueFullError("calls", MAX_OPEN_CALLS));
    }
    const { signal, onChunk } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#init.newId();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call: OpenCall = {
      method,
      frame: clientFrames.call(id, method, args),
      isSent: false,
      onChunk,
      resolve,
      reject
    };
    this.#open.set(id, call);
    const stopWaiting = this.#limit(id, call, options);
    call.isSent = this.#init.send(call.frame);
    return promise.finally(stopWaiting);
  }

  /** A connection is there: what never left is sent now, in the order it was asked for. */
  opened(): void {
    for (const call of this.#open.values()) if (!call.isSent) call.isSent = this.#init.send(call.frame);
  }

  dropped(): void {
    for (const [id, call] of this.#open) {
      if (!call.isSent) continue;
      this.#open.delete(id);
      call.reject(new CallLostError(call.method));
    }
  }

  /** Nothing will ever be answered again. */
  closed(reason?: string): void {
    for (const call of this.#open.values()) call.reject(new ClientClosedError(reason));
    this.#open.clear();
  }

  answered(id: string, answer: CallAnswer): void {
    const call = this.#open.get(id);
    if (call === undefined) return;
    if (answer.ok && !answer.isDone) {
      call.onChunk?.(answer.result);
      return;
    }
    this.#open.delete(id);
    if (answer.ok) call.resolve(answer.result);
    else call.reject(new CallFailedError(call.method, answer.error));
  }

  /** Ends a call that takes too long or is no longer wanted. What it returns takes the limits off. */
  #limit(id: string, call: OpenCall, { timeoutMs, signal, onChunk }: CallOptions): () => void {
    const limitMs = timeoutMs ?? (onChunk ? Infinity : DEFAULT_CALL_TIMEOUT_MS);
    const giveUp = (error: unknown) => {
      if (this.#open.delete(id)) call.reject(error);
    };
    const onAbort = () => giveUp(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancel = Number.isFinite(limitMs)
      ? this.#init.timers.after(limitMs, () => giveUp(new CallTimeoutError(call.method, limitMs)))
      : () => undefined;
    return () => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
    };
  }
}
