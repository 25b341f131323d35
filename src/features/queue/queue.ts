// Work for later, now: items run in order of insertion, one at a time per callback, at least once, and leave when they
// ran. Failure settles the item, never the queue: an exhausted one becomes a dead letter, one that crashes the process
// or meets a platform failure steps aside. Survives restarts through `runDue` at start and from the wake.
import { queueErrors } from "./errors.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject, parseJson } from "../../util/json.ts";
import type { Feature } from "../../feature/feature.ts";
import { isGivenUp, restartAtMs, UNENDED_STARTS_LIMIT } from "../../agent/backoff.ts";
import { requireCallback } from "../../agent/callback.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import type { KeepAlive } from "../../agent/keep-alive.ts";
import {
  QUEUE_TABLES,
  QueueTable,
  toDeadLetter,
  toItem,
  type DeadLetter,
  type QueueItem,
  type QueueOptions,
  type QueueRow
} from "./queue-table.ts";
import { isInterruption, isWorthRetrying, readRetry, runAttempts, validateRetry } from "../../agent/retry.ts";
import { encodeStored } from "../../agent/stored-json.ts";

export class Queue implements Feature {
  readonly name = "queue";
  readonly tables = QUEUE_TABLES;
  readonly #core: AgentCore;
  readonly #keepAlive: KeepAlive;
  readonly #table: QueueTable;
  /** Callbacks whose items are being worked off now. */
  readonly #lanes = new Map<string, Promise<void>>();
  #pausedUntilMs = 0;
  #isStopped = false;

