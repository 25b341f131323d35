// A caller of `chat()` as a listener of its turn: events in order, one at a time, each awaited; then the one call that
// says how it ended. A callback that throws, or falls too far behind, fails the turn and is given `onError`.
import type { UIMessage } from "ai";
import { messageChunks, openingChunks } from "../model/message-chunks.ts";
import type { TurnTicket } from "../turn/admit.ts";
import type { TurnEngine } from "../turn/engine.ts";
import type { TurnListener } from "../turn/listener.ts";
import { STEERED, type TurnOutcome, type TurnView } from "../turn/turn.ts";
import { byteLength } from "../util/bytes.ts";
import type { ClientToolExecutor, ClientToolSchema } from "./client-tools.ts";
import { featureErrors, SlowCallbackError } from "./errors.ts";

/** How a caller of `chat()` follows its turn. Every method may be asynchronous; the next call waits for it. */
export interface StreamCallback {
  /** Before the turn is queued, so that it can be cancelled by this id while it waits. */
  onStart(event: { requestId: string }): void | Promise<void>;
  /** One UI message chunk of the AI SDK as JSON. */
  onEvent(json: string): void | Promise<void>;
  /** The answer is complete and stored. */
  onDone(): void | Promise<void>;
  /** The turn failed or was cancelled, or the conversation was cleared. */
  onError(error: string): void | Promise<void>;
  /**
   * The attempt was interrupted and the turn goes on without this caller: neither done nor failed. A caller that does not
   * have it stays with the turn to its end.
   */
  onInterrupted?(): void | Promise<void>;
}

/** What every way to start a turn takes. */
export interface TurnOptions {
  /** Stops the turn. Cannot be passed from another object without a platform flag; use `cancelChat` there. */
  signal?: AbortSignal;
  /** Custom fields for the hooks. Default for `chat`: none; otherwise those of the client's last request. */
  body?: Record<string, unknown>;
  /** Stamped on the user messages as `metadata.channel`. */
  channel?: string;
  /**
   * A second call with the same key starts nothing: it waits for the turn of the first, or has its result. A turn that
   * failed gives its key back. Default inside a schedule's, queue's, fiber's or response hook's callback: that callback
   * and the number of the call, so that running it again finds the same turn.
   */
  idempotencyKey?: string;
}

export interface ChatOptions extends TurnOptions {
  /** Tools the caller runs. They count for this turn only and are never stored as the client's. */
  clientTools?: ClientToolSchema[];
  /** Runs client tools inline. Without it the turn ends at the call. */
  onClientToolCall?: ClientToolExecutor;
}

/** Events kept for a slow callback; above it the turn is stopped. */
export const UNREAD_LIMIT_BYTES = 32 * 1024 * 1024;

/** What `onError` is given of a turn that was stopped. */
export const CANCELLED = "The turn was cancelled.";

/** What the reason of an outcome is when the conversation was emptied. */
const CLEARED = "cleared";

export interface CallbackReaderInit {
  readonly callback: StreamCallback;
  readonly requestId: string;
  /** Fails the turn: its caller does not listen any more. */
  readonly stopTurn: (requestId: string, error: unknown) => void;
  /** The text for a failure of the callback itself. */
  readonly describe: (error: unknown) => string;
}

type FollowedTurn = Pick<TurnView, "requestId" | "steered">;

export class CallbackReader implements TurnListener {
  readonly #init: CallbackReaderInit;
  #requestId: string;
  #delivered: Promise<void> = Promise.resolve();
  #waiting = 0;
  #unreadBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  /** What follows would stand behind what was taken back. */
  #isLeaving = false;
  readonly #interruption = Promise.withResolvers<undefined>();

  constructor(init: CallbackReaderInit) {
    this.#init = init;
    this.#requestId = init.requestId;
  }

  /** Follows this turn instead: an earlier call under the same key had started it. */
  follow(requestId: string): void {
    this.#requestId = requestId;
  }

