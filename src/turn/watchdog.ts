// Notices a model stream that stopped without a word. It measures the time since the last chunk, and stands still while
// a tool runs unless told otherwise. One sleeper, not a timer per chunk: a beat costs an assignment.
import type { Clock } from "../host/ports.ts";

export interface WatchdogInit {
  readonly clock: Clock;
  /** Zero or less: never. */
  readonly timeoutMs: number;
  /** Whether time spent in tools counts. */
  readonly includesTools: boolean;
  readonly onStall: () => void;
}

/** No exception, which would collect a stack: nobody sees it. */
const STOPPED = "The stream is over.";

export class Watchdog {
  readonly #init: WatchdogInit;
  readonly #stop = new AbortController();
  #lastBeatMs = 0;
  #pauses = 0;

  constructor(init: WatchdogInit) {
    this.#init = init;
  }

  /** The wait for the first chunk counts. */
  start(): void {
    if (!(this.#init.timeoutMs > 0) || !Number.isFinite(this.#init.timeoutMs)) return;
    this.beat();
    void this.#watch();
  }

  beat(): void {
    this.#lastBeatMs = this.#init.clock.now();
  }

  toolStarted(): void {
    if (!this.#init.includesTools) this.pause();
  }

  toolEnded(): void {
    if (!this.#init.includesTools) this.resume();
  }

  /** The model is not to be heard of now. Each needs its `resume`. */
  pause(): void {
    this.#pauses += 1;
  }

  resume(): void {
    this.#pauses -= 1;
    this.beat();
  }

  stop(): void {
    this.#stop.abort(STOPPED);
  }

  async #watch(): Promise<void> {
    const { clock, timeoutMs, onStall } = this.#init;
    for (;;) {
      const leftMs = this.#pauses > 0 ? timeoutMs : this.#lastBeatMs + timeoutMs - clock.now();
      if (leftMs <= 0) return onStall();
      // Only our own abort rejects the sleep.
      await clock.sleep(leftMs, this.#stop.signal).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
    }
  }
}
