// One object in memory: from its constructor until it is evicted, reset or killed. Events start one at a time in order of
// arrival, never while blockConcurrencyWhile holds the gate; started ones interleave wherever they await.
import type { Engine } from "./engine.ts";
import { ObjectEvicted, ObjectGone, ObjectReset, ProcessDied } from "./errors.ts";
import { createObjectState } from "./object-state.ts";
import type { HostProcess } from "./host-process.ts";
import type { ObjectRecord } from "./object-record.ts";
import { handled, type Party } from "./party.ts";
import { copyError, flattenError, resetError } from "./rpc-errors.ts";
import type { ServerSocket } from "./server-socket.ts";
import type { SocketConnection } from "./connection.ts";
import type { ClassReference } from "./class-registry.ts";
import type { ObjectId } from "./object-id.ts";

/** The platform's limit; the object is reset when it is reached. */
const BLOCK_LIMIT_MS = 30_000;

export type ObjectInstance = object;

/** What an activation is started with. */
export interface Startup {
  readonly reference: ClassReference;
  readonly id: ObjectId;
}

export interface HostEvent {
  run(instance: ObjectInstance, activation: ObjectActivation): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Rejectable {
  reject(error: unknown): void;
}

export class ObjectActivation implements Party {
  readonly engine: Engine;
  readonly record: ObjectRecord;
  /** The platform socket objects of this activation: the same connection is the same object. */
  readonly sockets = new Map<SocketConnection, ServerSocket>();
  readonly #process: HostProcess;
  readonly #blocks: BlockQueue;
  #instance: ObjectInstance | undefined;
  #waiting: HostEvent[] = [];
  #inflight = new Set<Rejectable>();
  #holds = 0;
  #background = 0;
  #endReason: unknown;
  #hasEnded = false;

