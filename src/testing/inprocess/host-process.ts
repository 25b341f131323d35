// One life of the simulated server process. Everything it owns (queued turns, timers, living objects) is void once it
// is dead; what is stored is not its property.
import type { Owner } from "./virtual-clock.ts";

export class HostProcess implements Owner {
  #alive = true;
  #mourners = new Set<() => void>();

  get alive(): boolean {
    return this.#alive;
  }

  /** Calls `tell` when the process dies; returns how to stop listening. */
  onDeath(tell: () => void): () => void {
    this.#mourners.add(tell);
    return () => this.#mourners.delete(tell);
  }

  die(): void {
    this.#alive = false;
    const mourners = [...this.#mourners];
    this.#mourners.clear();
    for (const tell of mourners) tell();
  }
}

/** The owner of turns that outlive a process: clients, and the test itself. */
export const OUTSIDE: Owner = { alive: true };
