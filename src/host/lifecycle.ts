// The Lifecycle port: what an object may do to itself.
import type { Clock } from "./ports.ts";

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
