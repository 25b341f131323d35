// Turns that server code starts: `chat`, `saveMessages`, `continueLastTurn`, `runTurn`. Each is one admission through
// the engine's entry; none of them runs anything itself. Expected ends are results; what is thrown is a breach of the
// contract: bad arguments, or waiting for a turn from inside one.
import type { SubmitMessagesOptions, SubmitMessagesResult } from "../feature/submission-types.ts";
import type { UIMessage } from "ai";
import type { Admission } from "../turn/admit.ts";
import type { ChatServices } from "../feature/services.ts";
import type { TurnFeatures } from "../feature/turn-features.ts";
import { currentDurable } from "../agent/context.ts";
import type { TurnHooks } from "../turn/hooks.ts";
import type { TurnOutcome } from "../turn/turn.ts";
import { idempotencyId } from "../session/idempotency.ts";
import { byteLength } from "../util/bytes.ts";
import { isObject } from "../util/json.ts";
import { ChatCaller, parseClientTools } from "../feature/client-tools.ts";

import { featureErrors } from "../feature/errors.ts";
import {
  CallbackReader,
  deliverFound,
  type ChatOptions,
  type StreamCallback,
  type TurnOptions
} from "../feature/stream-callback.ts";
import { isEmptyInput, turnInput, type ChatInput, type SubmissionInput } from "../feature/turn-input.ts";

export type SaveMessagesOptions = TurnOptions;

export interface SaveMessagesResult {
  /** Empty when no turn was started. */
  requestId: string;
  status: "completed" | "error" | "skipped" | "aborted";
  /** What `onChatError` made of the failure. */
  error?: string;
}

export interface TurnResult extends SaveMessagesResult {
  continuation: boolean;
  /** The answer, when the turn completed. */
  message?: UIMessage;
  /** The parsed value, when the turn asked for structured output. */
  output?: unknown;
}

/** Waits for the answer. */
export type RunTurnWaitOptions = TurnOptions & { mode?: "wait" } & (
    | { input: ChatInput; continuation?: false }
    | {
        /** Goes on from the latest answer. */
        continuation: true;
        input?: undefined;
      }
  );

/** Streams the answer to a callback. */
export type RunTurnStreamOptions = ChatOptions & { mode: "stream"; input: ChatInput; callback: StreamCallback };

/** Accepts the turn and returns; see `submitMessages`. */
export type RunTurnSubmitOptions = SubmitMessagesOptions & { mode: "submit"; input: SubmissionInput };

export type RunTurnOptions = RunTurnWaitOptions | RunTurnStreamOptions | RunTurnSubmitOptions;

/** What is used of the conversation. */
export interface ProgrammaticHost extends Pick<ChatServices, "turns"> {
  readonly transcript: Pick<ChatServices["transcript"], "leaf">;
  readonly ids: Pick<ChatServices["ids"], "next">;
  readonly turnFeatures: Pick<TurnFeatures, "submit">;
  readonly hooks: Pick<TurnHooks, "describeFailure">;
}

export class Programmatic {
  readonly #host: ProgrammaticHost;
  /** Callers know these ids already, and the engine does not yet: a cancel between the two must not be lost. */
  readonly #announced = new Map<string, AbortController>();

  constructor(host: ProgrammaticHost) {
    this.#host = host;
  }

