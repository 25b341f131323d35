// How many children of an agent work at the same time. A run that finds no slot waits in order, or is refused where too
// many wait already. What counts is decided anew for every run: the limits are the class's and may change.
import { abortReasonText } from "./run.ts";

export interface SlotLimits {
  readonly maxConcurrent: number;
  readonly maxQueued: number;
}

export interface SlotsInit {
  readonly limits: () => SlotLimits;
  /** Ids of runs whose child has begun, as far as they are stored. */
  readonly running: () => readonly string[];
}

interface Waiting {
  readonly runId: string;
  readonly begin: () => void;
}

export class Slots {
  readonly #init: SlotsInit;
  readonly #held = new Set<string>();
  readonly #waiting: Waiting[] = [];

  constructor(init: SlotsInit) {
    this.#init = init;
  }

  /** Whether a new run can begin or wait. */
  get hasRoom(): boolean {
    return this.#isFree || this.#waiting.length < this.#init.limits().maxQueued;
  }

  /** Resolves when the run may begin. Rejects with the signal's reason if that fires first. */
  async take(runId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#held.has(runId)) return;
    if (this.#isFree && this.#waiting.length === 0) {
      this.#held.add(runId);
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { runId, begin: resolve };
    this.#waiting.push(waiting);
    const onAbort = () => {
      const index = this.#waiting.indexOf(waiting);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(signal.reason ?? new Error(abortReasonText(undefined)));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** The run is over, or its caller is gone. */
  free(runId: string): void {
    this.#held.delete(runId);
    while (this.#isFree) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#held.add(next.runId);
      next.begin();
    }
  }

  get #isFree(): boolean {
    const { maxConcurrent } = this.#init.limits();
    return new Set([...this.#held, ...this.#init.running()]).size < maxConcurrent;
  }
}
