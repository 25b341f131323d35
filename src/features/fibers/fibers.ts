// Work that the agent knows about while it runs: each fiber has a row from before its first instruction until after
// its last, so the end of the process leaves a trace that recovery finds. Unmanaged rows go when the run ends; managed
// records stay, for inspection and to deduplicate by key, until the user deletes them (`remove`).
import { AsyncLocalStorage } from "node:async_hooks";
import { outsideTurns } from "../../turn/nesting.ts";
import { byteLength } from "../../util/bytes.ts";
import { errorMessage } from "../../util/errors.ts";
import { requireCallback } from "../../agent/callback.ts";
import { currentDurable, runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork } from "../../agent/durable-work.ts";
import { fiberErrors } from "./errors.ts";
import { FiberRecovery } from "./fiber-recovery.ts";
import {
  isEndedStatus,
  toInspection,
  type FiberContext,
  type FiberInspection,
  type FiberMetadata,
  type FiberRecoveryResult,
  type FiberRow,
  type FiberStatus
} from "./fiber-row.ts";
import { FiberTable, METADATA_LIMIT_BYTES, type NewFiber } from "./fiber-table.ts";
import type { KeepAlive } from "../../agent/keep-alive.ts";
import { encodeStored } from "../../agent/stored-json.ts";
import { agentErrors } from "../../agent/errors.ts";

export type {
  FiberContext,
  FiberInspection,
  FiberRecoveryContext,
  FiberRecoveryResult,
  FiberStatus
} from "./fiber-row.ts";

/** Bytes of a fiberId or idempotencyKey. */
const KEY_LIMIT_BYTES = 1_024;
const LIST_LIMIT = { default: 50, max: 100 };
const REMOVE_LIMIT = { default: 100, max: 500 };
const REMOVED_BY_DEFAULT: readonly FiberStatus[] = ["completed", "error", "aborted"];

export interface RunFiberOptions {
  /** Method called with `(snapshot, context)` instead of `onFiberRecovered` when the process ends mid-run. */
  onInterrupted?: string;
}

export interface StartFiberOptions {
  fiberId?: string;
  /** A second start with the same key returns the first one's record and runs nothing. */
  idempotencyKey?: string;
  metadata?: FiberMetadata;
  /** Resolve when the fiber has an outcome instead of when it is accepted. */
  waitForCompletion?: boolean;
}

export type StartFiberResult = FiberInspection & { accepted: boolean };

export interface ListFibersOptions {
  status?: FiberStatus | readonly FiberStatus[];
  name?: string;
  /** 1 to 100, default 50. */
  limit?: number;
}

export interface DeleteFibersOptions {
  /** Default completed, error and aborted. Fibers without an outcome are never deleted. */
  status?: FiberStatus | readonly FiberStatus[];
  settledBefore?: number | Date;
  /** 1 to 500, default 100. */
  limit?: number;
}

interface Execution {
  readonly id: string;
  readonly name: string;
  readonly managed: boolean;
  /** Absent until a managed fiber begins. */
  startedAt: number | undefined;
  readonly controller: AbortController;
  readonly stash: (data: unknown) => void;
  readonly origin: Origin;
}

/** Where a fiber comes from: what its turns are keyed by, and the fiber whose recovery hook starts it. */
interface Origin {
  readonly work: DurableWork;
  readonly recovered?: string;
  /** It is the recovered fiber going on: it has the same name, and goes on from its checkpoint. */
  readonly continues: boolean;
}

type FiberWork<T> = (context: FiberContext) => T | Promise<T>;

interface Running {
  readonly of: Fibers;
  readonly execution: Execution;
  readonly outer: Running | undefined;
}

/** One for all agents: each storage costs every asynchronous step of the process something. */
const current = new AsyncLocalStorage<Running>();

export class Fibers {
  readonly #core: AgentCore;
  readonly #keepAlive: KeepAlive;
  readonly #table: FiberTable;
  readonly #recovery: FiberRecovery;
  readonly #executing = new Map<string, Execution>();
  readonly #waiters = new Map<string, PromiseWithResolvers<void>>();
  #isStopped = false;