  async chat(input: ChatInput, callback: StreamCallback, options: ChatOptions = {}): Promise<void> {
    this.#host.turns.refuseNested();
    if ("tools" in options) console.warn("chat() takes no tools: they belong to the agent's getTools(). Ignored.");
    const key = this.#keyOf(options);
    const { turns, ids } = this.#host;
    const requestId = (key === undefined ? undefined : turns.requestOf(key)) ?? ids.next();
    const admission: Admission = {
      ...sharedAdmission(options),
      ...underKey(key),
      requestId,
      trigger: "rpc",
      input: turnInput(input, this.#inputOptions(options, key)),
      clientTools: parseClientTools(options.clientTools ?? []),
      origin: new ChatCaller(options.onClientToolCall)
    };
    const signal = await this.#announce(callback, requestId);
    if (signal) await this.#follow({ ...admission, signal: anyOf(options.signal, signal) }, callback);
  }

  /** Stops a turn that is running, waiting, or about to be accepted. */
  cancel(requestId: string, reason?: string): void {
    this.#announced.get(requestId)?.abort(new DOMException(reason, "AbortError"));
    this.#host.turns.cancel(requestId, reason);
  }

  cancelAll(reason?: string): void {
    for (const controller of this.#announced.values()) controller.abort(new DOMException(reason, "AbortError"));
    this.#host.turns.cancelAll(reason);
  }

  async saveMessages(messages: ChatInput, options: SaveMessagesOptions = {}): Promise<SaveMessagesResult> {
    return (await this.#save(messages, options)).result;
  }

  async continueLastTurn(options: TurnOptions = {}): Promise<SaveMessagesResult> {
    return (await this.#continue(options)).result;
  }

  async runTurn(options: RunTurnOptions): Promise<TurnResult | SubmitMessagesResult | void> {
    // The mode says which of them it is; the rest was checked with it.
    switch (checkedMode(options)) {
      case "wait":
        return this.#wait(options as RunTurnWaitOptions);
      case "stream":
        return this.#stream(options as RunTurnStreamOptions);
      case "submit":
        return this.#submit(options as RunTurnSubmitOptions);
    }
  }

  #submit({ mode: _mode, input, ...options }: RunTurnSubmitOptions): Promise<SubmitMessagesResult> {
    return this.#host.turnFeatures.submit(input, options);
  }

  async #wait(options: RunTurnWaitOptions): Promise<TurnResult> {
    if (options.continuation === true) return turnResult(await this.#continue(options), true);
    if (isEmptyInput(options.input)) return { requestId: "", status: "skipped", continuation: false };
    return turnResult(await this.#save(options.input, options), false);
  }

  async #stream(options: RunTurnStreamOptions): Promise<void> {
    const { mode: _mode, input, callback, ...rest } = options;
    if (!isEmptyInput(input)) return this.chat(input, callback, rest);
    const requestId = this.#host.ids.next();
    if (await this.#announce(callback, requestId)) await callback.onDone();
  }

  /** Gives the caller the id before anything is queued. Undefined: the callback failed, and the turn must not start. */
  async #announce(callback: StreamCallback, requestId: string): Promise<AbortSignal | undefined> {
    const controller = new AbortController();
    this.#announced.set(requestId, controller);
    try {
      await callback.onStart({ requestId });
      return controller.signal;
    } catch (error) {
      await callback.onError(this.#describe(error, requestId, false));
      return undefined;
    } finally {
      this.#announced.delete(requestId);
    }
  }

  async #follow(admission: Admission, callback: StreamCallback): Promise<void> {
    const { turns } = this.#host;
    const { requestId } = admission;
    const reader = new CallbackReader({
      callback,
      requestId,
      stopTurn: (id, error) => turns.fail(id, error),
      describe: (error) => this.#describe(error, requestId, true)
    });
    const stop = turns.listen(reader);
    try {
      const ticket = turns.admit(admission);
      const { settled } = ticket;
      if (ticket.isFound) {
        reader.follow(ticket.requestId);
        await deliverFound(ticket, reader, turns);
      }
      const outcome = await Promise.race([settled, reader.interruption]);
      if (outcome) await reader.end(outcome);
      else await reader.leave();
    } finally {
      stop();
    }
  }

  #describe(error: unknown, requestId: string, messagesPersisted: boolean): string {
    const stage = messagesPersisted ? "stream" : "turn";
    return this.#host.hooks.describeFailure(error, { requestId, stage, messagesPersisted });
  }

  #save(messages: ChatInput, options: TurnOptions): Promise<Ended> {
    const key = this.#keyOf(options);
    const input = turnInput(messages, this.#inputOptions(options, key));
    return this.#run({ ...this.#programmatic(options), ...underKey(key), input });
  }

  async #continue(options: TurnOptions): Promise<Ended> {
    const { turns, transcript } = this.#host;
    turns.refuseNested();
    const key = this.#keyOf(options);
    const isKnown = key !== undefined && turns.requestOf(key) !== undefined;
    if (!isKnown && transcript.leaf()?.role !== "assistant") return { result: { requestId: "", status: "skipped" } };
    return this.#run({ ...this.#programmatic(options), ...underKey(key), input: [], continuation: true });
  }

  /** Synchronous with the call: the order of the calls is what tells them apart. */
  #keyOf({ idempotencyKey }: TurnOptions): string | undefined {
    if (idempotencyKey !== undefined) return keyId("turn", idempotencyKey);
    // Set where this call is part of work that is run again after a crash.
    const key = currentDurable()?.work.nextKey();
    return key === undefined ? undefined : idempotencyId("durable", key);
  }

