// The event loop of the host: first in, first out, one task per turn, microtasks drained between turns. `idle()` returns
// when nothing is left to do without time passing. It uses no timers, only turns of Node's own loop.
import { inprocessErrors } from "./errors.ts";
import { pendingForeignWork } from "./foreign-work.ts";
import type { Owner } from "./virtual-clock.ts";

/** Turns of Node's loop without a task after which the host counts as idle: enough for streams that take a few turns. */
const QUIET_TURNS = 24;
/** Tasks one `idle()` may run before it is taken for an endless loop. */
const TASKS_PER_IDLE = 100_000;

// Taken at load: a test that installs fake timers must not stop the host.
const nextTurn = globalThis.setImmediate;

export class TurnQueue {
  #tasks: { owner: Owner; run: () => void }[] = [];
  #isPumping = false;
  #finished = 0;

  push(owner: Owner, run: () => void): void {
    this.#tasks.push({ owner, run });
    if (this.#isPumping) return;
    this.#isPumping = true;
    nextTurn(() => this.#pump());
  }

  dropDead(): void {
    this.#tasks = this.#tasks.filter((task) => task.owner.alive);
  }

  async idle(): Promise<void> {
    const limit = this.#finished + TASKS_PER_IDLE;
    let seen = this.#finished;
    let quiet = 0;
    while (quiet < QUIET_TURNS) {
      await new Promise<void>((resolve) => nextTurn(resolve));
      const isQuiet = this.#tasks.length === 0 && this.#finished === seen && pendingForeignWork() === 0;
      quiet = isQuiet ? quiet + 1 : 0;
      seen = this.#finished;
      if (seen > limit) throw inprocessErrors.HostNeverIdle(TASKS_PER_IDLE);
    }
  }

  #pump(): void {
    const task = this.#tasks.shift();
    if (this.#tasks.length > 0) nextTurn(() => this.#pump());
    else this.#isPumping = false;
    if (task === undefined || !task.owner.alive) return;
    this.#finished++;
    task.run();
  }
}
