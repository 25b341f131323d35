// One turn. `Turn` is the owner of an open one: the fold of its records, which the journal advances by every record that
// it appends, and what only this process knows: the caller, the signal, how to stop it. `TurnView` is the plain value that
// hooks, listeners and callers are given. There is no "current turn".
import type { UIMessage } from "ai";
import { emptyTurn, type SteeredFrom, type TurnFold } from "../journal/folds/turn-fold.ts";
import { aliasOf } from "../journal/open-turns.ts";
import type { RecordedClientTool, TurnAdmitted, TurnGranted } from "../journal/records.ts";
import type { TurnFolds } from "../journal/turn-folds.ts";
import type { TurnId } from "../util/ids.ts";
import type { RecoveredPartial } from "./partial.ts";
import type { PartialSource } from "./recovery.ts";
import type { TurnInput } from "./admit.ts";

/** How a turn was started. */
export type TurnTrigger =
  | "ws-chat"
  | "rpc"
  | "programmatic"
  | "submission"
  | "auto-continuation"
  /** A parked action was decided. */
  | "approval"
  | "agent-tool"
  /** A person ran a tool from an inspector. */
  | "by-hand"
  | "recovery-retry"
  | "recovery-continue";

/** What a turn may do, as it is kept with the turn. */
export type RecordedGrant = Pick<TurnGranted, "allowed" | "reason" | "permissions">;

/**
 * A turn as hooks, tools, listeners and callers are given it: a plain value, as of when it was given. Its identity is the
 * same over every attempt.
 */
export interface TurnView {
  readonly turnId: string;
  /** What the client calls it. */
  readonly requestId: string;
  /** The id under which its answer is streamed and stored. */
  readonly messageId: string;
  /** The newest attempt, counted from 1; 0 before the first. */
  readonly attempt: number;
  readonly trigger: TurnTrigger;
  /** Clients add what it streams to the newest answer. `isContinuation` also knows turns with an answer of their own. */
  readonly continuation: boolean;
  readonly generation: number;
  /** Ids of the user messages it answers: the run of user messages at the end of its input. */
  readonly inputMessageIds: readonly string[];
  /** The newest user message that it answers, also as a continuation on a channel. */
  readonly questionId: string | undefined;
  readonly body: Record<string, unknown> | undefined;
  readonly channel: string | undefined;
  readonly clientTools: readonly RecordedClientTool[];
  /** The message its answer hangs below, when that is not simply the latest. */
  readonly parentMessageId?: string;
  /** The earlier answer whose decided calls it goes on from. */
  readonly resolvesMessageId?: string;
  /** What an earlier attempt was allowed to do. */
  readonly grant?: RecordedGrant;
  /** The turn that it took over from at a step boundary, and the first turn of that chain. */
  readonly steered?: SteeredFrom;
  /** Of a turn with several models: the one that was chosen last. */
  readonly chosenModel?: string;
  /** Fires on cancel, clear and the end of the attempt. */
  readonly signal: AbortSignal;
  /** The caller, while this process lives: the socket of a chat request. Never stored. */
  readonly origin: unknown;
}

/** Whether a turn builds on an earlier answer, with no new user message. */
export function isContinuation({ continuation, resolvesMessageId }: TurnView): boolean {
  return continuation || resolvesMessageId !== undefined;
}

/** The turn that callers know: the first of its chain. */
export function rootOf(turn: Pick<TurnView, "turnId" | "requestId" | "trigger" | "steered">) {
  const { steered } = turn;
  if (!steered) return { turnId: turn.turnId as string, requestId: turn.requestId, trigger: turn.trigger };
  const { rootTurnId, rootRequestId, rootTrigger } = steered;
  // Recorded from a turn's trigger; see `view`.
  return { turnId: rootTurnId as string, requestId: rootRequestId, trigger: rootTrigger as TurnTrigger };
}

/** What the outcome of a turn says that another took over from: those who wait for it wait on. */
export const STEERED = "steered";

/** What the outcome of a turn says whose messages a sub-agent of the running turn has read: that turn answers them. */
export const PASSED_ON = "passed-on";

/** What the outcome of a turn says whose messages joined those of a newer one. */
export const SUPERSEDED = "superseded";

const ELSEWHERE: ReadonlySet<string | undefined> = new Set([STEERED, PASSED_ON, SUPERSEDED]);

/** Whether another turn answers what this one was asked: its outcome is none for those who wait. */
export function isAnsweredElsewhere({ reason }: Pick<TurnOutcome, "reason">): boolean {
  return ELSEWHERE.has(reason);
}

/** A turn without an admission: one that is not admitted yet, or whose record cannot be read. */
export function viewWithoutAdmission(
  known: Pick<TurnView, "turnId" | "requestId" | "trigger" | "generation"> & Partial<TurnView>
): TurnView {
  return {
    messageId: "",
    attempt: 0,
    continuation: false,
    inputMessageIds: [],
    questionId: undefined,
    body: undefined,
    channel: undefined,
    clientTools: [],
    signal: new AbortController().signal,
    origin: undefined,
    ...known
  };
}

export type TurnStatus = "completed" | "error" | "aborted" | "skipped";