  async #run(admission: Admission): Promise<Ended> {
    const { requestId, settled } = this.#host.turns.admit(admission);
    const outcome = await settled;
    const { status, error } = outcome;
    return { result: { requestId, status, ...(error !== undefined && { error }) }, outcome };
  }

  /** What the client last said holds for turns it did not start itself, too. */
  #programmatic(options: TurnOptions): Omit<Admission, "input"> {
    const { turns, ids } = this.#host;
    const body = options.body ?? turns.body;
    return {
      ...sharedAdmission(options),
      requestId: ids.next(),
      trigger: "programmatic",
      body,
      clientTools: turns.clientTools
    };
  }

  /** A text asked again under its key, after the first turn failed, is the same message. */
  #inputOptions({ channel }: TurnOptions, key: string | undefined): { newId: () => string; channel?: string } {
    const newId = key === undefined ? () => this.#host.ids.next() : () => `question-${key}`;
    return { newId, channel };
  }
}

/** How a turn ended; without an outcome it was never started. */
interface Ended {
  readonly result: SaveMessagesResult;
  readonly outcome?: TurnOutcome;
}

function turnResult({ result, outcome }: Ended, continuation: boolean): TurnResult {
  const { message, output } = outcome ?? {};
  return {
    ...result,
    continuation,
    ...(result.status === "completed" && message !== undefined && { message }),
    ...(output !== undefined && { output })
  };
}

function sharedAdmission({ signal, body, channel }: TurnOptions): Pick<Admission, "signal" | "body" | "channel"> {
  return { signal, body, channel };
}

function underKey(key: string | undefined): Pick<Admission, "idempotencyId"> {
  return key === undefined ? {} : { idempotencyId: key };
}

function anyOf(given: AbortSignal | undefined, own: AbortSignal): AbortSignal {
  return given === undefined ? own : AbortSignal.any([given, own]);
}

/** The mode, after everything that is wrong with the options has been said. Options may come over RPC, untyped. */
function checkedMode(options: unknown): "wait" | "submit" | "stream" {
  if (!isObject(options)) throw new TypeError("runTurn takes an object of options.");
  const { mode = "wait", input, continuation, callback } = options;
  if (mode !== "wait" && mode !== "submit" && mode !== "stream") {
    throw new TypeError(`runTurn: the mode ${JSON.stringify(mode)} is not one of "wait", "submit", "stream".`);
  }
  const continues = continuation === true;
  if (mode !== "wait" && continues) throw new TypeError('runTurn: only the mode "wait" can continue the last turn.');
  if (mode === "wait" && continues === (input !== undefined)) {
    throw new TypeError("runTurn: give either input or continuation: true.");
  }
  if (mode !== "wait" && input === undefined) throw new TypeError(`runTurn: the mode "${mode}" needs input.`);
  if (mode === "stream" && !isCallback(callback)) throw new TypeError('runTurn: the mode "stream" needs a callback.');
  if (mode === "submit" && typeof input === "function") throw featureErrors.FunctionInputError();
  return mode;
}

/** A stub of another object is a function with properties. */
function isCallback(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Bytes of a key. */
export const KEY_LIMIT_BYTES = 1_024;

/** A caller's key as the engine knows it. Throws InvalidKeyError: the value may come over RPC, untyped. */
export function keyId(kind: Parameters<typeof idempotencyId>[0], key: unknown): string {
  if (typeof key !== "string" || key.trim() === "") throw featureErrors.InvalidKeyError("it is blank, or not a text");
  if (byteLength(key) > KEY_LIMIT_BYTES)
    throw featureErrors.InvalidKeyError(`it has more than ${KEY_LIMIT_BYTES} bytes`);
  return idempotencyId(kind, key);
}
