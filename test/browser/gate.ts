// Holds a stream until the test lets it go on, one permit per step. It lives in the object that streams: workerd
// refuses to wait for a promise that another object resolves.
export class Gate {
  #permits = 0;
  readonly #waiting: (() => void)[] = [];

  /** Takes a permit, or waits for one. Rejects with the signal's reason when the turn is stopped meanwhile. */
  async pass(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#permits > 0) {
      this.#permits -= 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      const place = this.#waiting.indexOf(resolve);
      if (place >= 0) this.#waiting.splice(place, 1);
      reject(signal?.reason);
    };
    this.#waiting.push(resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    await promise;
    signal?.removeEventListener("abort", onAbort);
  }

  /** Infinity: nothing waits any more. */
  open(permits: number): void {
    this.#permits += permits;
    while (this.#permits > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#permits -= 1;
      next();
    }
  }
}
