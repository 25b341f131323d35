// Finds fibers that the end of a process interrupted and gives each to what can finish it: a named method, or the user's
// hook. `claim` marks them and adds one item of durable work for each, in one transaction; `recover` runs what is due. A hook
// that throws is asked again at growing intervals; one that hangs holds up no other.
import { happensWithin } from "../../host/deadline.ts";
import { isPlatformTransient } from "../../host/platform-errors.ts";
import { errorMessage } from "../../util/errors.ts";
import { parseJson } from "../../util/json.ts";
import { ok } from "../../util/result.ts";
import { LONGEST_WAIT_MS } from "../../agent/backoff.ts";
import { runDurably } from "../../agent/context.ts";
import type { AgentCore } from "../../agent/core.ts";
import { DurableWork, type DurableScope } from "../../agent/durable-work.ts";
import { SETTLED, type RunEnd, type WorkItem } from "../../work/kind.ts";
import { Work } from "../../work/work.ts";
import {
  isFiberResult,
  readMetadata,
  type FiberRecoveryContext,
  type FiberRecoveryResult,
  type FiberRow
} from "./fiber-row.ts";
import { RECOVERY, type FiberTable, type OrphanRow } from "./fiber-table.ts";

export interface FiberRecoveryInit {
  core: AgentCore;
  table: FiberTable;
  /** Ids of fibers running in this isolate. */
  executing: () => readonly string[];
  /** A managed fiber has a new outcome. */
  onSettled: (id: string) => void;
}

/** An item of the work: its key is the fiber's id. */
type Owed = WorkItem<null>;

export class FiberRecovery {
  readonly #init: FiberRecoveryInit;
  readonly #work: Work<null>;
  #scan: Promise<void> | undefined;
  #isStopped = false;

