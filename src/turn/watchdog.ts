// Notices a model stream that stopped without a word: after a while it is reported, so that clients can show it, and after
// the time that the class allows it is a stall. Silence is the time since the last chunk; while a tool runs the model is
// not silent, and for the stall such time counts only if the class says so. One sleeper, not a timer per chunk.
import type { Clock } from "../host/ports.ts";

/** A model that has said nothing for this long is reported as silent. It may still be thinking. */
export const SILENCE_NOTICE_MS = 60_000;

export interface WatchdogInit {
  readonly clock: Clock;
  /** Zero or less: never. */
  readonly timeoutMs: number;
  /** Whether time spent in tools counts. */
  readonly includesTools: boolean;
  readonly onStall: () => void;
  /** A silence of this length is reported, once. */
  readonly noticeMs: number;
  readonly onSilence: (sinceMs: number) => void;
}

/** No exception, which would collect a stack: it is never shown. */
const STOPPED = "The stream is over.";

/** A beat costs two assignments; a stream that goes on wakes the sleeper once per `noticeMs`. */
export class Watchdog {
  readonly #init: WatchdogInit;
  readonly #timeoutMs: number;
  readonly #stop = new AbortController();
  /** What the stall is counted from. */
  #lastBeatMs = 0;
  /** What a silence is counted from: also the end of a tool. */
  #lastSignMs = 0;
  #pauses = 0;
  #tools = 0;
  #silentSinceMs: number | undefined;
  #isWatching = false;

  constructor(init: WatchdogInit) {
    this.#init = init;
    const { timeoutMs } = init;
    this.#timeoutMs = timeoutMs > 0 && Number.isFinite(timeoutMs) ? timeoutMs : Infinity;
  }

  /** When the silence began that was reported and goes on; undefined: there is none. */
  get silentSinceMs(): number | undefined {
    return this.#silentSinceMs;
  }

  /** The wait for the first chunk counts. */
  start(): void {
    this.beat();
    if (!this.#isWatching) void this.#watch();
  }

  beat(): void {
    this.#lastBeatMs = this.#lastSignMs = this.#init.clock.now();
    if (this.#silentSinceMs !== undefined) this.#silenceOver();
  }

  toolStarted(): void {
    this.#tools += 1;
    if (!this.#init.includesTools) this.pause();
  }

  toolEnded(): void {
    this.#tools -= 1;
    this.#lastSignMs = this.#init.clock.now();
    if (!this.#init.includesTools) this.resume();
  }

  /** No chunk is expected now. Each needs its `resume`. */
  pause(): void {
    this.#pauses += 1;
  }

  resume(): void {
    this.#pauses -= 1;
    this.beat();
  }

  stop(): void {
    this.#silentSinceMs = undefined;
    this.#stop.abort(STOPPED);
  }

  #silenceOver(): void {
    this.#silentSinceMs = undefined;
    // Without a stall to wait for, nothing was left to watch until now.
    if (!this.#isWatching && !this.#stop.signal.aborted) void this.#watch();
  }

  async #watch(): Promise<void> {
    const { clock, onStall } = this.#init;
    this.#isWatching = true;
    for (;;) {
      const now = clock.now();
      const stallMs = this.#pauses > 0 ? this.#timeoutMs : this.#lastBeatMs + this.#timeoutMs - now;
      if (stallMs <= 0) return onStall();
      const leftMs = Math.min(stallMs, this.#untilNotice(now));
      if (!Number.isFinite(leftMs)) break;
      // Only our own abort rejects the sleep.
      await clock.sleep(leftMs, this.#stop.signal).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
    }
    this.#isWatching = false;
  }

  /** How long until a silence may have to be reported. Reports the one that is due. */
  #untilNotice(now: number): number {
    const { noticeMs, onSilence } = this.#init;
    if (this.#silentSinceMs === undefined) {
      if (this.#pauses > 0 || this.#tools > 0) return noticeMs;
      const leftMs = this.#lastSignMs + noticeMs - now;
      if (leftMs > 0) return leftMs;
      this.#silentSinceMs = this.#lastSignMs;
      onSilence(this.#lastSignMs);
    }
    // The next silence can be reported so much later. Without a stall to wait for, the next beat goes on watching.
    return Number.isFinite(this.#timeoutMs) ? noticeMs : Infinity;
  }
}