  constructor(record: ObjectRecord) {
    this.record = record;
    this.engine = record.engine;
    this.#process = record.engine.process;
    this.#blocks = new BlockQueue((run) =>
      this.engine.turns.push(this.#process, () => {
        this.engine.crash.awaited();
        if (this.isLive) run();
      })
    );
  }

  get isLive(): boolean {
    return !this.#hasEnded && this.#process.alive;
  }

  get isBusy(): boolean {
    return this.#inflight.size > 0 || this.#waiting.length > 0 || this.#background > 0;
  }

  get instance(): ObjectInstance | undefined {
    return this.#instance;
  }

  /** Runs the constructor. A throw resets the object and fails everything that waits for it. */
  construct(startup: Startup): void {
    // Events start in a later turn: what the constructor left in the microtask queue comes first, as on the platform.
    this.#holds++;
    this.engine.turns.push(this.#process, () => this.#release());
    const { state, env } = createObjectState(this, startup);
    try {
      this.#instance = startup.reference.construct(state, env);
    } catch (error) {
      if (this.isLive) this.record.reset(withReset(error));
    }
  }

  /** Facets learn their class asynchronously; until then events wait. */
  async constructLater(startup: () => Promise<Startup>): Promise<void> {
    this.#holds++;
    try {
      const resolved = await startup();
      if (!this.isLive) return;
      this.record.lastStartup = resolved;
      this.construct(resolved);
    } catch (error) {
      if (this.isLive) this.record.reset(error);
    }
    this.#release();
  }

  admit(event: HostEvent): void {
    if (this.#hasEnded) event.reject(this.#endReason);
    else if (this.#instance === undefined || this.#holds > 0 || this.#waiting.length > 0) this.#waiting.push(event);
    else this.#start(event);
  }

  receive<T>(pending: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const arrive = (settle: () => void) =>
      this.engine.turns.push(this.#process, () => {
        this.engine.crash.awaited();
        if (this.isLive) settle();
      });
    pending.then(
      (value) => arrive(() => resolve(value)),
      (error: unknown) => arrive(() => reject(error))
    );
    return handled(promise);
  }

  enter<T>(work: () => T | Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.engine.turns.push(this.#process, () => {
      this.engine.crash.awaited();
      if (this.#process.alive) this.admit({ run: work, resolve, reject });
    });
    // The event resolves with what `work` returned; HostEvent does not carry the type.
    return promise as Promise<T>;
  }

  track<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (this.#hasEnded) reject(this.#endReason);
    const entry = { reject };
    this.#inflight.add(entry);
    const settle = (outcome: () => void) => {
      if (this.#inflight.delete(entry) && this.isLive) outcome();
    };
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error))
    );
    return handled(promise);
  }

  assertLive(): void {
    if (!this.#process.alive) throw new ProcessDied();
    if (!this.#hasEnded) return;
    throw this.#endReason instanceof ObjectGone ? this.#endReason : new ObjectReset(this.#endReason);
  }

  /**
   * The result of a storage call. No event may start between the call and its continuation (the platform's input gate),
   * so it resolves without a turn of its own.
   */
  settled<T>(work: () => T): Promise<T> {
    try {
      this.assertLive();
      const value = work();
      this.engine.crash.awaited();
      return this.isLive ? Promise.resolve(value) : new Promise<T>(() => {});
    } catch (error) {
      return handled(Promise.reject(error));
    }
  }

  block<T>(callback: () => Promise<T>): Promise<T> {
    this.assertLive();
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#holds++;
    const stopTimer = this.engine.schedule(this.engine.clock.now + BLOCK_LIMIT_MS, this.#process, () => {
      if (this.isLive) this.record.reset(blockedTooLong());
    });
    this.#blocks.add(() => {
      new Promise<T>((done) => done(callback())).then(
        (value) => {
          stopTimer();
          if (!this.isLive) return;
          this.#blocks.finished();
          resolve(value);
          this.#release();
        },
        (error: unknown) => {
          stopTimer();
          // The code that awaited the block is part of the object that is reset: no caller is left to reject.
          if (this.isLive) this.record.reset(withReset(error));
        }
      );
    });
    return promise;
  }

  waitUntil(work: Promise<unknown>): void {
    this.#background++;
    const done = () => {
      this.#background--;
    };
    Promise.resolve(work).then(done, done);
  }

  /** Memory is gone. Running events fail with the reason; code still running can no longer use the platform. */
  end(reason: unknown): void {
    this.#hasEnded = true;
    this.#endReason = reason;
    const unfinished = [...this.#inflight, ...this.#waiting];
    this.#inflight.clear();
    this.#waiting = [];
    for (const entry of unfinished) entry.reject(reason);
  }

  evict(): void {
    this.end(new ObjectEvicted());
  }

  #release(): void {
    this.#holds--;
    this.#startWaiting();
  }

  #startWaiting(): void {
    if (this.#holds > 0 || this.#instance === undefined || !this.isLive) return;
    const event = this.#waiting.shift();
    if (event === undefined) return;
    this.engine.turns.push(this.#process, () => this.#startWaiting());
    this.#start(event);
  }

  #start(event: HostEvent): void {
    const instance = this.#instance;
    if (instance === undefined) return this.admit(event);
    this.#inflight.add(event);
    const settle = (outcome: () => void) => {
      if (this.#inflight.delete(event) && this.isLive) outcome();
    };
    new Promise<unknown>((done) => done(event.run(instance, this))).then(
      (value) => settle(() => event.resolve(value)),
      (error: unknown) => settle(() => event.reject(error))
    );
  }
}

function withReset(error: unknown): Error {
  return resetError(error instanceof Error ? copyError(error, (value) => value) : flattenError(error));
}

function blockedTooLong(): Error {
  const text =
    "A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and the " +
    "Durable Object was reset.";
  return resetError(Object.assign(new Error(text), { overloaded: true }));
}

/**
 * The order of the activation's blockConcurrencyWhile callbacks. None runs inside its caller's own turn. One asked for while
 * another is due but not begun waits for it to end; one asked for while another runs is nested and starts at once.
 */
class BlockQueue {
  readonly #inNextTurn: (run: () => void) => void;
  #running = 0;
  #isDue = false;
  #siblings: (() => void)[] = [];

  constructor(inNextTurn: (run: () => void) => void) {
    this.#inNextTurn = inNextTurn;
  }

  add(start: () => void): void {
    if (this.#running === 0 && this.#isDue) this.#siblings.push(start);
    else this.#begin(start);
  }

  finished(): void {
    this.#running--;
    if (this.#running > 0) return;
    const next = this.#siblings.shift();
    if (next !== undefined) this.#begin(next);
  }

  #begin(start: () => void): void {
    this.#isDue = true;
    this.#inNextTurn(() => {
      this.#isDue = false;
      this.#running++;
      start();
    });
  }
}
