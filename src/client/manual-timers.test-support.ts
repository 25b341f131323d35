// Time that stands still until a test moves it.
import type { Timers } from "./timers.ts";

export class ManualTimers implements Timers {
  #now = 0;
  readonly #due = new Map<object, { at: number; callback: () => void }>();

  after(delayMs: number, callback: () => void): () => void {
    const key = {};
    this.#due.set(key, { at: this.#now + delayMs, callback });
    return () => void this.#due.delete(key);
  }

  now(): number {
    return this.#now;
  }

  /** Timers that are still set. */
  get size(): number {
    return this.#due.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [first] = [...this.#due].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (first === undefined) break;
      this.#due.delete(first[0]);
      this.#now = first[1].at;
      first[1].callback();
    }
    this.#now = end;
  }
}
