// Errors the in-process host raises in its own name. Errors that imitate the platform (a TypeError for a missing RPC
// method, an SQLite error) are built where they are thrown, with the platform's class and wording.
import { errorTable, ThinkError } from "../../util/errors.ts";

/** What a platform call throws into code whose object no longer exists. On the platform that code would not run. */
export abstract class ObjectGone extends ThinkError {}

/** Thrown by every platform call of an object whose process was killed, and to test code that was waiting for it. */
export class ProcessDied extends ObjectGone {
  constructor() {
    super({
      code: "process-died",
      message: "The process that ran this object has died.",
      hint: "The test host was killed by restart() or by an armed crash. Call restart(), then get a new stub."
    });
  }
}

/** The object was aborted, failed in its constructor or in blockConcurrencyWhile, or its parent was. */
export class ObjectReset extends ObjectGone {
  constructor(reason: unknown) {
    super({ code: "object-reset", message: "This object was reset.", hint: "See the cause.", cause: reason });
  }
}

/** The object was evicted: its memory is no longer the object. */
export class ObjectEvicted extends ObjectGone {
  constructor() {
    super({
      code: "object-evicted",
      message: "This object was evicted from memory.",
      hint: "Work that outlives its event must be awaited or handed to ctx.waitUntil()."
    });
  }
}

export const inprocessErrors = errorTable(ThinkError, {
  ObjectBusy: (object: string) => ({
    code: "object-busy",
    message: `${object} is still working, so it cannot be evicted.`,
    hint: "Eviction waits for running events. Advance the clock, answer what it waits for, or use restart()."
  }),
  HostNeverIdle: (turns: number) => ({
    code: "host-never-idle",
    message: `The host was still working after ${turns} turns without time passing.`,
    hint: "Something reschedules itself for now: an alarm set to the present, or two objects calling each other."
  }),
  UnknownClass: (className: string) => ({
    code: "unknown-class",
    message: `${className} is not one of this host's agents.`,
    hint: "Name the class under `agents` when creating the host."
  }),
  FacetNotFound: (path: readonly string[]) => ({
    code: "facet-not-found",
    message: `No facet was ever started at ${JSON.stringify(path)}.`
  }),
  NotSimulated: (what: string) => ({
    code: "not-simulated",
    message: `${what} is not available in the in-process host.`,
    hint: "Test this in workerd."
  })
});
