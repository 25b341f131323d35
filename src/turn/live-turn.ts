// What this process knows about an open turn beyond its records: who asked, who waits, how to stop it. Lost in a
// restart, and then made anew from the admission record.
import type { TurnAdmitted } from "../journal/records.ts";
import type { TurnInput } from "./admission.ts";
import { notesOf } from "./admitting.ts";
import type { TurnContext, TurnOutcome, TurnTrigger, TurnView } from "./turn.ts";

export interface LiveTurnInit {
  readonly admitted: TurnAdmitted;
  readonly input?: TurnInput;
  readonly origin?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly isNested?: boolean;
}

export class LiveTurn {
  readonly admitted: TurnAdmitted;
  /** A response hook waits for it: its own hook must not wait for that one. */
  isNested: boolean;
  /** The newest attempt this process made. */
  attempt = 0;
  /** When this process first worked on it. */
  startedAt: number | undefined;
  /** What made it stop, when that was neither a person nor a clear. */
  failure: { readonly error: unknown } | undefined;
  /** Readers know how it ended; the record waits until the turns before it are over, so that order is kept. */
  isAnnounced = false;
  readonly settled: Promise<TurnOutcome>;
  readonly resolve: (outcome: TurnOutcome) => void;
  readonly #init: LiveTurnInit;
  readonly #controller = new AbortController();
  readonly #detach: (() => void)[] = [];

  constructor(init: LiveTurnInit) {
    this.#init = init;
    this.admitted = init.admitted;
    this.isNested = init.isNested ?? false;
    const { promise, resolve } = Promise.withResolvers<TurnOutcome>();
    this.settled = promise;
    this.resolve = resolve;
    this.follow(init.signal);
  }

  /** A caller that waits for the turn may stop it. */
  follow(signal: AbortSignal | undefined): void {
    if (!signal) return;
    const stop = () => this.#controller.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#detach.push(() => signal.removeEventListener("abort", stop));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The function that makes the turn's messages, if it was given one and this process still has it. */
  get inputFunction(): Extract<TurnInput, (...args: never[]) => unknown> | undefined {
    return typeof this.#init.input === "function" ? this.#init.input : undefined;
  }

  get view(): TurnView {
    const { turnId, requestId, messageId, trigger, continuation, inputMessageIds } = this.admitted;
    return {
      turnId,
      requestId: requestId ?? turnId,
      messageId,
      // Written by `admit` from this type; an unknown one comes from a newer build and is only passed on.
      trigger: trigger as TurnTrigger,
      // One that resolves an earlier answer has a message of its own, and clients must not add it to the newest.
      continuation: continuation && notesOf(this.admitted).resolves === undefined,
      inputMessageIds,
      origin: this.#init.origin
    };
  }

  /** `signal`: of the attempt, if one runs. */
  context(attempt: number, signal: AbortSignal = this.signal): TurnContext {
    const { body, channel, clientTools, generation, parentMessageId } = this.admitted;
    const { resolves } = notesOf(this.admitted);
    const { inputMessageIds: _unused, ...view } = this.view;
    return {
      ...view,
      continuation: this.admitted.continuation,
      attempt,
      generation,
      // The custom fields of a request: `admit` stores an object or null.
      body: (body as Record<string, unknown> | null) ?? undefined,
      channel: channel ?? undefined,
      clientTools,
      ...(parentMessageId !== null && { parentMessageId }),
      ...(resolves !== undefined && { resolvesMessageId: resolves }),
      signal
    };
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** No listener stays behind on a signal that outlives the turn. */
  release(): void {
    for (const detach of this.#detach.splice(0)) detach();
  }
}
