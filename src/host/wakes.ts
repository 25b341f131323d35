// One wake for many owners. Every module that has durable work registers a source that reads its own table; the next
// wake is the minimum over all of them, or none at all, so an idle object never wakes. Nothing else sets the alarm.
import { Cached } from "./cached.ts";
import type { Alarm, Sql } from "./ports.ts";
import type { ProcessAlarms } from "./process-alarms.ts";

/** Reads its tables and says when it next needs to run; null when it has nothing to do. Must be cheap: an index walk. */
export type WakeSource = (nowMs: number) => number | null;

export interface WakesInit {
  now: () => number;
  /** Makes the wake durable: the root's platform alarm, or a row at the root for a facet. */
  arm: (atMs: number | null) => void | Promise<void>;
  /** True where firing consumes the wake (a platform alarm); false where it must be withdrawn by arming anew. */
  firingConsumes: boolean;
  /** While a wake runs, another one is armed only if it is due by this from now. Default: whenever it is due. */
  atWorkMs?: number;
  /** The platform undoes an alarm together with the transaction that it was set in. */
  sql: Pick<Sql, "rollbacks">;
  /** An alarm that is found this much later than was asked for, at most, was put there because many are due at once. */
  knownDelayMs?: number;
}

/** Until the first arm of this activation, and after a rollback: the next `rearm` sets the alarm whatever it is. */
const UNKNOWN = Symbol("unknown");

export class Wakes {
  readonly #sources: WakeSource[] = [];
  readonly #init: WakesInit;
  readonly #armed: Cached<number | null | typeof UNKNOWN>;
  /** A wake runs that the platform repeats should the process die in it, unless another one is armed. */
  #isAtWork = false;
  #isAtStart = false;

  constructor(init: WakesInit) {
    this.#init = init;
    this.#armed = new Cached<number | null | typeof UNKNOWN>(init.sql, () => UNKNOWN);
  }

  add(source: WakeSource): void {
    this.#sources.push(source);
  }

  /** When the object must next run. Overdue work is due in a millisecond, never in the past. */
  next(): number | null {
    const now = this.#init.now();
    let earliest: number | null = null;
    for (const source of this.#sources) {
      const at = source(now);
      if (at !== null && (earliest === null || at < earliest)) earliest = at;
    }
    return earliest === null ? null : Math.max(Math.ceil(earliest), now + 1);
  }

  /** Both what is armed and what is wanted are due: the platform is about to fire, or is firing. */
  #isOverdue(wanted: number | null): boolean {
    const soon = this.#init.now() + 1;
    const armed = this.#armed.value;
    return typeof armed === "number" && armed <= soon && wanted !== null && wanted <= soon;
  }

  /** What the platform holds, read at start. One that was set later than asked for is the one that was asked for. */
  adopt(atMs: number | null): void {
    this.#isAtStart = true;
    const { knownDelayMs = 0 } = this.#init;
    const wanted = atMs === null || knownDelayMs === 0 ? null : this.next();
    const isDelayed = atMs !== null && wanted !== null && wanted <= atMs && atMs - wanted <= knownDelayMs;
    this.#armed.set(isDelayed ? wanted : atMs);
  }

  /** The wake went off. */
  fired(): void {
    this.#armed.set(this.#init.firingConsumes ? null : UNKNOWN);
    this.#isAtWork = this.#init.firingConsumes;
  }

  /** What the wake was for is done, or has failed: what `rearm` arms next takes its place. */
  ended(): void {
    this.#isAtWork = false;
  }

  /**
   * Makes sure of a wake at this time or before, without asking the sources: one that comes too early is harmless, and
   * `rearm` moves it where it belongs. For the moment before work begins, which should not wait for a dozen tables.
   */
  async armBy(atMs: number): Promise<void> {
    const armed = this.#armed.value;
    if (typeof armed === "number" && armed <= atMs) return;
    if (armed === UNKNOWN) return this.rearm();
    await this.#arm(atMs);
  }

  /**
   * Call after every change to a source's table. Resolves when the wake is durable. `notBefore` spaces out wakes that
   * keep failing: overdue work would otherwise be due again at once.
   */
  async rearm(notBefore = 0): Promise<void> {
    const isAtStart = this.#isAtStart;
    this.#isAtStart = false;
    const wanted = this.next();
    const next = wanted === null ? null : Math.max(wanted, notBefore);
    if (next === this.#armed.value || this.#isOverdue(next)) return;
    if (this.#isAtWork) return this.#armAtWork(next, isAtStart);
    await this.#arm(next);
  }

  /**
   * What is armed now takes the place of the repetition by the platform: a process that dies in this wake must not be woken much
   * later. So nothing is armed that is not soon, and the end of the wake arms the rest. A start arms what it finds: the platform
   * repeats a wake a few times only.
   */
  async #armAtWork(next: number | null, isAtStart: boolean): Promise<void> {
    const armed = this.#armed.value;
    if (next === null || (typeof armed === "number" && armed <= next)) return;
    const isSoon = next <= this.#init.now() + (this.#init.atWorkMs ?? Infinity);
    if (isSoon || isAtStart) await this.#arm(next);
  }

  async #arm(next: number | null): Promise<void> {
    const before = this.#armed.value;
    this.#armed.set(next);
    try {
      await this.#init.arm(next);
    } catch (error) {
      // Forget only our own claim: a later rearm may already have armed something else.
      if (this.#armed.value === next) this.#armed.set(before === next ? UNKNOWN : before);
      throw error;
    }
  }
}

export interface SharedAlarms {
  readonly alarms: ProcessAlarms;
  readonly now: () => number;
}

/**
 * The platform's alarm of an object. Setting is fire-and-forget: the platform commits it together with the writes around it;
 * `failed` is called when it could not.
 */
export function openAlarm(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm" | "deleteAlarm">,
  { failed, shared }: { readonly failed: (error: unknown) => void; readonly shared?: SharedAlarms }
): Alarm {
  let taken: number | undefined;
  /** What the start has found, until it is changed: an earlier process may have given it a place before those of this one. */
  let found: number | null = null;
  const levelled = (atMs: number): number => (shared ? (taken = shared.alarms.take(atMs, shared.now())) : atMs);
  const settled = (change: Promise<void>) => change.catch(failed);
  return {
    async read() {
      found = await storage.getAlarm();
      return found;
    },
    set(atMs) {
      if (taken !== undefined) shared?.alarms.release(taken);
      taken = undefined;
      const held = found;
      found = null;
      if (atMs === null) return void settled(storage.deleteAlarm());
      const place = levelled(atMs);
      const isBetterAsItIs = held !== null && held >= atMs && held <= place;
      void settled(storage.setAlarm(isBetterAsItIs ? held : place));
    }
  };
}
