// Calls of the agent's methods. They leave through the outbox: a call made while there is no connection waits for one,
// behind what was done before it. Each has a deadline, and one that was on its way when the connection broke is reported
// as lost, unless the agent takes a repetition for the same call.
import { CallFailedError, CallLostError, CallTimeoutError, ClientClosedError, ClientQueueFullError } from "./errors.ts";
import { clientFrames, type CallAnswer } from "./frames.ts";
import type { Outbox } from "./outbox.ts";
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

/** For the agent's own methods that change nothing when they are called again. */
export interface RepeatableCall extends CallOptions {
  /** It is sent again on the next connection if its answer did not come. Called each time. */
  readonly onRepeat?: () => void;
}

interface OpenCall {
  readonly method: string;
  readonly onChunk: ((chunk: unknown) => void) | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface CallsInit {
  readonly outbox: Pick<Outbox, "add" | "acknowledge">;
  readonly timers: Timers;
  newId(): string;
}

export class Calls {
  readonly #init: CallsInit;
  readonly #open = new Map<string, OpenCall>();

  constructor(init: CallsInit) {
    this.#init = init;
  }

  call(method: string, args: readonly unknown[], options: RepeatableCall = {}): Promise<unknown> {
    return this.send(method, (id) => clientFrames.call(id, method, args), options);
  }

  /** The same for a command that is no method. `frameOf` makes its frame, with the id that the answer names. */
  send(method: string, frameOf: (id: string) => string, options: RepeatableCall): Promise<unknown> {
    if (this.#open.size >= MAX_OPEN_CALLS) {
      return Promise.reject(new ClientQueueFullError("calls", MAX_OPEN_CALLS));
    }
    const { signal, onChunk } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.#init.newId();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call: OpenCall = { method, onChunk, resolve, reject };
    this.#open.set(id, call);
    const stopWaiting = this.#limit(id, call, options);
    this.#send(id, frameOf(id), options.onRepeat);
    return promise.finally(stopWaiting);
  }

  /** Nothing will ever be answered again. */
  closed(reason?: string): void {
    for (const id of [...this.#open.keys()]) this.#end(id)?.reject(new ClientClosedError(reason));
  }

  answered(id: string, answer: CallAnswer): void {
    const call = this.#open.get(id);
    if (call === undefined) return;
    if (answer.ok && !answer.isDone) {
      call.onChunk?.(answer.result);
      return;
    }
    this.#end(id);
    if (answer.ok) call.resolve(answer.result);
    else call.reject(new CallFailedError(call.method, answer.error));
  }

  #send(id: string, frame: string, onRepeat: (() => void) | undefined): void {
    const method = this.#open.get(id)?.method ?? "";
    let isSent = false;
    const onSent = () => {
      if (isSent) onRepeat?.();
      isSent = true;
    };
    const command = { key: keyOf(id), frame, isChat: false, needsAnswer: true, onSent };
    const lost = () => new CallLostError(method);
    this.#init.outbox
      .add(onRepeat ? command : { ...command, lost })
      // It was not sent, or its answer will not come.
      .catch((error: unknown) => this.#end(id)?.reject(error));
  }

  /** One that has not been sent yet never will be. */
  #end(id: string): OpenCall | undefined {
    const call = this.#open.get(id);
    this.#open.delete(id);
    this.#init.outbox.acknowledge(keyOf(id));
    return call;
  }

  /** Ends a call that takes too long or is no longer wanted. What it returns takes the limits off. */
  #limit(id: string, call: OpenCall, { timeoutMs, signal, onChunk }: CallOptions): () => void {
    const limitMs = timeoutMs ?? (onChunk ? Infinity : DEFAULT_CALL_TIMEOUT_MS);
    const giveUp = (error: unknown) => this.#end(id)?.reject(error);
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

function keyOf(id: string): string {
  return `call:${id}`;
}
