// A flag that code in one place sets and code in another waits for. In workerd the two may run in different objects,
// and a promise made or resolved in one must not be awaited in the other: the code after the `await` would go on in
// the wrong object and fail at its next I/O (the workers test runner switches off the platform's remedy). There the
// waiting side looks at the flag from its own timers; everywhere else it gets a promise and no timer is involved.

const LOOK_AGAIN_MS = 1;
const isWorkerd = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** Holds everyone until it is released, once and for all. */
export class Latch {
  #waiting: (() => void)[] = [];
  #isReleased = false;

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Resolves when released. A signal that fires also ends the wait, quietly: the caller knows what that means. */
  async wait(signal?: AbortSignal): Promise<void> {
    while (!this.#isReleased && signal?.aborted !== true) {
      await (isWorkerd ? new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS)) : this.#releasedOr(signal));
    }
  }

  release(): void {
    this.#isReleased = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #releasedOr(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}
