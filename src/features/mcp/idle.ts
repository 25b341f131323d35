// Notices that something has not been used for a while. Waits only after a use, so an idle owner has no timer.
import type { Clock } from "../../host/ports.ts";

/** After the last request a line is hung up. */
export const IDLE_MS = 30_000;

export class IdleWatch {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onIdle: () => void;
  #running = 0;
  #usedAt = 0;
  #isWatching = false;

  /** `signal` ends the watch. */
  constructor(clock: Clock, signal: AbortSignal, onIdle: () => void) {
    this.#clock = clock;
    this.#signal = signal;
    this.#onIdle = onIdle;
  }

  /** Counts as in use until the work has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.touch();
    }
  }

  /** Counts as used now. */
  touch(): void {
    this.#usedAt = this.#clock.now();
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch();
  }

  async #watch(): Promise<void> {
    try {
      for (;;) {
        const leftMs = this.#usedAt + IDLE_MS - this.#clock.now();
        if (leftMs <= 0 && this.#running === 0) break;
        await this.#clock.sleep(leftMs > 0 ? leftMs : IDLE_MS, this.#signal);
      }
    } catch {
      // The owner has ended.
      return;
    }
    this.#isWatching = false;
    this.#onIdle();
  }
}
