// One life of the simulated server process. Everything it owns (queued turns, timers, living objects) is void once it
// is dead; what is stored is not its property.
import type { Owner } from "./virtual-clock.ts";

export class HostProcess implements Owner {
  #alive = true;
  #listeners = new Set<() => void>();

  get alive(): boolean {
    return this.#alive;
  }

  /** Calls the listener when the process dies; returns how to stop listening. */
  onDeath(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  die(): void {
    this.#alive = false;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}

/** The owner of turns that outlive a process: clients, and the test itself. */
export const OUTSIDE: Owner = { alive: true };
