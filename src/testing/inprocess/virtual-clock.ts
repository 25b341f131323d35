// Time that moves only when a test says so. Timers fire in order of their due time, then of their creation.

/** What set a timer or queued a turn. Nothing runs for an owner that is no longer alive. */
export interface Owner {
  readonly alive: boolean;
}

export interface VirtualTimer {
  readonly at: number;
  readonly owner: Owner;
  run(): void;
}

export class VirtualClock {
  #now: number;
  #timers: VirtualTimer[] = [];

  constructor(now: number) {
    this.#now = now;
  }

  get now(): number {
    return this.#now;
  }

  add(timer: VirtualTimer): void {
    // Kept sorted; equal times stay in order of creation.
    const index = this.#timers.findIndex((other) => other.at > timer.at);
    this.#timers.splice(index === -1 ? this.#timers.length : index, 0, timer);
  }

  remove(timer: VirtualTimer): void {
    const index = this.#timers.indexOf(timer);
    if (index !== -1) this.#timers.splice(index, 1);
  }

  /** Moves to the next timer due until `limit`, and hands it out. */
  takeNext(limit: number): VirtualTimer | undefined {
    const next = this.#timers[0];
    if (next === undefined || next.at > limit) return undefined;
    this.#timers.shift();
    this.moveTo(next.at);
    return next;
  }

  /** Never backwards. */
  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  dropDead(): void {
    this.#timers = this.#timers.filter((timer) => timer.owner.alive);
  }
}
