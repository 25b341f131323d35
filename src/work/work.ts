// The runner of one kind of durable work. It claims what is due, runs it with bounded concurrency, and writes what came of
// it; a start takes up what processes before it had claimed. One wake source: the time of the next item that may be claimed.
import type { Clock, Sql } from "../host/ports.ts";
import type { Quarantine } from "../host/quarantine.ts";
import { errorMessage } from "../util/errors.ts";
import { parseJson } from "../util/json.ts";
import { afterDeath, afterFailure } from "./decide.ts";
import type { RunEnd, WorkItem, WorkKind } from "./kind.ts";
import { WorkTable, type WorkRow } from "./work-table.ts";

/** Runs that end without waiting for anything are interrupted this often, so that other objects of the process go on. */
const RUNS_BETWEEN_YIELDS = 20;
/** How often settled items that are too old are looked for, while there is other work. */
const SWEEP_MS = 3_600_000;
/** After the table itself failed: a broken disk is no hot loop. */
const DISK_PAUSE_MS = 30_000;

/** What the runner needs of its agent. */
export interface WorkHost {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly quarantine: Quarantine;
  /** Runs work in the agent's context, kept alive until it ends: the wake that finds it after a crash is set first. */
  inAgent<T>(work: () => Promise<T>): Promise<T>;
  background(work: Promise<unknown>): void;
  /** After a change of what `nextWake` answers. */
  rearm(): void;
}

export interface NewItem<Payload> {
  /** Unique in its kind: a second one is nothing, as long as the first is known. */
  readonly key: string;
  readonly payload: Payload;
  /** Default: now. Null: parked until `schedule`. */
  readonly dueAt?: number | null;
  /** Of a kind with lanes. Items without one share a lane. */
  readonly lane?: string;
}

export type WorkState = "waiting" | "claimed" | "settled" | "parked";

interface Run {
  readonly row: WorkRow;
  readonly controller: AbortController;
}

export class Work<Payload> {
  readonly #host: WorkHost;
  readonly #kind: WorkKind<Payload>;
  readonly #table: WorkTable;
  /** By key: what this process runs and has a claim for. */
  readonly #runs = new Map<string, Run>();
  #isStarted = false;
  #isStopped = false;
  #pump: Promise<void> | undefined;
  /** Something has changed since the pump last looked. */
  #isAsked = false;
  #pausedUntil = 0;
  #sweptAt = -Infinity;

  constructor(host: WorkHost, kind: WorkKind<Payload>) {
    this.#host = host;
    this.#kind = kind;
    this.#table = new WorkTable(host.sql, kind);
  }

  // ── Items ──

  /** Part of the caller's transaction. False: it is known. */
  add({ key, payload, dueAt, lane }: NewItem<Payload>): boolean {
    const now = this.#host.clock.now();
    const isNew = this.#table.insert({
      key,
      payload: JSON.stringify(this.#kind.codec.encode(payload)),
      lane: lane ?? (this.#kind.hasLanes ? "" : null),
      dueAt: dueAt === undefined ? now : dueAt,
      now
    });
    if (isNew) this.#host.sql.afterTransaction({ committed: () => this.#changed() });
    return isNew;
  }

  /** Undefined: it is not known. */
  state(key: string): WorkState | undefined {
    const row = this.#table.find(key);
    return row && stateOf(row);
  }

  /** Moves an item that waits or is parked; null parks it. False: it is claimed, settled, or not known. */
  schedule(key: string, dueAt: number | null): boolean {
    const isMoved = this.#table.schedule(key, dueAt);
    if (isMoved) this.#host.sql.afterTransaction({ committed: () => this.#changed() });
    return isMoved;
  }

