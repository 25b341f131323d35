// The one entry into the object. Every platform entry (request, socket event, alarm, RPC) passes `enter`: the object is
// started first, exactly once per activation, with all other events held back; a failed start fails the event that
// caused it, and the next event tries again.
import type { Lifecycle } from "./lifecycle.ts";

export interface ActivationInit {
  lifecycle: Lifecycle;
  /** Refuses entry by throwing, e.g. while the object is being destroyed. */
  admit: () => void;
  start: (props: unknown) => Promise<void>;
  /** The object is started, and an event is about to be handled. */
  entered: () => void;
}

export class Activation {
  readonly #init: ActivationInit;
  #starting: Promise<void> | undefined;
  #isStarted = false;

  constructor(init: ActivationInit) {
    this.#init = init;
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  async enter<T>(work: () => T | Promise<T>, props?: unknown): Promise<T> {
    this.#init.admit();
    if (!this.#isStarted) await this.start(props);
    this.#init.entered();
    return work();
  }

  /** `props` matter only to the call that causes the start. */
  start(props?: unknown): Promise<void> {
    if (this.#isStarted) return Promise.resolve();
    this.#starting ??= this.#run(props).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #run(props: unknown): Promise<void> {
    let failure: { error: unknown } | undefined;
    await this.#init.lifecycle.gate(async () => {
      try {
        await this.#init.start(props);
        this.#isStarted = true;
      } catch (error) {
        // Thrown inside the gate it would reset the object and drop its sockets; the caller gets it outside.
        failure = { error };
      }
    });
    if (failure) throw failure.error;
  }
}
