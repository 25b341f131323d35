// The alarms of all objects that share one process. `workerd serve` runs every due alarm at once, and each object it wakes
// opens three files and some hundred kilobytes: twenty thousand agents with a task at 08:30 would take the server down.
// So alarms are set at most `perSecond` to a second, the later ones later, over hours if need be. An object that is woken while `atOnce` others work
// is woken again later, and so is one whose alarm comes late, beyond what the process can start in a second (AlarmRate).
// Without limits (on Cloudflare, in tests) nothing is changed. In memory: what an earlier process has set is levelled by the
// supervisor, before it starts the next one (framework/serve/alarm-files.ts).
import { isObject, parseJson } from "../util/json.ts";

export interface AlarmLimits {
  /** Objects that are woken in one second. */
  readonly perSecond: number;
  /** Objects that an alarm has woken and that still work. */
  readonly atOnce: number;
}

/** Set by `everthink serve`: AlarmLimits as JSON. */
export const ALARM_LIMITS_VARIABLE = "EVERTHINK_ALARM_LIMITS";

/**
 * An alarm that an object finds at its start this much later than wanted, at most, is taken for a levelled one and stays. One
 * that is later still may be of other data, such as a restored backup, and is set again.
 */
export const KNOWN_DELAY_MS = 60 * 60_000;
/** After this time an object that was woken too early is let in, whatever else works: others may never end. */
export const MAX_POSTPONED_MS = 10 * 60_000;
/** How much later an object is woken again. */
const POSTPONE_MS = 5_000;
/** Work that takes longer is not counted any more: it may be a connection that is held for ever, or an object that was aborted. */
export const MAX_COUNTED_MS = 5 * 60_000;
const SECOND_MS = 1_000;
/** Seconds that are over are forgotten when at least so many are remembered, and twice as many as the last time left. */
const KEPT_SECONDS = 10_000;

/** An alarm that comes this much later than it was set for: the process has more to do than it can. */
export const LATE_MS = 1_000;
/** One change in this time, so that many alarms that are late for one reason count once. */
const CHANGE_MS = 1_000;

/**
 * How many woken objects a process can start in a second, found by trying: while alarms come on time it is one more each
 * second, up to a limit; when they come late it is half. workerd looks at its sockets only when it has handled every alarm
 * that was due at its last look: where alarms come faster than they are handled, each look comes later than the one before,
 * and the port is silent for half a minute before long.
 */
export class AlarmRate {
  readonly #most: number;
  #perSecond: number;
  #changedAt = -Infinity;

