// What the parts of the engine share: the stores, the listeners, and the turns that are open. No decisions here.
import type { Clock, Ids } from "../host/ports.ts";
import type { Conversation, OpenTurn } from "../journal/conversation.ts";
import { emptyTurn, foldTurn, type TurnFold } from "../journal/folds/turn-fold.ts";
import type { Journal } from "../journal/journal.ts";
import type { Sdk } from "../model/index.ts";
import type { Emit } from "../observe/events.ts";
import { turnId } from "../util/ids.ts";
import type { Attempt } from "./attempt.ts";
import type { TurnHooks } from "./hooks.ts";
import type { Idempotency } from "../session/idempotency.ts";
import { TurnListeners } from "./listener.ts";
import { Nesting } from "./nesting.ts";
import type { TurnStream } from "./stream.ts";
import type { Transcript } from "../session/transcript.ts";
import { Turn } from "./turn.ts";

export interface EngineInit {
  readonly conversation: Conversation;
  readonly journal: Journal;
  readonly transcript: Transcript;
  readonly idempotency: Idempotency;
  readonly hooks: TurnHooks;
  readonly sdk: Sdk;
  /** Files of the conversation may be fetched from names of a private network, too. */
  readonly allowsPrivateNames: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly emit: Emit;
  /** Every turn is given up: part of the transaction. */
  onGiveUp?(): void;
  /** Resolves when everything written so far would survive the death of the process, and others had their turn. */
  durable(): Promise<void>;
  /** Keeps the invocation open for work that is not awaited. */
  background(work: Promise<unknown>): void;
  /** Keeps the object from idling out; the wake that comes with it finds open turns after a crash. */
  keepAlive<T>(work: () => Promise<T>): Promise<T>;
  /** The runner is done with a turn, for now or for good. Must not throw. */
  turnEnded?(): void;
}

/** The turn that is being run, while it runs. */
export interface Running {
  readonly turn: Turn;
  readonly stream: TurnStream;
  readonly attempt: Attempt;
}

export interface StoredChunk {
  readonly seq: number;
  readonly body: string;
}

export class TurnStore {
  readonly init: EngineInit;
  readonly listeners = new TurnListeners();
  readonly nesting = new Nesting();
  /** Differs in every activation. */
  readonly epoch: string;
  running: Running | undefined;
  /** Resolves when the response hooks of the turns so far have returned. */
  responded: Promise<void> = Promise.resolve();
  readonly #turns = new Map<string, Turn>();
  /** Open turns that were accepted as steers or follow-ups; undefined until they were looked for. */
  #entries: Set<string> | undefined;

  constructor(init: EngineInit) {
    this.init = init;
    this.epoch = init.ids.next();
  }

  now(): number {
    return this.init.clock.now();
  }

  get openTurns(): readonly OpenTurn[] {
    return this.init.conversation.row.openTurns;
  }

  /** Whether a steer or a follow-up is open. */
  get hasEntries(): boolean {
    return this.#knownEntries().size > 0;
  }

  #knownEntries(): ReadonlySet<string> {
    if (this.#entries) return this.#entries;
    const entries = (this.#entries = new Set<string>());
    for (const { turnId: id, admitted } of this.turns) if (admitted.entry !== null) entries.add(id);
    return entries;
  }

  /** The open turns in the order in which they are run: what has begun, then steers, then the others. */
  get queue(): readonly OpenTurn[] {
    const { openTurns } = this;
    if (!this.hasEntries) return openTurns;
    const rankOf = (open: OpenTurn) => {
      const turn = this.find(open);
      if (!turn || turn.fold.attempt > 0) return 0;
      return turn.admitted.entry === "steer" ? 1 : 2;
    };
    const ranked = openTurns.map((open) => ({ open, rank: rankOf(open) }));
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ open }) => open);
  }

  /** The turn that has begun and is not over. */
  get started(): Turn | undefined {
    return this.running?.turn ?? this.turns.find(({ fold }) => fold.attempt > 0);
  }

  /** The open turns whose admission can be read, oldest first. */
  get turns(): readonly Turn[] {
    return this.openTurns.flatMap((open) => this.find(open) ?? []);
  }

  add(turn: Turn): void {
    this.#turns.set(turn.turnId, turn);
    if (turn.admitted.entry !== null) this.#entries?.add(turn.turnId);
  }

  /** After a restart, from its records. Undefined when its admission cannot be read any more. */
  find(open: OpenTurn): Turn | undefined {
    const known = this.#turns.get(open.turnId);
    if (known) return known;
    const { folds } = this.init.journal;
    const fold = folds.get(open.turnId);
    if (!fold?.admission) return undefined;
    const turn = new Turn({ admitted: fold.admission, folds });
    // A cancel outlives the process that took it.
    if (fold.cancel) turn.abort(new DOMException("cancelled", "AbortError"));
    this.add(turn);
    return turn;
  }

  findByRequest(requestId: string): Turn | undefined {
    const open = this.openTurns.findLast((turn) => turn.requestId === requestId);
    return open && this.find(open);
  }

  /** The same, or the turn that took over from it. */
  findChain(requestId: string): Turn | undefined {
    const found = this.findByRequest(requestId);
    if (found || !this.hasEntries) return found;
    return this.turns.findLast(({ fold }) => fold.steered?.rootRequestId === requestId);
  }

  forget(turn: Turn): void {
    turn.release();
    this.#turns.delete(turn.turnId);
    this.#entries?.delete(turn.turnId);
  }

  /** What the kept records of any turn say, open or not, from this sequence on. */
  readTurn(id: string, firstSequence = 1): TurnFold {
    let fold = emptyTurn(turnId(id));
    const options = { after: firstSequence - 1, turnId: fold.turnId, outline: true };
    for (const page of this.init.journal.reader.pages(options)) fold = foldTurn(fold, page.entries);
    return fold;
  }

  /** What the records of a turn that is over say, as long as they are kept. */
  endedFold(requestId: string): TurnFold | undefined {
    const found = this.init.journal.folds.findEnded(requestId);
    return found && this.readTurn(found.turnId, found.firstSequence);
  }

  /**
   * The chunks of a turn from the journal, in order: those of the answer, not what later attempts took back. Read in
   * pages, so that a long answer is never held whole.
   */
  *chunksOf({ turnId: id, firstSequence, kept }: TurnFold): Generator<StoredChunk, void, undefined> {
    const options = { after: firstSequence - 1, turnId: id, fromChunk: kept[0]?.from ?? 0 };
    for (const page of this.init.journal.reader.pages(options)) {
      for (const { record } of page.entries) {
        if (record.type !== "content-segment") continue;
        const chunks = record.chunks.map((body, index) => ({ seq: record.firstChunk + index, body }));
        yield* chunks.filter(({ seq }) => kept.some(({ from, to }) => from <= seq && seq < to));
      }
    }
  }
}
