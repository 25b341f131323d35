// Work for later, now: items run in order of insertion, one at a time per callback, at least once, and leave when they
// ran. Failure settles the item, never the queue: an exhausted one becomes a dead letter, one that crashes the process
// or meets a platform failure steps aside.
import { AsyncLocalStorage } from "node:async_hooks";
import { queueErrors } from "./errors.ts";
import { outsideTurns } from "../../turn/nesting.ts";
import { errorMessage } from "../../util/errors.ts";
import { isObject } from "../../util/json.ts";
import type { Feature } from "../../feature/feature.ts";
import { isGivenUp, LONGEST_WAIT_MS, UNENDED_STARTS_LIMIT } from "../../agent/backoff.ts";
import { requireCallback } from "../../agent/callback.ts";
import { runDurably } from "../../agent/context.ts";
import { hostIn, type AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import type { KeepAlive } from "../../agent/keep-alive.ts";
import { isInterruption, isWorthRetrying, validateRetry } from "../../agent/retry.ts";
import { encodeStored } from "../../agent/stored-json.ts";
import { SETTLED, type RetryPolicy, type RunEnd, type WorkItem, type WorkView } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import {
  DEAD_LETTER_LIMIT,
  QUEUE,
  QUEUE_ITEM_LIMIT,
  QUEUE_TABLE,
  QUEUED,
  toDeadLetter,
  toItem,
  type DeadLetter,
  type Queued,
  type QueueItem,
  type QueueOptions
} from "./queue-item.ts";

export class Queue implements Feature {
  readonly name = "queue";
  readonly #core: AgentCore;
  readonly #work: Work<Queued>;
  /** By id: the context of the code that queued an item which is not over; of this process only. */
  readonly #contexts = new Map<string, <T>(work: () => T) => T>();

  constructor(core: AgentCore, keepAlive: KeepAlive) {
    this.#core = core;
    this.#work = new Work(
      hostIn(core, (work) => keepAlive.while(work)),
      {
        name: QUEUE,
        replaces: [QUEUE_TABLE],
        codec: QUEUED,
        retry: this.#policy({}),
        retryOf: ({ payload, failures }) => this.#policy(payload, failures),
        hasLanes: true,
        concurrency: Infinity,
        retentionMs: 0,
        deadLetters: DEAD_LETTER_LIMIT,
        run: (item) => this.#run(item),
        givenUp: (item, error) => this.#gaveUp(item, error),
        unreadable: ({ key, lane, error }) =>
          this.#failed({ key, lane }, { error: `The stored item cannot be read: ${error}`, attempts: 0 })
      }
    );
    core.wakes.add(() => this.#work.nextWake());
  }

  /** Stores an item for `callback(payload, item)` and starts working it off. Returns its id. */
  async enqueue(callback: string, payload?: unknown, { retry }: QueueOptions = {}): Promise<string> {
    requireCallback(this.#core, callback);
    if (retry !== undefined) validateRetry(retry, this.#core.options.retry);
    encodeStored(payload, `payload of "${callback}"`);
    if (this.#work.holdsAtLeast(QUEUE_ITEM_LIMIT)) throw queueErrors.QueueLimitError(QUEUE_ITEM_LIMIT);
    const id = this.#core.ids.next();
    this.#work.add({ key: id, lane: callback, payload: { payload: payload ?? null, retry } });
    this.#contexts.set(id, AsyncLocalStorage.snapshot());
    this.#core.emit("queue:create", { callback, id });
    await this.#core.wakes.rearm();
    return id;
  }

  start(): void {
    this.#work.start();
  }

  ready(): void {
    this.#work.ready();
  }

  /** Starts working off what may run, and does not wait for it. */
  runDue(): Promise<void> {
    return this.#work.runDue();
  }

  /** Resolves when nothing is being worked off. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  get<T = unknown>(id: string): QueueItem<T> | undefined {
    const view = this.#work.find(id);
    return view && view.state !== "dead" ? toItem<T>(view) : undefined;
  }

  /** In order, one body in memory at a time: together they may be larger than the object. */
  pending(): Generator<WorkView<Queued>> {
    return this.#work.items({ states: ["waiting", "claimed"] });
  }

  /** Pending items whose payload has `value` under `key`. */
  find<T = unknown>(key: string, value: unknown): QueueItem<T>[] {
    const found: QueueItem<T>[] = [];
    for (const view of this.pending()) {
      const { payload } = view.payload;
      if (isObject(payload) && Object.hasOwn(payload, key) && payload[key] === value) found.push(toItem<T>(view));
    }
    return found;
  }

  /** Removes an item, pending or dead. One that is running finishes its run. */
  async dequeue(id: string): Promise<void> {
    this.#work.cancel(id);
    this.#contexts.delete(id);
    await this.#core.wakes.rearm();
  }

  /** Removes all that are pending, or those of one callback. */
  async dequeueAll(callback?: string): Promise<void> {
    this.#work.cancelAll({ lane: callback });
    for (const id of this.#contexts.keys()) if (!this.#work.state(id)) this.#contexts.delete(id);
    await this.#core.wakes.rearm();
  }

  /** Items that failed for good, newest first; at most DEAD_LETTER_LIMIT. */
  deadLetters(): DeadLetter[] {
    return this.#work.dead().map(toDeadLetter);
  }

  /** Gives a dead letter another chance. False if there is none with that id. */
  async requeue(id: string): Promise<boolean> {
    const isRevived = this.#work.revive(id);
    await this.#core.wakes.rearm();
    return isRevived;
  }

  /** The object is being destroyed: its tables may be gone. Nothing is started or written any more. */
  stop(): void {
    this.#work.stop();
  }

  #policy({ retry }: Pick<Queued, "retry">, failures = 0): RetryPolicy {
    const { retry: defaults, keepAliveIntervalMs } = this.#core.options;
    const { maxAttempts, baseDelayMs, maxDelayMs } = { ...defaults, ...retry };
    return {
      // The pause after attempt n is random below 2^n * baseDelayMs.
      backoff: { baseMs: 2 * baseDelayMs, maxMs: maxDelayMs, jitter: 1 },
      afterDeaths: { baseMs: keepAliveIntervalMs, maxMs: LONGEST_WAIT_MS },
      quickRestarts: UNENDED_STARTS_LIMIT,
      asideAfterDeaths: true,
      maxAttempts,
      isFinal: (error) => !isWorthRetrying(error),
      // A lost connection may be back at once.
      isInterruption: (error) => isInterruption(error) && !(isWorthRetrying(error) && failures + 1 < maxAttempts)
    };
  }

  async #run(item: WorkItem<Queued>): Promise<RunEnd<Queued>> {
    const { key: id, lane, payload, starts, failures, troubledSince } = item;
    const callback = lane ?? "";
    if (!this.#core.hasMethod(callback)) {
      console.error(`Queue item ${id} is dropped: this.${callback} is not a function`);
      return { end: "given-up", error: new Error(`this.${callback} is not a function`) };
    }
    const unended = { unendedStarts: starts - 1, unendedSince: troubledSince };
    if (isGivenUp(unended, this.#core.clock.now(), this.#core.options.fiberRecoveryMaxAgeMs))
      return { end: "given-up", error: queueErrors.QueueItemGivenUpError(callback, starts - 1) };
    if (failures > 0) {
      const { maxAttempts } = { ...this.#core.options.retry, ...payload.retry };
      this.#core.emit("queue:retry", { callback, id, attempt: failures + 1, maxAttempts });
    }
    const inContext = this.#contexts.get(id) ?? ((work) => work());
    const scope = { work: new DurableWork(`queue:${id}`) };
    const call = () => this.#core.invoke(callback, payload.payload, toItem(item));
    await inContext(() => outsideTurns(() => runDurably(scope, call)));
    this.#contexts.delete(id);
    return SETTLED;
  }

  #gaveUp(item: WorkItem<Queued>, error: unknown): void {
    const attempts = this.#work.find(item.key)?.failures ?? 0;
    this.#failed(item, { error: errorMessage(error), attempts });
    if (this.#core.hasMethod(item.lane ?? "")) this.#core.background(this.#core.report(error));
  }

  #failed({ key: id, lane }: Pick<WorkItem<Queued>, "key" | "lane">, end: { error: string; attempts: number }): void {
    this.#contexts.delete(id);
    const committed = () => this.#core.emit("queue:error", { callback: lane ?? "", id, ...end });
    this.#core.sql.afterTransaction({ committed });
  }
}
