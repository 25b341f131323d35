// The one entry into the object. Every platform entry (request, socket event, alarm, RPC) passes `enter`: the object is
// started first, exactly once per activation, with all other events held back; a failed start fails the event that
// caused it, and the next event tries again. Also the Lifecycle port: what an object may do to itself.
import type { Clock } from "./ports.ts";

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

export interface Lifecycle {
  /** Holds back every other event until `work` is done. */
  gate<T>(work: () => Promise<T>): Promise<T>;
  /** Keeps the current invocation open for work that is not awaited. */
  waitUntil(work: Promise<unknown>): void;
  /** Resolves when everything written so far would survive the death of the process, which it may not do at once. */
  durable(): Promise<void>;
  /** Deletes everything stored, the alarm included. Facets are not touched. */
  wipe(): Promise<void>;
  /** Ends this activation on a later tick, so that the current handler can still answer. */
  abortSoon(reason: string): void;
}

export function openLifecycle(ctx: DurableObjectState, clock: Clock): Lifecycle {
  return {
    gate: (work) => ctx.blockConcurrencyWhile(work),
    waitUntil: (work) => ctx.waitUntil(work),
    durable: () => ctx.storage.sync(),
    async wipe() {
      // The alarm last: an object that dies in between is woken once more and finishes the work.
      await ctx.storage.deleteAll();
      if ((await ctx.storage.getAlarm()) === null) return;
      // Only with an older compatibility date. The platform notes the absence of an alarm in a table of its own.
      await ctx.storage.deleteAlarm();
      await ctx.storage.deleteAll();
    },
    abortSoon(reason) {
      // abort() throws through whatever is running, and nothing can catch it.
      ctx.waitUntil(clock.sleep(0).then(() => ctx.abort(reason)));
    }
  };
}
