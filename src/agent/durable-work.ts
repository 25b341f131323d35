// The identity of work that is run again after a crash: a schedule's occurrence, a queue item, a fiber, a response hook.
// What such work starts is numbered in the order of the calls, so that running it again finds what the last run started.

export class DurableWork {
  readonly key: string;
  #calls: number;

  /** `calls`: how many were made before the point at which the work goes on. */
  constructor(key: string, calls = 0) {
    this.key = key;
    this.#calls = calls;
  }

  get calls(): number {
    return this.#calls;
  }

  /** The key of the next call. The same for the same call of every run. */
  nextKey(): string {
    this.#calls += 1;
    return `${this.key}:${this.#calls}`;
  }
}

/** The fiber whose recovery hook is running. */
export interface RecoveringFiber {
  readonly id: string;
  readonly name: string;
  /** Of the fiber itself, from its last checkpoint on. */
  readonly work: DurableWork;
}

/** Which durable work the current code is part of. */
export interface DurableScope {
  readonly work: DurableWork;
  readonly recovering?: RecoveringFiber;
}
