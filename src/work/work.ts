// The runner of one kind of durable work. It claims what is due, runs it with bounded concurrency, and writes what came of
// it; a start takes up what processes before it had claimed. One wake source: the time of the next item that may be claimed.
import { happensWithin } from "../host/deadline.ts";
import { ClaimEnds } from "./claim-ends.ts";
import type { Listed, NewItem, RunEnd, WorkItem, WorkKind, WorkState, WorkView } from "./kind.ts";
import type { WorkHost } from "./work-host.ts";
import { StoredItems } from "./stored-items.ts";
import { stateOf, WorkTable, type WorkRow } from "./work-table.ts";

export type { WorkHost } from "./work-host.ts";

/** Runs that end without waiting for anything are interrupted this often, so that other objects of the process go on. */
const RUNS_BETWEEN_YIELDS = 20;
/** After the table itself failed: a broken disk is no hot loop. */
const DISK_PAUSE_MS = 30_000;

interface Run {
  readonly row: WorkRow;
  readonly controller: AbortController;
  /** When the item is due again, once this run has settled it. */
  dueAgain: number | null;
}

export class Work<Payload> {
  readonly #host: WorkHost;
  readonly #kind: WorkKind<Payload>;
  readonly #table: WorkTable;
  readonly #stored: StoredItems<Payload>;
  readonly #ends: ClaimEnds<Payload>;
  /** By key: what this process runs and has a claim for. */
  readonly #runs = new Map<string, Run>();
  /** What was cancelled and has not returned: the others of its lane, and the wake that it runs in, wait for it. */
  readonly #leaving = new Set<Run>();
  /** By key: what the table did not take. */
  readonly #held = new Map<string, NewItem<Payload>>();
  /** The table has failed since the last look: items may be held, and claims may have no run. */
  #hasFailed = false;
  #isStarted = false;
  #isStopped = false;
  #pump: Promise<void> | undefined;
  /** The pump is at work, and claims what is due. */
  #isClaiming = false;
  /** Something has changed since the pump last looked. */
  #isAsked = false;
  /** Of the next change, while something waits for it. */
  #nextChange: PromiseWithResolvers<void> | undefined;
  #pausedUntil = 0;
  /** Items that were due when they were looked for. Each is claimed only if it still is. */
  #due: number[] = [];

  constructor(host: WorkHost, kind: WorkKind<Payload>) {
    this.#host = host;
    this.#kind = kind;
    this.#table = new WorkTable(host.sql, kind);
    this.#stored = new StoredItems(kind, { table: this.#table, quarantine: host.quarantine });
    this.#ends = new ClaimEnds(kind, { host, table: this.#table, stored: this.#stored });
  }

  // ── Items ──

