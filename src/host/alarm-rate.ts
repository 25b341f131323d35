// How many woken objects a process can start in a second, found by trying: while alarms come on time it is one more each
// second, up to a limit; when they come late it is half. workerd looks at its sockets only when it has handled every alarm that was
// due at its last look: where alarms come faster than they are handled, each look comes later than the one before, and the port
// is silent for half a minute before long.

/** An alarm that comes this much later than it was set for: the process has more to do than it can. */
export const LATE_MS = 1_000;
/** One change in this time, so that many alarms that are late for one reason count once. */
const CHANGE_MS = 1_000;

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