/** The one outcome of a turn. */
export interface TurnOutcome {
  readonly status: TurnStatus;
  /** Why it was skipped or aborted: "superseded", "cleared", "dropped", "cancelled", … */
  readonly reason?: string;
  /** What clients are shown when it failed: the message of what `onChatError` returned. */
  readonly error?: string;
  /** The stored answer, if it has any parts. */
  readonly message?: UIMessage;
  /** Structured output, when the turn asked for it. */
  readonly output?: unknown;
  /** It had begun to stream: listeners saw it. */
  readonly streamed: boolean;
  /** Recovery gave it up, or its request cannot be read: a client may wait for it without being the one that asked. */
  readonly givenUp?: boolean;
}

export interface TurnInit {
  readonly admitted: TurnAdmitted;
  readonly folds: TurnFolds;
  /** Of a turn that is over. */
  readonly fold?: TurnFold;
  readonly input?: TurnInput;
  readonly origin?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly isNested?: boolean;
  readonly isUntried?: boolean;
}

export class Turn {
  readonly requestId: string;
  /** A response hook waits for it: its own hook must not wait for that one. */
  isNested: boolean;
  /** Its first attempt was recorded together with its admission, by this process, and has not run yet. */
  isUntried: boolean;
  /** When this process first worked on it. */
  startedAt: number | undefined;
  /** What made it stop, when that was neither a person nor a clear. */
  failure: { readonly error: unknown } | undefined;
  /** What was last read of its partial answer, and from what. */
  partial: { readonly source: PartialSource; readonly value: RecoveredPartial } | undefined;
  /** Listeners know how it ended: its cancel is recorded. Its end follows when the turns before it are over. */
  isAnnounced = false;
  readonly settled: Promise<TurnOutcome>;
  /** The turn that takes over, once it is certain. */
  #successor: Turn | undefined;
  readonly #resolve: (outcome: TurnOutcome) => void;
  readonly #signals: AbortSignal[] = [];
  #origin: unknown;
  readonly #init: TurnInit;
  #fold: TurnFold;
  readonly #controller = new AbortController();
  readonly #detach: (() => void)[] = [];

  constructor(init: TurnInit) {
    this.#init = init;
    this.#fold = init.fold ?? emptyTurn(init.admitted.turnId);
    this.#origin = init.origin;
    this.requestId = aliasOf(init.admitted);
    this.isNested = init.isNested ?? false;
    this.isUntried = init.isUntried ?? false;
    const { promise, resolve } = Promise.withResolvers<TurnOutcome>();
    this.settled = promise;
    this.#resolve = resolve;
    this.follow(init.signal);
  }

  /** As it was accepted, or as it was edited since. */
  get admitted(): TurnAdmitted {
    return this.fold.admission ?? this.#init.admitted;
  }

  /** Callers are given the outcome of the chain: that of its last turn. */
  resolve(outcome: TurnOutcome): void {
    const isElsewhere = outcome.reason === STEERED || outcome.reason === PASSED_ON;
    if (this.#successor && isElsewhere) void this.#successor.settled.then(this.#resolve);
    else this.#resolve(outcome);
  }

  /** Callers of this turn wait for that one from now on, and may stop it. */
  handOver(successor: Turn): void {
    this.#successor = successor;
    for (const signal of this.#signals) successor.follow(signal);
    successor.#origin ??= this.#origin;
  }

  /** What its records say: of an open turn now, of one that is over as of its end. */
  get fold(): TurnFold {
    return (this.#fold = this.#init.folds.get(this.turnId) ?? this.#fold);
  }

  get isOpen(): boolean {
    return this.#init.folds.get(this.turnId) !== undefined;
  }

  /** A caller that waits for the turn may stop it. */
  follow(signal: AbortSignal | undefined): void {
    if (!signal) return;
    this.#signals.push(signal);
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

  get turnId(): TurnId {
    return this.#init.admitted.turnId;
  }

  /** The caller, while this process lives. */
  get origin(): unknown {
    return this.#origin;
  }

  /** As it is now. `signal`: of the attempt, if one runs. */
  view(signal: AbortSignal = this.signal): TurnView {
    const { admitted } = this;
    const { turnId, messageId, trigger, continuation, generation, inputMessageIds } = admitted;
    const { body, channel, clientTools, questionId, parentMessageId, resolvesMessageId } = admitted;
    const { attempt, grants, steered, chosenModel } = this.fold;
    return {
      turnId,
      requestId: this.requestId,
      messageId,
      attempt,
      // Written by `admit` from this type; an unknown one comes from a newer build and is only passed on.
      trigger: trigger as TurnTrigger,
      // One that resolves an earlier answer has a message of its own, and clients must not add it to the newest.
      continuation: continuation && resolvesMessageId === null,
      generation,
      inputMessageIds,
      questionId: inputMessageIds.at(-1) ?? questionId ?? undefined,
      // The custom fields of a request: `admit` stores an object or null.
      body: (body as Record<string, unknown> | null) ?? undefined,
      channel: channel ?? undefined,
      clientTools,
      parentMessageId: parentMessageId ?? undefined,
      resolvesMessageId: resolvesMessageId ?? undefined,
      grant: grants ?? undefined,
      steered: steered ?? undefined,
      ...(chosenModel !== undefined && { chosenModel }),
      signal,
      origin: this.origin
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
