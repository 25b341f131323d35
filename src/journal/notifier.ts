// Tells readers that there may be something new. Delivery waits for the next microtask: transactions are synchronous,
// so by then the outermost one, whoever opened it, has either committed or rolled back, and a reader can never see a
// record that will not stay. A notice carries no data; after a rollback the reader looks and finds nothing.

export class JournalNotifier {
  readonly #listeners = new Set<() => void>();
  readonly #report: (error: unknown) => void;
  #isScheduled = false;

  /** `report` is told what a listener threw; the other listeners go on. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** Returns the way to stop listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Many appends in one breath make one notice. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      for (const listener of [...this.#listeners]) this.#deliver(listener);
    });
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  #deliver(listener: () => void): void {
    // One that left while its neighbours were told wants no more.
    if (!this.#listeners.has(listener)) return;
    try {
      listener();
    } catch (error) {
      this.#report(error);
    }
  }
}
