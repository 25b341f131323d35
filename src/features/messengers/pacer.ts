// How fast a provider may be written to in one chat. A call that would be one too many waits for its time. A restart forgets
// the calls before it, which costs an answer of 429 at most, and that is waited for, too.
import type { Clock } from "../../host/ports.ts";
import type { MessengerPace } from "./definition.ts";

type WriteKind = "posts" | "edits";

interface Write {
  readonly at: number;
  readonly kind: WriteKind;
}

export class Pacer {
  readonly #limits: readonly MessengerPace[];
  readonly #clock: Clock;
  /** Calls that were made, or wait for their time. */
  #writes: Write[] = [];

  constructor(limits: readonly MessengerPace[], clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Says when the next call may be made. */
  freeAt(kind: WriteKind): number {
    const times = this.#limits.filter(({ of }) => of === undefined || of === kind).map((limit) => this.#freeBy(limit));
    return Math.max(this.#clock.now(), ...times);
  }

  isFree(kind: WriteKind): boolean {
    return this.freeAt(kind) <= this.#clock.now();
  }

  /** Waits until the call may be made; it counts from now on. */
  async wait(kind: WriteKind): Promise<void> {
    const now = this.#clock.now();
    const at = this.freeAt(kind);
    const longest = Math.max(0, ...this.#limits.map(({ perMs }) => perMs));
    this.#writes = [...this.#writes.filter((write) => write.at > now - longest), { at, kind }];
    if (at > now) await this.#clock.sleep(at - now);
  }

  #freeBy({ calls, perMs, of }: MessengerPace): number {
    const times = this.#writes.filter(({ kind }) => of === undefined || of === kind).map(({ at }) => at);
    times.sort((a, b) => a - b);
    return (times.at(-calls) ?? Number.NEGATIVE_INFINITY) + perMs;
  }
}

/** Chats whose pace is remembered: the oldest is forgotten. */
const MAX_CHATS = 1_000;

/** The pacers of a messenger, one for each chat. */
export class Pacers {
  readonly #pacers = new Map<string, Pacer>();

  of(chat: string, make: () => Pacer): Pacer {
    const pacer = this.#pacers.get(chat) ?? make();
    // The newest is the last.
    this.#pacers.delete(chat);
    this.#pacers.set(chat, pacer);
    const [oldest] = this.#pacers.keys();
    if (this.#pacers.size > MAX_CHATS && oldest !== undefined) this.#pacers.delete(oldest);
    return pacer;
  }
}