  constructor(core: AgentCore, keepAlive: KeepAlive) {
    this.#core = core;
    this.#keepAlive = keepAlive;
    this.#table = new FiberTable(core.sql);
    this.#recovery = new FiberRecovery({
      core,
      table: this.#table,
      executing: () => [...this.#executing.keys()],
      onSettled: (id) => this.#notifyWaiters(id)
    });
  }

  /** Runs `work` and returns what it returns. If the process ends before that, recovery gets its last stash. */
  async run<T>(name: string, work: FiberWork<T>, { onInterrupted }: RunFiberOptions = {}): Promise<T> {
    if (onInterrupted !== undefined) requireCallback(this.#core, onInterrupted);
    const id = this.#core.ids.next();
    const origin = this.#originOf(id, name);
    const execution = this.#createExecution({ id, name, managed: false, origin });
    const nowMs = this.#core.clock.now();
    this.#table.insert({ id, name, managed: false, nowMs, onInterrupted, ...this.#lineage(origin) });
    this.#executing.set(execution.id, execution);
    this.#emitStarted(execution);
    try {
      const value = await this.#keepAlive.while(() =>
        // The row goes before the keep-alive: as long as it is there, something must wake the object for it.
        this.#enter(execution, work).finally(() => this.#end(execution))
      );
      this.#emitCompleted(execution);
      return value;
    } catch (error) {
      this.#emitFailed(execution, error);
      throw error;
    } finally {
      // Still there only if the wake could not be armed, and so the work never began.
      this.#end(execution);
    }
  }

  /** A stash belongs to the innermost fiber of this agent, never to another agent's. */
  #innermost(): Execution | undefined {
    for (let running = current.getStore(); running; running = running.outer) {
      if (running.of === this) return running.execution;
    }
    return undefined;
  }

  /** The caller runs in a fiber of this agent. */
  get isInside(): boolean {
    return this.#innermost() !== undefined;
  }

  /** Writes the checkpoint of the fiber this code runs in. */
  stash(data: unknown): void {
    const execution = this.#innermost();
    if (!execution) throw fiberErrors.OutsideFiberError();
    execution.stash(data);
  }

  /** Accepts a fiber that has a record of its own, and runs it in the background. */
  async start(name: string, work: FiberWork<unknown>, options: StartFiberOptions = {}): Promise<StartFiberResult> {
    const origin = this.#originOf(this.#core.ids.next(), name);
    const { row, isNew } = this.#accept(name, options, origin);
    if (!isNew) return { ...(await this.#follow(row, options.waitForCompletion ?? false)), accepted: false };
    const execution = this.#createExecution({ id: row.id, name, managed: true, origin });
    this.#executing.set(row.id, execution);
    const armed = this.#keepAlive.acquire();
    const run = () =>
      armed.then(
        (release) => this.#runManaged(execution, work).finally(release),
        (error: unknown) => this.#settleManaged(execution, { status: "error", error })
      );
    // A turn that waits for the fiber would wait for itself if the fiber waited for the next turn.
    this.#core.background(options.waitForCompletion ? run() : outsideTurns(run));
    if (options.waitForCompletion) return { ...(await this.#outcome(row.id)), accepted: true };
    const isArmed = await armed.then(
      () => true,
      () => false
    );
    return { ...((isArmed ? null : this.inspect(row.id)) ?? toInspection(row)), accepted: true };
  }

  inspect(id: string): FiberInspection | null {
    return managed(this.#table.byId(id));
  }

  inspectByKey(key: string): FiberInspection | null {
    return managed(this.#table.byKey(key));
  }

  /** Aborts a fiber that has no outcome yet. Waiters are notified at once, even if its function ignores the signal. */
  async cancel(id: string, reason?: string): Promise<boolean> {
    const execution = this.#executing.get(id);
    if (!this.#table.settle(id, { status: "aborted", error: reason, nowMs: this.#core.clock.now() })) return false;
    const error = fiberErrors.FiberCancelledError(reason);
    if (execution?.startedAt !== undefined) this.#emitFailed(execution, error);
    execution?.controller.abort(error);
    this.#notifyWaiters(id);
    await this.#core.wakes.rearm();
    return true;
  }

  async cancelByKey(key: string, reason?: string): Promise<boolean> {
    const row = this.#table.byKey(key);
    return row !== undefined && this.cancel(row.id, reason);
  }

  /** Gives an interrupted fiber its outcome. False from any other status. */
  async resolve(id: string, result: FiberRecoveryResult): Promise<boolean> {
    if (!this.#recovery.resolve(id, result)) return false;
    await this.#core.wakes.rearm();
    return true;
  }

  /** Newest first. */
  list(filter: ListFibersOptions = {}): FiberInspection[] {
    const limit = clampLimit(filter.limit, LIST_LIMIT);
    return this.#table.list({ statuses: asList(filter.status), name: filter.name, limit }).map(toInspection);
  }

  /**
   * Deletes records that have an outcome, oldest first; `interrupted` ones only if named, and never one that is owed a
   * recovery. Returns how many.
   */
  remove(filter: DeleteFibersOptions = {}): number {
    const statuses = (asList(filter.status) ?? REMOVED_BY_DEFAULT).filter(isEndedStatus);
    const settledBeforeMs = filter.settledBefore === undefined ? null : Number(filter.settledBefore);
    const limit = clampLimit(filter.limit, REMOVE_LIMIT);
    return this.#table.removeSettled({ statuses, settledBeforeMs, limit, except: this.#recovery.owed() });
  }

  /**
   * Marks what a previous process left behind. Synchronous and cheap: call it before the user's code runs. True if
   * there is something for `recover` to do now.
   */
  claim(): boolean {
    return this.#recovery.claim();
  }

  /** Runs the recovery of everything that is due. Call it outside the start gate, and from every wake. */
  recover(): Promise<void> {
    return this.#recovery.recover();
  }

  /** The object is being destroyed: its tables may be gone. Nothing is started or written any more. */
  stop(): void {
    this.#isStopped = true;
    this.#recovery.stop();
  }

  /** A fiber inside other durable work is one of the calls of that work. `id` must not have been used before. */
  #originOf(id: string, name: string): Origin {
    const { work, recovering } = currentDurable() ?? {};
    if (recovering?.name === name) return { work: recovering.work, recovered: recovering.id, continues: true };
    const own = new DurableWork(work?.nextKey() ?? `fiber:${id}`);
    return { work: own, continues: false, recovered: recovering?.id };
  }

  /** The columns of a new row that say so. */
  #lineage({ work, recovered, continues }: Origin): Pick<NewFiber, "replaces" | "work" | "calls" | "snapshot"> {
    const goesOn = continues && recovered !== undefined && this.#recovery.isOwed(recovered);
    const from = goesOn ? this.#table.byId(recovered) : undefined;
    return {
      work: work.key,
      calls: from?.calls ?? work.calls,
      replaces: recovered,
      snapshot: typeof from?.snapshot === "string" ? from.snapshot : undefined
    };
  }

  #accept(name: string, options: StartFiberOptions, origin: Origin): { row: FiberRow; isNew: boolean } {
    const fiberId = readKey("fiberId", options.fiberId);
    const idempotencyKey = readKey("idempotencyKey", options.idempotencyKey);
    const metadata =
      options.metadata === undefined ? undefined : encodeStored(options.metadata, "metadata", METADATA_LIMIT_BYTES);
    return this.#core.sql.transaction(() => {
      const byId = fiberId === undefined ? undefined : this.#table.byId(fiberId);
      const byKey = idempotencyKey === undefined ? undefined : this.#table.byKey(idempotencyKey);
      if (byId && byKey && byId.id !== byKey.id) {
        throw fiberErrors.FiberOptionsError("fiberId and idempotencyKey refer to different fibers");
      }
      if (byId && !byId.managed) throw fiberErrors.FiberOptionsError("fiberId belongs to a fiber of runFiber");
      const existing = byId ?? byKey;
      if (existing) return { row: existing, isNew: false };
      const id = fiberId ?? this.#core.ids.next();
      const { replaces, ...lineage } = this.#lineage(origin);
      this.#table.insert({
        id,
        name,
        managed: true,
        nowMs: this.#core.clock.now(),
        idempotencyKey,
        metadata,
        ...lineage
      });
      // It has a record of its own, and a recovery of its own: the hook that starts it is not asked again.
      if (replaces !== undefined) this.#recovery.handOver(replaces);
      const row = this.#table.byId(id);
      if (!row) throw new Error("A fiber that was just stored is gone");
      return { row, isNew: true };
    });
  }

  async #runManaged(execution: Execution, work: FiberWork<unknown>): Promise<void> {
    try {
      execution.startedAt = this.#core.clock.now();
      if (!this.#table.markRunning(execution.id, execution.startedAt)) return;
      this.#emitStarted(execution);
      const outcome = await this.#enter(execution, work).then(
        () => ({ status: "completed" as const }),
        (error: unknown) => ({ status: "error" as const, error })
      );
      this.#settleManaged(execution, outcome);
    } finally {
      this.#executing.delete(execution.id);
    }
  }

  /** A cancelled fiber has its outcome already; what its function does after that changes nothing. */
  #settleManaged(execution: Execution, outcome: { status: "completed" } | { status: "error"; error: unknown }): void {
    this.#executing.delete(execution.id);
    if (this.#isStopped) return;
    if (!this.#table.settle(execution.id, { ...outcome, nowMs: this.#core.clock.now() })) return;
    if (outcome.status === "completed") this.#emitCompleted(execution);
    else this.#emitFailed(execution, outcome.error);
    this.#notifyWaiters(execution.id);
  }

  async #follow(row: FiberRow, waits: boolean): Promise<FiberInspection> {
    if (!waits) return toInspection(row);
    const isOrphan = !isEndedStatus(row.status) && !this.#executing.has(row.id);
    // A hook that asks for its own fiber would wait for itself.
    if (isOrphan || this.#recovery.isWaiting(row.id)) await this.recover();
    return this.#outcome(row.id);
  }

  async #outcome(id: string): Promise<FiberInspection> {
    for (;;) {
      const inspection = this.inspect(id);
      if (!inspection) throw fiberErrors.FiberOptionsError("The fiber was deleted while it was waited for");
      if (isEndedStatus(inspection.status)) return inspection;
      const waiter = this.#waiters.get(id) ?? Promise.withResolvers<void>();
      this.#waiters.set(id, waiter);
      await waiter.promise;
    }
  }

  #notifyWaiters(id: string): void {
    this.#waiters.get(id)?.resolve();
    this.#waiters.delete(id);
  }

  #createExecution(fiber: Pick<Execution, "id" | "name" | "managed" | "origin">): Execution {
    return {
      ...fiber,
      startedAt: fiber.managed ? undefined : this.#core.clock.now(),
      controller: new AbortController(),
      stash: (data) => {
        if (this.#isStopped) return;
        // What was started before the checkpoint is not started again by a run that goes on from there.
        this.#table.stash(fiber.id, encodeStored(data, "snapshot"), fiber.origin.work.calls);
      }
    };
  }

  async #enter<T>(execution: Execution, work: FiberWork<T>): Promise<T> {
    const { id, stash, controller, origin } = execution;
    return current.run({ of: this, execution, outer: current.getStore() }, () =>
      runDurably({ work: origin.work }, () => work({ id, stash, signal: controller.signal, snapshot: null }))
    );
  }

  /** Removes the row of an unmanaged run, once. */
  #end(execution: Execution): void {
    if (!this.#executing.delete(execution.id) || this.#isStopped) return;
    const { recovered, continues } = execution.origin;
    if (!continues || recovered === undefined || !this.#recovery.isOwed(recovered))
      return this.#table.remove(execution.id);
    // The hook may fail, or go on for long: what it is asked with next is the newest checkpoint.
    this.#core.sql.transaction(() => this.#table.joinCheckpoint(execution.id, recovered));
  }

  #emitStarted(execution: Execution): void {
    this.#core.emit("fiber:run:started", describe(execution));
  }

  #emitCompleted(execution: Execution): void {
    this.#core.emit("fiber:run:completed", { ...describe(execution), elapsedMs: this.#elapsed(execution) });
  }

  #emitFailed(execution: Execution, error: unknown): void {
    const elapsedMs = this.#elapsed(execution);
    this.#core.emit("fiber:run:failed", { ...describe(execution), error: errorMessage(error), elapsedMs });
  }

  #elapsed(execution: Execution): number {
    const now = this.#core.clock.now();
    return now - (execution.startedAt ?? now);
  }
}

function describe(execution: Execution) {
  return { fiberId: execution.id, fiberName: execution.name, managed: execution.managed };
}

function managed(row: FiberRow | undefined): FiberInspection | null {
  return row?.managed ? toInspection(row) : null;
}

function readKey(field: "fiberId" | "idempotencyKey", value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.trim() === "") throw fiberErrors.FiberOptionsError(`${field} must not be blank`);
  if (byteLength(value) > KEY_LIMIT_BYTES) throw agentErrors.TooLargeError(field, byteLength(value), KEY_LIMIT_BYTES);
  return value;
}

function asList(status: FiberStatus | readonly FiberStatus[] | undefined): readonly FiberStatus[] | undefined {
  return typeof status === "string" ? [status] : status;
}

function clampLimit(limit: number | undefined, bounds: { default: number; max: number }): number {
  const wanted = limit === undefined || Number.isNaN(limit) ? bounds.default : Math.floor(limit);
  return Math.min(bounds.max, Math.max(1, wanted));
}
