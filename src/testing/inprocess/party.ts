// The two kinds of code that meet in a call: a living object, and the test outside. A party receives what others send it
// and can be entered by callbacks; a party that is gone does neither.
import type { Engine } from "./engine.ts";
import { ProcessDied } from "./errors.ts";

export interface Party {
  /** A result on its way to this party. It arrives in a turn of its own, and never if the party is gone by then. */
  receive<T>(pending: Promise<T>): Promise<T>;
  /** Runs `work` inside this party as an event. */
  enter<T>(work: () => T | Promise<T>): Promise<T>;
  /** Ties work of this party to its life: rejects with the reason when the party is reset. */
  track<T>(work: Promise<T>): Promise<T>;
  /** Throws if this party may not use the host any more. */
  assertLive(): void;
}

/** The test and its clients. They outlive processes, so what they wait for fails when the process dies. */
export class OutsideParty implements Party {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  receive<T>(pending: Promise<T>): Promise<T> {
    const { process, turns, crash } = this.#engine;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const stopListening = process.onDeath(() => reject(new ProcessDied()));
    const arrive = (settle: () => void) =>
      turns.push(process, () => {
        crash.awaited();
        if (!process.alive) return;
        stopListening();
        settle();
      });
    pending.then(
      (value) => arrive(() => resolve(value)),
      (error: unknown) => arrive(() => reject(error))
    );
    if (!process.alive) reject(new ProcessDied());
    return handled(promise);
  }

  /** Called from the process, so a call that is still on its way when the process dies is lost with it. */
  enter<T>(work: () => T | Promise<T>): Promise<T> {
    const { process, turns, crash } = this.#engine;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    turns.push(process, () => {
      crash.awaited();
      if (process.alive) new Promise<T>((done) => done(work())).then(resolve, reject);
    });
    return promise;
  }

  track<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  assertLive(): void {
    if (!this.#engine.process.alive) throw new ProcessDied();
  }
}

/** A call that is not awaited must not fail the test run when the host is killed; a caller that awaits it still sees the error. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {
    // Only marks the rejection as seen: the promise itself is returned and keeps its outcome.
  });
  return promise;
}