  /** Part of the caller's transaction. False: it is known. */
  add({ key, payload, dueAt, lane }: NewItem<Payload>): boolean {
    const now = this.#host.clock.now();
    const isNew = this.#table.insert({
      key,
      payload: this.#stored.encode(payload),
      lane: lane ?? (this.#kind.hasLanes ? "" : null),
      dueAt: dueAt === undefined ? now : dueAt,
      now
    });
    return this.#runsAfter(isNew);
  }

  /** Notes a key as that of a settled item: adding it again is nothing. Part of the caller's transaction. False: it is known. */
  know(key: string): boolean {
    const now = this.#host.clock.now();
    return this.#table.insert({ key, payload: "null", lane: null, dueAt: null, settledAt: now, now });
  }

  /** As `add`, for a caller that may not fail: an item that the table refuses is held in memory, and added by a later wake. */
  addOrHold(item: NewItem<Payload>): void {
    this.#held.delete(item.key);
    if (this.#isStopped) return;
    try {
      this.add(item);
    } catch (error) {
      this.#held.set(item.key, item);
      this.#tableFailed(error);
    }
  }

  /** Adds an item, or moves one that waits or is parked. False: it is claimed, or over. */
  put(item: NewItem<Payload>): boolean {
    const { key, payload, dueAt = this.#host.clock.now() } = item;
    return this.#table.transaction(() => this.add(item) || this.schedule(key, dueAt, payload));
  }

  /** Undefined: it is not known. */
  state(key: string): WorkState | undefined {
    const row = this.#table.find(key);
    return row && stateOf(row);
  }

  /** Undefined: it is not known, has no payload any more, or cannot be read. */
  find(key: string): WorkView<Payload> | undefined {
    const row = this.#table.find(key);
    return row && this.#stored.view(row);
  }

  /** In the order in which they were added, one body in memory at a time; without those that have no payload any more. */
  items(listed?: Listed): Generator<WorkView<Payload>> {
    return this.#stored.views(listed);
  }

  /** Items that were given up and are kept, the newest first. */
  dead(): WorkView<Payload>[] {
    return this.#table.dead().flatMap((row) => this.#stored.view(row) ?? []);
  }

  /** Whether so many items, or more, are not over. */
  holdsAtLeast(count: number): boolean {
    return this.#table.holdsAtLeast(count);
  }

  /** Replaces the payload of an item that runs. False: its claim is over. */
  save(item: Pick<WorkItem<Payload>, "key" | "claim">, payload: Payload): boolean {
    return this.#table.save(item, this.#stored.encode(payload));
  }

  /** Runs an item again that was given up and is kept. False: there is none. */
  revive(key: string): boolean {
    const { deadLetters } = this.#kind;
    return this.#runsAfter(deadLetters !== undefined && this.#table.revive(key, this.#host.clock.now()));
  }

  /** Moves an item that waits or is parked; null parks it. `payload` replaces its own. False: it is claimed, over, or unknown. */
  schedule(key: string, dueAt: number | null, payload?: Payload): boolean {
    const stored = payload === undefined ? undefined : this.#stored.encode(payload);
    return this.#runsAfter(this.#table.schedule(key, dueAt, stored));
  }

  /** Settles or parks an item, in the transaction that did its work: what a run of it reports changes nothing. False: it is over. */
  conclude(key: string, payload: Payload, as: "settled" | "parked"): boolean {
    if (as === "settled" && this.#kind.retentionMs === 0) return this.#runsAfter(this.#table.remove(key));
    const settledAt = as === "settled" ? this.#host.clock.now() : null;
    return this.#runsAfter(this.#table.conclude(key, this.#stored.encode(payload), settledAt));
  }

  /** Looks for work when the caller's transaction, which has changed something, is over. */
  #runsAfter(isChanged: boolean): boolean {
    if (isChanged) this.#host.sql.afterTransaction({ committed: () => this.#changed() });
    return isChanged;
  }

  /** As this process's run of the item settles it, it waits until then; null: it does not. False: it does not run. */
  again(key: string, dueAt: number | null): boolean {
    const run = this.#runs.get(key);
    if (run) run.dueAgain = dueAt;
    return run !== undefined;
  }

  /**
   * Something of this kind succeeded where others fail: what waits after failures or deaths is tried by then, and its pauses
   * are as after a first one. Its age stays.
   */
  retryBy(latest: number): void {
    this.#table.retryBy(latest);
    this.#runsAfter(true);
  }

  /** Forgets an item. A run of it is asked to stop, and what it still reports changes nothing. False: it is not known. */
  cancel(key: string, reason?: unknown): boolean {
    const isHeld = this.#held.delete(key);
    if (!this.#table.remove(key)) return isHeld;
    this.#host.sql.afterTransaction({
      committed: () => {
        const run = this.#runs.get(key);
        if (run) this.#leave(run, reason);
        this.#changed();
      }
    });
    return true;
  }

  /** Forgets every item that is not over; of one lane, or of all. Their runs are asked to stop. */
  cancelAll({ lane, reason }: { readonly lane?: string; readonly reason?: unknown } = {}): void {
    this.#table.removeOpen(lane);
    for (const [key, item] of this.#held) if (lane === undefined || item.lane === lane) this.#held.delete(key);
    this.#host.sql.afterTransaction({
      committed: () => {
        const runs = [...this.#runs.values()].filter(({ row }) => lane === undefined || row.lane === lane);
        for (const run of runs) this.#leave(run, reason);
        this.#changed();
      }
    });
  }

  #leave(run: Run, reason: unknown): void {
    this.#runs.delete(run.row.key);
    if (this.#kind.hasLanes || this.#kind.byWake) this.#leaving.add(run);
    run.controller.abort(reason);
  }

  get #busyLanes(): string[] {
    return [...this.#leaving].flatMap(({ row }) => row.lane ?? []);
  }

  // ── The life of the agent ──

  /**
   * Takes up what is claimed and does not run: its process died, or the platform ended it. What is due runs from `ready` on. Of a
   * table that fails it is taken up by a later wake.
   */
  start(): void {
    try {
      this.#takeUp();
    } catch (error) {
      this.#tableFailed(error);
    }
  }

  #takeUp(): void {
    this.#table.transaction(() => {
      this.#stored.setAsideDamaged();
      for (const row of this.#table.claimed()) if (!this.#runs.has(row.key)) this.#ends.died(row);
    });
  }

  ready(): void {
    this.#isStarted = true;
    if (!this.#kind.byWake) void this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    for (const { controller } of this.#runs.values()) controller.abort();
    this.#nextChange?.resolve();
  }

  nextWake(): number | null {
    if (this.#isStopped) return null;
    const mendAt = this.#hasFailed ? this.#pausedUntil : null;
    const times = [this.#nextPlace(), this.#leaseEnd(), mendAt].filter((at) => at !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** When an item may be claimed that may not be now. */
  #nextPlace(): number | null {
    // The pump is at work on those.
    const due = this.#due.length > 0 ? this.#host.clock.now() : this.#table.nextDue(this.#busyLanes);
    if (due === null) return null;
    const at = Math.max(due, this.#pausedUntil);
    // The pump takes it, and is kept alive meanwhile.
    if (this.#isClaiming && at <= this.#host.clock.now()) return null;
    if (!this.#isFull) return at;
    const { slowMs } = this.#kind;
    return slowMs === undefined ? null : Math.max(at, Math.min(...this.#quickRuns()) + slowMs);
  }

  /** Resolves when nothing that is due waits for a claim. Runs may go on. */
  runDue(): Promise<void> {
    if (!this.#isStopped) this.#endLeases();
    return this.#run();
  }

  /** Resolves when nothing that is due waits for a place, and no run has one: those that are slow go on. */
  async drained(): Promise<void> {
    await this.runDue();
    for (let began = this.#quickRuns(); began.length > 0 && !this.#isStopped; began = this.#quickRuns()) {
      const { clock } = this.#host;
      const { slowMs } = this.#kind;
      if (slowMs === undefined) await this.changed();
      else await happensWithin(Math.min(...began) + slowMs - clock.now(), this.changed(), clock);
      await this.runDue();
    }
  }

  /** What this process runs, one object for each run; also what was cancelled and has not returned. */
  running(): Pick<WorkRow, "key" | "claimedAt">[] {
    return [...this.#runs.values(), ...this.#leaving].map(({ row }) => row);
  }

  /** Items that were found to be due wait for a place. */
  get isBehind(): boolean {
    return this.#due.length > 0;
  }

  /** Resolves at the next change: an item was added or moved, or a run has ended. */
  changed(): Promise<void> {
    return (this.#nextChange ??= Promise.withResolvers()).promise;
  }

  /** Resolves when nothing runs and nothing is due. */
  async idle(): Promise<void> {
    while (this.#pump || this.#runs.size + this.#leaving.size > 0) await (this.#pump ?? this.changed());
  }

  // ── Runs ──

  /** A run that is slow has left its place. */
  get #isFull(): boolean {
    return this.#quickRuns().length >= this.#kind.concurrency;
  }

  /** When each run began that has a place. */
  #quickRuns(): number[] {
    const { slowMs = Infinity } = this.#kind;
    const before = this.#host.clock.now() - slowMs;
    const runs = this.#kind.byWake ? this.running() : [...this.#runs.values()].map(({ row }) => row);
    return runs.map(({ claimedAt }) => claimedAt ?? 0).filter((at) => at > before);
  }

  #changed(): void {
    this.#nextChange?.resolve();
    this.#nextChange = undefined;
    if (!this.#kind.byWake) void this.#run();
    this.#host.rearm();
  }

  #run(): Promise<void> {
    if (!this.#isStarted || this.#isStopped) return Promise.resolve();
    this.#isAsked = true;
    if (this.#pump) return this.#pump;
    this.#isClaiming = !this.#kind.byWake;
    this.#pump = this.#claimAll()
      .catch((error: unknown) => this.#tableFailed(error))
      .finally(() => {
        this.#pump = undefined;
        // Asked as it ended.
        if (this.#isAsked) void this.#run();
      });
    return this.#pump;
  }

  /** Not the work's failure: the table or the wake failed. Items are as they were. */
  #tableFailed(error: unknown): void {
    this.#pausedUntil = this.#host.clock.now() + DISK_PAUSE_MS;
    this.#hasFailed = true;
    this.#isClaiming = false;
    this.#due = [];
    this.#changed();
    const message = `Durable work of the kind "${this.#kind.name}" could not be read or written.`;
    this.#host.background(Promise.reject(new Error(message, { cause: error })));
  }

  /** Adds what the table did not take. A run whose end it did not take ended unnoticed, as in a process that died. */
  #mend(): void {
    if (!this.#hasFailed || this.#host.clock.now() < this.#pausedUntil) return;
    this.#takeUp();
    this.#hasFailed = false;
    for (const item of [...this.#held.values()]) this.addOrHold(item);
  }

  /** In its own tick, so that a caller's transaction and call are over. */
  async #claimAll(): Promise<void> {
    await Promise.resolve();
    this.#isAsked = false;
    this.#mend();
    this.#stored.sweep(this.#host.clock.now());
    if (this.#mayClaim(true)) await this.#host.inAgent(() => this.#claimDue());
    this.#isClaiming = false;
  }

  async #claimDue(): Promise<void> {
    let claims = 0;
    do {
      this.#isAsked = false;
      // A run that adds the next item for now must not keep its wake for ever: one look is all that a wake's call has.
      for (let mayLook = true; this.#mayClaim(mayLook); mayLook = !this.#kind.byWake) {
        claims += 1;
        if (claims % RUNS_BETWEEN_YIELDS === 0) await this.#host.clock.sleep(0);
        await this.#startNext();
      }
      // Asked while the last claim was waited for: there may be more by now.
    } while (this.#isAsked);
    this.#isClaiming = false;
  }

  #mayClaim(mayLook: boolean): boolean {
    if (this.#isStopped || this.#isFull) return false;
    const now = this.#host.clock.now();
    if (now < this.#pausedUntil) return false;
    if (mayLook && !this.isBehind) this.#due = this.#table.due(now, this.#busyLanes);
    return this.#due.length > 0;
  }

  /** Resolves when the item is claimed, or found to be another's by now. The run goes on. */
  #startNext(): Promise<void> {
    const claimed = Promise.withResolvers<void>();
    const work = this.#host.inAgent(async () => {
      const id = this.#due.shift();
      const mayRun = id !== undefined && !this.#isStopped;
      const row = mayRun ? this.#table.claim(id, this.#host.clock.now(), this.#busyLanes) : undefined;
      const run = row && { row, controller: new AbortController(), dueAgain: null };
      if (run) this.#runs.set(run.row.key, run);
      claimed.resolve();
      if (run) await this.#runOne(run);
    });
    this.#host.background(work.catch((error: unknown) => this.#tableFailed(error)).finally(claimed.resolve));
    return claimed.promise;
  }

  async #runOne(run: Run): Promise<void> {
    const { row } = run;
    try {
      const item = this.#stored.item(row);
      if (item) this.#end(run, await this.#call(item, run));
    } finally {
      if (this.#runs.get(row.key) === run) this.#runs.delete(row.key);
      this.#leaving.delete(run);
      // Kept alive still: the wake is not moved between one run and the next.
      this.#changed();
    }
  }

  async #call(item: WorkItem<Payload>, { controller }: Run): Promise<RunEnd<Payload> | { readonly failed: unknown }> {
    try {
      return await this.#kind.run(item, controller.signal);
    } catch (failed) {
      return { failed };
    }
  }

  #end(run: Run, outcome: RunEnd<Payload> | { readonly failed: unknown }): void {
    if (this.#isStopped) return;
    // Cancelled, or claimed anew since: what it says is about another item.
    if (this.#runs.get(run.row.key) === run) this.#store(run, outcome);
    if ("end" in outcome) outcome.afterwards?.();
  }

  #store({ row, dueAgain }: Run, outcome: RunEnd<Payload> | { readonly failed: unknown }): void {
    if ("failed" in outcome) return this.#ends.failed(row, outcome.failed);
    const isAgain = outcome.end === "settled" && dueAgain !== null;
    this.#ends.ended(row, isAgain ? { ...outcome, end: "postponed", until: dueAgain } : outcome);
  }

  // ── Leases ──

  /** A run that has not returned by the end of its lease goes on, and its claim is another's. */
  #endLeases(): void {
    const { leaseMs } = this.#kind;
    if (leaseMs === undefined) return;
    const before = this.#host.clock.now() - leaseMs;
    for (const [key, { row, controller }] of this.#runs) {
      if ((row.claimedAt ?? 0) > before) continue;
      this.#runs.delete(key);
      controller.abort(new Error("The lease of this run is over."));
      this.#ends.failed(row, new Error(`It has not returned for ${leaseMs} ms.`));
    }
  }

  #leaseEnd(): number | null {
    const { leaseMs } = this.#kind;
    if (leaseMs === undefined || this.#isStopped || this.#runs.size === 0) return null;
    return Math.min(...[...this.#runs.values()].map(({ row }) => (row.claimedAt ?? 0) + leaseMs));
  }
}
