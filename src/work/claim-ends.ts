// What came of a claim: its run has ended or failed, or its process died. Each is written only for the newest claim of its item.
import { errorMessage } from "../util/errors.ts";
import { afterDeath, afterFailure, afterInterruption } from "./decide.ts";
import type { RetryPolicy, RunEnd, WorkKind } from "./kind.ts";
import type { StoredItems } from "./stored-items.ts";
import type { WorkHost } from "./work-host.ts";
import type { WorkRow, WorkTable } from "./work-table.ts";

const DIED = "The process ended in it.";

interface Init<Payload> {
  readonly host: Pick<WorkHost, "clock" | "random">;
  readonly table: WorkTable;
  readonly stored: StoredItems<Payload>;
}

type Postponed<Payload> = Extract<RunEnd<Payload>, { end: "postponed" }>;

export class ClaimEnds<Payload> {
  readonly #kind: WorkKind<Payload>;
  readonly #host: Init<Payload>["host"];
  readonly #table: WorkTable;
  readonly #stored: StoredItems<Payload>;

  constructor(kind: WorkKind<Payload>, { host, table, stored }: Init<Payload>) {
    this.#kind = kind;
    this.#host = host;
    this.#table = table;
    this.#stored = stored;
  }

  /** The run said what became of the item. */
  ended(row: WorkRow, end: RunEnd<Payload>): void {
    this.#table.transaction(() => {
      if (this.#store(row, end)) end.also?.();
    });
  }

  /** The run threw, or has taken too long. */
  failed(row: WorkRow, error: unknown): void {
    const policy = this.#policyOf(row);
    const judged = this.#judgedBy(policy);
    const isInterrupted = policy.isInterruption?.(error) ?? false;
    // It stays claimed until the wake is over, which takes it up.
    if (isInterrupted && this.#kind.byWake) return;
    const retry = isInterrupted ? afterInterruption(row, judged) : afterFailure(row, error, judged);
    if (retry === "given-up") this.#giveUp(row, error, !isInterrupted);
    else if (isInterrupted) this.#table.release(row, retry.at, { isAside: true, failures: 0 });
    else this.#table.fail(row, retry, { now: judged.now, error: errorMessage(error) });
  }

  /** The process died in the run, or the platform ended it. */
  died(row: WorkRow): void {
    const item = this.#stored.item(row);
    if (!item) return;
    const then = this.#kind.interrupted?.(item, row.claimedAt ?? 0) ?? "again";
    if (then === "park") return void this.#table.release(row, null);
    if (then === "settle") return void this.#settle(row, DIED);
    const policy = this.#policyOf(row);
    const judged = this.#judgedBy(policy);
    const retry = afterDeath(row, judged);
    if (retry === "given-up") return void this.#giveUp(row, new Error(DIED));
    const isAside = policy.asideAfterDeaths && retry.at > judged.now;
    this.#table.release(row, then === "again" ? retry.at : then.at, { isAside });
  }

  #policyOf(row: WorkRow): RetryPolicy {
    const item = this.#kind.retryOf ? this.#stored.view(row) : undefined;
    return (item && this.#kind.retryOf?.(item)) ?? this.#kind.retry;
  }

  #judgedBy(policy: RetryPolicy) {
    return { policy, now: this.#host.clock.now(), random: this.#host.random?.() };
  }

  /** False: the item has another claim by now, or none. */
  #store(row: WorkRow, end: RunEnd<Payload>): boolean {
    if (end.end === "settled") return this.#settle(row);
    return end.end === "given-up" ? this.#giveUp(row, end.error) : this.#postpone(row, end);
  }

  #postpone(row: WorkRow, { until, aside: isAside = false, payload }: Postponed<Payload>): boolean {
    const encoded = payload === undefined ? undefined : this.#stored.encode(payload);
    return this.#table.postpone(row, { until, isAside, payload: encoded });
  }

  #settle(row: WorkRow, error?: string, hasFailed = false): boolean {
    const { retentionMs, keepsPayload = false, deadLetters } = this.#kind;
    const isDead = error !== undefined && deadLetters !== undefined;
    return this.#table.settle(row, {
      now: this.#host.clock.now(),
      isKept: retentionMs > 0 || isDead,
      keepsPayload: keepsPayload || isDead,
      error,
      hasFailed
    });
  }

  #giveUp(row: WorkRow, error: unknown, hasFailed = false): boolean {
    const { deadLetters } = this.#kind;
    return this.#table.transaction(() => {
      // As it is now: its run may have saved another payload.
      const item = this.#stored.item(this.#table.find(row.key) ?? row);
      if (!item || !this.#settle(row, errorMessage(error), hasFailed)) return false;
      if (deadLetters !== undefined) this.#table.keepNewestDead(deadLetters);
      this.#kind.givenUp?.(item, error);
      return true;
    });
  }
}