  constructor(core: AgentCore, keepAlive: KeepAlive) {
    this.#core = core;
    this.#keepAlive = keepAlive;
    this.#table = new QueueTable(core.sql);
    core.wakes.add((nowMs) => this.#nextWake(nowMs));
  }

  /** Stores an item for `callback(payload, item)` and starts working it off. Returns its id. */
  async enqueue(callback: string, payload?: unknown, options: QueueOptions = {}): Promise<string> {
    requireCallback(this.#core, callback);
    if (options.retry !== undefined) validateRetry(options.retry, this.#core.options.retry);
    const id = this.#core.ids.next();
    this.#table.insert({
      id,
      callback,
      payload: encodeStored(payload, `payload of "${callback}"`),
      retry: options.retry === undefined ? null : JSON.stringify(options.retry),
      nowMs: this.#core.clock.now()
    });
    this.#core.emit("queue:create", { callback, id });
    this.#openLane(callback);
    await this.#core.wakes.rearm();
    return id;
  }

  ready(): void {
    this.#core.background(this.runDue());
  }

  /** Starts working off what may run, and does not wait for it. */
  async runDue(): Promise<void> {
    if (this.#isStopped) return;
    const now = this.#core.clock.now();
    for (const callback of this.#table.callbacks()) {
      // No keep-alive for an empty drain: it would wake the object for nothing.
      if (this.#table.next(callback, now)) this.#openLane(callback);
    }
  }

  /** Resolves when nothing is being worked off. */
  async idle(): Promise<void> {
    while (this.#lanes.size > 0) await Promise.allSettled(this.#lanes.values());
  }

  get<T = unknown>(id: string): QueueItem<T> | undefined {
    const row = this.#table.byId(id);
    return row && toItem<T>(row);
  }

  /** Pending items whose payload has `value` under `key`. */
  find<T = unknown>(key: string, value: unknown): QueueItem<T>[] {
    const found: QueueItem<T>[] = [];
    for (const row of this.#table.pending()) {
      const item = toItem<T>(row);
      const payload: unknown = item.payload;
      if (isObject(payload) && Object.hasOwn(payload, key) && payload[key] === value) found.push(item);
    }
    return found;
  }

  /** Removes an item, pending or dead. One that is running finishes its run. */
  async dequeue(id: string): Promise<void> {
    this.#table.removeById(id);
    await this.#core.wakes.rearm();
  }

  async dequeueAll(): Promise<void> {
    this.#table.removePending();
    await this.#core.wakes.rearm();
  }

  async dequeueAllByCallback(callback: string): Promise<void> {
    this.#table.removePendingOf(callback);
    await this.#core.wakes.rearm();
  }

  /** Items that failed for good, newest first; at most DEAD_LETTER_LIMIT. */
  deadLetters(): DeadLetter[] {
    return this.#table.dead().map(toDeadLetter);
  }

  /** Gives a dead letter another chance. False if there is none with that id. */
  async requeue(id: string): Promise<boolean> {
    const callback = this.#table.revive(id);
    if (callback === undefined) return false;
    this.#openLane(callback);
    await this.#core.wakes.rearm();
    return true;
  }

  /** The object is being destroyed: its tables may be gone. Nothing is started or written any more. */
  stop(): void {
    this.#isStopped = true;
  }

  #nextWake(nowMs: number): number | null {
    if (this.#isStopped) return null;
    // While a lane is open the keep-alive is the wake that finds its items after a crash.
    const isWaiting = this.#lanes.size === 0 && this.#table.hasRunnable(nowMs);
    if (isWaiting) return Math.max(nowMs, this.#pausedUntilMs);
    return this.#table.nextAside(nowMs);
  }

  #openLane(callback: string): void {
    if (this.#isStopped || this.#lanes.has(callback)) return;
    const lane: Promise<void> = outsideTurns(() =>
      this.#keepAlive.while(() => this.#work(callback, () => this.#closeLane(callback, lane)))
    )
      .catch((error: unknown) => {
        // Not the callback's error: the table or the wake failed. Its items wait; a broken disk is no hot loop.
        this.#pausedUntilMs = this.#core.clock.now() + this.#core.options.keepAliveIntervalMs;
        throw error;
      })
      .finally(() => this.#closeLane(callback, lane));
    this.#lanes.set(callback, lane);
    this.#core.background(lane.finally(() => this.#isStopped || this.#core.wakes.rearm()));
  }

  /** Only its own entry: a new lane may have been opened since this one found nothing more to do. */
  #closeLane(callback: string, lane: Promise<void>): void {
    if (this.#lanes.get(callback) === lane) this.#lanes.delete(callback);
  }

  async #work(callback: string, close: () => void): Promise<void> {
    while (!this.#isStopped) {
      const row = this.#table.next(callback, this.#core.clock.now());
      if (!row) {
        // Closed synchronously with the empty read: an item stored from here on opens a lane of its own.
        return close();
      }
      await this.#run(row);
    }
  }

  async #run(row: QueueRow): Promise<void> {
    const now = this.#core.clock.now();
    const payload = parseJson(row.payload);
    if (!payload.ok) return this.#discard(row, payload.error);
    if (!this.#core.hasMethod(row.callback)) {
      console.error(`Queue item ${row.id} is dropped: this.${row.callback} is not a function`);
      return this.#bury(row, new Error(`this.${row.callback} is not a function`), 0);
    }
    const { fiberRecoveryMaxAgeMs, keepAliveIntervalMs } = this.#core.options;
    if (isGivenUp({ unendedStarts: row.unended_starts, unendedSince: row.unended_since }, now, fiberRecoveryMaxAgeMs)) {
      const error = queueErrors.QueueItemGivenUpError(row.callback, row.unended_starts);
      this.#bury(row, error, row.attempts);
      return this.#core.report(error);
    }
    const starts = row.unended_starts + 1;
    const restartMs = starts < UNENDED_STARTS_LIMIT ? 0 : restartAtMs(starts, now, keepAliveIntervalMs);
    this.#table.markStarted(row.seq, now, restartMs);
    await this.#attempt(row, payload.value);
  }

  async #attempt(row: QueueRow, payload: unknown): Promise<void> {
    const { callback, id } = row;
    const policy = { ...this.#core.options.retry, ...readRetry(row.retry), firstAttempt: row.attempts + 1 };
    const item = toItem(row);
    let attempts = row.attempts;
    try {
      await runAttempts(
        async (attempt) => {
          if (attempts > 0) {
            this.#core.emit("queue:retry", { callback, id, attempt, maxAttempts: policy.maxAttempts });
          }
          attempts = attempt;
          const work = new DurableWork(`queue:${id}`);
          await runDurably({ work }, () => this.#core.invoke(callback, payload, item));
        },
        {
          ...policy,
          clock: this.#core.clock,
          ids: this.#core.ids,
          shouldRetry: (error) => {
            if (this.#isStopped || !isWorthRetrying(error)) return false;
            // Durable before the pause: a restart must not hand out the attempts again.
            this.#table.markAttempted(row.seq);
            return true;
          }
        }
      );
    } catch (error) {
      return this.#failed(row, error, attempts);
    }
    if (!this.#isStopped) this.#table.remove(row.seq);
  }

  async #failed(row: QueueRow, error: unknown, attempts: number): Promise<void> {
    if (this.#isStopped) return;
    if (isInterruption(error)) return this.#stepAside(row);
    this.#bury(row, error, attempts);
    await this.#core.report(error);
  }

  /** The platform's failure, not the item's: as good as a crash, except that those behind it need not wait. */
  #stepAside(row: QueueRow): void {
    const now = this.#core.clock.now();
    const wait = restartAtMs(row.unended_starts + UNENDED_STARTS_LIMIT, now, this.#core.options.keepAliveIntervalMs);
    this.#table.putAside(row.seq, wait);
  }

  #bury(row: QueueRow, error: unknown, attempts: number): void {
    this.#table.bury(row.seq, { error, attempts, nowMs: this.#core.clock.now() });
    this.#core.emit("queue:error", { callback: row.callback, id: row.id, error: errorMessage(error), attempts });
  }

  #discard(row: QueueRow, reason: string): void {
    this.#core.sql.transaction(() => {
      this.#core.quarantine({ table: "cf_queue", key: row.id, body: row.payload, error: reason });
      this.#table.remove(row.seq);
    });
    const error = `The stored item cannot be read: ${reason}`;
    this.#core.emit("queue:error", { callback: row.callback, id: row.id, error, attempts: 0 });
  }
}