  constructor(init: FiberRecoveryInit) {
    this.#init = init;
    const { keepAliveIntervalMs, fiberRecoveryMaxAgeMs, fiberRecoveryScanDeadlineMs } = init.core.options;
    this.#work = new Work(init.core, {
      name: RECOVERY,
      codec: { encode: () => null, decode: () => ok(null) },
      retry: {
        backoff: { baseMs: keepAliveIntervalMs, maxMs: LONGEST_WAIT_MS },
        // A hook that takes the process with it is not asked again at once.
        quickRestarts: 1,
        maxAgeMs: fiberRecoveryMaxAgeMs > 0 ? fiberRecoveryMaxAgeMs : Infinity
      },
      concurrency: 1,
      slowMs: fiberRecoveryScanDeadlineMs > 0 ? fiberRecoveryScanDeadlineMs : undefined,
      retentionMs: 0,
      run: (item) => this.#recoverOne(item),
      givenUp: ({ key }) => this.#giveUp(key)
    });
    init.core.wakes.add(() => this.#nextWake());
  }

  stop(): void {
    this.#isStopped = true;
    this.#work.stop();
  }

  /** True if something is due. */
  claim(): boolean {
    const { core, table, executing } = this.#init;
    const now = core.clock.now();
    const orphans = table.hasOpen() ? core.sql.transaction(() => this.#claimOrphans(executing(), now)) : [];
    // After it: the recovery of a fiber that got further begins anew, and did not die.
    this.#work.start();
    for (const orphan of orphans) {
      const event = { ...describe(orphan), elapsedMs: now - orphan.created_at };
      core.emit("fiber:recovery:detected", event);
      core.emit("fiber:run:interrupted", event);
      if (orphan.managed) this.#init.onSettled(orphan.id);
    }
    const next = this.#work.nextWake();
    return next !== null && next <= now;
  }

  /** A fiber that a hook started, and that was cut off together with the hook, must not be recovered beside the hook's. */
  #claimOrphans(executing: readonly string[], now: number): OrphanRow[] {
    const { table } = this.#init;
    const orphans = table.claimOrphans(executing, now);
    const owed: OrphanRow[] = [];
    // Those with a checkpoint first: they decide whether the hook is asked again.
    for (const orphan of orphans.toSorted((a, b) => b.is_stashed - a.is_stashed)) {
      const { id, name, replaces, is_stashed } = orphan;
      const recovered = replaces !== null && this.isOwed(replaces) ? table.byId(replaces) : undefined;
      if (recovered?.name === name) {
        if (table.joinCheckpoint(id, recovered.id)) this.#beginAnew(recovered.id);
      } else if (recovered && !is_stashed) {
        // It has nothing that the hook, asked again, does not start anew.
        table.remove(id);
      } else {
        if (recovered) this.handOver(recovered.id);
        owed.push(orphan);
      }
    }
    for (const { id } of owed.toSorted((a, b) => a.seq - b.seq)) this.#work.add({ key: id, payload: null });
    return orphans;
  }

  /** One scan at a time; a call during one joins it. */
  recover(): Promise<void> {
    this.#scan ??= this.#recoverDue().finally(() => (this.#scan = undefined));
    return this.#scan;
  }

  /** Whether a recovery is owed to this fiber. */
  isOwed(id: string): boolean {
    return this.#work.state(id) !== undefined;
  }

  /** Ids of all fibers that are owed one. */
  owed(): string[] {
    return [...this.#work.items()].map(({ key }) => key);
  }

  /** Whether its hook is to be called, and is not running now. */
  isWaiting(id: string): boolean {
    return this.#work.state(id) === "waiting";
  }

  /** Gives an interrupted managed fiber its outcome: nothing is owed to it any more. False from any other status. */
  resolve(id: string, result: FiberRecoveryResult): boolean {
    const { core, table, onSettled } = this.#init;
    return core.sql.transaction(() => {
      if (!table.resolve(id, result, core.clock.now())) return false;
      this.#work.cancel(id);
      core.sql.afterTransaction({ committed: () => onSettled(id) });
      return true;
    });
  }

  /** Another fiber does its work from now on, and an unmanaged row has no further use. Part of the caller's transaction. */
  handOver(id: string): void {
    this.#work.cancel(id);
    this.#init.table.removeUnmanaged(id);
  }

  #nextWake(): number | null {
    if (this.#isStopped) return null;
    const { table, executing } = this.#init;
    // An open row that nothing executes is an orphan that has not been claimed yet.
    return executing().length === 0 && table.hasOpen() ? 0 : this.#work.nextWake();
  }

  async #recoverDue(): Promise<void> {
    if (this.#isStopped) return;
    this.claim();
    this.#work.ready();
    const { clock, options } = this.#init.core;
    const { fiberRecoveryScanDeadlineMs: deadlineMs } = options;
    const drained = this.#work.drained();
    if (deadlineMs <= 0 || (await happensWithin(deadlineMs, drained, clock))) return drained;
    // They go on all the same, but the start or the wake does not wait for them.
    for (const { key, dueAt } of this.#work.items({ states: ["waiting"] })) {
      if (dueAt !== null && dueAt <= clock.now()) return this.#emitSkipped(key, "scan_deadline_exceeded");
    }
  }

  async #recoverOne(item: Owed): Promise<RunEnd<null>> {
    const { core, table } = this.#init;
    const row = table.byId(item.key);
    if (!row) return SETTLED;
    core.emit("fiber:recovery:attempt", describe(row));
    try {
      const result = await this.#runHook(row, item);
      if (!this.#isStopped) this.#handled(row, result);
    } catch (error) {
      if (!this.#isStopped) this.#failed(row, error);
    }
    return SETTLED;
  }

  async #runHook(row: FiberRow, { createdAt }: Owed): Promise<unknown> {
    const { core } = this.#init;
    const context = this.#context(row);
    const { on_interrupted: method } = row;
    const scope = scopeOf(row, createdAt);
    if (method !== null) return runDurably(scope, () => core.invoke(method, context.snapshot, context));
    if (core.hasMethod("onFiberRecovered")) return runDurably(scope, () => core.invoke("onFiberRecovered", context));
    console.warn(`Fiber "${row.name}" was interrupted and nothing recovers it. Define onFiberRecovered.`);
    return undefined;
  }

  #handled(row: FiberRow, result: unknown): void {
    const { core, table } = this.#init;
    const { id, managed, created_at } = row;
    const now = core.clock.now();
    core.sql.transaction(() => {
      if (!managed) table.remove(id);
      else if (isFiberResult(result)) this.resolve(id, result);
      this.#work.cancel(id);
      this.#work.retryBy(now + core.options.keepAliveIntervalMs);
    });
    const status = managed ? "managed" : "user";
    core.emit("fiber:recovery:handled", { ...describe(row), status, elapsedMs: now - created_at });
  }

  /** Throws what the hook threw, if it is to be asked again. */
  #failed(row: FiberRow, error: unknown): void {
    const { core } = this.#init;
    // The platform's failure says nothing about the hook, so it does not decide a managed fiber.
    const isTransient = isPlatformTransient(error);
    const isDecided = row.managed && !isTransient;
    if (isDecided) this.resolve(row.id, { status: "error", error: errorMessage(error) });
    const reason = isTransient ? "platform_transient" : "handler_error";
    const elapsedMs = core.clock.now() - row.created_at;
    core.emit("fiber:recovery:failed", { ...describe(row), error: errorMessage(error), reason, elapsedMs });
    if (!isDecided) throw error;
  }

  #giveUp(id: string): void {
    this.#emitSkipped(id, "max_age_exceeded");
    this.#init.table.removeUnmanaged(id);
  }

  /** It got further before it was interrupted again. */
  #beginAnew(id: string): void {
    this.#work.cancel(id);
    this.#work.add({ key: id, payload: null });
  }

  #context(row: FiberRow): FiberRecoveryContext {
    const base = {
      id: row.id,
      name: row.name,
      snapshot: this.#readSnapshot(row),
      createdAt: row.created_at,
      recoveryReason: "interrupted" as const
    };
    if (!row.managed) return base;
    const metadata = readMetadata(row);
    return {
      ...base,
      status: row.status,
      idempotencyKey: row.idempotency_key ?? undefined,
      metadata
    };
  }

  #readSnapshot(row: FiberRow): unknown {
    if (row.snapshot === null) return null;
    const parsed = parseJson(row.snapshot);
    if (parsed.ok) return parsed.value;
    const body = row.snapshot;
    const { core, table } = this.#init;
    console.warn(`The snapshot of fiber "${row.name}" cannot be read; it is recovered without one.`);
    core.sql.transaction(() => {
      core.quarantine({ table: "cf_fibers", key: row.id, body, error: parsed.error });
      table.dropSnapshot(row.id);
    });
    return null;
  }

  #emitSkipped(id: string, reason: "scan_deadline_exceeded" | "max_age_exceeded"): void {
    const { core, table } = this.#init;
    const row = table.byId(id);
    if (!row) return;
    const event = { ...describe(row), reason, elapsedMs: core.clock.now() - row.created_at };
    core.sql.afterTransaction({ committed: () => core.emit("fiber:recovery:skipped", event) });
  }
}

/**
 * A method named for it does the fiber's own work from its checkpoint on. The hook is other code: its calls are its own,
 * anew for each interruption, and the fiber it may start goes on with those of the fiber.
 */
function scopeOf(row: FiberRow, interruptedAt: number): DurableScope {
  const key = row.work ?? `fiber:${row.id}`;
  const work = new DurableWork(key, row.calls);
  const recovering = { id: row.id, name: row.name, work };
  if (row.on_interrupted !== null) return { work, recovering };
  return { work: new DurableWork(`${key}:recovered:${interruptedAt}`), recovering };
}

function describe(row: Pick<FiberRow, "id" | "name" | "managed">) {
  return { fiberId: row.id, fiberName: row.name, managed: row.managed === 1, recoveryReason: "interrupted" };
}
