// Notices that something has not been used for a while. Waits only after a use, so an idle owner has no timer.
import type { Clock } from "../../host/ports.ts";

export interface IdleInit {
  readonly clock: Clock;
  readonly idleMs: number;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  readonly onIdle: () => void;
}

export class IdleWatch {
  readonly #init: IdleInit;
  #running = 0;
  #usedAt = 0;
  #isWatching = false;

  constructor(init: IdleInit) {
    this.#init = init;
  }

  /** In use until the work has ended. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.touch();
    }
  }

  /** Used now. */
  touch(): void {
    this.#usedAt = this.#init.clock.now();
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch();
  }

  async #watch(): Promise<void> {
    const { clock, idleMs, signal, onIdle } = this.#init;
    try {
      for (;;) {
        const leftMs = this.#usedAt + idleMs - clock.now();
        if (leftMs <= 0 && this.#running === 0) break;
        await clock.sleep(leftMs > 0 ? leftMs : idleMs, signal);
      }
    } catch {
      // The owner has ended.
      return;
    }
    this.#isWatching = false;
    onIdle();
  }
}