  constructor(most: number) {
    this.#most = most;
    this.#perSecond = most;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** An alarm came this late. Returns whether that is too late. */
  came(lateMs: number, nowMs: number): boolean {
    const isLate = lateMs >= LATE_MS;
    if (nowMs - this.#changedAt < CHANGE_MS) return isLate;
    this.#changedAt = nowMs;
    this.#perSecond = isLate ? Math.max(1, Math.floor(this.#perSecond / 2)) : Math.min(this.#most, this.#perSecond + 1);
    return isLate;
  }
}

export class ProcessAlarms {
  readonly #limits: AlarmLimits;
  readonly #rate: AlarmRate;
  /** Alarms by the second they are due in. */
  readonly #taken = new Map<number, number>();
  /** For a full second: the next one that may have space. */
  readonly #next = new Map<number, number>();
  /** The size of `#taken` at which seconds that are over are forgotten. Doubled, so that a walk is paid for by its growth. */
  #forgetAtSize = KEPT_SECONDS;
  /** Objects that were woken and sent away, and when first. */
  readonly #postponed = new Map<string, number>();
  /** Woken objects that work, and since when; oldest first. */
  readonly #working = new Map<symbol, number>();
  /** Woken objects that were let in within one second. */
  readonly #letIn = { second: 0, count: 0 };

  constructor(limits: AlarmLimits) {
    this.#limits = limits;
    this.#rate = new AlarmRate(limits.perSecond);
  }

  /**
   * When to set an alarm that is wanted at this time: then, or in the next second that has space for it, however late that
   * is. The last of 20,000 alarms of one time runs after an hour and a half where the limit is four a second.
   */
  take(wantedMs: number, nowMs: number): number {
    this.#forgetBefore(Math.floor(nowMs / SECOND_MS));
    const wanted = Math.floor(wantedMs / SECOND_MS);
    const second = this.#spaceFrom(wanted);
    const taken = this.#taken.get(second) ?? 0;
    this.#taken.set(second, taken + 1);
    // Also within the second they do not come at once.
    const { perSecond } = this.#rate;
    return Math.max(wantedMs, second * SECOND_MS + Math.floor(((taken % perSecond) * SECOND_MS) / perSecond));
  }

  /** The alarm that was set at this time is set no more. */
  release(atMs: number): void {
    const second = Math.floor(atMs / SECOND_MS);
    const taken = this.#taken.get(second);
    if (taken === undefined) return;
    if (taken > 1) this.#taken.set(second, taken - 1);
    else this.#taken.delete(second);
    this.#next.delete(second);
  }

  /**
   * Whether a woken object must come again later, and when. Asked before it is started; `id` is the object's, so that it
   * is not sent away for ever, and `setForMs` the time its alarm was set for.
   */
  postponedUntil(id: string, nowMs: number, setForMs = nowMs): number | undefined {
    dropOlder(this.#working, nowMs - MAX_COUNTED_MS);
    const since = this.#postponed.get(id) ?? nowMs;
    this.#postponed.delete(id);
    const isLate = this.#rate.came(nowMs - setForMs, nowMs);
    const isFull = this.#isFull(nowMs);
    const isTooMuch = this.#working.size >= this.#limits.atOnce || (isLate && isFull);
    if (!isTooMuch || nowMs - since >= MAX_POSTPONED_MS) {
      this.#letIn.count += 1;
      return undefined;
    }
    // Objects that were started by a visit meanwhile do not come back to be forgotten.
    dropOlder(this.#postponed, nowMs - 2 * MAX_POSTPONED_MS);
    this.#postponed.set(id, since);
    return nowMs + POSTPONE_MS;
  }

  /** As many were let in within this second as the process can start. */
  #isFull(nowMs: number): boolean {
    const second = Math.floor(nowMs / SECOND_MS);
    if (this.#letIn.second !== second) Object.assign(this.#letIn, { second, count: 0 });
    return this.#letIn.count >= this.#rate.perSecond;
  }

  /** From now until the returned function is called, a woken object works. */
  begin(nowMs: number): () => void {
    const work = Symbol("work");
    this.#working.set(work, nowMs);
    return () => void this.#working.delete(work);
  }

  #spaceFrom(wanted: number): number {
    let second = wanted;
    const passed: number[] = [];
    while ((this.#taken.get(second) ?? 0) >= this.#rate.perSecond) {
      passed.push(second);
      second = this.#next.get(second) ?? second + 1;
    }
    // The next search does not walk over them again.
    for (const full of passed) this.#next.set(full, second);
    return second;
  }

  #forgetBefore(second: number): void {
    if (this.#taken.size < this.#forgetAtSize) return;
    for (const known of this.#taken.keys()) if (known < second) this.#taken.delete(known);
    for (const known of this.#next.keys()) if (known < second) this.#next.delete(known);
    this.#forgetAtSize = Math.max(KEPT_SECONDS, 2 * this.#taken.size);
  }
}

/** Drops entries from the front while they are older: times grow in the order of insertion, or nearly. */
function dropOlder<Key>(times: Map<Key, number>, beforeMs: number): void {
  for (const [key, atMs] of times) {
    if (atMs > beforeMs) return;
    times.delete(key);
  }
}

const byProcess = new WeakMap<object, ProcessAlarms>();

/** The alarms of the process that an object lives in; undefined where the platform needs no help. */
export function processAlarms(process: object, env: unknown): ProcessAlarms | undefined {
  const limits = readLimits(env);
  if (!limits) return undefined;
  const known = byProcess.get(process) ?? new ProcessAlarms(limits);
  byProcess.set(process, known);
  return known;
}

function readLimits(env: unknown): AlarmLimits | undefined {
  const text = isObject(env) ? env[ALARM_LIMITS_VARIABLE] : undefined;
  const parsed = typeof text === "string" ? parseJson(text) : undefined;
  const value = parsed?.ok ? parsed.value : undefined;
  if (!isObject(value)) return undefined;
  const { perSecond, atOnce } = value;
  const areNumbers = typeof perSecond === "number" && typeof atOnce === "number";
  return areNumbers && perSecond >= 1 && atOnce >= 1 ? { perSecond, atOnce } : undefined;
}
