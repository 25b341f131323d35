// What the engine's parts share: the stores, the readers, and the live side of each open turn. No decisions here.
import type { Clock, Ids } from "../host/ports.ts";
import type { Conversation, OpenTurn } from "../journal/conversation.ts";
import type { Journal } from "../journal/journal.ts";
import type { TurnAdmitted } from "../journal/records.ts";
import type { Sdk } from "../model/index.ts";
import type { EventPayloads, EventType } from "../observe/events.ts";
import { turnId } from "../util/ids.ts";
import type { Attempt } from "./attempt.ts";
import type { TurnHooks } from "./hooks.ts";
import type { Idempotency } from "./idempotency.ts";
import { TurnListeners } from "./listener.ts";
import { LiveTurn } from "./live-turn.ts";
import { Nesting } from "./nesting.ts";
import { outlineTurn } from "./outline.ts";
import type { TurnStream } from "./stream.ts";
import type { Transcript } from "./transcript.ts";

export interface EngineInit {
  readonly conversation: Conversation;
  readonly journal: Journal;
  readonly transcript: Transcript;
  readonly idempotency: Idempotency;
  readonly hooks: TurnHooks;
  readonly sdk: Sdk;
  readonly clock: Clock;
  readonly ids: Ids;
  emit<Type extends EventType>(type: Type, payload: EventPayloads[Type]): void;
  /** Resolves when everything written so far would survive the death of the process. */
  durable(): Promise<void>;
  /** Keeps the invocation open for work nobody awaits. */
  background(work: Promise<unknown>): void;
  /** Keeps the object from idling out; the wake that comes with it finds open turns after a crash. */
  keepAlive<T>(work: () => Promise<T>): Promise<T>;
}

/** The turn that is being run, while it runs. */
export interface Running {
  readonly live: LiveTurn;
  readonly stream: TurnStream;
  readonly attempt: Attempt;
}

export class Desk {
  readonly init: EngineInit;
  readonly readers = new TurnListeners();
  readonly nesting = new Nesting();
  /** Differs in every activation. */
  readonly epoch: string;
  readonly #live = new Map<string, LiveTurn>();
  running: Running | undefined;

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

  /** What the conversation's row says of it; undefined when it is over. */
  openTurnOf(live: LiveTurn): OpenTurn | undefined {
    return this.openTurns.find(({ turnId: id }) => id === live.admitted.turnId);
  }

  add(live: LiveTurn): void {
    this.#live.set(live.admitted.turnId, live);
  }

  /** The live side of a turn; after a restart, from its admission. Undefined when that cannot be read any more. */
  find(open: OpenTurn): LiveTurn | undefined {
    const known = this.#live.get(open.turnId);
    if (known) return known;
    const admitted = this.admissionOf(open);
    if (!admitted) return undefined;
    const live = new LiveTurn({ admitted });
    // A cancel outlives the process that took it.
    if (outlineTurn(this.init, open).cancel) live.abort(new DOMException("cancelled", "AbortError"));
    this.add(live);
    return live;
  }

  findByRequest(requestId: string): LiveTurn | undefined {
    const open = this.openTurns.findLast((turn) => turn.requestId === requestId);
    return open && this.find(open);
  }

  forget(live: LiveTurn): void {
    live.release();
    this.#live.delete(live.admitted.turnId);
  }

  admissionOf(turn: { readonly turnId: string; readonly firstSequence: number }): TurnAdmitted | undefined {
    const page = this.init.journal.reader.read({
      after: turn.firstSequence - 1,
      turnId: turnId(turn.turnId),
      maxRecords: 1
    });
    const record = page.entries[0]?.record;
    return record?.type === "turn-admitted" ? record : undefined;
  }
}