  chunk(turn: FollowedTurn, { body }: { readonly body: string }): void {
    if (!this.#isOurs(turn) || this.#failure || this.#isLeaving) return;
    const sizeBytes = byteLength(body);
    this.#unreadBytes += sizeBytes;
    if (this.#unreadBytes > UNREAD_LIMIT_BYTES) return this.#fail(new SlowCallbackError(UNREAD_LIMIT_BYTES));
    this.#deliver(async () => {
      await this.#init.callback.onEvent(body);
      this.#unreadBytes -= sizeBytes;
    });
  }

  /** Resolves when the turn goes on without the caller. */
  get interruption(): Promise<undefined> {
    return this.#interruption.promise;
  }

  interrupted(turn: TurnView): void {
    const { callback } = this.#init;
    if (this.#isOurs(turn) && callback.onInterrupted && !this.#failure) this.#interruption.resolve(undefined);
  }

  /** A caller that can leave does; for others a second `start` begins the answer anew. */
  takenBack(turn: TurnView, kept: UIMessage): void {
    if (this.#init.callback.onInterrupted) {
      this.interrupted(turn);
      this.#isLeaving ||= this.#isOurs(turn);
      return;
    }
    for (const chunk of openingChunks(kept)) this.chunk(turn, { body: JSON.stringify(chunk) });
  }

  /** After everything that was delivered. */
  async leave(): Promise<void> {
    await this.#delivered;
    await this.#init.callback.onInterrupted?.();
  }

  /** Its turn, and what takes over from it. */
  #isOurs({ requestId, steered }: FollowedTurn): boolean {
    return (steered?.rootRequestId ?? requestId) === this.#requestId;
  }

  settled(turn: FollowedTurn, outcome: TurnOutcome): void {
    if (!this.#isOurs(turn) || outcome.status !== "completed" || this.#failure) return;
    if (outcome.reason === STEERED) return;
    this.#deliver(async () => this.#init.callback.onDone());
  }

  /** Waits for everything that was delivered, and reports a bad end. Rejects only if `onError` throws. */
  async end(outcome: TurnOutcome): Promise<void> {
    await this.#delivered;
    // A callback that failed after the turn was over changed nothing of its outcome.
    const text = endText(outcome) ?? (this.#failure && this.#init.describe(this.#failure.error));
    if (text !== undefined) await this.#init.callback.onError(text);
  }

  /** At once if nothing is waiting, so that a quick callback gets an event before anything later happens. */
  #deliver(call: () => Promise<void>): void {
    this.#waiting += 1;
    const isNext = this.#waiting === 1;
    const done = isNext ? call() : this.#delivered.then(() => (this.#failure ? undefined : call()));
    this.#delivered = done.then(
      () => void (this.#waiting -= 1),
      (error: unknown) => {
        this.#waiting -= 1;
        this.#fail(error);
      }
    );
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#init.stopTurn(this.#requestId, error);
  }
}

/** What `onError` is given; undefined when it is not called. */
function endText(outcome: TurnOutcome): string | undefined {
  if (outcome.status === "completed") return undefined;
  if (outcome.reason === CLEARED) return featureErrors.ConversationClearedError().message;
  if (outcome.status === "aborted") return CANCELLED;
  return outcome.error ?? `The turn did not run (${outcome.reason ?? outcome.status}).`;
}

/**
 * An answer that was given before, for a caller that asks again under the same key: as it was streamed, as long as that
 * is kept, and after that the text of the stored message. A turn that is still open sends the rest itself.
 */
export async function deliverFound(
  { requestId, settled }: TurnTicket,
  reader: Pick<CallbackReader, "chunk" | "settled">,
  turns: Pick<TurnEngine, "replay">
): Promise<void> {
  const replay = turns.replay(requestId);
  for (const chunk of replay?.chunks ?? []) reader.chunk({ requestId }, chunk);
  if (replay?.state === "live") return;
  const outcome = await settled;
  const stored = replay || !outcome.message ? [] : messageChunks(textOnly(outcome.message));
  for (const chunk of stored) reader.chunk({ requestId }, { body: JSON.stringify(chunk) });
  reader.settled({ requestId }, outcome);
}

function textOnly({ id, role, parts }: UIMessage): UIMessage {
  return { id, role, parts: parts.flatMap((part) => (part.type === "text" ? { type: "text", text: part.text } : [])) };
}