  /** Forgets an item. A run of it is asked to stop, and what it still reports changes nothing. False: it is not known. */
  cancel(key: string, reason?: unknown): boolean {
    const isRemoved = this.#table.remove(key);
    if (!isRemoved) return false;
    this.#host.sql.afterTransaction({
      committed: () => {
        this.#runs.get(key)?.controller.abort(reason);
        this.#runs.delete(key);
        this.#changed();
      }
    });
    return true;
  }

  // ── The life of the agent ──

  /** Takes up what earlier processes had claimed. What is due is run from `ready` on. */
  start(): void {
    this.#table.transaction(() => {
      for (const row of this.#table.claimed()) if (!this.#runs.has(row.key)) this.#afterDeath(row);
    });
  }

  ready(): void {
    this.#isStarted = true;
    void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    for (const { controller } of this.#runs.values()) controller.abort();
  }

  nextWake(): number | null {
    if (this.#isStopped || this.#isFull) return this.#leaseEnd();
    const due = this.#table.nextDue();
    const next = due === null ? null : Math.max(due, this.#pausedUntil);
    const lease = this.#leaseEnd();
    return next === null || lease === null ? (next ?? lease) : Math.min(next, lease);
  }

  /** Resolves when nothing that is due waits for a claim. Runs may go on. */
  runDue(): Promise<void> {
    if (!this.#isStopped) this.#endLeases();
    return this.#run();
  }

  /** Resolves when nothing runs and nothing is due. */
  async idle(): Promise<void> {
    while (this.#pump || this.#runs.size > 0) await (this.#pump ?? this.#host.clock.sleep(0));
  }

  // ── Runs ──

  get #isFull(): boolean {
    return this.#runs.size >= this.#kind.concurrency;
  }

  #changed(): void {
    void this.#run();
    this.#host.rearm();
  }

  #run(): Promise<void> {
    if (!this.#isStarted || this.#isStopped) return Promise.resolve();
    this.#isAsked = true;
    this.#pump ??= this.#claimAll().finally(() => (this.#pump = undefined));
    return this.#pump;
  }

  /** In its own tick, so that a caller's transaction and call are over. */
  async #claimAll(): Promise<void> {
    await Promise.resolve();
    this.#sweep();
    let claims = 0;
    do {
      this.#isAsked = false;
      while (this.#mayClaim()) {
        claims += 1;
        if (claims % RUNS_BETWEEN_YIELDS === 0) await this.#host.clock.sleep(0);
        await this.#startNext();
      }
      // Asked while the last claim was waited for: there may be more by now.
    } while (this.#isAsked);
  }

  #sweep(): void {
    const { retentionMs } = this.#kind;
    const now = this.#host.clock.now();
    if (retentionMs === 0 || now < this.#sweptAt + SWEEP_MS) return;
    this.#sweptAt = now;
    this.#table.sweep(now - retentionMs);
  }

  #mayClaim(): boolean {
    if (this.#isStopped || this.#isFull) return false;
    const now = this.#host.clock.now();
    const due = now < this.#pausedUntil ? null : this.#table.nextDue();
    return due !== null && due <= now;
  }

  /** Resolves when the item is claimed. The run goes on. */
  #startNext(): Promise<void> {
    const claimed = Promise.withResolvers<void>();
    const work = this.#host.inAgent(async () => {
      const row = this.#isStopped ? undefined : this.#table.claim(this.#host.clock.now());
      const run = row && { row, controller: new AbortController() };
      if (run) this.#runs.set(run.row.key, run);
      claimed.resolve();
      if (run) await this.#runOne(run);
    });
    const ended = work
      .catch((error: unknown) => {
        // Not the work's: the table or the wake failed. The item is as it was.
        this.#pausedUntil = this.#host.clock.now() + DISK_PAUSE_MS;
        console.error(`Durable work of the kind "${this.#kind.name}" could not be read or written:`, error);
      })
      .finally(() => {
        claimed.resolve();
        this.#changed();
      });
    this.#host.background(ended);
    return claimed.promise;
  }

  async #runOne(run: Run): Promise<void> {
    const { row } = run;
    try {
      const item = this.#read(row);
      if (item) this.#end(run, await this.#call(item, run));
    } finally {
      if (this.#runs.get(row.key) === run) this.#runs.delete(row.key);
    }
  }

  async #call(item: WorkItem<Payload>, { controller }: Run): Promise<RunEnd | { readonly failed: unknown }> {
    try {
      return await this.#kind.run(item, controller.signal);
    } catch (failed) {
      return { failed };
    }
  }

  #end(run: Run, outcome: RunEnd | { readonly failed: unknown }): void {
    // Cancelled, or claimed anew since: what it says is about another item.
    if (this.#isStopped || this.#runs.get(run.row.key) !== run) return;
    if ("failed" in outcome) this.#failed(run.row, outcome.failed);
    else if (outcome.end === "settled") this.#settle(run.row);
    else this.#table.postpone(run.row, outcome.until, outcome.aside ?? false);
  }

  #failed(row: WorkRow, error: unknown): void {
    const now = this.#host.clock.now();
    const retry = afterFailure(row, error, { policy: this.#kind.retry, now });
    if (retry === "given-up") this.#giveUp(row, error);
    else this.#table.fail(row, retry, { now, error: errorMessage(error) });
  }

  #settle(row: WorkRow, error?: string): boolean {
    return this.#table.settle(row, { now: this.#host.clock.now(), retentionMs: this.#kind.retentionMs, error });
  }

  #giveUp(row: WorkRow, error: unknown): void {
    this.#table.transaction(() => {
      const item = this.#read(row);
      if (item && this.#settle(row, errorMessage(error))) this.#kind.givenUp?.(item, error);
    });
  }

  // ── Claims of others ──

  #afterDeath(row: WorkRow): void {
    const item = this.#read(row);
    if (!item) return;
    const { interrupted, retry: policy } = this.#kind;
    const then = interrupted?.(item) ?? "again";
    if (then === "park") return void this.#table.release(row, null);
    if (then === "settle") return void this.#settle(row, DIED);
    const retry = afterDeath(row, { policy, now: this.#host.clock.now() });
    if (retry === "given-up") this.#giveUp(row, new Error(DIED));
    else this.#table.release(row, retry.at);
  }

  /** A run that has not returned by the end of its lease goes on, and its claim is another's. */
  #endLeases(): void {
    const { leaseMs } = this.#kind;
    if (leaseMs === undefined) return;
    const before = this.#host.clock.now() - leaseMs;
    for (const [key, { row, controller }] of this.#runs) {
      if ((row.claimedAt ?? 0) > before) continue;
      this.#runs.delete(key);
      controller.abort(new Error("The lease of this run is over."));
      this.#failed(row, new Error(`It has not returned for ${leaseMs} ms.`));
    }
  }

  #leaseEnd(): number | null {
    const { leaseMs } = this.#kind;
    if (leaseMs === undefined || this.#isStopped || this.#runs.size === 0) return null;
    return Math.min(...[...this.#runs.values()].map(({ row }) => (row.claimedAt ?? 0) + leaseMs));
  }

  /** Undefined: it cannot be read, and is set aside. */
  #read(row: WorkRow): WorkItem<Payload> | undefined {
    const stored = parseJson(row.payload);
    const decoded = stored.ok ? this.#kind.codec.decode(stored.value) : stored;
    const { key, createdAt, claim, starts, failures } = row;
    if (decoded.ok) return { key, payload: decoded.value, createdAt, claim, starts, failures };
    const { error } = decoded;
    this.#table.transaction(() => {
      this.#host.quarantine({ table: "cf_work", key: `${row.kind}:${key}`, body: row.payload, error });
      this.#table.remove(key);
    });
    return undefined;
  }
}

const DIED = "The process ended in it.";

function stateOf({ settledAt, claimedAt, dueAt }: WorkRow): WorkState {
  if (settledAt !== null) return "settled";
  if (claimedAt !== null) return "claimed";
  return dueAt === null ? "parked" : "waiting";
}
