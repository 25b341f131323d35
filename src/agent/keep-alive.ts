// Keeps the object from idling out while something runs that only memory holds: as long as a reference is held,
// the next wake is at most one interval away. Nothing is stored: what the references protect dies with the process too.
import type { AgentCore } from "./core.ts";

/** How long the wake of a turn stays after its end. */
const RELEASE_DELAY_MS = 1_000;

/** A wake that is always less than one interval away but stays put, so that re-arming does not write each time. */
export class Heartbeat {
  readonly #intervalMs: number;
  #at = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  next(nowMs: number): number {
    // The second test is for a clock that went backwards: the promise is a distance, not a date.
    if (this.#at <= nowMs || this.#at > nowMs + this.#intervalMs) this.#at = nowMs + this.#intervalMs;
    return this.#at;
  }
}

export class KeepAlive {
  readonly #core: AgentCore;
  readonly #heartbeat: Heartbeat;
  #references = 0;
  #isReleasing = false;
  readonly #released: (() => void)[] = [];

  constructor(core: AgentCore) {
    this.#core = core;
    this.#heartbeat = new Heartbeat(core.options.keepAliveIntervalMs);
    core.wakes.add((nowMs) => (this.#references > 0 ? this.#heartbeat.next(nowMs) : null));
  }

  get isHeld(): boolean {
    return this.#references > 0;
  }

  /** Calls it when no reference is held: at once, or then. */
  whenReleased(then: () => void): void {
    if (this.#references === 0) then();
    else this.#released.push(then);
  }

  /** Resolves when the wake is durable. The disposer may be called any number of times. */
  acquire(): Promise<() => void> {
    return this.#acquire(() => this.#core.background(this.#core.wakes.rearm()));
  }

  while<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#during(this.acquire(), work);
  }

  /**
   * For work that mostly comes again soon, as turns do: its wake stays for a moment, and the next one finds it. A wake
   * that comes too early does no harm, and each one that is set is a row written.
   */
  whileActive<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#during(
      this.#acquire(() => void this.#releaseLater()),
      work
    );
  }

  async #acquire(letGo: () => void): Promise<() => void> {
    this.#references++;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#references--;
      if (this.#references > 0) return;
      for (const then of this.#released.splice(0)) then();
      letGo();
    };
    try {
      const { wakes, clock } = this.#core;
      await wakes.armBy(this.#heartbeat.next(clock.now()));
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  async #during<T>(held: Promise<() => void>, work: () => T | Promise<T>): Promise<T> {
    const release = await held;
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Not awaited: an object that is evicted before has one wake too many, once. */
  async #releaseLater(): Promise<void> {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    try {
      await this.#core.clock.sleep(RELEASE_DELAY_MS);
    } catch {
      return; // The object is gone.
    } finally {
      this.#isReleasing = false;
    }
    if (this.#references === 0) this.#core.background(this.#core.wakes.rearm());
  }
}
