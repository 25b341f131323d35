// When what failed with a child is tried again: a cancel that did not arrive, a deletion, an end that could not be written.
// In memory only: a new process tries everything once, and the pauses of what still fails grow again.
import type { Clock } from "../../host/ports.ts";
import { backoffMs } from "../../util/backoff.ts";

/** A child that fails for ever costs a wake an hour. */
const RETRY = { baseMs: 30_000, maxMs: 3_600_000 };

export class RetryTimes {
  readonly #clock: Pick<Clock, "now">;
  readonly #times = new Map<string, { readonly at: number; readonly failures: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** It failed: each further time in a row waits longer. */
  failed(runId: string): void {
    const failures = this.#times.get(runId)?.failures ?? 0;
    this.#times.set(runId, { at: this.#clock.now() + backoffMs(failures, RETRY), failures: failures + 1 });
  }

  /** It was left, and did not fail. */
  pause(runId: string): void {
    this.#times.set(runId, { at: this.#clock.now() + RETRY.baseMs, failures: 0 });
  }

  done(runId: string): void {
    this.#times.delete(runId);
  }

  /** Undefined: nothing is in its way. */
  at(runId: string): number | undefined {
    return this.#times.get(runId)?.at;
  }
}
