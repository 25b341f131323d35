// Facts that are stored and asked for all the time, kept in memory between two writes. Whoever writes one says so here,
// in the same transaction; a transaction that is undone takes all of them with it, so none tells of what never happened.

export class Facts {
  readonly #known = new Map<string, unknown>();

  /** As known, or read now. */
  get<T>(name: string, read: () => T): T {
    // Everybody who uses a name means the same by it.
    if (this.#known.has(name)) return this.#known.get(name) as T;
    const value = read();
    this.#known.set(name, value);
    return value;
  }

  set(name: string, value: unknown): void {
    this.#known.set(name, value);
  }

  /** It was written in a way that does not tell what it is now. */
  forget(name: string): void {
    this.#known.delete(name);
  }

  forgetAll(): void {
    this.#known.clear();
  }
}
